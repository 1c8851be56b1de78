"""The number of threads of NumPy's BLAS, got and set by functions of the library. The BLAS of the compiled kernels gets
the same number."""
import ctypes
from functools import cache

from numpy._core import _multiarray_umath

from mindtorch._cpu import backend

# (set, get) as the libraries name them: OpenBLAS in its builds, with 64-bit integers and NumPy's prefix; MKL; BLIS.
_NAMES = [(f"{prefix}openblas_set_num_threads{suffix}", f"{prefix}openblas_get_num_threads{suffix}")
          for prefix in ("scipy_", "") for suffix in ("64_", "", "_64")]
_NAMES += [("MKL_Set_Num_Threads", "MKL_Get_Max_Threads"), ("bli_thread_set_num_threads", "bli_thread_get_num_threads")]


@cache
def _functions():
    """(set, get) of the library that NumPy is linked with; None where it has neither name."""
    library = ctypes.CDLL(_multiarray_umath.__file__)       # looks names up in what the module depends on, too
    for set_name, get_name in _NAMES:
        if hasattr(library, set_name) and hasattr(library, get_name):
            setter, getter = getattr(library, set_name), getattr(library, get_name)
            setter.restype, setter.argtypes = None, [ctypes.c_int]
            getter.restype, getter.argtypes = ctypes.c_int, []
            return setter, getter
    return None


def set_blas_threads(count):
    """Set the number of threads; whether the library has a function for that."""
    functions = _functions()
    backend.set_blas_threads(count)
    if functions is not None:
        functions[0](count)
    return functions is not None


def blas_threads():
    """The number of threads; None where the library has no function for that."""
    functions = _functions()
    return None if functions is None else functions[1]()
