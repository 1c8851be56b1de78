"""torch.profiler: what a program's operators cost the host, step by step."""
from mindtorch.autograd._profiler_kinds import DeviceType, ProfilerAction, ProfilerActivity
from mindtorch.autograd.profiler import record_function
from mindtorch.profiler.profiler import (  # noqa: F401 - programs derive from _KinetoProfile
    _KinetoProfile,
    kineto_available,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = ["DeviceType", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function",
           "schedule", "supported_activities", "tensorboard_trace_handler"]
