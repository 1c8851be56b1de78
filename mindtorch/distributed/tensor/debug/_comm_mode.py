"""CommDebugMode: the collectives, operators and layouts of the modules that run within it."""
from __future__ import annotations

import functools
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import mindtorch
from mindtorch import Tensor
from mindtorch.distributed._collective_operators import COLLECTIVES
from mindtorch.distributed._process_group import ProcessGroup
from mindtorch.distributed.tensor._api import DTensor
from mindtorch.nn.modules.module import register_module_forward_pre_hook
from mindtorch.utils._python_dispatch import TorchDispatchMode
from mindtorch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from mindtorch.nn import Module

__all__ = ["CommDebugMode"]

_GLOBAL = "Global"
_PASSES = ("forward", "backward")
_TRIVIAL = {"aten.detach.default", "aten.t.default", "aten.view.default", "aten._to_copy.default",
            "aten.as_strided.default", "aten.transpose.int"}
# A collective that one of these modules starts is a functional one, as in torch. The others lie between.
_FUNCTIONAL = {"mindtorch.distributed._functional_collectives", "mindtorch.distributed.tensor._redistribute"}
_BETWEEN = {"mindtorch.distributed._collectives", "contextlib", __name__}


class _Operation(NamedTuple):
    """An operator that was called: on DTensors, with their shapes and placements; else on plain tensors."""

    name: str
    shapes: list
    placements: list
    mesh: str


class _Record:
    """What ran in one module: for each pass the counts of collectives and the operators."""

    def __init__(self, depth: int, kind: str = "") -> None:
        self.depth, self.kind = depth, kind
        self.parameters: dict[str, Any] = {}
        self.collectives = {each: defaultdict(int) for each in _PASSES}
        self.operations: dict[str, list[_Operation]] = {each: [] for each in _PASSES}


def _is_functional():
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") in _BETWEEN:
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") in _FUNCTIONAL


class CommDebugMode(TorchDispatchMode):
    """Within `with CommDebugMode() as mode:` the collectives of this process are counted, for each module and pass.

    mode.get_comm_counts() has torch.ops.c10d_functional.all_reduce and the like for the collectives of DTensors and
    those that return their result, torch.ops.c10d.allreduce_ and the like for the others.

    Example:
        >>> mesh = dist.device_mesh.init_device_mesh("cpu", (1,))
        >>> sharded = dist.tensor.distribute_tensor(torch.ones(2), mesh, [dist.tensor.Shard(0)])
        >>> with dist.tensor.debug.CommDebugMode() as mode:
        ...     _ = sharded.full_tensor()
        >>> mode.get_total_counts()
        1
    """

    def __init__(self) -> None:
        super().__init__()
        self.comm_counts: dict[Any, int] = defaultdict(int)
        self._forget()

    def _forget(self):
        self.comm_counts.clear()
        self._records = {_GLOBAL: _Record(0)}
        self._running = [(_GLOBAL, "forward")]      # the innermost module last
        self._names: dict[Module, str] = {}

    # What was found

    def get_comm_counts(self) -> dict[Any, int]:
        """How often each collective was called."""
        return self.comm_counts

    def get_total_counts(self) -> int:
        """How many collectives were called."""
        return sum(self.comm_counts.values())

    def get_parameter_info(self) -> dict[str, dict[str, Any]]:
        """Module -> name -> the data of its own parameters."""
        return {name: {each: value.data for each, value in record.parameters.items()}
                for name, record in self._records.items() if record.parameters}

    def get_sharding_info(self) -> dict[str, Any]:
        """The placements of all parameters that are DTensors."""
        return {f"{name}.{each}": value.placements for name, record in self._records.items()
                for each, value in record.parameters.items() if isinstance(value, DTensor)}

    def generate_comm_debug_tracing_table(self, noise_level: int = 3) -> str:
        """What each module did. Level 0: collectives; 1: parameters and operators on DTensors; 2: the others; 3: also
        those that compute nothing."""
        lines = []
        for module, record in self._records.items():
            indent = "  " * 2 * record.depth
            lines.append(indent + module)
            if noise_level > 0 and record.kind:
                lines.append(f"{indent}*module type: {record.kind}")
                lines += [f"{indent}*Parameter List"] if record.parameters else []
                lines += [f"{indent} *{each}: {getattr(value, 'placements', tuple(value.shape))}"
                          for each, value in record.parameters.items()]
            for each in _PASSES:
                below = [f"{indent}    *{name}: {count}" for name, count in record.collectives[each].items()]
                for operation in self._shown(record.operations[each], noise_level):
                    below.append(f"{indent}    **{operation.name}")
                    if operation.mesh:
                        below += [f"{indent}      shape: {operation.shapes}",
                                  f"{indent}      sharding: {operation.placements}",
                                  f"{indent}      device mesh: {operation.mesh}"]
                lines += [f"{indent}  {each.upper()} PASS", *below] if below else []
        return "\n".join(lines) + "\n"

    @staticmethod
    def _shown(operations, noise_level):
        return [each for each in operations if noise_level > 2 or (
            noise_level > 0 and each.name not in _TRIVIAL and (each.mesh or noise_level > 1))]

    def log_comm_debug_tracing_table_to_file(self, file_name: str = "comm_mode_log.txt", noise_level: int = 3) -> None:
        """Write the table to a file."""
        Path(file_name).write_text(self.generate_comm_debug_tracing_table(noise_level), encoding="utf-8")

    def generate_json_dump(self, file_name: str = "comm_mode_log.json", noise_level: int = 3) -> None:
        """Write what the table says to a file, as JSON."""
        dump = {name: {"depth": record.depth, "module_type": record.kind,
                       "parameters": {each: str(getattr(value, "placements", tuple(value.shape)))
                                      for each, value in record.parameters.items()},
                       **{each: {"collectives": {str(key): count for key, count in record.collectives[each].items()},
                                 "operations": [{"name": operation.name, "input_shape": str(operation.shapes),
                                                 "input_sharding": str(operation.placements),
                                                 "device_mesh": operation.mesh}
                                                for operation in self._shown(record.operations[each], noise_level)]}
                          for each in _PASSES}}
                for name, record in self._records.items()}
        Path(file_name).write_text(json.dumps(dump, indent=2), encoding="utf-8")

    # How it is found

    def __enter__(self) -> CommDebugMode:
        self._forget()
        self._handles = [register_module_forward_pre_hook(self._before_forward)]
        self._methods = {name: vars(ProcessGroup)[name] for name in COLLECTIVES}
        for name, method in self._methods.items():
            setattr(ProcessGroup, name, self._counted(name, method))
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        for handle in self._handles:
            handle.remove()
        for name, method in self._methods.items():
            setattr(ProcessGroup, name, method)

    def _counted(self, name, method):
        plain, functional = COLLECTIVES[name]

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            collective = (getattr(mindtorch.ops.c10d_functional, functional) if _is_functional()
                          else getattr(mindtorch.ops.c10d, plain))
            self.comm_counts[collective] += 1
            module, when = self._running[-1]
            while True:         # of this module, and of those around it
                if module in self._records:     # not of a container, which runs no forward
                    self._records[module].collectives[when][collective] += 1
                if module == _GLOBAL:
                    return method(*args, **kwargs)
                module = module.rpartition(".")[0] or _GLOBAL
        return call

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        module, when = self._running[-1]
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, DTensor)]
        self._records[module].operations[when].append(_Operation(
            str(func), [each.shape for each in tensors], [each.placements for each in tensors],
            str(tensors[0].device_mesh) if tensors else ""))
        # The class runs the operator within this mode, which so sees what that calls.
        return NotImplemented if tensors else func(*args, **(kwargs or {}))

    def _before_forward(self, module, inputs):
        name = self._names.get(module)
        if name is None:        # a root: its modules have names below the one of its class
            for below, each in module.named_modules():
                self._names.setdefault(each, f"{type(module).__name__}{'.' * bool(below)}{below}")
                # After the hooks that the module has: those that redistribute its output belong to it.
                self._handles.append(each.register_forward_hook(self._after_forward, always_call=True))
            name = self._names[module]
        if name not in self._records:
            kind = type(module)
            kind = f"class '{kind.__module__}.{kind.__qualname__}'"
            record = self._records[name] = _Record(name.count(".") + 1, kind)
            record.parameters = dict(module.named_parameters(recurse=False))
        self._running.append((name, "forward"))
        self._at_gradient(inputs, self._end_backward, name)

    def _after_forward(self, module, _inputs, outputs):
        name, _ = self._running.pop()
        self._at_gradient(outputs, self._begin_backward, name)

    @staticmethod
    def _at_gradient(tensors, function, name):
        """Call function(name) when the first gradient of the tensors is there."""
        for each in tree_leaves(tensors):
            if isinstance(each, Tensor) and each.requires_grad and mindtorch.is_grad_enabled():
                each.register_hook(functools.partial(function, name))

    def _begin_backward(self, name, _gradient):
        inner, _ = self._running[-1]
        if (name, "backward") not in self._running:     # an output of a module may be that of one within
            self._running.insert(len(self._running) - inner.startswith(f"{name}."), (name, "backward"))

    def _end_backward(self, name, _gradient):
        if self._running[-1] == (name, "backward"):
            self._running.pop()
