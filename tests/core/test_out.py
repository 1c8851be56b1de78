"""out= of any dtype, in-place operators, linear: what torch refuses, and what the tensors are afterwards."""
import pytest
import torch
from oracle import check, expressions

import mindtorch

FLOATS = """
torch.mm(a, a.t(), out=o) | torch.matmul(a, a.t(), out=o) | torch.mv(a, a[0], out=o) | torch.dot(a[0], a[0], out=o)
torch.bmm(a[None], a.t()[None], out=o) | torch.addmm(a[0, :2], a, a.t(), out=o) | torch.square(a, out=o)
torch.softmax(a, 0, out=o) | torch.softmax(a, 0, dtype=torch.float64, out=o)
torch.mean(a, 0, out=o) | torch.mean(a, 0, dtype=torch.float64, out=o) | torch.sum(a, 0, out=o)
torch.amax(a, 0, out=o) | torch.amin(i, 0, out=o) | torch.argmax(a, 0, out=o) | torch.abs(a, out=o)
torch.all(a, 0, out=o) | torch.all(u, 0, out=o) | torch.neg(a, out=o) | torch.bitwise_not(i, out=o)
[*torch.max(a, 0, out=(o, o.to(torch.int64)))] | [*torch.max(a, 0, out=(a[0].clone(), o))]
torch.min(i, 0, out=(o, z))
torch.eq(a, 1, out=o) | torch.where(a > 1, a, a, out=o) | torch.clamp(a, 0, 1, out=o) | torch.clamp(a, min=a, out=o)
torch.clamp_min(a, 1, out=o)
torch.cat([a, a], out=o) | torch.stack([i, i], out=o) | torch.add(a, 1, out=o) | torch.floor_divide(i, 2, out=o)
torch.zeros(3, out=o) | torch.zeros(3, dtype=torch.float32, out=o) | torch.ones(3, dtype=torch.float32, out=o)
torch.arange(3, dtype=torch.int16, out=o) | torch.full((2,), 1, dtype=torch.int16, out=o)
"""
IN_PLACE = """
operator.ifloordiv(i, 2) | operator.ifloordiv(i, i + 1) | operator.iand(i, 3) | operator.iand(i, i)
operator.ior(i, i)
operator.iand(m, ~m) | operator.ior(m, m) | operator.ifloordiv(a, 2) | operator.ifloordiv(i, "x")
operator.iand(i, i[:, :2]) | operator.iand(m, i[0]) | operator.ifloordiv(i, 1.5)
"""
LINEAR = """
F.linear(a, a) | F.linear(a, a[0]) | F.linear(a, a[0], a[0, 1]) | F.linear(a, a[0], a[0]) | F.linear(a, a, a[0, 1])
F.linear(a[0], a[0]) | F.linear(a[0], a[0], a[0, 1]) | F.linear(a[0], a, a[:, 0]) | F.linear(a, a, a)
F.linear(a, a, i)
F.linear(a[None], a, a[:, 0]) | F.linear(a[None], a[0], a[0, 1]) | F.linear(a[0, 0], a) | F.linear(a, a[0, 0])
F.linear(a, a[None]) | F.linear(a, i) | F.linear(1, a) | F.linear(a, 1) | F.linear(a, a, 1) | F.linear(a, a.t())
"""


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("expression", expressions(FLOATS))
def test_out_of_any_dtype(expression, dtype, device):
    check(f"(lambda o: {expression})(torch.empty(0, dtype=torch.{dtype}, device=dev))", device)


@pytest.mark.parametrize("expression", expressions(IN_PLACE + LINEAR))
def test_as_torch(expression, device):
    check(expression, device)


EMPTY_OPERANDS = {"sum": 0.0, "prod": 1.0, "nansum": 0.0, "logsumexp": float("-inf")}


@pytest.mark.parametrize("name", EMPTY_OPERANDS)
def test_an_operand_that_is_resized_as_out_is_read_first(name, device):
    v = mindtorch.zeros(0, device=device)
    assert getattr(mindtorch, name)(v, -1, out=v) is v
    assert v.shape == ()
    assert v.item() == EMPTY_OPERANDS[name]


@pytest.mark.filterwarnings("ignore:An output with one or more elements")
def test_operands_as_out_of_other_shapes(device):
    def ones(*shape):
        return mindtorch.ones(shape, device=device)
    for call, operand, expected in [
            (lambda v: mindtorch.sum(v, -1, out=v), ones(2, 3), [3, 3]),
            (lambda v: mindtorch.mean(v, 0, out=v), ones(2, 3), [1, 1, 1]),
            (lambda v: mindtorch.mm(ones(3, 2), v, out=v), ones(2, 1), [[2], [2], [2]])]:
        assert call(operand) is operand
        assert operand.tolist() == expected


RANGES_OUT = """
torch.arange(0, 4, out=v) | torch.arange(0, 3, out=v) | torch.linspace(0, 3, 4, out=v) | torch.linspace(0, 4, 5, out=v)
torch.logspace(0, 3, 4, out=v) | torch.range(0, 3, out=v) | torch.arange(0, 4, out=x[0]) | torch.zeros(4, out=v)
torch.zeros(2, 2, out=v) | torch.empty(2, 2, out=v).fill_(7) | torch.empty(3, out=v).fill_(7)
torch.add(v, torch.ones(2, 1, 2, device=dev), out=v)
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", expressions(RANGES_OUT))
def test_ranges_into_a_view(expression, device):
    """A range keeps the shape of an out= that has as many elements as it; what else is resized, as in torch."""
    view = f"(lambda x: (lambda v: [{expression}, v.stride(), x])(x.narrow(1, 1, 2)))"
    check(f"{view}(torch.full((2, 4), -1., device=dev))", device)


LEAVES = """
torch.empty(2, out=v) | torch.randn(3, out=v) | torch.ones(2, out=v) | torch.full((3,), 2.0, out=v)
torch.arange(3, out=v) | torch.rand(2, out=v).shape
"""


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("expression", expressions(LEAVES))
def test_factories_into_a_leaf_that_requires_a_gradient(expression, grad, device):
    """They are refused, or set the flag as they do for new tensors."""
    call = f"torch.set_grad_enabled({grad})(lambda v: [{expression}, v.requires_grad])"
    check(f"{call}(torch.ones(2, device=dev, requires_grad=True))", device)


@pytest.mark.parametrize("name", ["ifloordiv", "iand"])
def test_in_place_operators_keep_the_tensor(name, device):
    check(f"[i._version, operator.{name}(i, 2) is i, i._version, i]", device)


def test_operators_without_a_kernel_on_the_npu_are_in_place_on_the_cpu():
    for name in ("imod", "ior", "ixor"):
        check(f"[i._version, operator.{name}(i, 2) is i, i._version, i]")


def test_invert_is_for_integers(device):
    check("~a", device)


SEVERAL_OPERATORS = {
    "vdot": lambda lib, x, **out: lib.vdot(x[0], x[1], **out), "inner": lambda lib, x, **out: lib.inner(x, x, **out),
    "kron": lambda lib, x, **out: lib.kron(x, x, **out), "isin": lambda lib, x, **out: lib.isin(x, x[0], **out),
    "argsort": lambda lib, x, **out: lib.argsort(x, 0, **out), "ndtr": lambda lib, x, **out: lib.special.ndtr(x, **out),
    "cross": lambda lib, x, **out: lib.cross(x, x.flip(0), dim=0, **out),
    "cholesky_solve": lambda lib, x, **out: lib.cholesky_solve(x, x.tril(), **out),
    "slice_scatter": lambda lib, x, **out: lib.slice_scatter(x, x[:1], 0, 1, 2, **out),
    "column_stack": lambda lib, x, **out: lib.column_stack([x, x[0]], **out),
}


@pytest.mark.parametrize("name", SEVERAL_OPERATORS)
def test_functions_of_several_operators_take_out(name, device):
    call = SEVERAL_OPERATORS[name]
    x = mindtorch.tensor([[2.0, 1.0, 3.0], [1.0, 5.0, 1.0], [4.0, 2.0, 9.0]]).to(device)
    plain = call(mindtorch, x)
    out = mindtorch.empty(0, dtype=plain.dtype, device=device)
    assert call(mindtorch, x, out=out) is out
    assert out.tolist() == plain.tolist()
    with pytest.raises(RuntimeError, match=r"can't be cast|functions with out=|out tensor to have dtype"):
        call(mindtorch, x.requires_grad_(), out=mindtorch.empty(0, dtype=mindtorch.int8, device=device)
             if plain.is_floating_point() else mindtorch.empty(0, requires_grad=True, device=device))


@pytest.mark.parametrize("call", [
    lambda lib, **out: lib.rand(3, 4, **out), lambda lib, **out: lib.randn(3, 4, **out),
    lambda lib, **out: lib.rand(0, 0, **out), lambda lib, **out: lib.randint(9, (3, 4), **out),
    lambda lib, **out: lib.randint(2, 9, (3, 4), **out)])
def test_random_numbers_are_written_to_out(call):
    mindtorch.manual_seed(5)
    expected = call(mindtorch)
    for shape in ((0,), tuple(expected.shape)):
        out = mindtorch.empty(shape, dtype=expected.dtype)
        mindtorch.manual_seed(5)
        assert call(mindtorch, out=out) is out
        assert mindtorch.equal(out, expected)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_are_written_where_out_is(name, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        out = lib.empty((), dtype=lib.float64, device=place)
        with pytest.warns(UserWarning, match="The out tensor will be resized"):
            assert getattr(lib.fft, name)(7, 0.3, out=out) is out
        found.append(out.tolist())
        with pytest.raises(RuntimeError, match="requires a floating point or complex dtype"):
            getattr(lib.fft, name)(7, out=lib.empty(7, dtype=lib.int64, device=place))
    assert found[0] == found[1]
