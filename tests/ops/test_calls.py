"""How ops are called: operators with numbers on either side, wrong arguments, in-place rules, versions, names."""
import operator
import pickle

import numpy
import pytest
import torch

import mindtorch
from mindtorch._core._gen.namespace import FUNCTIONS, METHODS

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.pow, operator.lt,
          operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
NUMBERS = [2, 2.5, True, numpy.float32(1.5), numpy.int64(3)]


def assert_same(ours, theirs):
    assert str(ours.dtype) == str(theirs.dtype)
    assert torch.tensor(ours.cpu().tolist(), dtype=theirs.dtype).reshape(tuple(ours.shape)).allclose(theirs)


@pytest.mark.parametrize("number", NUMBERS, ids=str)
@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_operators_take_numbers_on_both_sides(function, dtype, number, device):
    ours = mindtorch.tensor([1, 2, 3], dtype=getattr(mindtorch, dtype), device=device)
    theirs = torch.tensor([1, 2, 3], dtype=getattr(torch, dtype))
    if number is True and function is operator.sub:
        with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
            function(ours, number)
        return
    assert_same(function(ours, number), function(theirs, number))
    if not isinstance(number, numpy.generic):       # NumPy's own operators answer first
        assert_same(function(number, ours), function(number, theirs))


@pytest.mark.parametrize("function", [operator.neg, operator.abs, operator.invert], ids=lambda f: f.__name__)
def test_unary_operators(function, device):
    assert_same(function(mindtorch.tensor([1, -2], device=device)), function(torch.tensor([1, -2])))


def test_masks(device):
    a = mindtorch.tensor([True, True, False, False], device=device)
    b = mindtorch.tensor([True, False, True, False], device=device)
    assert (a & b).tolist() == [True, False, False, False]
    assert (a | b).tolist() == [True, True, True, False]
    assert (~a).tolist() == [False, False, True, True]


@pytest.mark.parametrize("function", [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow],
                         ids=lambda f: f.__name__)
def test_in_place_operators_write_into_the_tensor(function, device):
    a = mindtorch.tensor([1.0, 2.0], device=device)
    before = a.data_ptr(), a._version
    assert_same(function(a, 2), function(torch.tensor([1.0, 2.0]), 2))
    assert (a.data_ptr(), a._version) == (before[0], before[1] + 1)
    function(a, mindtorch.ones(2, device=device))
    assert a._version == before[1] + 2


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda t, x: t.add(x, "y"), TypeError, r"^add\(\)"),
    (lambda t, x: t.add("y", x), TypeError, r"^add\(\): argument 'input' \(position 1\) must be Tensor, not str"),
    (lambda t, x: t.mul(x, "y"), TypeError, r"^mul\(\): argument 'other' \(position 2\) must be Tensor, not str"),
    (lambda t, x: t.eq(x, "y"), TypeError,
     r"^eq\(\) received an invalid combination of arguments - got \(Tensor, str\)"),
    (lambda t, x: t.exp(3), TypeError, r"^exp\(\): argument 'input' \(position 1\) must be Tensor, not int"),
    (lambda t, x: t.sum(x, 5), IndexError,
     r"^Dimension out of range \(expected to be in range of \[-1, 0\], but got 5"),
    (lambda t, x: x + "y", TypeError, r"^unsupported operand type\(s\) for \+: 'Tensor' and 'str'"),
    (lambda t, x: x + None, TypeError, r"^unsupported operand type\(s\) for \+: 'Tensor' and 'NoneType'"),
    (lambda t, x: x @ 2, TypeError, r"^unsupported operand type\(s\) for @: 'Tensor' and 'int'"),
    (lambda t, x: x + t.ones(3), RuntimeError, r"^The size of tensor a \(2\) must match the size of tensor b \(3\)"),
    (lambda t, x: t.cat(x), TypeError,
     r"^cat\(\): argument 'tensors' \(position 1\) must be tuple of Tensors, not Tensor"),
    (lambda t, x: t.cat([x, 3]), TypeError, r"^expected Tensor as element 1 in argument 0, but got int"),
    (lambda t, x: t.clamp(x), RuntimeError, r"^torch.clamp: At least one of 'min' or 'max' must not be None"),
    (lambda t, x: t.div(x, 2, rounding_mode="up"), RuntimeError, r"^div expected rounding_mode to be one of None, "),
    (lambda t, x: t.add(x, 1, alpha=1j), RuntimeError, r"^For non-complex input tensors, argument alpha must not be"),
    (lambda t, x: t.arange(3).mean(), RuntimeError,
     r"^mean\(\): could not infer output dtype. Input dtype must be either"),
    (lambda t, x: t.arange(3).add_(1.5), RuntimeError,
     r"^result type Float can't be cast to the desired output type Long"),
    (lambda t, x: x.add_(t.ones(3, 2)), RuntimeError,
     r"^output with shape \[2\] doesn't match the broadcast shape \[3, 2\]"),
    (lambda t, x: t.ones(1).expand(2).add_(1), RuntimeError,
     r"^unsupported operation: more than one element of the writ"),
    (lambda t, x: t.arange(0, 1, 0), RuntimeError, r"^step must be nonzero"),
    (lambda t, x: t.zeros(-1), RuntimeError, r"^zeros: Dimension size must be non-negative"),
    (lambda t, x: t.full((2,), 300, dtype=t.uint8), RuntimeError,
     r"^value cannot be converted to type uint8_t without"),
    (lambda t, x: t.ones(2, 3) @ t.ones(2, 3), RuntimeError,
     r"^mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3"),
    (lambda t, x: t.where(x, 1, 2), RuntimeError,
     r"^where expected condition to be a boolean tensor, but got a tensor"),
])
def test_errors_are_torchs(call, error, message):
    for lib in (torch, mindtorch):
        with pytest.raises(error, match=message):
            call(lib, lib.ones(2))


def test_devices_do_not_mix():
    with pytest.raises(RuntimeError, match="at least two devices, npu:0 and cpu!"):
        mindtorch.ones(2, device="npu") + mindtorch.ones(2)
    mixed = mindtorch.ones(2, device="npu") + mindtorch.tensor(2.0)
    assert mixed.tolist() == [3.0, 3.0]
    assert mixed.device.type == "npu"


def test_results_with_names(device):
    result = mindtorch.max(mindtorch.tensor([[1.0, 3.0], [5.0, 2.0]], device=device), dim=1)
    assert result.values.tolist() == [3.0, 5.0]
    assert result.indices.tolist() == [1, 0]
    shown = "torch.return_types.max(\nvalues=tensor(1),\nindices=tensor(0))"
    assert repr(mindtorch.tensor([1]).max(0)) == shown


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_results_with_names_are_made_from_sequences(lib):
    made = lib.return_types.max([1, 2])
    assert (made.values, made.indices, made) == (1, 2, (1, 2))
    assert (made.n_fields, made.__match_args__) == (2, ("values", "indices"))
    assert type(pickle.loads(pickle.dumps(made))) is lib.return_types.max
    with pytest.raises(TypeError, match=r"torch.return_types.max\(\) takes a 2-sequence \(1-sequence given\)"):
        lib.return_types.max([1])
    with pytest.raises(AttributeError):
        made.values = 3


def test_functions_of_nn(device):
    x = [[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]]
    ours, theirs = mindtorch.tensor(x, device=device), torch.tensor(x)
    weight, bias = [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], [0.5, -0.5]
    for make in (lambda t, f, x, d: f.linear(x, t.tensor(weight, device=d), t.tensor(bias, device=d)),
                 lambda t, f, x, d: f.linear(x, t.tensor(weight, device=d)),
                 lambda t, f, x, d: f.linear(x, t.tensor(weight[0], device=d)),
                 lambda t, f, x, d: f.relu(x), lambda t, f, x, d: f.softmax(x, dim=1),
                 lambda t, f, x, d: f.log_softmax(x, 0, dtype=t.float32), lambda t, f, x, d: f.relu(x, inplace=True)):
        assert_same(make(mindtorch, mindtorch.nn.functional, ours, device),
                    make(torch, torch.nn.functional, theirs, "cpu"))


def test_where_as_a_method(device):
    a = mindtorch.tensor([1.0, -2.0, 3.0], device=device)
    assert a.where(a > 0, mindtorch.tensor(0.0)).tolist() == [1.0, 0.0, 3.0]
    assert a.where(condition=a > 0, other=7).tolist() == [1.0, 7.0, 3.0]


def test_where_a_condition_holds(device):
    a = mindtorch.tensor([[1.0, 0.0], [3.0, 4.0]], device=device)
    rows, columns = mindtorch.where(a)
    assert (rows.tolist(), columns.tolist()) == ([0, 1, 1], [0, 0, 1])
    assert [index.tolist() for index in mindtorch.where(condition=mindtorch.tensor(True, device=device))] == [[0]]


@pytest.mark.parametrize("call", [
    "torch.zeros()", "torch.ones(dtype=torch.int32)", "torch.empty()", "torch.full(2, 3.0)",
    "torch.addmm(torch.ones(2), torch.ones(2, 4), torch.ones(4, 3))",
    "torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(3))",
    "torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3).double(), torch.ones(4).double())",
    "torch.nn.functional.linear(torch.ones(1, 2, 3).half(), torch.ones(4, 3), torch.ones(4))",
    "torch.nn.functional.linear(torch.ones(1, 2, 3).half(), torch.ones(4, 3))",
    "torch.addmm(torch.ones(3), torch.ones(2, 4), torch.ones(4, 3).double())",
    "torch.nn.functional.cross_entropy(torch.ones(6, 4), torch.ones(3).long())",
    "torch.nn.functional.nll_loss(torch.ones(6, 4, 2), torch.ones(3, 2).long())",
    "torch.conv2d(torch.ones(1, 2, 3, 3).half(), torch.ones(2, 2, 3, 3), torch.ones(2))",
    "torch.conv1d(torch.ones(1, 2, 3), torch.ones(2, 2, 3).double())",
    "torch.nn.functional.kl_div(torch.ones(2, 3), torch.ones(4), reduction='sum')",
    "torch.nn.functional.unfold(torch.ones(1, 1, 4, 2), (2, 3), dilation=2)",
    "torch.nn.functional.fold(torch.ones(1, 4, 4), (3, 3), 3)",
    "torch.nn.functional.fold(torch.ones(1, 4, 5), (3, 3), 2)",
    "torch.linalg.solve(torch.ones(2, 2, 2), torch.ones(3, 2))", "torch.linalg.solve(torch.eye(2), torch.ones(3))",
    "torch.nanquantile(torch.ones(3), 2.0)",
])
def test_refusals_as_torch_words_them(call):
    with pytest.raises((TypeError, ValueError, RuntimeError)) as theirs:
        eval(call, {"torch": torch})
    with pytest.raises(theirs.type) as ours:
        eval(call, {"torch": mindtorch})
    assert str(ours.value) == str(theirs.value)


NUMBER = "torch.tensor(1.0, requires_grad=True)"


@pytest.mark.parametrize("call", [
    f"torch.ones(2).uniform_(0, {NUMBER})", f"torch.ones(2).normal_({NUMBER})", f"torch.full((2,), {NUMBER})",
    f"torch.addcmul(torch.ones(2), torch.ones(2), torch.ones(2), value={NUMBER})",
    f"torch.add(torch.ones(2), torch.ones(2), alpha={NUMBER})",
    f"torch.celu(torch.ones(2), {NUMBER})", f"torch.nn.functional.softplus(torch.ones(2), {NUMBER})",
    f"torch.nn.functional.layer_norm(torch.ones(2), (2,), eps={NUMBER})",
    f"torch.renorm(torch.ones(1, 2), {NUMBER}, 0, 1)"])
def test_a_tensor_that_requires_a_gradient_is_no_number(call):
    """Its gradient would be lost."""
    test_refusals_as_torch_words_them(call)
    result, expected = (eval(call.replace("True", "False"), {"torch": lib}) for lib in (mindtorch, torch))
    assert result.shape == expected.shape


def test_a_sum_wraps_in_the_dtype_asked_for(device):
    a = mindtorch.full((300,), 1, dtype=mindtorch.int8, device=device)
    assert a.sum(dtype=mindtorch.int8).item() == 44
    assert a.sum(dtype=mindtorch.bool).item() is True


def test_nothing_hides_the_functions_of_the_table():
    """A composite of the same name would; a row that serves one has the variant "aten".

    searchsorted has a function around it, which brings both operands to one dtype, where one for a lone condition, and
    conj_physical one that returns real numbers themselves.
    """
    assert {name for name, made in FUNCTIONS.items() if getattr(mindtorch, name) is not made} == {
        "searchsorted", "where", "conj_physical"}
    assert {name for name, made in METHODS.items() if getattr(mindtorch.Tensor, name) is not made} == set()


def test_bernoulli_as_a_method(device):
    ones = mindtorch.ones(4, device=device)
    assert ones.bernoulli().tolist() == ones.bernoulli(1).tolist() == ones.bernoulli(p=1.0).tolist() == [1] * 4
    assert ones.bernoulli(0).tolist() == [0] * 4
