"""Tracing: runs a function or module once on proxies and records the operations as a graph."""
from __future__ import annotations

import builtins
import contextlib
import copy
import functools
import inspect
import math
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType
from typing import Any, Self

from mindtorch import Tensor
from mindtorch.fx.graph import Graph
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.node import map_aggregate
from mindtorch.fx.proxy import ParameterProxy, Proxy, TracerBase
from mindtorch.nn import Module, Parameter, Sequential

__all__ = ["ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]

_tracing = 0            # calls of Tracer.trace under way
_wrapped = {}           # (id of globals, name) -> globals: functions that are recorded as calls, not traced through


def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Have calls of a function recorded as one node. For module scope: wrap("name") or @wrap.

    NotImplementedError elsewhere.

    Arguments:
        fn_or_name: a function of this module, or its name

    Example:
        >>> def total(values):              # would need to know how many there are
        ...     return sum(float(value) for value in values)
        >>> torch.fx.wrap("total")
        'total'
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _assert_is_none(value, msg):
    if value is not None:
        raise AssertionError(msg)


def _first_proxy(args, kwargs):
    found = []
    map_aggregate((args, kwargs), lambda a: found.append(a) if isinstance(a, Proxy) else a)
    return found[0] if found else None


def _recorded(function):
    """`function`, wrapped so that calls with proxies become nodes."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        proxy = _first_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made
    call._recorded = True
    return call


@contextlib.contextmanager
def _count_tracing():
    global _tracing
    _tracing += 1
    try:
        yield
    finally:
        _tracing -= 1


def is_fx_tracing():
    """Whether a function or module is being traced."""
    return _tracing > 0


_proxyable_classes = set()


class ProxyableClassMeta(type):
    """A metaclass: where an argument of a class's constructor is a proxy, the call is recorded as a node.

    Arguments:
        name: the name of the class
        bases: its bases
        attrs: its attributes

    Example:
        >>> class Pair(metaclass=torch.fx.ProxyableClassMeta):
        ...     def __init__(self, left, right):
        ...         self.left, self.right = left, right
        >>> def total(x, y):
        ...     pair = Pair(x, y)
        ...     return pair.left + pair.right
        >>> torch.fx.symbolic_trace(total)(torch.ones(2), torch.ones(2))
        tensor([2., 2.])
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes.add(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _first_proxy(args, kwargs) if _tracing else None
        if proxy is None:
            return super().__call__(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)


class _Patches:
    """Replaces names while a function is traced, and restores them."""

    def __init__(self) -> None:
        self.undone, self.seen = [], set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        for undo in reversed(self.undone):
            undo()

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """setattr until the end."""
        own = vars(owner)
        self.undone.append(functools.partial(setattr, owner, name, own[name]) if name in own
                           else functools.partial(delattr, owner, name))
        setattr(owner, name, value)

    def entry(self, names: Any, name: str, value: Any) -> None:
        """names[name] = value until the end."""
        if name in names:
            self.undone.append(functools.partial(names.__setitem__, name, names[name]))
        else:
            self.undone.append(functools.partial(names.pop, name))
        names[name] = value

    def functions_in(self, names: Any, wanted: Any) -> None:
        """Record the functions of `wanted` (ids) that a namespace has, once."""
        if id(names) not in self.seen:
            self.seen.add(id(names))
            for name, value in list(names.items()):
                if not name.startswith("_") and callable(value) and id(value) in wanted:
                    self.entry(names, name, _recorded(value))

    def wrapped_functions(self) -> None:
        """Records calls of functions given to wrap()."""
        for (_, name), names in list(_wrapped.items()):
            function = names.get(name, getattr(builtins, name, None))
            if function is not None and not hasattr(function, "_recorded"):
                self.entry(names, name, _recorded(function))


class Tracer(TracerBase):
    """Makes a Graph of a module or function: `Tracer().trace(root)`.

    autowrap_modules: modules such as math, whose functions are recorded as calls where the traced code uses them as
    globals; autowrap_functions: single ones. Modules of torch.nn are leaves: one node, not traced through.

    Arguments:
        autowrap_modules: modules whose functions are recorded as calls
        autowrap_functions: functions that are recorded as calls
        param_shapes_constant: whether the shapes of parameters are constants of the graph

    Example:
        >>> class Whole(torch.fx.Tracer):
        ...     def is_leaf_module(self, module, name):
        ...         return True
        >>> graph = Whole().trace(torch.nn.Sequential(torch.nn.Linear(2, 2)))
        >>> [node.target for node in graph.nodes]
        ['input', '0', 'output']
    """

    def __init__(self, autowrap_modules: Any = (math,), autowrap_functions: tuple[Callable[..., Any], ...] = (),
                 param_shapes_constant: bool = False) -> None:
        super().__init__()
        functions = [value for module in autowrap_modules for name, value in vars(module).items()
                     if not name.startswith("_") and callable(value)]
        self._autowrap_function_ids = {*map(id, functions), *map(id, autowrap_functions)}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.root = self.root_module_name = None
        self.module_stack = OrderedDict()
        self.tensor_attrs = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        made = memo[id(self)] = type(self).__new__(type(self))
        for name, value in vars(self).items():          # modules cannot be copied, and need not be
            made.__dict__[name] = copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
        return made

    # --- arguments ----------------------------------------------------------------------------------------------------

    def get_fresh_qualname(self, prefix: str) -> str:
        """The first of prefix0, prefix1 ... that the root has no attribute of."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_arg(self, a: Any) -> Any:
        """TracerBase's, and attributes of the module for parameters, buffers and other tensors."""
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            return self.create_node("get_attr", self._path_of_tensor_(a), (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(item) for item in a), {})
        if type(a) in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _path_of_tensor_(self, tensor):
        for name, buffer in self.root.named_buffers():
            if buffer is tensor:
                return name
        if id(tensor) not in self.tensor_attrs:
            name = self.get_fresh_qualname("_tensor_constant")
            setattr(self.root, name, tensor)
            self.tensor_attrs[id(tensor)] = name, tensor
        return self.tensor_attrs[id(tensor)][0]

    # --- modules ------------------------------------------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of `m` is one node: modules of torch.nn are, containers are not."""
        home = m.__module__
        return home.startswith("mindtorch.nn.") and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a module below the root. NameError for one that is not there."""
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls `m`: a leaf module becomes a node, any other module is traced."""
        path = self.path_of_module(m)
        before = OrderedDict(self.module_stack)
        self.module_stack[path] = path, type(m)
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack = before

    def create_proxy(self, kind: Any, target: Tensor, args: Any, kwargs: Any, name: str | None = None,
                     type_expr: Any = None, proxy_factory_fn: Any = None) -> Any:
        """TracerBase's, and a note of the modules around."""
        proxy = super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        if self.module_stack:
            proxy.node.meta["nn_module_stack"] = OrderedDict(self.module_stack)
        return proxy

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """The value of a module's attribute in traced code: a proxy if it is a parameter (or buffer: TracerBase)."""
        known = self.root.named_parameters() if isinstance(attr_val, Parameter) else (
            self.root.named_buffers() if self.proxy_buffer_attributes and isinstance(attr_val, Tensor) else ())
        for name, tensor in known:
            if tensor is attr_val:
                if name not in parameter_proxy_cache:
                    parameter_proxy_cache[name] = self.create_proxy(
                        "get_attr", name, (), {}, proxy_factory_fn=functools.partial(
                            self._parameter_proxy_, name, tensor) if self.param_shapes_constant else None)
                return parameter_proxy_cache[name]
        return attr_val

    def _parameter_proxy_(self, name, tensor, node):
        return ParameterProxy(self, node, name, tensor)

    # --- tracing ------------------------------------------------------------------------------------------------------

    def create_args_for_root(self, root_fn: Callable[..., Any], is_module: bool,
                             concrete_args: dict[str, Any] | tuple[Any, ...] | None = None) -> tuple[Any, list[Any]]:
        """(the function, its arguments: the module and proxies). concrete_args: values for some of the parameters."""
        plain = inspect.unwrap(root_fn)
        code = plain.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        if is_module and not count:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        args = [self.root if is_module and place == 0 else self._input_(name, plain, concrete_args)
                for place, name in enumerate(code.co_varnames[:count])]
        for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
            if code.co_flags & flag:
                name = code.co_varnames[len(args)]
                args.append(self.create_proxy("placeholder", f"{stars}{name}", (), {}))
        return (root_fn if len(args) == code.co_argcount else _positional(plain, len(args))), args

    def _input_(self, name, function, concrete_args):
        parameter = inspect.signature(function).parameters[name]
        default = () if parameter.default is parameter.empty else (parameter.default,)
        if concrete_args is not None and name in concrete_args:
            return self._constant_(name, default, concrete_args[name])
        return self.create_proxy("placeholder", name, default, {}, type_expr=function.__annotations__.get(name))

    def _constant_(self, name, default, value):
        """A concrete argument. The graph is made for it, and checks that it gets it."""
        import mindtorch
        given = self.create_proxy("placeholder", f"{name}_1", default, {})
        says = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (given, says), {})
        elif isinstance(value, (bool, int, float, str)):
            self.create_proxy("call_function", mindtorch._assert, (given == value, says), {})
        return value

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The Graph of a module's forward, or of a function."""
        if isinstance(root, Module):
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            function = getattr(type(root), self.traced_func_name)
            self.root, self.root_module_name = root, root._get_name()
        else:
            function, self.root, self.root_module_name = root, Module(), ""
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        self.tensor_attrs = {id(value): (path, value) for path, value in _tensors(self.root)}
        names = inspect.unwrap(function).__globals__
        returned = inspect.unwrap(function).__annotations__.get("return")
        function, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        with _Patches() as patches, _count_tracing():
            self._patch_modules_(patches)
            patches.functions_in(names, self._autowrap_function_ids)
            for module in self._autowrap_search:
                patches.functions_in(vars(module), self._autowrap_function_ids)
            patches.wrapped_functions()
            result = self.create_arg(function(*args))
            self.create_node("output", "output", (result,), {}, type_expr=returned)
        return self.graph

    def _patch_modules_(self, patches):
        plain_getattr, plain_call, cache = Module.__getattr__, Module.__call__, {}

        def patched_getattr(module, name):
            return self.getattr(name, plain_getattr(module, name), cache)

        def patched_call(module, *args, **kwargs):
            def forward(*args, **kwargs):
                return plain_call(module, *args, **kwargs)
            patches.functions_in(getattr(type(module).forward, "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(module, forward, args, kwargs)
        patches.attribute(Module, "__getattr__", patched_getattr)
        patches.attribute(Module, "__call__", patched_call)


def _positional(function, count):
    """The function with all its parameters positional: a proxy stands for the whole of *args, and of **kwargs."""
    code = function.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return FunctionType(code.replace(co_flags=flags, co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0),
                        function.__globals__, function.__name__, None, function.__closure__)


def _tensors(module, prefix=""):
    """(path, tensor) of attributes that are neither parameters nor buffers."""
    for name, value in vars(module).items():
        if isinstance(value, Tensor):
            yield prefix + name, value
    for name, child in module.named_children():
        yield from _tensors(child, f"{prefix}{name}.")


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A GraphModule that does what `root` does, a module or a function.

    TraceError where the code decides by values, or loops over them.

    Arguments:
        root: a module or function
        concrete_args: the values of arguments that are not to be recorded, by name

    Example:
        >>> module = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
        >>> [(node.op, node.target) for node in module.graph.nodes]
        [('placeholder', 'input'), ('call_module', '0'), ('call_module', '1'), ('output', 'output')]
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root._get_name() if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
