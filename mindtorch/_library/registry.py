"""The registry of operators and kernels, and the dispatch of calls."""
import threading
import weakref

from mindtorch._compat.absent_dtypes import Tag
from mindtorch._core import hooks
from mindtorch._core.autograd.node import is_grad_enabled
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._core.tensor.torch_dispatch import is_dispatched
from mindtorch._library.binding import Binder
from mindtorch._library.fake import fake_of
from mindtorch._library.keys import backend_of, casting, excluded

__all__ = ["Operator", "fallthrough", "find", "kernels_of", "overloads_of", "provide", "register", "tensors_in"]

_operators = {}         # "ns::name.overload" -> Operator
_kernels = {}           # the same -> {key: kernels, the last of which is in force}; they may come before the operator
_packets = {}           # "ns::name" -> overloads, in the order of their definitions
_providers = {}         # namespace -> function that gives the schemas and kernels of a name, for mindtorch's own
_lock = threading.RLock()           # an operator of ours is made when it is first asked for, by any thread
_changes = weakref.WeakSet()        # caches of operators, which are cleared when an operator is added


def fallthrough(*args, **kwargs):
    """A kernel that makes calls skip its key.

    Arguments:
        *args: not read
        **kwargs: not read

    Example:
        >>> library = torch.library.Library("example_fallthrough", "DEF")
        >>> _ = library.define("kept(Tensor x) -> Tensor")
        >>> library.impl("kept", torch.library.fallthrough_kernel, "Autograd")
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Operator:
    """One overload: its schema, and how it is called."""

    def __init__(self, schema, tags=()):
        self.schema, self.qualname = schema, schema.qualname
        self.tags = [tags] if isinstance(tags, Tag) else list(tags)
        self.binder = Binder(schema)
        self.kernels = kernels_of(self.qualname)
        returns = schema.returns
        self.result_is_tensor = [r.type.kind == "base" and r.type.base == "Tensor" for r in returns]

    def kernel(self, key):
        """The current kernel for exactly that key or None."""
        stack = self.kernels.get(key)
        return stack[-1] if stack else None

    def backend_kernel(self, backend):
        """The kernel for a device: its own, or one that is for all of them."""
        for key in (backend, "CompositeExplicitAutograd", "CompositeImplicitAutograd"):
            found = self.kernel(key) or (fake_of(self.qualname) if key == "Meta" else None)
            if found is not None and found is not fallthrough:
                return found
        return None

    def autograd_kernel(self, backend):
        """The autograd kernel; `fallthrough` if nothing is recorded, None if there is none."""
        found = self.kernel(f"Autograd{backend}")
        if found is None and self.kernel(backend) is None and self.kernel("CompositeExplicitAutograd") is None:
            found = self.kernel("CompositeImplicitAutograd")
        return found if found is not None else self.kernel("Autograd")

    def __call__(self, args, kwargs):
        """Binds the arguments and runs the kernel for them."""
        return self.dispatch(*self.binder.bind(args, kwargs))

    def dispatch(self, args, kwargs):
        """The kernel of bound arguments, from autocast down."""
        backend = backend_of(list(tensors_in([*args, *kwargs.values()])), [*args, *kwargs.values()])
        passed = excluded()
        if casting(backend) and f"Autocast{backend}" not in passed:
            found = self.kernel(f"Autocast{backend}")
            if found is not None and found is not fallthrough:
                return self.checked(found(*args, **kwargs))
        if f"Autograd{backend}" not in passed:
            found = self.autograd_kernel(backend)
            if found is None:
                return self._unrecorded(backend, args, kwargs)
            if found is not fallthrough:
                return self.checked(found(*args, **kwargs))
        return self.run(backend, args, kwargs)

    def run(self, backend, args, kwargs):
        """The device's own kernel. NotImplementedError where there is none."""
        if not is_provided(self.schema.name.partition("::")[0]) and (
                is_dispatched() or any(is_dispatched(tensor) for tensor in tensors_in([*args, *kwargs.values()]))):
            return self.checked(hooks.call_torch_dispatch(self.qualname, args, kwargs))
        found = self.backend_kernel(backend)
        if found is None:
            raise NotImplementedError(self._no_kernel(backend))
        return self.checked(found(*args, **kwargs))

    def _no_kernel(self, backend):
        if backend == "Undefined":
            return ("There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but "
                    f"no fallback function is registered for schema {self.schema.name}. This usually means that this "
                    "function requires a non-empty list of Tensors, or that you (the operator writer) forgot to "
                    "register a fallback function.")
        known = ", ".join(key for key, stack in self.kernels.items() if stack)
        shown = "NPU" if backend == "PrivateUse1" else backend
        return (f"Could not run '{self.qualname}' with arguments from the '{shown}' backend. This could be because the "
                "operator doesn't exist for this backend, or was omitted during the selective/custom build process (if "
                f"using custom build). '{self.qualname}' is only available for these backends: [{known}].")

    def _unrecorded(self, backend, args, kwargs):
        """A device kernel of an operator without an autograd kernel."""
        from mindtorch._library.autograd import warn_in_backward
        result = self.run(backend, args, kwargs)
        given = list(tensors_in([*args, *kwargs.values()]))
        if is_grad_enabled() and any(tensor.requires_grad for tensor in given):
            written = {id(tensor) for tensor in given}
            return warn_in_backward(self, given, result, written)
        return result

    def checked(self, result):
        """The result of a kernel in the form of the schema: None, one value or a tuple."""
        count = len(self.result_is_tensor)
        if count == 1:
            return self._checked_one(result, self.result_is_tensor[0])
        if count == 0:
            if result is not None:
                raise RuntimeError(f"Expected PythonKernelHolder for {self.qualname} to return None but it returned "
                                   "something else instead.")
            return None
        if not isinstance(result, (tuple, list)):
            raise TypeError(f"Object of type '{type(result).__name__}' is not an instance of 'sequence'")
        if len(result) != count:
            raise RuntimeError(f"Expected PythonKernelHolder for {self.qualname} to return {count} values but it "
                               f"returned {len(result)}.")
        values = [self._checked_one(*pair) for pair in zip(result, self.result_is_tensor, strict=True)]
        return result if isinstance(result, tuple) else tuple(values)

    @staticmethod
    def _checked_one(value, is_tensor):
        if is_tensor and not isinstance(value, TensorBase) and value is not None:
            raise RuntimeError(f"Unable to cast {value} to Tensor")
        return value


def tensors_in(values):
    """The tensors among arguments, those in lists too."""
    for value in values:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (item for item in value if isinstance(item, TensorBase))


def kernels_of(qualname):
    """The kernels of an operator, whether or not it has been defined."""
    return _kernels.setdefault(qualname, {})


def provide(namespace, source):
    """Let `source(name)` give the (schema, kernel) pairs of a name, and source.names() them all, in a namespace."""
    _providers[namespace] = source


def register(operator):
    """Add an operator. RuntimeError where there is one of that name and overload."""
    name = operator.schema.name
    if operator.qualname in _operators:
        raise RuntimeError(
            f"Tried to register an operator ({operator.schema}) with the same name and overload name multiple times. "
            "Each overload's schema should only be registered with a single call to def().")
    _operators[operator.qualname] = operator
    _packets.setdefault(name, []).append(operator.schema.overload_name)
    _notify(name)


def unregister(qualname):
    """Take an operator away; its kernels are its libraries'."""
    operator = _operators.pop(qualname)
    name = operator.schema.name
    _packets[name].remove(operator.schema.overload_name)
    if not _packets[name]:
        del _packets[name]
    _notify(name)


def _notify(name):
    for namespace in list(_changes):
        namespace.changed(*name.split("::", 1))


def remember(namespace):
    """Have `namespace.changed(ns, name)` called when the overloads of a name change."""
    _changes.add(namespace)


def overloads_of(name):
    """The overloads of "ns::name" in the order of their definitions; empty for what does not exist."""
    with _lock:
        if name not in _packets:
            namespace, _, short = name.partition("::")
            source = _providers.get(namespace)
            for schema, kernel in source(short) if source else ():
                operator = Operator(schema)
                operator.kernels.setdefault("CompositeImplicitAutograd", []).append(kernel)
                register(operator)
        return list(_packets.get(name, ()))


def find(qualname):
    """The operator of "ns::name.overload", None where there is none."""
    name = qualname.partition(".")[0]
    overloads_of(name)
    return _operators.get(qualname)


def names_in(namespace):
    """The names of a namespace's operators."""
    own = [name.partition("::")[2] for name in _packets if name.startswith(namespace + "::")]
    source = _providers.get(namespace)
    return sorted({*own, *(source.names() if source else ())})


def is_provided(namespace):
    """Whether it is a namespace of mindtorch's own operators."""
    return namespace in _providers
