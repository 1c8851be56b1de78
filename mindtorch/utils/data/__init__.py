"""torch.utils.data: data sets, samplers and the loader that makes batches of them."""
from mindtorch._submodules import module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.utils.data._utils.collate import default_collate, default_convert
from mindtorch.utils.data._utils.worker import get_worker_info
from mindtorch.utils.data.dataloader import DataLoader, _DatasetKind
from mindtorch.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from mindtorch.utils.data.distributed import DistributedSampler
from mindtorch.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "_DatasetKind", "default_collate", "default_convert", "get_worker_info", "random_split",
]


_complete_docstrings(globals(), "utils.data")
__getattr__ = module_getattr(__name__)
