"""torch.distributed.tensor.parallel.api: a plan for the modules of a model."""
from __future__ import annotations

import warnings
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from mindtorch.distributed.device_mesh import DeviceMesh, _mesh_resources
from mindtorch.distributed.tensor.parallel.style import ParallelStyle

if TYPE_CHECKING:
    from mindtorch import nn

__all__ = ["parallelize_module"]


def parallelize_module(module: nn.Module, device_mesh: DeviceMesh | None = None,
                       parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None, *,
                       src_data_rank: int | None = 0) -> nn.Module:
    """Apply a style to a module, or styles to the modules below it that a plan names: {"layers.*.wq": style}.

    The mesh has one dimension. Parameters are those of rank `src_data_rank`; None: of each rank.

    Arguments:
        parallelize_plan: a ParallelStyle, or one by name of the submodule

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 4))
        >>> model = dist.tensor.parallel.parallelize_module(model, mesh, {
        ...     "0": dist.tensor.parallel.ColwiseParallel(), "2": dist.tensor.parallel.RowwiseParallel()})
        >>> model(torch.ones(2, 4)).shape
        torch.Size([2, 4])
    """
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    if mesh.ndim != 1:
        raise ValueError(f"Tensor Parallel only accepts a 1D DeviceMesh, but found {mesh.ndim}D!")
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the moment, so this "
                      "parallelize_module call will do nothing.", stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError("Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
                        f"{type(parallelize_plan)} found!")
    for path, style in parallelize_plan.items():
        found = [module]
        for pattern in path.split(".") if path else ():
            found = [child for parent in found for name, child in parent.named_children() if fnmatch(name, pattern)]
        if not found:
            warnings.warn(f"Parallelize plan key '{path}' could not be resolved: no submodule matching the pattern is "
                          "found.", stacklevel=2)
        for part in found:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module
