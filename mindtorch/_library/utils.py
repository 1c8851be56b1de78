"""torch._library.utils: operators by their names, and questions about schemas."""
from mindtorch._library.libraries import parse_namespace
from mindtorch._library.overloads import overload_of
from mindtorch._library.schema import parse_schema

__all__ = ["is_builtin", "is_functional_schema", "is_tensor_like_type", "is_tensorlist_like_type", "lookup_op",
           "parse_namespace"]


def lookup_op(qualname):
    """The overload of "ns::name" or "ns::name.overload"; the one named "default" where none is given.

    Example:
        >>> from mindtorch._library.utils import lookup_op
        >>> lookup_op("aten::add.Tensor")
        <OpOverload(op='aten.add', overload='Tensor')>
    """
    parse_namespace(qualname)
    return overload_of(qualname)


def is_builtin(op):
    """Whether an overload is one of torch's own."""
    return op.namespace in ("aten", "prim", "prims")


def is_functional_schema(schema, *, allow_valid_view=False):
    """Whether the operator writes to no argument, and returns new tensors alone, or with `allow_valid_view` a view.

    The schema is one of an overload, or text. A view is valid where the first argument alone, and one result, alias.
    """
    if not hasattr(schema, "returns") or isinstance(schema, str):
        schema = parse_schema(str(schema))
    if any(argument.alias_info is not None and argument.alias_info.is_write for argument in schema.arguments):
        return False
    if not schema.returns:
        return False
    views = [place for place, returned in enumerate(schema.returns) if returned.alias_info is not None]
    if not views:
        return True
    aliased = [place for place, argument in enumerate(schema.arguments) if argument.alias_info is not None]
    return allow_valid_view and aliased == [0] and views == [0] and len(schema.returns) == 1


def _required(kind):
    """The type of what an optional argument is where it is given."""
    return kind.inner if kind.kind == "optional" else kind


def is_tensor_like_type(typ):
    """Whether an argument of that type is a tensor, or where it is optional None."""
    return _required(typ).base == "Tensor"


def is_tensorlist_like_type(typ):
    """Whether an argument of that type is a list of tensors, in which, and in whose place, None may stand."""
    return _required(typ).kind == "list" and is_tensor_like_type(_required(typ).inner)
