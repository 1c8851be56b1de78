"""torch._subclasses.schema_check_mode: operators are held against what their schemas say of their arguments."""
from __future__ import annotations

from typing import Any, NamedTuple

from mindtorch import Tensor
from mindtorch.utils._python_dispatch import TorchDispatchMode
from mindtorch.utils._pytree import tree_leaves, tree_map

__all__ = ["Aliasing", "Mutation", "SchemaCheckMode"]


class Mutation(NamedTuple):
    """An operator that wrote to an argument."""

    op_name: str
    arg_name: str


class Aliasing(NamedTuple):
    """An operator whose result has the memory of an argument."""

    op_name: str
    arg_name: str
    output_number: str


class SchemaCheckMode(TorchDispatchMode):
    """Within it an operator raises RuntimeError that writes to an argument, or returns one's memory, unsaid.

    `ops` has the operators that ran, `mutated` what they wrote to, `aliasing` whose memory their results have.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[str] = []
        self.mutated: list[Mutation] = []
        self.aliasing: list[Aliasing] = []

    def reset_cache(self) -> None:
        """Forget what ran."""
        self.ops.clear()
        self.mutated.clear()
        self.aliasing.clear()

    def display_ops(self) -> None:
        """Print the operators that ran."""
        print(*self.ops, sep=",")

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        schema, kwargs = func._schema, kwargs or {}
        given = dict(zip((each.name for each in schema.positional), args, strict=False)) | kwargs
        before = tree_map(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, given)
        result = func(*args, **kwargs)
        self.ops.append(schema.name)
        results = [_memories(each) for each in (result if isinstance(result, tuple) else (result,))]
        for argument in schema.arguments:
            if argument.name not in given:
                continue
            label = "input" if argument.name == "self" else argument.name
            value = given[argument.name]
            if not all(map(_equal, tree_leaves(value), tree_leaves(before[argument.name]))):
                self.mutated.append(Mutation(schema.name, label))
                if not argument.is_write:
                    raise RuntimeError(f"Argument {label} is not defined as mutable but was mutated")
            shared = [number for number, memories in enumerate(results) if memories & _memories(value)]
            self.aliasing += [Aliasing(schema.name, label, f"output_{number}") for number in shared]
            if shared and argument.alias_info is None and not argument.type.of_list:
                raise RuntimeError(f"Argument {label} is not defined to alias output but was aliasing")
        return result


def _memories(value):
    """The storages of the tensors in a value that have elements."""
    return {leaf.untyped_storage().data_ptr() for leaf in tree_leaves(value)
            if isinstance(leaf, Tensor) and leaf.numel()}


def _equal(first, second):
    """Whether a tensor is as it was, in shape, strides and elements; NaN equals NaN."""
    if not isinstance(first, Tensor):
        return True
    return first.shape == second.shape and bool(((first == second) | ((first != first) & (second != second))).all())
