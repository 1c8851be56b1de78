"""torch.distributed.tensor.parallel.style: how one module is cut, and how its inputs and outputs lie."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from mindtorch import Tensor, nn
from mindtorch._submodules import module_getattr
from mindtorch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor

if TYPE_CHECKING:
    from mindtorch.distributed.device_mesh import DeviceMesh
    from mindtorch.distributed.tensor import Placement

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
           "RowwiseParallel", "SequenceParallel"]


class ParallelStyle(ABC):
    """What parallelize_module does to a module.

    Example:
        >>> class Frozen(dist.tensor.parallel.ParallelStyle):
        ...     def _apply(self, module, device_mesh):
        ...         return module.requires_grad_(False)
        >>> layer = dist.tensor.parallel.parallelize_module(
        ...     torch.nn.Linear(2, 2), dist.init_device_mesh("cpu", (1,)), Frozen())
        >>> layer.weight.requires_grad
        False
    """

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        """The module, changed."""


def _laid_out(tensor, mesh, now, goal):
    """A plain tensor, which lies as `now` says, or a DTensor, as a DTensor that lies as `goal` says."""
    if not isinstance(tensor, DTensor):
        tensor = DTensor.from_local(tensor, mesh, [now])
    return tensor.redistribute(placements=[goal])


class _LayerStyle(ParallelStyle):
    """A layer of one input and one output, which are plain outside unless `use_local_output` is False."""

    def __init__(self, input_layout: Placement, inner_layout: Placement, output_layout: Placement,
                 use_local_output: bool) -> None:
        self.input_layouts, self.desired_input_layouts = (input_layout,), (inner_layout,)
        self.output_layouts, self.use_local_output = (output_layout,), use_local_output

    def _places(self, module: nn.Module) -> dict[str, Placement]:
        """How parameters lie; those that are not named are whole on each rank."""
        raise NotImplementedError

    def _inner_layout(self, module: nn.Module) -> Placement:
        return self.desired_input_layouts[0]

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        places, inner = self._places(module), self._inner_layout(module)

        def partition(_name, part, mesh):
            for name, parameter in part.named_parameters(recurse=False):
                part.register_parameter(name, nn.Parameter(
                    distribute_tensor(parameter, mesh, [places.get(name, Replicate())],
                                      src_data_rank=self.src_data_rank), parameter.requires_grad))

        def enter(_module, inputs, mesh):
            return (_laid_out(inputs[0], mesh, self.input_layouts[0], inner), *inputs[1:])

        def leave(_module, output, _mesh):
            output = output.redistribute(placements=self.output_layouts)
            return output.to_local() if self.use_local_output else output

        return distribute_module(module, device_mesh, partition, enter, leave)


class ColwiseParallel(_LayerStyle):
    """A Linear cut by its outputs, or an Embedding by its columns. By default outputs are cut in the last dimension.

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> layer = dist.tensor.parallel.parallelize_module(
        ...     torch.nn.Linear(4, 6), mesh, dist.tensor.parallel.ColwiseParallel())
        >>> layer.weight.placements, layer(torch.ones(2, 4)).shape      # of one rank
        ((Shard(dim=0),), torch.Size([2, 6]))
    """

    def __init__(self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
                 use_local_output: bool = True) -> None:
        super().__init__(input_layouts or Replicate(), Replicate(), output_layouts or Shard(-1), use_local_output)

    def _places(self, module: nn.Module) -> dict[str, Placement]:
        if isinstance(module, nn.Linear):
            return {"weight": Shard(0), "bias": Shard(0)}
        if isinstance(module, nn.Embedding):
            return {"weight": Shard(1)}
        raise NotImplementedError("ColwiseParallel currently only support nn.Linear and nn.Embedding!")


class RowwiseParallel(_LayerStyle):
    """A Linear cut by its inputs, or an Embedding by its rows. By default each rank has the whole output.

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> layer = dist.tensor.parallel.parallelize_module(
        ...     torch.nn.Linear(4, 6), mesh, dist.tensor.parallel.RowwiseParallel())
        >>> layer.weight.placements, layer(torch.ones(2, 4)).shape      # of one rank
        ((Shard(dim=1),), torch.Size([2, 6]))
    """

    def __init__(self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
                 use_local_output: bool = True) -> None:
        super().__init__(input_layouts or Shard(-1), Shard(-1), output_layouts or Replicate(), use_local_output)

    def _places(self, module: nn.Module) -> dict[str, Placement]:
        if isinstance(module, nn.Linear):
            return {"weight": Shard(1)}
        if isinstance(module, nn.Embedding):
            return {"weight": Shard(0)}
        raise NotImplementedError("RowwiseParallel currently only support nn.Linear and nn.Embedding!")

    def _inner_layout(self, module: nn.Module) -> Placement:
        return Replicate() if isinstance(module, nn.Embedding) else Shard(-1)


class SequenceParallel(_LayerStyle):
    """A LayerNorm, RMSNorm or Dropout on tensors that are cut along the sequence; its parameters are whole.

    Arguments:
        sequence_dim: the dimension of the sequence

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> layer = dist.tensor.parallel.parallelize_module(
        ...     torch.nn.LayerNorm(4), mesh, dist.tensor.parallel.SequenceParallel())
        >>> layer(torch.ones(2, 3, 4)).placements
        (Shard(dim=1),)
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        place = Shard(sequence_dim)
        super().__init__(place, place, place, use_local_output)

    def _places(self, module: nn.Module) -> dict[str, Placement]:
        return {}


# --- inputs and outputs of modules that are not cut themselves --------------------------------------------------------

def _as_tuple(layouts):
    return layouts if layouts is None or isinstance(layouts, tuple) else (layouts,)


def _prepared(value, mesh, now, goal, local):
    if now is None or not isinstance(value, Tensor):
        return value
    value = _laid_out(value, mesh, now, now if goal is None else goal)
    return value.to_local() if local else value


class PrepareModuleInput(ParallelStyle):
    """Inputs that lie as `input_layouts` say come to the module as `desired_input_layouts` say; None: as they are.

    Example:
        >>> mesh, Shard, Replicate = dist.init_device_mesh("cpu", (1,)), dist.tensor.Shard, dist.tensor.Replicate
        >>> style = dist.tensor.parallel.PrepareModuleInput(
        ...     input_layouts=Shard(0), desired_input_layouts=Replicate(), use_local_output=True)
        >>> layer = dist.tensor.parallel.parallelize_module(torch.nn.Identity(), mesh, style)
        >>> layer(torch.ones(2)).shape          # of one rank
        torch.Size([2])
    """

    def __init__(self, *, input_layouts: Any = None, desired_input_layouts: Any = None,
                 input_kwarg_layouts: dict[str, Placement] | None = None,
                 desired_input_kwarg_layouts: dict[str, Placement] | None = None,
                 use_local_output: bool = False) -> None:
        self.input_layouts, self.desired_input_layouts = _as_tuple(input_layouts), _as_tuple(desired_input_layouts)
        self.use_local_output = use_local_output
        if self.input_layouts is not None and len(self.input_layouts) != len(self.desired_input_layouts or ()):
            raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def enter(_module, args, kwargs):
            if self.input_layouts is not None:
                if len(args) != len(self.input_layouts):
                    raise ValueError("module inputs and input_layouts should have same length!")
                args = tuple(_prepared(value, device_mesh, now, goal, self.use_local_output) for value, now, goal in
                             zip(args, self.input_layouts, self.desired_input_layouts, strict=True))
            kwargs = {name: _prepared(value, device_mesh, self.input_kwarg_layouts.get(name),
                                      self.desired_input_kwarg_layouts.get(name), self.use_local_output)
                      for name, value in kwargs.items()}
            return args, kwargs

        module.register_forward_pre_hook(enter, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Outputs that lie as `output_layouts` say leave the module as `desired_output_layouts` say.

    Example:
        >>> mesh, Shard, Replicate = dist.init_device_mesh("cpu", (1,)), dist.tensor.Shard, dist.tensor.Replicate
        >>> style = dist.tensor.parallel.PrepareModuleOutput(
        ...     output_layouts=Replicate(), desired_output_layouts=Shard(0))
        >>> layer = dist.tensor.parallel.parallelize_module(torch.nn.Identity(), mesh, style)
        >>> layer(torch.ones(2)).shape          # of one rank
        torch.Size([2])
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = _as_tuple(output_layouts), _as_tuple(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def leave(_module, _inputs, outputs):
            values = outputs if isinstance(outputs, tuple) else (outputs,)
            if len(values) != len(self.output_layouts):
                raise ValueError("module outputs and output_layouts should have same length!")
            made = tuple(_prepared(value, device_mesh, now, goal, self.use_local_output) for value, now, goal in zip(
                values, self.output_layouts, self.desired_output_layouts, strict=True))
            return made if isinstance(outputs, tuple) else made[0]

        module.register_forward_hook(leave)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """PrepareModuleInput and PrepareModuleOutput for one module.

    Arguments:
        use_local_input: whether inputs reach the module as the part of this rank

    Example:
        >>> mesh, Shard, Replicate = dist.init_device_mesh("cpu", (1,)), dist.tensor.Shard, dist.tensor.Replicate
        >>> style = dist.tensor.parallel.PrepareModuleInputOutput(
        ...     input_layouts=Shard(0), desired_input_layouts=Replicate(), use_local_input=True,
        ...     output_layouts=Replicate(), desired_output_layouts=Shard(0))
        >>> layer = dist.tensor.parallel.parallelize_module(torch.nn.Identity(), mesh, style)
        >>> layer(torch.ones(2)).shape          # of one rank
        torch.Size([2])
    """

    def __init__(self, *, input_layouts: Any = None, desired_input_layouts: Any = None,
                 input_kwarg_layouts: dict[str, Placement] | None = None,
                 desired_input_kwarg_layouts: dict[str, Placement] | None = None, use_local_input: bool = False,
                 output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts, desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output)

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)


__getattr__ = module_getattr(__name__)
