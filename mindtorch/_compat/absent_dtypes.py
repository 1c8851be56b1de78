"""Dtypes of torch that mindtorch does not have, as constants: programs name them in tables and comparisons."""

import enum

__all__ = ["AbsentDtype", "Tag"]

NAMES = ("complex32", "float4_e2m1fn_x2", "qint8", "qint32", "quint2x4", "quint4x2", "quint8",
         *(f"{kind}{bits}" for kind in ("int", "uint") for bits in range(1, 8)))


class AbsentDtype:
    """`torch.quint8` and its like. It equals only itself, and functions refuse it: it is no torch.dtype."""

    refuses = True

    def __init__(self, name):
        self.__name__ = name

    def __repr__(self):
        return f"torch.{self.__name__}"

    def __reduce__(self):
        return self.__name__


globals().update({name: AbsentDtype(name) for name in NAMES})
chalf = complex32                       # noqa: F821 - one of NAMES

Tag = enum.IntEnum("Tag", (
    "core", "cudagraph_unsafe", "data_dependent_output", "dynamic_output_shape", "flexible_layout", "generated",
    "inplace", "inplace_view", "maybe_aliasing_or_mutating", "needs_contiguous_strides", "needs_exact_strides",
    "needs_fixed_stride_order", "nondeterministic_bitwise", "nondeterministic_seeded", "out", "out_variant",
    "pointwise", "pt2_compliant_tag", "reduction", "view_copy"), start=0, module=__name__)
Tag.__doc__ = """What operators of `torch.library` can be marked with, by `tags=`; nothing here acts on a tag.

Example:
    >>> torch.Tag.pointwise.name
    'pointwise'
"""
