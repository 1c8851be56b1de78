"""torch.ops: namespaces, operators and their overloads as objects."""
import ctypes
import os
from importlib import import_module
from types import ModuleType

from mindtorch import Tensor, overrides
from mindtorch._library import registry
from mindtorch._library.keys import DispatchKey, ExcludeDispatchKeyGuard, parse_key
from mindtorch.utils._pytree import tree_leaves

__all__ = ["OpOverload", "OpOverloadPacket", "ops", "overload_of"]


class OpOverload:
    """One overload of an operator, callable with the arguments of its schema."""

    def __init__(self, packet, operator):
        self._overloadpacket, self._operator = packet, operator
        self._schema = operator.schema
        self._overloadname = operator.schema.overload_name or "default"
        self._opname = packet.__name__
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__qualname__ = operator.qualname
        self.__module__ = packet.__module__

    def __call__(self, /, *args, **kwargs):
        try:
            return self._operator(args, kwargs)
        except RuntimeError:
            others = _others_with_a_handler(args, kwargs)
            if not others:
                raise
            return overrides.handle_torch_function(self, others, *args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='{self._overloadpacket}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self._overloadpacket}.{self._overloadname}"

    def __deepcopy__(self, memo=None):
        return self

    def __reduce__(self):
        return overload_of, (self._operator.qualname,)

    def name(self):
        """The name with its namespace and overload: "aten::add.Tensor"."""
        return self._operator.qualname

    @property
    def namespace(self):
        """The namespace: "aten"."""
        return self._schema.name.partition("::")[0]

    @property
    def overloadpacket(self):
        """The operator that this is an overload of."""
        return self._overloadpacket

    @property
    def tags(self):
        """The tags given with its definition."""
        return self._operator.tags

    @property
    def is_view(self):
        """Whether its result is a view of its first argument."""
        first = self._schema.arguments[0].alias_info if self._schema.arguments else None
        return first is not None and not first.is_write

    def has_kernel_for_dispatch_key(self, key):
        """Whether a kernel is registered for that very key."""
        return self._operator.kernel(parse_key(key)) is not None

    def redispatch(self, keys, /, *args, **kwargs):
        """The call, as from the outermost of `keys` on."""
        others = {key.name for key in DispatchKey if not keys.has(key)}
        with ExcludeDispatchKeyGuard(others):
            return self._operator(args, kwargs)


def _others_with_a_handler(args, kwargs):
    """The arguments of a failed call that are no tensors and have __torch_function__, such as proxies of torch.fx."""
    return [leaf for leaf in tree_leaves((args, kwargs))
            if not isinstance(leaf, Tensor) and hasattr(type(leaf), "__torch_function__")]


class OpOverloadPacket:
    """An operator; a call takes the first overload whose schema fits, in the order of their definitions."""

    def __init__(self, namespace, name):
        self._qualified_op_name = f"{namespace}::{name}"
        self._namespace = namespace
        self.__name__ = name
        self.__module__ = f"torch._ops.{namespace}"

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self):
        return self._qualified_op_name.replace("::", ".")

    def __hash__(self):
        return hash(self._qualified_op_name)

    def __eq__(self, other):
        return self is other

    def __deepcopy__(self, memo=None):
        return self

    def __reduce__(self):
        return _packet_of, (self._namespace, self.__name__)

    def __iter__(self):
        return iter(self.overloads())

    def __dir__(self):
        return sorted({*super().__dir__(), *self.overloads()})

    def overloads(self):
        """The overloads' names, "default" for the one without."""
        return [name or "default" for name in registry.overloads_of(self._qualified_op_name)]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"'{self}' can't have an overload name beginning with '__' and it has no attribute "
                                 f"{name} either.")
        overload = f".{name}" if name != "default" else ""
        operator = registry.find(self._qualified_op_name + overload)
        if operator is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        found = OpOverload(self, operator)
        setattr(self, name, found)
        return found

    def forget(self):
        """Look overloads up again."""
        for name, value in list(vars(self).items()):
            if isinstance(value, OpOverload):
                delattr(self, name)

    def __call__(self, /, *args, **kwargs):
        failures = []
        for name in self.overloads():
            operator = getattr(self, name)._operator
            try:
                bound = operator.binder.bind(args, kwargs)
            except RuntimeError as error:
                failures.append(error)
                continue
            return operator.dispatch(*bound)
        others = _others_with_a_handler(args, kwargs)
        if others:
            return overrides.handle_torch_function(self, others, *args, **kwargs)
        if len(failures) == 1:
            raise failures[0]
        raise RuntimeError("Overloaded torch operator invoked from Python failed to match any schema:\n"
                           + "\n\n".join(map(str, failures)) + "\n\n")


def _packet_of(namespace, name):
    return getattr(getattr(ops, namespace), name)


def overload_of(qualname):
    """The overload of "ns::name.overload", of "ns::name" the one named "default"."""
    name, _, overload = qualname.partition(".")
    return getattr(_packet_of(*name.split("::", 1)), overload or "default")


class _OpNamespace(ModuleType):
    """The operators of one namespace: torch.ops.aten."""

    __file__ = "torch.ops"

    def __init__(self, name):
        super().__init__(f"torch.ops.{name}")
        self.name = name
        registry.remember(self)

    def __repr__(self):
        return f"<module '{self.__name__}' from 'torch.ops'>"

    def __dir__(self):
        return registry.names_in(self.name)

    def __iter__(self):
        return iter(registry.names_in(self.name))

    def __getattr__(self, name):
        if (name.startswith("__") and name.endswith("__") and not registry.is_provided(self.name)) or (
                not registry.overloads_of(f"{self.name}::{name}")):
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        packet = OpOverloadPacket(self.name, name)
        setattr(self, name, packet)
        return packet

    def changed(self, namespace, name):
        """Called when the overloads of a name change."""
        packet = vars(self).get(name)
        if namespace == self.name and isinstance(packet, OpOverloadPacket):
            packet.forget()
            if not packet.overloads():
                delattr(self, name)


class _Ops(ModuleType):
    """torch.ops: creates namespaces on demand."""

    __file__ = "_ops.py"

    def __init__(self):
        super().__init__("torch.ops")
        self.loaded_libraries = set()
        self._modules = {}

    def __getattr__(self, name):
        if name in ("__path__", "__wrapped__"):         # what import and inspect ask of any module
            raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        if name in self._modules:
            import_module(self._modules[name])
        return namespace

    def import_on_use(self, namespaces, module):
        """Have a module that registers the operators of these namespaces imported when one of them is used."""
        self._modules.update(dict.fromkeys(namespaces, module))

    def __iter__(self):
        return iter([name for name, value in vars(self).items() if isinstance(value, _OpNamespace)])

    def load_library(self, path):
        """Load a shared library, whose static constructors may register operators. OSError on failure."""
        path = os.path.realpath(path) if os.path.dirname(path) else path
        try:
            ctypes.CDLL(path)
        except OSError as error:
            raise OSError(f"Could not load this library: {path}") from error
        self.loaded_libraries.add(path)


ops = _Ops()
import_module("mindtorch._library.aten")       # whose operators need the names above
import_module("mindtorch._library.profiler")
