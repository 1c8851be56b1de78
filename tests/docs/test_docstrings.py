"""Examples in docstrings give what they print; every layer of torch.nn and every function of nn.init has one."""
import doctest
import inspect

from doc_checker import Checker

import mindtorch as torch
from mindtorch import _docs

# Bases, aliases, and what needs several devices or processes.
WITHOUT_EXAMPLE = {
    "Any", "Buffer", "Container", "DataParallel", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions", "NLLLoss2d",
    "RNNBase", "RNNCellBase", "SyncBatchNorm", "UninitializedBuffer", "UninitializedParameter"}
# What a constructor passes to its base, and does not take from its caller; RNN takes one more from **kwargs.
INTERNAL = {"RNNBase": {"mode", "proj_size"}, "RNN": {"mode", "proj_size", "nonlinearity"},
            "GRU": {"mode", "proj_size"}, "LSTM": {"mode"}, "RNNCellBase": {"num_chunks"}}


def layers():
    return {name: value for name, value in vars(torch.nn).items() if isinstance(value, type) and name[0] != "_"}


def test_every_layer_has_an_example():
    missing = {name for name, layer in layers().items() if ">>>" not in (layer.__doc__ or "")}
    assert missing == WITHOUT_EXAMPLE


def test_arguments_of_layers_are_those_of_the_constructor():
    for name in torch.nn.modules.__all__[1:]:
        layer = getattr(torch.nn, name)
        _, _, rest = (layer.__doc__ or "").partition("Arguments:\n")
        described = {line.strip().partition(":")[0] for line in rest.partition("\n\n")[0].splitlines()}
        taken = {parameter for parameter in _docs.constructor_parameters(layer) if parameter[0] != "_"}
        assert described - INTERNAL.get(name, set()) == taken - INTERNAL.get(name, set()), name


def test_a_docstring_of_a_layer_says_only_what_is_special():
    """What it says of a parameter is not what layers.txt says of that name."""
    common = _docs.parameters("layers").items()
    for name in torch.nn.modules.__all__[1:]:
        _, _, own = (vars(getattr(torch.nn, name))["__doc__"].docstring or "").partition("Arguments:\n")
        assert not common & {tuple(line.strip().split(": ", 1)) for line in own.splitlines() if ": " in line}, name


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


def test_examples_of_layers_and_init():
    runner, report = doctest.DocTestRunner(Checker()), []
    for name, layer in {**layers(), **init_functions()}.items():
        torch.manual_seed(0)
        names = {"torch": torch, "nn": torch.nn}
        test = doctest.DocTestParser().get_doctest(inspect.getdoc(layer), names, name, None, 0)
        runner.run(test, out=report.append)
    assert not report, "".join(report)
