"""torch.vmap beside torch's: values, gradients, structures of arguments and results, refusals."""
import math

import numpy as np
import pytest
import torch

import mindtorch
from mindtorch.func import _batching_rules

# name -> what is computed, of a library, a matrix (2, 3) and a vector (3)
CALLS = {
    "one": lambda lib, m, v: lib.vmap(lambda x: x.sin().sum())(m),
    "columns": lambda lib, m, v: lib.vmap(lambda x: x * 2, in_dims=1, out_dims=-1)(m),
    "beside one without a batch": lambda lib, m, v: lib.vmap(lib.dot, in_dims=(0, None))(m, v),
    "a number": lambda lib, m, v: lib.vmap(lambda x, y: x * y, in_dims=(0, None))(m, 2),
    "a keyword": lambda lib, m, v: lib.vmap(lambda x, y: x * y)(m, y=v),
    "a dict": lambda lib, m, v: lib.vmap(lambda d: d["a"] + d["b"], in_dims=({"a": 0, "b": None},))({"a": m, "b": v}),
    "one dim for a dict": lambda lib, m, v: lib.vmap(lambda d: d["a"] * d["b"])({"a": m, "b": m}),
    "results": lambda lib, m, v: lib.vmap(lambda x: {"s": x.sum(), "l": [x, x * 2]})(m),
    "out_dims": lambda lib, m, v: lib.vmap(lambda x: (x, x), out_dims=(0, 1))(m),
    "a result without a batch": lambda lib, m, v: lib.vmap(lambda x: (x, v), out_dims=(0, None))(m),
    "nested": lambda lib, m, v: lib.vmap(lambda x: lib.vmap(lambda y: x @ (y * v))(m))(m),
    "in chunks": lambda lib, m, v: lib.vmap(lambda x: x + 1, chunk_size=1)(m),
    "gradients of samples": lambda lib, m, v: lib.func.vmap(lib.func.grad(lambda w, x: (w @ x) ** 2), (None, 0))(v, m),
    "gradient of a map": lambda lib, m, v: lib.func.grad(lambda w: lib.vmap(lambda x: (w @ x) ** 2)(m).sum())(v),
    "a jacobian": lambda lib, m, v: lib.vmap(lib.func.jacrev(lambda x: x ** 2))(m),
    "filled": lambda lib, m, v: lib.vmap(lambda x, y: x.clone().fill_(y))(m, v[:2]),
    "filled with one number": lambda lib, m, v: lib.vmap(lambda x: x.clone().fill_(lib.tensor(2.0).to(x.device)))(m),
    "new with strides": lambda lib, m, v: lib.vmap(lambda x: x.new_empty_strided((3,), (1,)).copy_(x).mul_(2))(m),
    "no samples": lambda lib, m, v: lib.vmap(lambda x: (x * 2, x.sum()))(m[:0]),
    "the same numbers": lambda lib, m, v: lib.vmap(lambda x: lib.rand(2), randomness="same")(m)[0] * 0,
    "batched gradients": lambda lib, m, v: batched(lib, v),
    "batched gradients of the unused": lambda lib, m, v: batched(lib, v, lib.ones(1, requires_grad=True)),
    "a Jacobian by rows and by columns": lambda lib, m, v: [
        each(lambda x: (x ** 3).sum(0) * x[0])(m) for each in (lib.func.jacrev, lib.func.jacfwd)],
    "a Jacobian in chunks": lambda lib, m, v: lib.func.jacrev(lambda x: x ** 2, chunk_size=2)(v),
    "a Jacobian of several": lambda lib, m, v: lib.func.jacrev(lambda a, b: {"p": a * b, "s": b.sum()}, (0, 1))(m, v),
    "Hessians of samples": lambda lib, m, v: lib.vmap(lib.func.hessian(lambda x: (x ** 3 * v).sum()))(m),
    "tangents of samples": lambda lib, m, v: lib.vmap(lambda x: lib.func.jvp(lib.sin, (x,), (v,)))(m),
    "an index of samples": lambda lib, m, v: lib.vmap(lambda x, i: (x[i], x[..., i], x.index_select(0, i)))(
        m, lib.tensor([[0, 2], [1, 1]], device=m.device)),
    "a place of each sample": lambda lib, m, v: lib.vmap(lambda x, i: (v[i], m[:, i], v[None, i], set_at(x, i)))(
        m, lib.tensor([2, -1], device=m.device)),
    "a write by an index": lambda lib, m, v: lib.vmap(lambda x, i: x.clone().index_put_((i,), x[0], True))(
        m, lib.tensor([[0, 2], [1, 1]], device=m.device)),
    "a write to a part": lambda lib, m, v: lib.vmap(lambda x: set_part(lib.zeros_like(x), x))(m),
    "new tensors": lambda lib, m, v: lib.vmap(lambda x: set_part(x.new_zeros(4), x))(m),
    "a number of a wider dtype": lambda lib, m, v: lib.vmap(lambda x: (x * 2).double() * v.sum())(m[:, 0]),
    "extremes and medians that are equal, and NaN": lambda lib, m, v: [lib.vmap(each(
        lambda x, name=name: getattr(x.round().where(x > -1e9, x), name)()))(lib.cat([m.round(), m.new_tensor(
            [[2.0, 0.0, 2.0], [float("nan"), 1.0, float("nan")], [3.0, 3.0, 3.0]])]))
        for name in ("max", "min", "median", "nanmedian") for each in (lambda f: f, lib.func.grad)],
    "a layer with weights of samples": lambda lib, m, v: lib.vmap(
        lambda w, x: lib.nn.functional.conv1d(x.view(1, 1, 3), w.view(1, 1, 3), v[:1]))(m, m),
    "a Function": lambda lib, m, v: lib.vmap(lib.func.grad(lambda x: cube(lib).apply(x).sum()))(m),
    "a Function with a rule": lambda lib, m, v: lib.vmap(cube_with_rule(lib).apply)(m),
    "a part of samples in a tensor without a batch": lambda lib, m, v: lib.vmap(lambda x: (
        v.slice_scatter(x[:2], 0, 1), v.index_reduce(0, lib.tensor([1], device=v.device), x[:1], "mean"),
        lib.block_diag(v, x), lib.diag(v).diagonal_scatter(x)))(m),
    "samples one by one, in two maps": lambda lib, m, v: lib.vmap(lambda x: lib.vmap(
        lambda y: lib.matrix_exp(lib.outer(x, y)))(m))(m),
    "no samples one by one": lambda lib, m, v: lib.vmap(lambda x: lib.matrix_exp(lib.outer(x, x)))(m[:0]),
    "gradients of samples one by one": lambda lib, m, v: lib.vmap(
        lib.func.grad(lambda x: lib.matrix_exp(lib.outer(x, x) / 4).sum()))(m),
    "rows between two tensors": lambda lib, m, v: lib.vmap(lambda a, b: (
        lib.linspace(a.cpu(), b.cpu(), 4), lib.logspace(0., b.cpu(), 3)))(m[:, 0], m[:, 1]),
    **{f"all of several that are the {name} share its gradient": lambda lib, m, v, name=name: lib.vmap(
        lib.func.grad(lambda x: getattr(x, name)() * 2))(lib.cat([m, m, m + 2], 1))
       for name in ("max", "min", "median", "nanmedian", "amax")},
    **{f"the first of several that are the {name} has its gradient from outside": lambda lib, m, v, name=name: [
        lib.func.grad(lambda y: lib.vmap(lambda x: getattr(x, name)() * 2)(y).sum())(lib.cat([m, m, m + 2], 1)),
        lib.vmap(lib.func.grad(lambda y: lib.vmap(lambda x: getattr(x, name)())(y).sum()))(m[:, None].expand(-1, 2, -1)
                                                                                           .repeat(1, 1, 2))]
       for name in ("max", "min", "median", "nanmedian", "amax")},
    "a vectorized jacobian": lambda lib, m, v: lib.autograd.functional.jacobian(lambda a: m.cpu() @ a.cpu(), v,
                                                                                vectorize=True),
    "a vectorized hessian": lambda lib, m, v: lib.autograd.functional.hessian(lambda a: (a ** 3).sum(), v,
                                                                              vectorize=True),
}

# name -> a call that is refused
REFUSED = {
    "randomness": lambda lib, m: lib.vmap(lambda x: x, randomness="no"),
    "chunk_size": lambda lib, m: lib.vmap(lambda x: x, chunk_size=0),
    "no inputs": lambda lib, m: lib.vmap(lambda: 1)(),
    "in_dims None": lambda lib, m: lib.vmap(lambda x: x, in_dims=None)(m),
    "nothing to map": lambda lib, m: lib.vmap(lambda x: x, in_dims=(None,))(m),
    "more in_dims": lambda lib, m: lib.vmap(lambda x: x, in_dims=(0, 0))(m),
    "a list of in_dims": lambda lib, m: lib.vmap(lambda x: x, in_dims=[0])(m),
    "in_dim beyond": lambda lib, m: lib.vmap(lambda x: x, in_dims=2)(m),
    "in_dim below": lambda lib, m: lib.vmap(lambda x: x, in_dims=-3)(m),
    "in_dim of a number": lambda lib, m: lib.vmap(lambda x, y: x)(m, 2),
    "in_dim of no dims": lambda lib, m: lib.vmap(lambda x: x)(m.sum()),
    "a float in_dim": lambda lib, m: lib.vmap(lambda x: x, in_dims=(0.5,))(m),
    "sizes": lambda lib, m: lib.vmap(lambda x, y: x)(m, m.t()),
    "a number as result": lambda lib, m: lib.vmap(lambda x: (x, 1))(m),
    "None as result": lambda lib, m: lib.vmap(lambda x: None)(m),
    "more out_dims": lambda lib, m: lib.vmap(lambda x: (x, x), out_dims=(0, 1, 2))(m),
    "out_dim beyond": lambda lib, m: lib.vmap(lambda x: x, out_dims=5)(m),
    "out_dim str": lambda lib, m: lib.vmap(lambda x: x, out_dims="a")(m),
    "a batch where out_dim is None": lambda lib, m: lib.vmap(lambda x: x, out_dims=None)(m),
    "random numbers": lambda lib, m: lib.vmap(lambda x: x + lib.rand(()).to(x.device))(m),
    "an element": lambda lib, m: lib.vmap(lambda x: x[0].item())(m),
    "a dimension of the batch": lambda lib, m: lib.vmap(lambda x: x.sum(1))(m),
    "no function": lambda lib, m: lib.vmap(3)(m),
    "gradients of another shape": lambda lib, m: lib.autograd.grad(
        (x := m.clone().requires_grad_()) * 2, x, m, is_grads_batched=True),
}


def set_at(x, place):
    x = x.clone()
    x[place] = 7.0
    return x


def set_part(x, values):
    x[1:3] = values[:2]
    return x


def cube(lib):
    class Cube(lib.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x ** 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return 3 * ctx.saved_tensors[0] ** 2 * grad
    return Cube


def cube_with_rule(lib):
    class Cube(cube(lib)):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, x):
            assert (info.batch_size, in_dims) == (2, (0,))
            return x ** 3 + 1, 0
    return Cube


def batched(lib, v, *unused):
    x = v.detach().requires_grad_()
    grads = lib.eye(3, device=v.device)
    return lib.autograd.grad(x ** 2, [x, *unused], grads, is_grads_batched=True, allow_unused=True)


def inputs(lib, device):
    m = lib.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]).to(device)
    return m, lib.tensor([0.3, -0.2, 0.9]).to(device)


def assert_same(ours, theirs):
    if isinstance(theirs, torch.Tensor):
        assert tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(ours.detach().cpu().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        assert_same(list(ours.values()), list(theirs.values()))
    elif isinstance(theirs, list | tuple):
        assert type(ours) is type(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    else:
        assert ours == theirs


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")     # torch's own jvp
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning", "ignore:index_reduce:UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_values(name, device):
    assert_same(CALLS[name](mindtorch, *inputs(mindtorch, device)), CALLS[name](torch, *inputs(torch, "cpu")))


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, device):
    with pytest.raises(Exception) as theirs:    # noqa: PT011 - the type is compared below
        REFUSED[name](torch, inputs(torch, "cpu")[0])
    state = mindtorch.get_rng_state()
    with pytest.raises(type(theirs.value)) as ours:
        REFUSED[name](mindtorch, inputs(mindtorch, device)[0])
    assert str(ours.value).split("(")[0] == str(theirs.value).split("(")[0]
    assert mindtorch.equal(mindtorch.get_rng_state(), state)


@pytest.mark.parametrize(("function", "name"), [
    (lambda x: x.nonzero(), "aten::nonzero"), (lambda x: x.unique(), "aten::_unique2"),
    (lambda x: x.unique_consecutive(), "aten::unique_consecutive"), (lambda x: x.masked_select(x > 0), "`mask`")])
def test_elements_that_decide_a_shape_are_refused(function, name, device):
    for lib, where in ((mindtorch, device), (torch, "cpu")):
        with pytest.raises(RuntimeError, match=f"ttempted to vmap over {name}"):
            lib.vmap(function)(inputs(lib, where)[0])


def test_a_jacobian_of_one_row_has_no_batch(monkeypatch):
    ran = []
    monkeypatch.setattr(_batching_rules, "run_batched", lambda func, *args: ran.append(func))
    x = mindtorch.tensor([0.5, -1.0, 2.0])
    assert mindtorch.func.jacrev(lambda x: (x * x).sum())(x).tolist() == [1, -2, 4]
    assert not ran


def test_random_numbers(device):
    m = inputs(mindtorch, device)[0]
    same_numbers = mindtorch.vmap(lambda x: mindtorch.rand(4, device=device), randomness="same")(m)
    assert mindtorch.equal(same_numbers[0], same_numbers[1])
    different = mindtorch.vmap(lambda x: mindtorch.rand(4, device=device), randomness="different")(m)
    assert not mindtorch.equal(different[0], different[1])
    with pytest.raises(RuntimeError, match="randomness error mode"):
        mindtorch.vmap(lambda x: mindtorch.rand(4, device=device))(m)


def test_backward_through_a_map(device):
    m, v = inputs(mindtorch, device)
    v.requires_grad_()
    mindtorch.vmap(lambda x: (x * v).sum() ** 2)(m).sum().backward()
    np.testing.assert_allclose(v.grad.cpu().numpy(), (2 * (m @ v).unsqueeze(1) * m).sum(0).detach().cpu().numpy(),
                               rtol=1e-5)


@pytest.mark.parametrize("function", [lambda x: x, lambda x: x.to(x.dtype), lambda x: x.contiguous(),
                                      lambda x: x * 2, lambda x: x.view_as(x)])
def test_what_comes_back_as_it_was_given_is_the_argument(function, device):
    """So a leaf stays one; what is computed is no view, which detach_ would refuse."""
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        m = inputs(lib, place)[0].requires_grad_()
        result = lib.vmap(function)(m)
        found.append((result is m, result.is_leaf, result._is_view()))
    assert found[0] == found[1]


def test_the_function_is_called_once(device):
    calls = []

    def function(x):
        calls.append(x.shape)
        return x.sin()
    mindtorch.vmap(function)(inputs(mindtorch, device)[0])
    assert calls == [(3,)]


def test_gradients_of_the_samples_of_a_network(device):
    net = mindtorch.nn.Sequential(
        mindtorch.nn.Conv2d(1, 4, 3), mindtorch.nn.GroupNorm(2, 4), mindtorch.nn.ReLU(), mindtorch.nn.MaxPool2d(2),
        mindtorch.nn.Flatten(), mindtorch.nn.Linear(16, 8), mindtorch.nn.LayerNorm(8), mindtorch.nn.Linear(8, 3))
    net.to(device)
    parameters = {name: each.detach() for name, each in net.named_parameters()}
    x, target = mindtorch.randn(5, 1, 6, 6).to(device), mindtorch.tensor([0, 1, 2, 1, 0], device=device)

    def loss(parameters, x, target):
        result = mindtorch.func.functional_call(net, parameters, x.unsqueeze(0))
        return mindtorch.nn.functional.cross_entropy(result, target.unsqueeze(0))
    found = mindtorch.vmap(mindtorch.func.grad(loss), (None, 0, 0))(parameters, x, target)
    for number in range(5):
        expected = mindtorch.func.grad(loss)(parameters, x[number], target[number])
        for name, each in expected.items():
            np.testing.assert_allclose(found[name][number].cpu().numpy(), each.cpu().numpy(), rtol=1e-4, atol=1e-5)


def test_a_batch_does_not_fit_into_a_tensor_without_one(device):
    m, v = inputs(mindtorch, device)
    with pytest.raises(RuntimeError, match=r"add_.* is not possible because there exists a Tensor `other`"):
        mindtorch.vmap(v.add_)(m)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("name", ["normal_", "random_", "uniform_", "exponential_", "bernoulli_"])
def test_samples_that_are_drawn_in_place_together(name, dim):
    def drawn(lib):
        lib.manual_seed(0)
        more = [lib.full((1,), 0.3)] if name == "bernoulli_" else []
        draw = lib.vmap(lambda x: getattr(x, name)(*more), in_dims=dim, randomness="different")
        return draw(lib.ones(4, 5, 4)).numpy()
    np.testing.assert_allclose(drawn(mindtorch), drawn(torch), rtol=1e-6)


@pytest.mark.parametrize("name", ["jacfwd", "hessian"])
def test_columns_of_random_functions(name):
    def run(lib):
        def function(x):
            return (lib.bernoulli(x) * x).sum()
        with pytest.raises(RuntimeError) as caught:
            getattr(lib.func, name)(function)(lib.ones(2))
        return str(caught.value)[:60], lib.func.jacfwd(function, randomness="same")(lib.ones(2)).tolist()
    assert run(mindtorch) == run(torch)


@pytest.mark.parametrize("name", ["rand_like", "randn_like", "randint_like"])
def test_random_numbers_in_the_shape_of_a_sample(name, device):
    """The same for all samples, or others for each."""
    more = (1 << 20,) if name == "randint_like" else ()
    for randomness in ("same", "different"):
        first, second = mindtorch.vmap(lambda x: getattr(mindtorch, name)(x, *more), randomness=randomness)(
            mindtorch.ones(2, 30, device=device))
        assert mindtorch.equal(first, second) == (randomness == "same")


@pytest.mark.parametrize("dims", [(0, None), (None, 0), (0, 0)])
@pytest.mark.parametrize("ranks", [(2, 3), (3, 2)])
@pytest.mark.parametrize("name", ["triangular", "cdist", "cholesky_solve", "normal"])
def test_batches_of_other_ranks_are_no_samples(name, ranks, dims, device):
    """Three samples, and three matrices in one of the operands: the dimensions are not taken for each other."""
    triangle = mindtorch.tensor([[2.0, 0], [0.5, 1]], device=device)
    functions = {
        "triangular": lambda x, a: mindtorch.linalg.solve_triangular(a, x, upper=False), "cdist": mindtorch.cdist,
        "cholesky_solve": mindtorch.cholesky_solve,
        "normal": lambda x, a: mindtorch.distributions.MultivariateNormal(
            x[..., 0], scale_tril=a, validate_args=False).log_prob(x[..., 1])}
    make = mindtorch.arange(9.0, device=device).sin().view(9, 1, 1)
    operands = []
    for rank, dim, base in zip(ranks, dims, (mindtorch.ones(2, 2, device=device), triangle), strict=True):
        shape = [3] * (rank - 2 + (dim is not None)) + [2, 2]
        count = math.prod(shape) // 4
        operands.append(((make[:count] + 2) * base).view(shape))
    found = mindtorch.vmap(functions[name], in_dims=dims)(*operands)
    samples = [functions[name](*[x if dim is None else x[i] for x, dim in zip(operands, dims, strict=True)])
               for i in range(3)]
    assert mindtorch.allclose(found, mindtorch.stack(samples), atol=1e-4)
