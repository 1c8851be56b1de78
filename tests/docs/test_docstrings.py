"""Examples in the docstrings of classes give what they print; every layer of torch.nn has one."""
import doctest
import inspect

from doc_checker import Checker

import mindtorch as torch

# Bases, aliases, and what needs several devices or processes.
WITHOUT_EXAMPLE = {
    "Any", "Buffer", "Container", "DataParallel", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions", "NLLLoss2d",
    "RNNBase", "RNNCellBase", "SyncBatchNorm", "UninitializedBuffer", "UninitializedParameter"}


def layers():
    return {name: value for name, value in vars(torch.nn).items() if isinstance(value, type) and name[0] != "_"}


def test_every_layer_has_an_example():
    missing = {name for name, layer in layers().items() if ">>>" not in (layer.__doc__ or "")}
    assert missing == WITHOUT_EXAMPLE


def test_arguments_of_layers_are_those_of_the_constructor():
    wrong = []
    for name, layer in layers().items():
        _, _, rest = inspect.getdoc(layer).partition("Arguments:\n")
        described = [line.strip().partition(":")[0] for line in rest.partition("\n\n")[0].splitlines()]
        constructors = [vars(base)["__init__"] for base in layer.__mro__[:-1] if "__init__" in vars(base)]
        constructors += [layer.__new__] if issubclass(layer, torch.Tensor) else []
        known = {parameter for made in constructors for parameter in inspect.signature(made).parameters}
        known.add("nonlinearity")                                       # RNN takes it from **kwargs
        wrong += [f"{name}: {argument}" for argument in described if argument not in known]
    assert wrong == []


def test_examples_of_layers():
    runner, report = doctest.DocTestRunner(Checker()), []
    for name, layer in layers().items():
        torch.manual_seed(0)
        names = {"torch": torch, "nn": torch.nn}
        test = doctest.DocTestParser().get_doctest(inspect.getdoc(layer), names, name, None, 0)
        runner.run(test, out=report.append)
    assert not report, "".join(report)
