"""find_sparse_kernel: what takes the place of a function where one of its arguments is a sparse tensor."""
import functools
from types import FunctionType

import mindtorch
from mindtorch._core._gen import functions
from mindtorch._core.tensor import attributes, copy_cast
from mindtorch._ops.operators import ops
from mindtorch._sparse import products
from mindtorch._sparse.kernels import KERNELS
from mindtorch._sparse.tensors import is_sparse, refuse
from mindtorch._tensor import Tensor

# These functions in Cython also take sparse tensors: they use only what every tensor has.
_UNCHANGED = {*attributes.METHODS} | {f.__name__ for f in (*attributes.PROPERTIES.values(),
                                                          *attributes.GRADIENT_METHODS.values())}
_UNCHANGED |= {f.__name__ for accessors in attributes.GRADIENT_PROPERTIES.values() for f in accessors}
_UNCHANGED |= {f.__name__ for f in (copy_cast.detach, copy_cast.detach_, copy_cast.data, copy_cast.set_data)}
_UNCHANGED |= {"result_type", "can_cast", "is_same_size"}


@functools.cache
def _kernels():
    """The overridable functions that KERNELS means by its names -> their kernels."""
    found = {mindtorch.nn.functional.linear: products.linear}
    for name, kernel in KERNELS.items():
        for place in (Tensor, mindtorch, ops):
            function = vars(place).get(name)
            if function is not None:
                found[function.fget if isinstance(function, property) else function] = kernel
    for table, place in ((functions.FUNCTIONS, mindtorch), (functions.METHODS, Tensor)):
        found |= {vars(place)[alias]: KERNELS[name] for alias, name in table.items()
                  if isinstance(name, str) and name in KERNELS}
    return found


def _refusing(name):
    def run(*args, **kwargs):
        refuse(name, next(value for value in _flat((*args, *kwargs.values())) if is_sparse(value)))
    return run


def _flat(values):
    for value in values:
        yield from _flat(value) if isinstance(value, (list, tuple)) else (value,)


def find_sparse_kernel(function):
    """The kernel of a function, or of the method of that name; None where the function runs as it is.

    A function in Python runs as it is unless it has a kernel: those that it calls have theirs.
    """
    if isinstance(function, str):
        return KERNELS.get(function) or _refusing(function)
    kernel = _kernels().get(function)
    written_in_python = isinstance(getattr(function, "__wrapped__", function), FunctionType)
    if kernel is not None or written_in_python or function.__name__ in _UNCHANGED:
        return kernel
    return _refusing(function.__name__)

