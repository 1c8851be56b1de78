"""torch.vmap beside torch's: values, gradients, structures of arguments and results, refusals."""
import numpy as np
import pytest
import torch

import mindtorch

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
    "no samples": lambda lib, m, v: lib.vmap(lambda x: (x * 2, x.sum()))(m[:0]),
    "the same numbers": lambda lib, m, v: lib.vmap(lambda x: lib.rand(2), randomness="same")(m)[0] * 0,
    "batched gradients": lambda lib, m, v: batched(lib, v),
    "batched gradients of the unused": lambda lib, m, v: batched(lib, v, lib.ones(1, requires_grad=True)),
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
    "no function": lambda lib, m: lib.vmap(3)(m),
    "gradients of another shape": lambda lib, m: lib.autograd.grad(
        (x := m.clone().requires_grad_()) * 2, x, m, is_grads_batched=True),
}


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
