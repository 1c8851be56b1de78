"""torch.distributed.algorithms.model_averaging.utils: the mean of parameters over ranks."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import mindtorch
from mindtorch import distributed as dist
from mindtorch.nn import Parameter

if TYPE_CHECKING:
    from mindtorch.distributed import ProcessGroup

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[Parameter], process_group: ProcessGroup | None) -> None:
    """Replace the parameters of all ranks of a group by their mean, with one all_reduce.

    Arguments:
        params: the parameters, or groups of them as an optimizer has them
        process_group: the process group; None means all ranks

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> dist.algorithms.model_averaging.utils.average_parameters(model.parameters(), None)
    """
    group, params = process_group or dist.group.WORLD, list(params)
    if dist._rank_not_in_group(group):
        return
    with mindtorch.no_grad():
        flat = mindtorch.cat([each.reshape(-1) for each in params]) / dist.get_world_size(group)
        dist.all_reduce(flat, group=group)
        for each, mean in zip(params, flat.split([each.numel() for each in params]), strict=True):
            each.copy_(mean.view(each.shape))


def get_params_to_average(params: Iterable[Parameter] | Iterable[dict[str, Iterable[Parameter]]]) -> list[Parameter]:
    """Those that have a gradient, of a model's parameters or an optimizer's groups.

    Arguments:
        params: the parameters, or groups of them as an optimizer has them

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> _ = model.bias.requires_grad_(False)
        >>> model(torch.ones(1, 2)).sum().backward()
        >>> len(dist.algorithms.model_averaging.utils.get_params_to_average(model.parameters()))
        1
    """
    found = []
    for each in params:
        if not isinstance(each, (Parameter, dict)):
            raise NotImplementedError(f"Parameter input of type {type(each)} is not supported")
        found += [value for value in ([each] if isinstance(each, Parameter) else each["params"])
                  if value.grad is not None]
    return found


def average_parameters_or_parameter_groups(params: Iterable[Parameter] | Iterable[dict[str, Iterable[Parameter]]],
                                           process_group: ProcessGroup | None) -> None:
    """Replace parameters that have a gradient by their mean over the ranks.

    Arguments:
        params: the parameters, or groups of them as an optimizer has them
        process_group: the process group; None means all ranks

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> model(torch.ones(1, 2)).sum().backward()
        >>> utils = dist.algorithms.model_averaging.utils
        >>> utils.average_parameters_or_parameter_groups(optimizer.param_groups, None)
    """
    average_parameters(get_params_to_average(params), process_group)
