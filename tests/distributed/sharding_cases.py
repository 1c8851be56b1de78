"""What the ranks of test_sharding.py do, with torch and with mindtorch, on a device: DTensor and what stands on it."""
import importlib

import fsdp_cases
import mesh_cases
import parallel_cases
import pipeline_cases
import tensor_cases
from collective_cases import plain

CASES = {2: {**tensor_cases.CASES, **fsdp_cases.CASES, **parallel_cases.CASES, **pipeline_cases.CASES},
         4: {**mesh_cases.CASES, **pipeline_cases.FOUR_RANKS}}      # by the number of ranks


class Names:
    """The modules of a library that cases use, and a mesh of all ranks."""

    def __init__(self, torch, rank, size, device):
        self.torch, self.nn, self.F, self.rank, self.size = torch, torch.nn, torch.nn.functional, rank, size
        self.device, package = device, f"{torch.__name__}.distributed"
        self.api, self.fsdp = (importlib.import_module(f"{package}.{name}") for name in ("tensor", "fsdp"))
        self.Shard, self.Replicate, self.Partial = self.api.Shard, self.api.Replicate, self.api.Partial
        self.placement_types = importlib.import_module(f"{package}.tensor.placement_types")
        self.distribute = self.api.distribute_tensor
        self.init_mesh = self.api.init_device_mesh
        self.mesh = self.init_mesh(device, (size,))

    def numbers(self, *shape):
        """Fixed values, none of which are alike."""
        count = 1
        for length in shape:
            count *= length
        return self.torch.arange(1, count + 1).float().reshape(shape).sin().to(self.device)


def run_all(torch, rank, size, device):
    if device == "npu":
        torch.npu.set_device(rank % torch.npu.device_count())
    names = Names(torch, rank, size, device)
    return {name: plain(function(names)) for name, function in CASES[size].items()}
