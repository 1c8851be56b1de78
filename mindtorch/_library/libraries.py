"""torch.library.Library: definitions and kernels that live as long as the library that they were made with."""
import sys

from mindtorch._library import fake, registry
from mindtorch._library.keys import DispatchKey, DispatchKeySet, parse_key
from mindtorch._library.overloads import OpOverload
from mindtorch._library.schema import parse_name, parse_schema

__all__ = ["Library", "parse_namespace", "parse_qualname"]

_homes = {}             # namespace -> (library, where it was made): one DEF each
_RESERVED = ("prim",)
_ALIAS_ANALYSIS = ("", "FROM_SCHEMA", "CONSERVATIVE")


def parse_namespace(qualname):
    """("ns", "name") of "ns::name"; ValueError for another form."""
    names = qualname.split("::")
    if len(names) != 2:
        raise ValueError(f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname '
                         "passed to the torch.library APIs must consist of a namespace and a name, e.g. aten::sin")
    return names[0], names[1]


def parse_qualname(qualname):
    """What parse_namespace gives. ValueError for a name with an overload, too."""
    namespace, name = parse_namespace(qualname)
    if "." in name:
        raise ValueError(f"The torch.library.custom_op APIs do not handle overloads, i.e. operator names with '.' in "
                         f"them. Please name your operator something like {qualname.replace('.', '_')}. Got: "
                         f"{qualname}")
    return namespace, name


class Library:
    """A block of definitions and kernels in one namespace.

    kind "DEF" is the namespace's own, of which there is one; "FRAGMENT" adds definitions; "IMPL" adds kernels, for
    `dispatch_key` where it is given. What is registered with it goes when the library is destroyed. Kernels of CPU and
    PrivateUse1 (the NPU), Meta, the composite ones, Autograd and Autocast are called; those of other devices are
    kept.

    Arguments:
        ns: the namespace
        kind: "DEF" for a new namespace, "IMPL" or "FRAGMENT" for one that exists
        dispatch_key: the default key of `impl`, such as "CPU"

    Example:
        >>> library = torch.library.Library("example_library", "DEF")
        >>> _ = library.define("thrice(Tensor x) -> Tensor")
        >>> library.impl("thrice", lambda x: 3 * x, "CompositeExplicitAutograd")
        >>> torch.ops.example_library.thrice(torch.ones(2))
        tensor([3., 3.])
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._key = parse_key(dispatch_key) if dispatch_key else ""
        self._op_defs, self._op_impls, self._alive = [], [], True
        if kind == "DEF":
            self._check_owner()

    def _check_owner(self):
        frame = sys._getframe(2)
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        home = "mindtorch" if registry.is_provided(self.ns) else _homes.get(self.ns)
        if home is not None:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {self.ns}; please put all of your "
                "definitions in a single TORCH_LIBRARY block.  If you were trying to specify implementations, consider "
                "using TORCH_LIBRARY_IMPL (which can be duplicated).  If you really intended to define operators for a "
                "single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to explicitly indicate "
                f"this.  Previous registration of TORCH_LIBRARY was registered at {home}; latest registration was "
                f"registered at {place}")
        _homes[self.ns] = place

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def __del__(self):
        if vars(self).get("_alive"):
            self._destroy()

    def _check_alive(self):
        if not self._alive:
            raise AssertionError("Library object has been destroyed")

    def define(self, schema, alias_analysis="", *, tags=()):
        """Define "name(Tensor x) -> Tensor"; returns the name. RuntimeError for what is no schema, or is there."""
        self._check_alive()
        if alias_analysis not in _ALIAS_ANALYSIS:
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            name = schema.split("(")[0]
            raise RuntimeError(f'def("{name}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  All '
                               "def()s should be placed in the (unique) TORCH_LIBRARY block for their namespace.")
        parsed = parse_schema(schema)
        namespace, _, _ = parsed.name.rpartition("::")
        if namespace not in ("", self.ns):
            raise RuntimeError(
                f"Explicitly provided namespace ({namespace}) in schema string does not match namespace of enclosing "
                f"TORCH_LIBRARY block ({self.ns}).  Move this definition to the (unique) TORCH_LIBRARY block "
                "corresponding to this namespace (and consider deleting the namespace from your schema string.)")
        if not namespace:
            parsed = parse_schema(f"{self.ns}::{schema.lstrip()}")
        registry.overloads_of(parsed.name)
        operator = registry.Operator(parsed, tags)
        registry.register(operator)
        self._op_defs.append(operator.qualname)
        return schema.split("(")[0].split(".")[0].strip()

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=True):
        """Make `fn` the kernel of an operator ("name" or "name.overload", or an OpOverload) for a dispatch key.

        Without a key here or in the library it is CompositeImplicitAutograd: made of operators that are recorded.
        """
        self._check_alive()
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = parse_key(dispatch_key) if dispatch_key else self._key or "CompositeImplicitAutograd"
        qualname = self._resolved(op_name)
        self._refuse(qualname, key)
        kernel = _with_keyset(fn, key) if with_keyset else fn
        stack = registry.kernels_of(qualname).setdefault(key, [])
        if stack and not allow_override:
            raise RuntimeError(f"This is not allowed since there's already a kernel registered from python overriding "
                               f"{qualname.partition('::')[2]}'s behavior for {key} dispatch key and {self.ns} "
                               "namespace.")
        stack.append(kernel)
        self._op_impls.append((stack, kernel))

    def _resolved(self, op_name):
        """"ns::name.overload" of an operator, without the overload if that is the one named "default"."""
        if isinstance(op_name, OpOverload):
            return op_name.name()
        if not isinstance(op_name, str):
            raise RuntimeError("impl should be passed either a name or an OpOverload object as the first argument, "
                               f"got {type(op_name)}")
        name, overload = parse_name(op_name)
        namespace, _, name = name.rpartition("::")
        if namespace not in ("", self.ns):
            raise RuntimeError(
                f'impl("{op_name}", ...): Explicitly provided namespace ({namespace}) in operator name does not match '
                f"namespace of enclosing TORCH_LIBRARY block ({self.ns}).  Move this definition to the TORCH_LIBRARY "
                "block corresponding to this namespace (and consider deleting the namespace from your schema string.)")
        return f"{self.ns}::{name}" if overload in ("", "default") else f"{self.ns}::{name}.{overload}"

    def _refuse(self, qualname, key):
        """torch's own operators are compiled functions, which a kernel from outside would not reach."""
        if registry.is_provided(self.ns) and key != "Meta":
            registry.overloads_of(qualname.partition(".")[0])
            if "CompositeImplicitAutograd" in registry.kernels_of(qualname):
                raise NotImplementedError(f"mindtorch's own operator {qualname} cannot be given another kernel for "
                                          f"{key}")

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=True):
        """Make `fn` the fake kernel of an operator: calls with tensors on the meta device run it."""
        self._check_alive()
        self._op_impls.append(fake.register(self._resolved(op_name), fn))

    def _register_torch_dispatch_rule(self, op_name, torch_dispatch_class, fn):
        """Call `fn` for an operator in place of the __torch_dispatch__ of a class."""
        from mindtorch._library import torch_dispatch
        self._check_alive()
        self._op_impls.append(torch_dispatch.register_rule(self._resolved(op_name), torch_dispatch_class, fn))

    def _destroy(self):
        """Remove the definitions and kernels of this library."""
        self._alive = False
        for stack, kernel in self._op_impls:
            if any(known is kernel for known in stack):
                stack.remove(kernel)
        for qualname in self._op_defs:
            registry.unregister(qualname)
        self._op_impls, self._op_defs = [], []
        if self.kind == "DEF":
            _homes.pop(self.ns, None)


def _with_keyset(fn, key):
    """A kernel that takes the dispatch keys as first argument."""
    keys = DispatchKeySet(DispatchKey[key])
    return lambda *args, **kwargs: fn(keys, *args, **kwargs)
