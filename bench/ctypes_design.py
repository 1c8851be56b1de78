"""The design that mindtorch replaces: Python makes the same calls with ctypes.

A binding of this kind is quickly written and was the usual one: every ABI function is a ctypes function, addresses are
integers, each descriptor is a Python object that owns its handle, and shapes become ctypes arrays call by call. It does
no more than mindtorch does: no dtype promotion, no broadcasting, one stream, results from a free list.
"""
import ctypes
from pathlib import Path

ACL_FLOAT = 0
ACL_FORMAT_ND = 2
HUGE_FIRST = 0
FLOAT_BYTES = 4
ALIGNMENT = 512

_P = ctypes.c_void_p
_U64 = ctypes.c_uint64
_I32 = ctypes.c_int


class Toolkit:
    """The toolkit's libraries with the prototypes that the ops below need."""

    def __init__(self, root):
        lib64 = Path(root) / "lib64"
        self.ascendcl, self.nnopbase, self.opapi = (
            ctypes.CDLL(str(lib64 / f"lib{name}.so"), ctypes.RTLD_GLOBAL) for name in ("ascendcl", "nnopbase", "opapi"))
        self.nnopbase.aclCreateTensor.restype = _P
        self.nnopbase.aclCreateTensor.argtypes = [_P, _U64, _I32, _P, ctypes.c_int64, _I32, _P, _U64, _P]
        self.nnopbase.aclCreateScalar.restype = _P
        self.nnopbase.aclCreateScalar.argtypes = [_P, _I32]
        self.nnopbase.aclCreateIntArray.restype = _P
        self.nnopbase.aclCreateIntArray.argtypes = [_P, _U64]
        for name in ("aclDestroyTensor", "aclDestroyScalar", "aclDestroyIntArray"):
            getattr(self.nnopbase, name).argtypes = [_P]
        self.ascendcl.aclrtMalloc.argtypes = [ctypes.POINTER(_P), ctypes.c_size_t, _I32]
        self.ascendcl.aclrtFree.argtypes = [_P]
        self._op("aclnnAdd", _P, _P, _P, _P)
        self._op("aclnnRelu", _P, _P)
        self._op("aclnnMm", _P, _P, _P, ctypes.c_int8)
        self._op("aclnnReduceSum", _P, _P, ctypes.c_bool, _I32, _P)

    def _op(self, name, *arguments):
        getattr(self.opapi, f"{name}GetWorkspaceSize").argtypes = [*arguments, ctypes.POINTER(_U64), ctypes.POINTER(_P)]
        getattr(self.opapi, name).argtypes = [_P, _U64, _P, _P]


def check(status, name):
    if status != 0:
        raise RuntimeError(f"{name} failed: {status}")


class Memory:
    """Device memory; freed blocks are kept by size."""

    def __init__(self, toolkit):
        self.toolkit = toolkit
        self.free = {}
        self.owned = []

    def take(self, nbytes):
        blocks = self.free.setdefault(nbytes, [])
        if blocks:
            return blocks.pop()
        address = _P()
        size = -(-nbytes // ALIGNMENT) * ALIGNMENT
        check(self.toolkit.ascendcl.aclrtMalloc(ctypes.byref(address), size, HUGE_FIRST), "aclrtMalloc")
        self.owned.append(address.value)
        return address.value

    def give_back(self, address, nbytes):
        self.free.setdefault(nbytes, []).append(address)

    def close(self):
        for address in self.owned:
            check(self.toolkit.ascendcl.aclrtFree(address), "aclrtFree")
        self.owned.clear()
        self.free.clear()


class Descriptor:
    """One handle of libnnopbase."""

    def __init__(self, handle, destroy):
        self.handle = handle
        self.destroy = destroy

    def __enter__(self):
        return self.handle

    def __exit__(self, *_):
        check(self.destroy(self.handle), self.destroy.__name__)


class Tensor:
    """A contiguous float32 tensor on the device."""

    def __init__(self, memory, shape):
        self.memory = memory
        self.shape = tuple(shape)
        self.nbytes = FLOAT_BYTES
        for size in self.shape:
            self.nbytes *= size
        self.address = memory.take(self.nbytes)

    def __del__(self):
        self.memory.give_back(self.address, self.nbytes)

    def strides(self):
        strides, step = [], 1
        for size in reversed(self.shape):
            strides.insert(0, step)
            step *= size
        return strides

    def descriptor(self):
        ndim = len(self.shape)
        dims = (ctypes.c_int64 * ndim)(*self.shape)
        strides = (ctypes.c_int64 * ndim)(*self.strides())
        base = self.memory.toolkit.nnopbase
        handle = base.aclCreateTensor(dims, ndim, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims, ndim, self.address)
        return Descriptor(handle, base.aclDestroyTensor)


class Ops:
    """Four ops on a stream, given as an integer."""

    def __init__(self, toolkit, memory, stream, workspace_bytes=1 << 16):
        self.toolkit, self.memory, self.stream = toolkit, memory, stream
        self.workspace = memory.take(workspace_bytes)

    def _launch(self, name, *arguments):
        size, executor = _U64(), _P()
        opapi = self.toolkit.opapi
        check(getattr(opapi, f"{name}GetWorkspaceSize")(*arguments, ctypes.byref(size), ctypes.byref(executor)), name)
        workspace = self.workspace if size.value else None
        check(getattr(opapi, name)(workspace, size.value, executor, self.stream), name)

    def add(self, x, y, alpha=1.0):
        out = Tensor(self.memory, x.shape)
        base = self.toolkit.nnopbase
        value = ctypes.c_float(alpha)
        scalar = Descriptor(base.aclCreateScalar(ctypes.byref(value), ACL_FLOAT), base.aclDestroyScalar)
        with x.descriptor() as a, y.descriptor() as b, scalar as c, out.descriptor() as result:
            self._launch("aclnnAdd", a, b, c, result)
        return out

    def relu(self, x):
        out = Tensor(self.memory, x.shape)
        with x.descriptor() as a, out.descriptor() as result:
            self._launch("aclnnRelu", a, result)
        return out

    def mm(self, x, y):
        out = Tensor(self.memory, (x.shape[0], y.shape[1]))
        with x.descriptor() as a, y.descriptor() as b, out.descriptor() as result:
            self._launch("aclnnMm", a, b, result, 0)
        return out

    def sum(self, x):
        out = Tensor(self.memory, ())
        base = self.toolkit.nnopbase
        dims = (ctypes.c_int64 * len(x.shape))(*range(len(x.shape)))
        array = Descriptor(base.aclCreateIntArray(dims, len(dims)), base.aclDestroyIntArray)
        with x.descriptor() as a, array as d, out.descriptor() as result:
            self._launch("aclnnReduceSum", a, d, False, ACL_FLOAT, result)
        return out
