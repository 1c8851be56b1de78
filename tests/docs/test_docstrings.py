"""Every public name has a docstring with an example, which gives what it prints; parameters are described."""
import collections
import contextlib
import doctest
import enum
import functools
import inspect
import re
import types
import typing
import warnings
from importlib import import_module
from pathlib import Path

import pytest
from doc_checker import Checker

import mindtorch as torch
from mindtorch import _docs
from mindtorch import distributed as dist
from mindtorch._tensor.docstrings import CompletedDocstring, CompletedText
from mindtorch.distributed.elastic import metrics, timer
from mindtorch.npu._unavailable import _Unavailable

pytestmark = pytest.mark.one_mode

# The modules that torch does not have, but programs use.
OURS = {"npu", "npu.amp", "sim", "utils.safetensors"}
# What a program gets from a call, catches or compares with; what gives it describes it.
RESULTS = (BaseException, enum.Enum, tuple)


# All modules by their files, which are not imported for it: "" for torch itself, "nn.functional" and so on.
PACKAGE = Path(torch.__file__).parent
MODULES = sorted(name for name in (".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__")
                                   .removesuffix(".") for path in PACKAGE.rglob("*.py"))
                 if not any(part.startswith("_") for part in name.split(".")))


def names_of(module):
    """What a program uses of a module by name: its __all__, or what torch's has, too; nothing if torch has no such."""
    space = import_module(f"mindtorch.{module}".rstrip("."))
    try:
        theirs = space if module in OURS else import_module(f"torch.{module}".rstrip("."))
    except ModuleNotFoundError:
        return {}
    return {name: getattr(space, name)
            for name in getattr(space, "__all__", ()) or [one for one in dir(space) if one in dir(theirs)]}


@functools.cache
def public_names():
    """(name after `torch.`, class or function) of all modules, each where it comes first."""
    found, seen = [], set()
    with warnings.catch_warnings():         # torch's own modules use what it has deprecated
        warnings.simplefilter("ignore")
        named = [(f"{module}.{name}".lstrip("."), value)
                 for module in MODULES for name, value in names_of(module).items() if name[0] != "_"]
    for name, value in named:
        ours = (getattr(value, "__module__", None) or "torch").partition(".")[0] in ("mindtorch", "torch")
        if (callable(value) and ours and id(value) not in seen
                and not isinstance(value, (types.ModuleType, _Unavailable, typing.NewType))
                and not getattr(value, "refuses", False)):
            seen.add(id(value))
            found.append((name, value))
    return found


def test_the_modules_are_those_that_programs_use():
    assert {"", "backends.cuda", "compiler", "cuda", "distributed.run", "distributions.constraints", "hub", "jit",
            "mps", "multiprocessing", "nn", "npu", "optim", "sim", "utils.collect_env", "utils.cpp_extension",
            "utils.tensorboard", "xpu"} <= {name.rpartition(".")[0] for name, _ in public_names()}


# What a constructor passes to its base, and does not take from its caller; RNN takes one more from **kwargs.
INTERNAL = {"RNNBase": {"mode", "proj_size"}, "RNN": {"mode", "proj_size", "nonlinearity"},
            "GRU": {"mode", "proj_size"}, "LSTM": {"mode"}, "RNNCellBase": {"num_chunks"}}


def test_every_name_has_an_example():
    assert [name for name, value in public_names() if ">>> " not in (inspect.getdoc(value) or "")
            and not (isinstance(value, type) and issubclass(value, RESULTS))] == []


def test_examples_import_mindtorch():
    """Not the torch that is installed beside it for comparison."""
    assert [name for name, value in public_names()
            if re.search(r"(>>>|\.\.\.) +(from|import) +torch\b", inspect.getdoc(value) or "")] == []


def described_parameters(value):
    """The names in the list of arguments of a docstring."""
    _, _, rest = (inspect.getdoc(value) or "").partition("Arguments:\n")
    return {line.strip().partition(":")[0].lstrip("*") for line in rest.partition("\n\n")[0].splitlines()}


def parameters_of(value):
    """The parameters of a function, or of a constructor: of a layer those that it passes to its base, too."""
    if isinstance(value, type) and issubclass(value, torch.nn.Module):
        names = _docs.constructor_parameters(value)
    elif isinstance(value, type) and issubclass(value, RESULTS) and not hasattr(value, "_fields"):
        names = []                              # no program makes one
    else:
        try:
            names = inspect.signature(value).parameters
        except ValueError:
            names = []                          # a class of Cython, whose text says how it is called
    return {name for name in names if name[0] != "_"} - INTERNAL.get(getattr(value, "__name__", ""), set())


def test_every_parameter_is_described():
    """Those of operators: tests/docs/test_reference.py; objects that can be called tell it in their text."""
    of_rows = {id(function) for _, function in _docs.public_functions()}
    missing = {name: parameters_of(value) - described_parameters(value) for name, value in public_names()
               if id(value) not in of_rows and (isinstance(value, type) or hasattr(value, "__code__"))}
    assert {name: parameters for name, parameters in missing.items() if parameters} == {}


def test_a_file_describes_parameters_of_several_names():
    """What only one has stands in its docstring."""
    used = collections.Counter()
    for _, value in public_names():
        docstring = vars(value).get("__doc__") if isinstance(value, type) else value.__doc__
        if isinstance(docstring, (CompletedDocstring, CompletedText)):
            used.update((docstring.file, name) for name in parameters_of(value))
    for file in {file for file, _ in used}:
        around = file.rpartition(".")[0]
        outer = _docs.parameters(around) if (_docs.FOLDER / f"{around}.txt").exists() else {}
        own = [name for name, text in _docs.parameters(file).items() if outer.get(name) != text]
        alone = {name for name in own if sum(count for (other, known), count in used.items() if known == name and
                                             f"{other}.".startswith(f"{file}.")) < 2}
        assert alone == set(), file


def described_classes():
    """(class, its __doc__, the file that describes its parameters)."""
    for space, file in ((torch.nn.modules, "layers"), (torch.optim, "optimizers"),
                        (torch.optim.lr_scheduler, "optimizers"), (torch.optim.swa_utils, "optimizers")):
        for name in space.__all__:
            value = getattr(space, name)
            if isinstance(value, type) and value is not torch.nn.Module:
                yield value, vars(value)["__doc__"], file


def test_arguments_of_classes_are_those_of_the_constructor():
    for described, _, _ in described_classes():
        name = described.__name__
        _, _, rest = (described.__doc__ or "").partition("Arguments:\n")
        said = {line.strip().partition(":")[0] for line in rest.partition("\n\n")[0].splitlines()}
        taken = {parameter for parameter in _docs.constructor_parameters(described) if parameter[0] != "_"}
        assert said - INTERNAL.get(name, set()) == taken - INTERNAL.get(name, set()), name


def test_a_docstring_of_a_class_says_only_what_is_special():
    """What it says of a parameter is not what layers.txt or optimizers.txt says of that name."""
    for described, completed, file in described_classes():
        _, _, own = (completed.docstring or "").partition("Arguments:\n")
        said = {tuple(line.strip().split(": ", 1)) for line in own.splitlines() if ": " in line}
        assert not _docs.parameters(file).items() & said, described.__name__


def test_subclasses_of_layers_have_docstrings_of_their_own():
    class Twice(torch.nn.Conv2d):
        """Twice as wide."""

    class Plain(torch.nn.Conv2d):
        pass

    assert (Twice.__doc__, Plain.__doc__) == ("Twice as wide.", None)
    assert torch.nn.Conv2d(1, 1, 1).__doc__ == torch.nn.Conv2d.__doc__ == inspect.getdoc(Plain)


def init_functions():
    return {name: getattr(torch.nn.init, name) for name in torch.nn.init.__all__}


def test_arguments_of_init_are_described():
    for name, function in init_functions().items():
        _, _, rest = inspect.getdoc(function).partition("Arguments:\n")
        described = [line.strip().partition(":")[0] for line in rest.partition("\n\n")[0].splitlines()]
        assert described == list(inspect.signature(function).parameters), name
        assert ">>> " in rest, name


@pytest.fixture(scope="module", autouse=True)
def _stream_of_captures():
    """The stream on which graphs are captured stays for the next ones."""
    with torch.npu.graph(torch.npu.NPUGraph()):
        torch.ones(1, device="npu")


@contextlib.contextmanager
def a_job_of_one_rank(name):
    """The examples of distributed are those of a rank of a job, which this process is; init_process_group starts it."""
    if "distributed" not in name.lower() or name == "distributed.init_process_group":
        yield
        return
    dist.init_process_group("mpi", store=dist.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


# What examples set for the whole program, and its value before: each example finds that, and other tests as well.
SETTINGS = ((torch.hub, "_folder", lambda: None),
            (timer, "_client", lambda: None),
            (metrics, "_handlers", dict),
            # A program has either hooks of full backwards for all modules, or hooks of the older kind.
            (torch.nn.modules.module_hooks.GLOBAL, "is_full_backward_hook", lambda: None))


@pytest.mark.parametrize("package", sorted({module.partition(".")[0] for module in MODULES}))
def test_examples_give_what_they_print(package, monkeypatch):
    """Those of functions and classes of its modules; some say on stderr that they are deprecated."""
    runner, report = doctest.DocTestRunner(Checker()), []
    for name, value in public_names():
        if name.rpartition(".")[0].partition(".")[0] == package:
            torch.manual_seed(0)
            for place, attribute, unset in SETTINGS:
                monkeypatch.setattr(place, attribute, unset())
            names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "dist": dist, "__name__": "example"}
            test = doctest.DocTestParser().get_doctest(inspect.getdoc(value), names, name, None, 0)
            with warnings.catch_warnings(), a_job_of_one_rank(name):
                warnings.simplefilter("ignore")
                runner.run(test, out=report.append)
    assert not report, "".join(report)
