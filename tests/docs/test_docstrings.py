"""Every public name has a docstring with an example, which gives what it prints; parameters are described."""
import contextlib
import doctest
import inspect
import types
import typing
import warnings
from importlib import import_module

import pytest
from doc_checker import Checker

import mindtorch as torch
from mindtorch import _docs
from mindtorch import distributed as dist
from mindtorch.npu._unavailable import _Unavailable

# The modules whose names programs use; what a module has stands in its __all__, or is what torch's has, too.
MODULES = (
    "", "accelerator", "amp", "autograd", "autograd.forward_ad", "autograd.functional", "autograd.graph", "distributed",
    "distributed.algorithms.join", "distributed.checkpoint", "distributed.checkpoint.state_dict",
    "distributed.device_mesh", "distributed.fsdp", "distributed.fsdp.wrap", "distributed.nn", "distributed.optim",
    "distributed.pipelining", "distributed.tensor", "distributed.tensor.parallel", "distributions",
    "distributions.constraint_registry", "fft", "func", "futures", "fx", "fx.experimental.proxy_tensor",
    "fx.passes.shape_prop", "library", "linalg", "masked", "nn", "nn.attention", "nn.attention.bias",
    "nn.attention.flex_attention", "nn.functional", "nn.init", "nn.parallel", "nn.utils", "nn.utils.parametrizations",
    "nn.utils.parametrize", "nn.utils.rnn", "nn.utils.stateless", "npu", "optim", "optim.lr_scheduler",
    "optim.swa_utils", "overrides", "profiler", "random", "serialization", "signal.windows", "sparse", "special",
    "testing", "utils.benchmark", "utils.checkpoint", "utils.data", "utils.dlpack", "utils.flop_counter",
    "utils.hooks")


def public_names():
    """(name after `torch.`, class or function)."""
    for module in MODULES:
        space = import_module(f"mindtorch.{module}".rstrip("."))
        with warnings.catch_warnings():         # torch's own modules use what it has deprecated
            warnings.simplefilter("ignore")
            # torch_npu is not installed here; its names are all that mindtorch.npu has.
            theirs = dir(space if module == "npu" else import_module(f"torch.{module}".rstrip(".")))
        for name in dict.fromkeys(getattr(space, "__all__", ()) or [one for one in dir(space) if one in theirs]):
            value = getattr(space, name)
            ours = (getattr(value, "__module__", None) or "torch").partition(".")[0] in ("mindtorch", "torch")
            if (name[0] != "_" and callable(value) and ours
                    and not isinstance(value, (types.ModuleType, _Unavailable, typing.NewType))
                    and not getattr(value, "refuses", False)):
                yield f"{module}.{name}".lstrip("."), value


# What a constructor passes to its base, and does not take from its caller; RNN takes one more from **kwargs.
INTERNAL = {"RNNBase": {"mode", "proj_size"}, "RNN": {"mode", "proj_size", "nonlinearity"},
            "GRU": {"mode", "proj_size"}, "LSTM": {"mode"}, "RNNCellBase": {"num_chunks"}}


def test_every_name_has_an_example():
    assert [name for name, value in public_names() if ">>> " not in (inspect.getdoc(value) or "")] == []


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


@pytest.mark.parametrize("module", MODULES)
def test_examples_give_what_they_print(module):
    """Those of functions and classes of this module; some say on stderr that they are deprecated."""
    runner, report = doctest.DocTestRunner(Checker()), []
    for name, value in public_names():
        if name.rpartition(".")[0] == module:
            torch.manual_seed(0)
            names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "dist": dist, "__name__": "example"}
            test = doctest.DocTestParser().get_doctest(inspect.getdoc(value), names, name, None, 0)
            with warnings.catch_warnings(), a_job_of_one_rank(name):
                warnings.simplefilter("ignore")
                runner.run(test, out=report.append)
    assert not report, "".join(report)
