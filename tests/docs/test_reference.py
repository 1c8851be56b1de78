"""The reference behind help(): every public function has an entry, every parameter a meaning, every example runs."""
import doctest
import inspect
import re

import pytest
from doc_checker import Checker

import mindtorch as torch
from mindtorch import _docs

FUNCTIONS = {name: function for name, function in _docs.public_functions() if not getattr(function, "refuses", False)}


def entries_of(namespace):
    return _docs.read_entries((_docs.FOLDER / f"{namespace}.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("namespace", _docs.NAMESPACES)
def test_examples(namespace):
    """The examples give the printed results."""
    parser, report = doctest.DocTestParser(), []
    runner = doctest.DocTestRunner(Checker())
    for entry in entries_of(namespace):
        torch.manual_seed(0)
        names = {"torch": torch, "F": torch.nn.functional}
        test = parser.get_doctest("\n".join(entry.example), names, entry.names[0], f"{namespace}.txt", 0)
        runner.run(test, out=report.append)
    assert not report, "".join(report)


def test_every_function_has_an_entry():
    assert [name for name in FUNCTIONS if _docs.find_entry(name)[0] is None] == []


def test_every_entry_has_text_and_an_example():
    assert [entry.names for namespace in _docs.NAMESPACES for entry in entries_of(namespace)
            if not entry.text or not entry.example] == []


def test_every_entry_is_of_a_function():
    assert sorted(set(_docs.entries()) - {name for name, _ in _docs.public_functions()}) == []


def test_every_parameter_has_a_meaning():
    missing = []
    for name, function in FUNCTIONS.items():
        entry = _docs.find_entry(name)[0]
        if entry:
            parameters = inspect.signature(function).parameters.values()
            missing += [f"{name}: {parameter}" for parameter in parameters if not _docs.meaning(parameter, entry)]
    assert missing == []


# They give no tensor.
WITHOUT_SHAPE = {"Tensor.module_load", "Tensor.record_stream", "Tensor.register_hook", "Tensor.retain_grad",
                 "Tensor.register_post_accumulate_grad_hook", "Tensor.share_memory_", "Tensor.storage_type",
                 "Tensor.get_device", "get_device"}
SHAPE = re.compile(
    r"shape|size|dimension|length|vector|matri|element|number|rows|view|cop(y|ies)|scalar|tuple|[tT]rue|Whether")


def test_every_function_says_devices_dtypes_and_shape():
    """The shape in its own words, or by the rule of a row."""
    said = {name: function.__doc__.partition("Example:")[0] for name, function in FUNCTIONS.items()}
    assert [name for name, text in said.items() if "\nDevices and dtypes: " not in text] == []
    assert {name for name, text in said.items() if not SHAPE.search(text)} == WITHOUT_SHAPE


def test_every_parameter_of_an_entry_exists():
    """An entry describes no parameter that none of its functions has."""
    unknown = []
    for namespace, prefix in _docs.NAMESPACES.items():
        for entry in entries_of(namespace):
            names = {parameter for name in entry.names
                     for parameter in inspect.signature(FUNCTIONS[prefix + name]).parameters}
            unknown += [f"{entry.names[0]}: {name}" for name in entry.parameters if name.lstrip("*") not in names]
    assert unknown == []


def test_help_says_what_a_row_knows():
    text = torch.add.__doc__
    assert text.startswith("add(input, other, *, alpha=1, out=None)\n\nAdds `other`")
    assert "add.Tensor: aclnnAdd for all; gradients of self, other" in text
    assert "    >>> torch.add(torch.ones(2), 0.5)\n    tensor([1.5000, 1.5000])" in text
    assert "writes the result to the tensor itself, which keeps its shape" in torch.Tensor.add_.__doc__
    assert torch.Tensor.add.__doc__.startswith("add(self, other, *, alpha=1)\n\nAdds `other`")
