"""torch.distributed.elastic.agent.server.local_elastic_agent: the agent, by the name of torch's module."""
from mindtorch._refusals.modules import refused_names
from mindtorch.distributed.elastic.agent.server import LocalElasticAgent

__all__ = ["LocalElasticAgent"]

__getattr__ = refused_names(__name__)
