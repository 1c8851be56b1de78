"""torch.distributed.checkpoint: ranks write and read one checkpoint, each its part, in torch's files.

A checkpoint is a folder: each rank writes `__<rank>_<n>.distcp`, objects of torch.save behind each other, and rank 0
`.metadata`, a pickle that says of each tensor which parts lie where. So any number of ranks reads it.
"""
# ruff: noqa: F401 - the names are here for programs
from mindtorch._submodules import module_getattr
from mindtorch.distributed.checkpoint.api import CheckpointException
from mindtorch.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from mindtorch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from mindtorch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from mindtorch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from mindtorch.distributed.checkpoint.planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from mindtorch.distributed.checkpoint.state_dict_loader import load, load_state_dict
from mindtorch.distributed.checkpoint.state_dict_saver import async_save, save, save_state_dict
from mindtorch.distributed.checkpoint.storage import StorageReader, StorageWriter

__getattr__ = module_getattr(__name__)
