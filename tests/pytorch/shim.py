"""`import torch` means mindtorch, and PyTorch's helper library, torch.testing._internal of the installed torch wheel,
is importable beside it.

The helpers, and PyTorch's test files, use names that mindtorch lacks. While they are imported (`with permissive():`)
such a name gives a `Missing` object in place of an error, so one missing name costs the tests that use it, and not the
whole file. A test that calls a Missing object, or computes with one, fails with MissingName. getattr and hasattr are
answered truthfully. Nothing is emulated, but for the few names at the end, without which the helpers cannot run at all.
"""
import builtins
import contextlib
import dis
import enum
import functools
import importlib
import os
import pkgutil
import sys
import sysconfig
import types
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

WHEEL = Path(sysconfig.get_paths()["purelib"], "torch")
# Files of the wheel which compute nothing that a test is about: machinery and constants of the helpers.
BORROWED = ("torch._vendor", "torch.utils._import_utils", "torch.utils._foreach_utils", "torch.utils._dtype_abbrs",
            "torch.utils._triton", "torch._utils_internal", "torch._strobelight")
SUITE = os.environ.get("PYTORCH_SUITE", "")
missing_names = set()                   # the names that mindtorch lacked
_permissive = 0


class MissingName(AttributeError):
    """mindtorch lacks a name that the test, or PyTorch's helper library, uses."""


@contextlib.contextmanager
def permissive():
    """Inside, helpers and tests may import, and mention, what mindtorch lacks."""
    global _permissive
    _prepare_modules()
    _permissive += 1
    try:
        yield
    finally:
        _permissive -= 1


def _hidden(name):
    """What nobody asks for but to see whether it is there: special methods, and marks of the test machinery."""
    return (name.startswith("__") and name.endswith("__")) or name in ("parametrize_fn", "decorators")


class Missing:
    """Stands for a name that mindtorch lacks."""

    def __init__(self, name):
        self.__dict__.update(_missing=name, __name__=name.rpartition(".")[2], __module__="missing")

    def _fail(self, *args, **kwargs):
        raise MissingName(f"missing name: {self._missing}")

    def _quiet(self, *args):
        return self if _permissive else self._fail()

    __enter__ = __exit__ = __add__ = __radd__ = __sub__ = __mul__ = __lt__ = __gt__ = __le__ = __ge__ = \
        __and__ = __rand__ = __setitem__ = __next__ = __index__ = __int__ = __float__ = __neg__ = _quiet

    def __call__(self, *args, **kwargs):
        if not _permissive:
            self._fail()
        if len(args) == 1 and not kwargs and isinstance(args[0], type):
            return args[0]
        if len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType):   # it decorates a test
            return functools.wraps(args[0])(lambda *args, **kwargs: self._fail())
        return Missing(self._missing + "()")

    def __getattr__(self, name):
        if name == "__all__":
            return []
        if _hidden(name):
            raise AttributeError(name)
        return Missing(f"{self._missing}.{name}")

    def __getitem__(self, key):
        return Missing(self._missing + "[]") if _permissive else self._fail()

    def __mro_entries__(self, bases):
        return (type(self.__name__, (), {"__init__": self._fail}),)

    def __iter__(self):
        return iter(()) if _permissive else self._fail()

    def __contains__(self, key):
        return False if _permissive else self._fail()

    def __len__(self):
        return 0 if _permissive else self._fail()

    def __bool__(self):
        return False

    def __or__(self, other):
        return other

    __ror__ = __or__

    def __hash__(self):
        return hash(self._missing)

    def __eq__(self, other):
        return isinstance(other, Missing) and other._missing == self._missing

    def __repr__(self):
        return self._missing            # the name of a dtype becomes part of the name of a test

    def __instancecheck__(self, instance):
        return False

    def __subclasscheck__(self, cls):
        return False


def _theirs(filename):
    """Whether the file is one of PyTorch's: a test, or a helper of the wheel."""
    return filename.startswith((SUITE, str(WHEEL), str(WHEEL.parent / "functorch")))


def _missing(name):
    missing_names.add(name)
    return Missing(name)


class MissingModule(types.ModuleType):
    """A module torch.X that mindtorch lacks."""

    __path__ = []

    def __getattr__(self, name):
        if name == "__all__":
            return []
        if _hidden(name):
            raise AttributeError(name)
        if not _permissive and not _operation(sys._getframe(1)).startswith("IMPORT"):
            raise MissingName(f"missing name: {self.__name__}.{name}")
        return _missing(f"{self.__name__}.{name}")


def _operation(frame):
    """The instruction that the frame is at: LOAD_ATTR tells `torch.x` from getattr(torch, "x", None)."""
    code, place = frame.f_code.co_code, max(frame.f_lasti, 0)
    while code[place] == dis.EXTENDED_ARG:
        place += 2
    return dis.opname[code[place]]


class PermissiveModule(types.ModuleType):
    """The class that modules of mindtorch are given."""

    def __getattr__(self, name):
        full = f"{self.__name__.replace('mindtorch', 'torch', 1)}.{name}"
        frame = sys._getframe(1)
        if _permissive and not _hidden(name) and _theirs(frame.f_code.co_filename) and (
                _operation(frame).startswith(("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"))
                or frame.f_code.co_name == "_getattr_qual"):
            return _missing(full)
        raise AttributeError(f"module '{full[:-len(name) - 1]}' has no attribute '{name}'")


def _prepare_modules():
    """Modules of mindtorch become permissive. What PyTorch's own helpers lack, torch lacks too: see worker.load."""
    for name, module in list(sys.modules.items()):
        kind = type(module)
        if name.partition(".")[0] in ("torch", "mindtorch") and isinstance(module, types.ModuleType) and not hasattr(
                kind, "__getattr__") and not _theirs(getattr(module, "__file__", None) or ""):
            with contextlib.suppress(TypeError):        # a module with properties keeps them
                module.__class__ = PermissiveModule if kind is types.ModuleType else type(
                    kind.__name__, (PermissiveModule, kind), {})


class _MissingLoader(Loader):
    def create_module(self, spec):
        missing_names.add(spec.name)
        return MissingModule(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def _wanted_by_tests():
    """Whether the module that is being looked for is imported by a file of PyTorch."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "_handle_fromlist":
            return False                # `from torch.X import name`: a Missing object, not a module
        filename = frame.f_code.co_filename
        if "importlib" not in filename and filename != __file__:
            return _permissive and _theirs(filename)
        frame = frame.f_back
    return False


def _extend_finder():
    """mindtorch's finder raises for what it lacks: then the wheel, or a MissingModule, answers."""
    from mindtorch import _alias
    finder = next(each for each in sys.meta_path if isinstance(each, _alias._Finder))
    find_spec = finder.find_spec

    def extended(name, path=None, target=None):
        try:
            return find_spec(name, path, target)
        except ModuleNotFoundError:
            if name.startswith(BORROWED):
                stem = WHEEL.parent.joinpath(*name.split("."))
                file = next(each for each in (stem.with_suffix(".py"), stem / "__init__.py") if each.exists())
                return spec_from_file_location(name, file)
            if not _wanted_by_tests():
                raise
            return ModuleSpec(name, _MissingLoader(), is_package=True)

    finder.find_spec = extended


def _is_test_file(name):
    """Whether a module is one of PyTorch's test files: a process that a test starts imports it to find its class."""
    return any(Path(folder, f"{name}.py").exists() for folder in sys.path if SUITE and folder.startswith(SUITE))


def _extend_import():
    """Modules of mindtorch that are first loaded while tests are imported are permissive at once."""
    plain = builtins.__import__

    def __import__(name, globals=None, locals=None, fromlist=(), level=0):
        if not _permissive and not level and name not in sys.modules and _is_test_file(name):
            with permissive():
                return plain(name, globals, locals, fromlist, level)
        result = plain(name, globals, locals, fromlist, level)
        if _permissive and not level and name.startswith(("torch", "functorch")):
            _prepare_modules()
        return result
    builtins.__import__ = __import__


def _extend_namespaces():
    """torch.ops.x.missing and torch.ops.missing."""
    from mindtorch._library import overloads
    for cls in vars(overloads).values():
        if not (isinstance(cls, type) and "__getattr__" in vars(cls) and cls.__module__ == overloads.__name__):
            continue

        def extended(self, name, plain=cls.__getattr__):
            try:
                return plain(self, name)
            except AttributeError:
                if not _permissive or name.startswith("__") or not _theirs(sys._getframe(1).f_code.co_filename):
                    raise
                return _missing(f"torch.ops.{getattr(self, 'name', self)}.{name}")
        cls.__getattr__ = extended


def _extend_load_library(ops):
    """The C++ libraries of torch's wheel are for torch's own binary: tests that use what is in them fail, no others."""
    plain = ops.load_library

    def load_library(path):
        name = Path(path).name
        if WHEEL.joinpath("lib", name).exists():
            missing_names.add(name)
        else:
            plain(path)
    ops.load_library = load_library


def install(device):
    """Lets `torch` mean mindtorch, for tests on `device`."""
    import mindtorch
    from mindtorch._refusals import modules
    modules._table = dict                   # what refuses counts as missing
    mindtorch.alias_torch()
    import torch.testing
    torch.testing.__path__.append(str(WHEEL / "testing"))
    _extend_finder()
    _extend_import()
    _extend_namespaces()
    for found in pkgutil.iter_modules(mindtorch.__path__):      # some are loaded at their first use
        if not found.name.startswith("_") or found.name in ("_C", "_dynamo"):
            importlib.import_module("torch." + found.name)
    sys.modules["torch._C"].__path__ = []   # a package: torch._C._profiler gets a MissingModule
    _add_names(device)
    _extend_load_library(torch.ops)
    with permissive():
        from torch.testing._creation import make_tensor
    if not hasattr(torch.testing, "make_tensor"):
        torch.testing.make_tensor = make_tensor


# What the helpers cannot run without: constants and no-ops about devices, dynamo and dispatch. None of it computes.

DTYPES = ("complex32 chalf bits8 bits16 bits1x8 bits2x4 bits4x2 quint8 qint8 qint32 quint4x2 quint2x4 uint1 "
          "uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7 float8_e4m3fnuz float8_e5m2fnuz "
          "float8_e8m0fnu float4_e2m1fn_x2 float8_e4m3fn float8_e5m2")


class _TorchFunctionState(enum.Enum):
    ENABLED, SUBCLASSES_DISABLED, ALL_DISABLED = 0, 1, 2


def _add(module, **names):
    """Gives a module what it lacks of `names`; a module that is lacking is made."""
    if isinstance(module, str):
        parent, _, last = module.rpartition(".")
        made = sys.modules.setdefault(module, MissingModule(module))
        if not hasattr(sys.modules[parent], last):
            setattr(sys.modules[parent], last, made)
        module = made
    for name, value in names.items():
        if isinstance(module, MissingModule):
            lacking = name not in vars(module)
        else:
            lacking = not hasattr(module, name) or getattr(getattr(module, name), "refuses", False)
        if lacking:
            missing_names.add(f"{module.__name__.replace('mindtorch', 'torch', 1)}.{name}")
            setattr(module, name, value)


def _add_names(device):
    import torch

    class MissingDtype(Missing):
        """Passes for a torch.dtype, in the helpers' lists of dtypes; no tensor can have it."""
        __class__ = property(lambda self: torch.dtype)
        is_complex = property(lambda self: self.__name__ == "complex32")
        is_floating_point = property(lambda self: self.__name__.startswith("float"))
        is_signed = True

        def __bool__(self):
            return True

    _add(torch, **{name: MissingDtype("torch." + name.replace("chalf", "complex32")) for name in DTYPES.split()})
    if device == "npu":                 # asking the runtime would start it, and nothing could be forked from then on
        torch.npu.is_available, torch.npu.device_count, torch.npu.current_device = lambda: True, lambda: 1, lambda: 0
    _add(torch._utils, _is_privateuse1_backend_available=lambda: device == "npu")
    _add("torch._logging")
    _add("torch._logging.scribe", open_source_signpost=lambda *args, **kwargs: None)        # counts flaky tests
    _add("torch._dynamo.config", suppress_errors=False, compiled_autograd=False, accumulated_recompile_limit=64,
         log_compilation_metrics=False, issue_3_13_0_warning=False, fake_tensor_cache_enabled=True,
         fake_tensor_cache_crosscheck_enabled=False)
    _add(torch._dynamo, reset=lambda: None)
    # A class of tests asks for the compiler, since torch.cond needs it in torch. It does not here.
    torch._dynamo.is_dynamo_supported = lambda: True
    _add("torch._custom_op")
    _add("torch._custom_op.impl", global_registry={})       # of custom_op's predecessor: a file removes what is in it
    _add(torch.compiler, set_stance=lambda *args, **kwargs: None)
    _add(torch._C, _DisableFuncTorch=contextlib.nullcontext, _set_print_stack_traces_on_fatal_signal=lambda on: None,
         _TorchFunctionState=_TorchFunctionState, _get_torch_function_state=lambda: _TorchFunctionState.ENABLED,
         _set_torch_function_state=lambda state: None, has_lapack=True, has_mkl=False, has_spectral=True,
         _get_cpu_capability=lambda: "DEFAULT")
