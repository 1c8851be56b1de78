"""torch.utils.flop_counter: how many floating point operations a program's products and convolutions need."""
from __future__ import annotations

import warnings
from collections import defaultdict
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Self

from mindtorch import Tensor
from mindtorch._core.python import torch_function
from mindtorch._library.overloads import ops
from mindtorch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from mindtorch.overrides import TorchFunctionMode
from mindtorch.utils._flop_formulas import FORMULAS
from mindtorch.utils._pytree import tree_map

if TYPE_CHECKING:
    from mindtorch.nn.modules.module import Module

__all__ = ["FlopCounterMode", "register_flop_formula"]

_REGISTERED = {}            # name of an operator -> (it, the formula of register_flop_formula)
_SUFFIXES = ("", "K", "M", "B", "T")


def _shapes_of(value):
    return tree_map(lambda each: each.shape if isinstance(each, Tensor) else each, value)


def _of_shapes(formula):
    @wraps(formula)
    def of_tensors(*args, out_val=None, **kwargs):
        args, kwargs, out_shape = _shapes_of((args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)
    return of_tensors


def register_flop_formula(targets: Any, get_raw: bool = False) -> Any:
    """A decorator: formula(*args, out_shape, **kwargs) counts for the operators `targets`, as torch.ops.aten.relu.

    Shapes stand for tensors in its arguments; with `get_raw` it is given the tensors, and the result as `out_val`.

    Arguments:
        targets: the operators, or one
        get_raw: whether the formula gets tensors, in place of shapes

    Example:
        >>> from mindtorch.utils.flop_counter import FlopCounterMode, register_flop_formula
        >>> @register_flop_formula(torch.ops.aten.frac)
        ... def of_frac(x_shape, *args, out_shape=None, **kwargs):
        ...     return x_shape.numel()
        >>> with FlopCounterMode(display=False) as counter:
        ...     y = torch.frac(torch.ones(5))
        >>> counter.get_total_flops()
        5
    """
    def register(formula):
        counted = formula if get_raw else _of_shapes(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not hasattr(target, "overloads"):
                raise ValueError(f"register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                                 f"torch.ops.mylib.foo), got {target} which is of type {type(target)}")
            _REGISTERED[target.__name__] = target, counted
        return formula
    return register


class _Modules:
    """Which modules are at work, by their names: the class of the outermost one, then the names of attributes."""

    def __init__(self) -> None:
        self.names, self.open, self.handles = {}, [], []

    def enter(self, module: Module, args: Any) -> None:
        if module not in self.names:
            self._name(module, type(module).__name__)
        self.open.append(self.names[module])

    def leave(self, module: Module, args: Any, result: Any) -> None:
        self.open.pop()

    def _name(self, module, name):
        self.names[module] = name
        for child, inner in module.named_children():
            self._name(inner, f"{name}.{child}")

    def watch(self) -> None:
        self.handles = [register_module_forward_pre_hook(self.enter),
                        register_module_forward_hook(self.leave, always_call=True)]

    def leave_alone(self) -> None:
        for handle in self.handles:
            handle.remove()
        self.open, self.handles = [], []


class _Counting(TorchFunctionMode):
    def __init__(self, counter: Any) -> None:
        self.counter = counter

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = kwargs or {}, getattr(func, "__name__", "")
        plain = getattr(func, "__wrapped__", None)
        own = self.counter._own.get(name)
        if own is None and name not in FORMULAS and plain is not None and hasattr(func, "__code__"):
            torch_function.push_mode(self)      # a function of others: they are counted
            try:
                return plain(*args, **kwargs)
            finally:
                torch_function.pop_mode()
        result = func(*args, **kwargs)
        if own is not None:
            self.counter._add(own[0], own[1](*args, **kwargs, out_val=result), self.counter._counting())
        elif name in FORMULAS:
            self._count(FORMULAS[name](result, *args, **kwargs), result)
        return result

    def _count(self, parts, result):
        places, last = self.counter._counting(), result
        while isinstance(last, (list, tuple)):
            last = last[0]
        for name, count, operands, backward in parts:
            self.counter._add(getattr(ops.aten, name), count, places)
            needed = sum(each for operand, each in operands if operand.requires_grad)
            if last.requires_grad and needed:
                last.register_hook(partial(self._count_backward, getattr(ops.aten, backward), needed, places))

    def _count_backward(self, op, count, places, gradient):
        if self.counter._mode is self:          # else backward runs after the `with`
            self.counter._add(op, count, places)


class FlopCounterMode:
    """`with FlopCounterMode(display=False) as counter:` counts what products and convolutions need, for each module.

    It counts matrix products, linear layers, convolutions, attention, einsum and recurrent cells that the program, or a
    layer written in Python, calls, and their gradients if backward runs within. Products inside fused operators are
    not counted, as in torch. custom_mapping: {operator: formula}, as for register_flop_formula. With `display` the
    table is printed at the end.

    Arguments:
        mods: not read
        depth: how many levels of modules the table shows
        display: whether the table is printed at the end
        custom_mapping: operator -> formula of its floating-point operations

    Example:
        >>> from mindtorch.utils.flop_counter import FlopCounterMode
        >>> with FlopCounterMode(display=False) as counter:
        ...     y = torch.ones(2, 3) @ torch.ones(3, 4)
        >>> counter.get_total_flops()
        48
    """

    def __init__(self, mods: Module | list[Module] | None = None, depth: int = 2, display: bool = True,
                 custom_mapping: dict[Any, Any] | None = None) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.depth, self.display = depth, display
        self.flop_counts, self._mode, self._modules = {}, None, _Modules()
        mapped = {op.__name__: (op, formula if hasattr(formula, "_get_raw") else _of_shapes(formula))
                  for op, formula in (custom_mapping or {}).items()}
        self._own = {**_REGISTERED, **mapped}

    def _counting(self):
        return {"Global", *self._modules.open}

    def _add(self, op, count, places):
        for place in places:
            self.flop_counts[place][op] += count

    def get_total_flops(self) -> int:
        """The sum of all that was counted since the last `with`."""
        return sum(self.flop_counts["Global"].values()) if "Global" in self.flop_counts else 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """{name of a module, or "Global": {operator: operations}}."""
        return {place: dict(counts) for place, counts in self.flop_counts.items()}

    def get_table(self, depth: Any = None) -> Any:
        """The counts as text: a line for each module down to `depth`, and for each operator in it."""
        depth, total = self.depth if depth is None else depth, max(self.get_total_flops(), 1)
        lines = [("Module", "FLOP", "% Total")]
        for place in sorted(self.flop_counts, key=lambda place: (place != "Global", place)):
            level = 0 if place == "Global" else place.count(".") + 1
            if level > depth:
                continue
            counts = self.flop_counts[place]
            lines.append((" " * level + place, *_shown(sum(counts.values()), total)))
            lines += [(" " * level + f" - {op}", *_shown(count, total)) for op, count in counts.items()]
        widths = [max(len(line[column]) for line in lines) for column in range(3)]
        lines.insert(1, tuple("-" * width for width in widths))
        return "\n".join(f"{name:<{widths[0]}}  {count:>{widths[1]}}  {share:>{widths[2]}}"
                         for name, count, share in lines)

    def __enter__(self) -> Self:
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self._modules.watch()
        self._mode = _Counting(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._mode.__exit__(*exception)
        self._mode = None
        self._modules.leave_alone()
        if self.display:
            print(self.get_table(self.depth))


def _shown(count, total):
    power = min(max((len(str(count)) - 1) // 3, 0), len(_SUFFIXES) - 1)
    return f"{count / 1000 ** power:.3f}{_SUFFIXES[power]}" if power else str(count), f"{count / total:.2%}"
