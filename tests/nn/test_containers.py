"""Containers of modules and parameters, beside torch's."""
import copy
from collections import OrderedDict

import pytest
import torch
from compare_with_torch import check

import mindtorch


def scale(t):
    """A module that multiplies, and says by what."""

    class Scale(t.nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def forward(self, x):
            return x * self.factor

        def extra_repr(self):
            return f"factor={self.factor}"

    return Scale


def sequence(kind, act):
    """Let `act(container, Scale)` work on a container of the modules 1, 2, 3."""
    def scenario(t, device):
        layer = scale(t)
        members = [layer(1), layer(2), layer(3)]
        made = t.nn.Sequential(*members) if kind == "Sequential" else t.nn.ModuleList(members)
        found = act(made, layer)
        return [(type(m).__name__, list(m._modules) if hasattr(m, "_modules") else None, repr(m))
                for m in (made, found)], [k for k in dir(made) if k.isdigit()]
    return scenario


SEQUENCE = {
    "get": lambda c, s: c[1], "get last": lambda c, s: c[-1], "get too far": lambda c, s: c[3],
    "get too early": lambda c, s: c[-4], "get word": lambda c, s: c["a"], "slice": lambda c, s: c[1:],
    "steps": lambda c, s: c[::-2], "set": lambda c, s: c.__setitem__(-1, s(7)),
    "set far": lambda c, s: c.__setitem__(5, s(1)),
    "delete": lambda c, s: c.__delitem__(0), "delete slice": lambda c, s: c.__delitem__(slice(0, 2)),
    "append": lambda c, s: c.append(s(4)), "append number": lambda c, s: c.append(4),
    "extend": lambda c, s: c.extend([s(4), s(4)]), "extend number": lambda c, s: c.extend(4),
    "insert": lambda c, s: c.insert(1, s(9)), "insert at end": lambda c, s: c.insert(3, s(9)),
    "pop": lambda c, s: c.pop(0), "pop slice": lambda c, s: c.pop(slice(1, 3)), "length": lambda c, s: len(c),
    "iterate": lambda c, s: [m.factor for m in c], "add": lambda c, s: c + c,
    "add list": lambda c, s: c.__add__([s(1)]),
    "add in place": lambda c, s: c.__iadd__(type(c)() + c), "repeated": lambda c, s: c.extend([s(3), s(3)]),
    "empty": lambda c, s: type(c)(), "contains": lambda c, s: c[0] in c,
    "number": lambda c, s: c.add_module("4", 3), "none": lambda c, s: c.append(None),
}
SEQUENTIAL = {
    "times": lambda c, s: c * 2, "times from left": lambda c, s: 2 * c, "times in place": lambda c, s: c.__imul__(3),
    "times zero": lambda c, s: c * 0, "times word": lambda c, s: c * "a",
    "times word in place": lambda c, s: c.__imul__(1.5),
    "times zero in place": lambda c, s: c.__imul__(0), "insert from end": lambda c, s: c.insert(-1, s(9)),
    "insert far": lambda c, s: c.insert(9, s(9)), "add in place list": lambda c, s: c.__iadd__([s(1)]),
    "named": lambda c, s: type(c)(OrderedDict(a=s(1), b=s(2)))[1:],
    "named, deleted": lambda c, s: (n := type(c)(OrderedDict(a=s(1), b=s(2)))).pop(0) and n,
    "nested": lambda c, s: type(c)(c, type(c)(c, s(5))), "insert number": lambda c, s: c.insert(0, 3),
}


@pytest.mark.parametrize("act", [*SEQUENCE.values(), *SEQUENTIAL.values()], ids=[*SEQUENCE, *SEQUENTIAL])
def test_sequential(act):
    check(sequence("Sequential", act), "cpu")


@pytest.mark.parametrize("act", SEQUENCE.values(), ids=list(SEQUENCE))
def test_module_list(act):
    check(sequence("ModuleList", act), "cpu")


def test_module_list_is_not_called():
    check(lambda t, d: t.nn.ModuleList()(1), "cpu")


def test_a_bad_index_leaves_a_module_list_as_it_was():
    modules = mindtorch.nn.ModuleList([mindtorch.nn.Module()])
    with pytest.raises(KeyError, match="-1"):
        modules.insert(-1, mindtorch.nn.Module())
    assert len(modules) == 1


def test_sequential_runs_forward_and_backward(device):
    def scenario(t, d):
        net = t.nn.Sequential(scale(t)(2), scale(t)(t.nn.Parameter(t.ones(2))))
        net.to(d)
        out = net(t.arange(2.0, device=d))
        out.sum().backward()
        return out, net[1].factor.grad, list(net.state_dict())
    check(scenario, device)


def dictionary(act):
    def scenario(t, device):
        layer = scale(t)
        made = t.nn.ModuleDict({"b": layer(1), "a": layer(2)})
        found = act(made, layer)
        return repr(made), repr(found)
    return scenario


DICTIONARY = {
    "get": lambda c, s: c["a"], "get unknown": lambda c, s: c["z"], "set": lambda c, s: c.__setitem__("c", s(3)),
    "set number": lambda c, s: c.__setitem__("c", 3), "delete": lambda c, s: c.__delitem__("a"),
    "delete unknown": lambda c, s: c.__delitem__("z"), "length": lambda c, s: len(c), "iterate": lambda c, s: list(c),
    "contains": lambda c, s: ("a" in c, "z" in c), "clear": lambda c, s: c.clear(), "pop": lambda c, s: c.pop("b"),
    "pop unknown": lambda c, s: c.pop("z"), "keys": lambda c, s: list(c.keys()),
    "values": lambda c, s: list(c.values()),
    "items": lambda c, s: list(c.items()), "update": lambda c, s: c.update({"z": s(1), "y": s(2)}),
    "update pairs": lambda c, s: c.update([("z", s(1)), ["a", s(2)]]), "update dict": lambda c, s: c.update(c),
    "update number": lambda c, s: c.update(3), "update numbers": lambda c, s: c.update([3]),
    "update triples": lambda c, s: c.update([(1, 2, 3)]), "bad key": lambda c, s: c.__setitem__("a.b", s(1)),
    "call": lambda c, s: c(1),
}


@pytest.mark.parametrize("act", DICTIONARY.values(), ids=list(DICTIONARY))
def test_module_dict(act):
    check(dictionary(act), "cpu")


def parameters(make, act):
    def scenario(t, device):
        made = make(t)
        found = act(made, t)
        return repr(made), repr(found), list(made.state_dict()), [k for k in dir(made) if k.isdigit()]
    return scenario


def listed(t):
    return t.nn.ParameterList([t.ones(2, 3), t.nn.Parameter(t.zeros(1), requires_grad=False), "word"])


def keyed(t):
    return t.nn.ParameterDict({"b": t.ones(2, 3), "a": t.nn.Parameter(t.zeros(1)), "n": None})


PARAMETER_LIST = {
    "get": lambda c, t: c[0], "get last": lambda c, t: c[-1], "get too far": lambda c, t: c[3],
    "slice": lambda c, t: c[::2], "set": lambda c, t: c.__setitem__(0, t.ones(1)),
    "set far": lambda c, t: c.__setitem__(3, t.ones(1)), "append": lambda c, t: c.append(t.ones(1)),
    "extend": lambda c, t: c.extend([t.ones(1), 3]), "extend tensor": lambda c, t: c.extend(t.ones(3)),
    "extend number": lambda c, t: c.extend(3), "add in place": lambda c, t: c.__iadd__(c[:1]),
    "length": lambda c, t: len(c), "iterate": lambda c, t: list(c), "call": lambda c, t: c(),
    "word": lambda c, t: c["a"],
    "number": lambda c, t: type(c)(3), "double": lambda c, t: c.double(), "copy": lambda c, t: copy.deepcopy(c),
    "integers": lambda c, t: c.append(t.arange(2)),
}
PARAMETER_DICT = {
    "get": lambda c, t: c["a"], "get unknown": lambda c, t: c["z"], "get number": lambda c, t: c[3],
    "set": lambda c, t: c.__setitem__("z", t.ones(1)), "set word": lambda c, t: c.__setitem__("z", "word"),
    "delete": lambda c, t: c.__delitem__("a"), "delete unknown": lambda c, t: c.__delitem__("z"),
    "length": lambda c, t: len(c), "iterate": lambda c, t: list(c), "reversed": lambda c, t: list(reversed(c)),
    "copy": lambda c, t: c.copy(), "contains": lambda c, t: ("a" in c, "z" in c),
    "default": lambda c, t: c.setdefault("z", t.ones(1)), "default there": lambda c, t: c.setdefault("a", 3),
    "clear": lambda c, t: c.clear(), "pop": lambda c, t: c.pop("b"), "pop unknown": lambda c, t: c.pop("z"),
    "popitem": lambda c, t: c.popitem(), "popitem of none": lambda c, t: c.clear() or c.popitem(),
    "get or none": lambda c, t: (c.get("z"), c.get("z", 3), c.get("a")), "keys": lambda c, t: list(c.keys()),
    "items": lambda c, t: list(c.items()), "values": lambda c, t: list(c.values()),
    "fromkeys": lambda c, t: c.fromkeys("xy", 1), "update": lambda c, t: c.update({"z": t.ones(1), "y": 2}),
    "update ordered": lambda c, t: c.update(OrderedDict(z=t.ones(1), y=2)),
    "update pairs": lambda c, t: c.update([("z", 1)]), "update number": lambda c, t: c.update(3),
    "update numbers": lambda c, t: c.update([3]), "update triples": lambda c, t: c.update([(1, 2, 3)]),
    "or": lambda c, t: c | t.nn.ParameterDict({"z": 1}), "or dict": lambda c, t: {"z": 1} | c,
    "or in place": lambda c, t: c.__ior__({"z": 1}), "call": lambda c, t: c(1),
}


@pytest.mark.parametrize("act", PARAMETER_LIST.values(), ids=list(PARAMETER_LIST))
def test_parameter_list(act):
    check(parameters(listed, act), "cpu")


@pytest.mark.parametrize("act", PARAMETER_DICT.values(), ids=list(PARAMETER_DICT))
def test_parameter_dict(act):
    check(parameters(keyed, act), "cpu")


def test_parameters_on_an_npu_say_so():
    held = mindtorch.nn.ParameterList([mindtorch.ones(2)]).npu()
    assert repr(held) == "ParameterList(  (0): Parameter containing: [torch.float32 of size 2 (npu:0)])"
    held = mindtorch.nn.ParameterDict({"a": mindtorch.ones(2)}).npu()
    assert repr(held) == "ParameterDict(  (a): Parameter containing: [torch.npu.FloatTensor of size 2 (npu:0)])"


@pytest.mark.parametrize("name", ["ModuleDict", "ParameterDict"])
def test_a_dictionary_made_of_nothing_is_not_updated(name):
    """A subclass may have an update() that needs what its constructor sets later."""
    for lib in (mindtorch, torch):
        class Late(getattr(lib.nn, name)):
            def __init__(self):
                super().__init__()
                self.ready = True

            def update(self, items):
                assert self.ready
                super().update(items)
        assert len(Late()) == 0
