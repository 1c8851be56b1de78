"""torch.distributed.elastic.agent.server.local_elastic_agent: the agent, by the name of torch's module."""
from mindtorch._submodules import module_getattr
from mindtorch.distributed.elastic.agent.server import LocalElasticAgent

__all__ = ["LocalElasticAgent"]

__getattr__ = module_getattr(__name__)
