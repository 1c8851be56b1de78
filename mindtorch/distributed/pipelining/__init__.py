"""torch.distributed.pipelining: a model with its layers on several ranks, which work on microbatches in turn."""
from mindtorch._submodules import module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributed.pipelining._pipe import Pipe, SplitPoint, build_stage, pipe_split, pipeline
from mindtorch.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
    _ScheduleForwardOnly,
)
from mindtorch.distributed.pipelining.stage import PipelineStage

__all__ = ["Pipe", "PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS",
           "SplitPoint", "_ScheduleForwardOnly", "build_stage", "pipe_split", "pipeline"]

_complete_docstrings(globals(), "distributed.pipelining")
__getattr__ = module_getattr(__name__)
