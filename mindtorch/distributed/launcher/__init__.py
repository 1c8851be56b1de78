"""torch.distributed.launcher: torchrun as a function."""
from mindtorch.distributed.launcher.api import LaunchConfig, elastic_launch, launch_agent

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]
