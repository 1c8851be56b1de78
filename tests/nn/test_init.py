"""torch.nn.init and torch.nn.utils, beside torch; on the CPU a seed gives the numbers of torch."""
import math

import pytest
import torch
from compare_with_torch import check

import mindtorch

# Function, shape, further arguments.
FILLS = [
    ("uniform_", (3, 5), {"a": -1.0, "b": 2.0}), ("uniform_", (7, 9), {}), ("normal_", (2, 5), {"mean": 1, "std": 2}),
    ("normal_", (5, 9), {}), ("trunc_normal_", (3, 5), {}), ("trunc_normal_", (7, 8), {"std": 0.5, "a": 0.1, "b": 1.0}),
    ("trunc_normal_", (7, 8), {"std": 1.0, "a": 1.5, "b": 4.0}),
    ("constant_", (3,), {"val": 0.3}), ("ones_", (2, 2), {}),
    ("zeros_", (2, 2), {}), ("eye_", (3, 4), {}), ("eye_", (4, 3), {}), ("dirac_", (4, 3, 3), {}),
    ("dirac_", (6, 2, 3, 4), {"groups": 3}), ("dirac_", (2, 2, 3, 3, 3), {"groups": 2}),
    ("xavier_uniform_", (3, 4), {}),
    ("xavier_uniform_", (3, 4, 2, 2), {"gain": 2.0}), ("xavier_normal_", (3, 4), {}), ("kaiming_uniform_", (3, 4), {}),
    ("kaiming_uniform_", (3, 4, 5), {"a": math.sqrt(5), "mode": "fan_out"}),
    ("kaiming_normal_", (3, 4), {"nonlinearity": "relu"}), ("orthogonal_", (3, 5), {}),
    ("orthogonal_", (5, 3), {"gain": 2}),
    ("orthogonal_", (4, 2, 2), {}), ("sparse_", (6, 3), {"sparsity": 0.4}),
    ("sparse_", (4, 4), {"sparsity": 0.1, "std": 2}),
    ("kaiming_uniform_", (0, 3), {}), ("orthogonal_", (0, 3), {}),
]


@pytest.mark.parametrize(("name", "shape", "options"), FILLS)
@pytest.mark.filterwarnings("ignore:Initializing zero-element:UserWarning")
def test_a_seed_gives_the_numbers_of_torch(name, shape, options):
    results = []
    for t in (torch, mindtorch):
        t.manual_seed(11)
        weight = t.nn.Parameter(t.empty(shape))
        given = getattr(t.nn.init, name)(weight, **options)
        assert given is weight
        assert weight.requires_grad
        assert weight.grad_fn is None
        results.append((torch.tensor(weight.tolist()).reshape(shape), t.rand(1).item()))
    (expected, state), (found, our_state) = results
    assert state == our_state, "the generator was used differently"
    torch.testing.assert_close(found, expected, rtol=2e-6, atol=2e-6)


def moments(tensor):
    values = tensor.detach().cpu().double()
    return values.mean().item(), values.std().item(), values.min().item(), values.max().item()


RANDOM = [("uniform_", {"a": -1.0, "b": 3.0}), ("normal_", {"mean": 1.0, "std": 0.5}), ("trunc_normal_", {}),
          ("trunc_normal_", {"a": 1.5, "b": 4.0}), ("xavier_uniform_", {}), ("xavier_normal_", {}),
          ("kaiming_uniform_", {}), ("kaiming_normal_", {})]


@pytest.mark.parametrize(("name", "options"), RANDOM)
def test_random_fills_have_the_moments_that_torch_has(name, options, device):
    torch.manual_seed(1)
    mindtorch.manual_seed(1)
    expected = moments(getattr(torch.nn.init, name)(torch.empty(64, 64), **options))
    found = moments(getattr(mindtorch.nn.init, name)(mindtorch.empty(64, 64, device=device), **options))
    deviation = expected[1]
    assert found[0] == pytest.approx(expected[0], abs=deviation * 0.1)
    assert found[1] == pytest.approx(expected[1], rel=0.1)
    if name != "normal_" and not name.endswith("_normal_"):
        assert (found[2], found[3]) == pytest.approx((expected[2], expected[3]), abs=deviation * 0.1)


@pytest.mark.parametrize("name", ["eye_", "dirac_", "ones_", "zeros_"])
def test_settled_fills(name, device):
    shape = (4, 3, 3) if name == "dirac_" else (4, 3)
    check(lambda t, d: getattr(t.nn.init, name)(t.nn.Parameter(t.empty(shape, device=d))), device)


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 2, 3)])
def test_orthogonal(shape, device):
    weight = mindtorch.nn.init.orthogonal_(mindtorch.empty(shape, device=device), gain=2).cpu().flatten(1)
    product = weight @ weight.t() if weight.shape[0] <= weight.shape[1] else weight.t() @ weight
    mindtorch.testing.assert_close(product, 4 * mindtorch.eye(min(weight.shape)), rtol=1e-5, atol=1e-5)


def test_sparse(device):
    weight = mindtorch.nn.init.sparse_(mindtorch.empty(10, 4, device=device), 0.35)
    assert (weight == 0).sum(0).tolist() == [4] * 4


ERRORS = {
    "eye": lambda t, d: t.nn.init.eye_(t.empty(2)), "dirac": lambda t, d: t.nn.init.dirac_(t.empty(2, 2)),
    "dirac groups": lambda t, d: t.nn.init.dirac_(t.empty(2, 2, 2), groups=3),
    "xavier": lambda t, d: t.nn.init.xavier_normal_(t.empty(2)),
    "sparse": lambda t, d: t.nn.init.sparse_(t.empty(2), 0.1),
    "mode": lambda t, d: t.nn.init.kaiming_normal_(t.empty(2, 2), mode="fan"),
    "nonlinearity": lambda t, d: t.nn.init.kaiming_normal_(t.empty(2, 2), nonlinearity="selfish"),
    "orthogonal": lambda t, d: t.nn.init.orthogonal_(t.empty(2)),
    "slope": lambda t, d: t.nn.init.calculate_gain("leaky_relu", True),
    "gains": lambda t, d: [t.nn.init.calculate_gain(name, param) for name, param in (
        ("linear", None), ("conv2d", None), ("conv_transpose3d", 1), ("sigmoid", None), ("tanh", None), ("relu", None),
        ("leaky_relu", None), ("leaky_relu", 0.2), ("leaky_relu", 1), ("selu", None))],
    "nothing": lambda t, d: t.nn.init.kaiming_uniform_(t.empty(0, 2)),
    "far": lambda t, d: t.nn.init.trunc_normal_(t.zeros(2, 2), mean=9.0).shape[0],
    "old name": lambda t, d: t.nn.init.constant(t.empty(2), 3),
    "names": lambda t, d: sorted(t.nn.init.__all__),
}


@pytest.mark.parametrize("scenario", ERRORS.values(), ids=list(ERRORS))
def test_init_errors_and_gains(scenario):
    check(scenario, "cpu")


# --- nn.utils --------------------------------------------------------------------------------------------------------

def weights(t, d):
    found = [t.nn.Parameter(t.ones(shape, device=d)) for shape in ((2, 3), (4,), (1,))]
    found[0].grad = t.tensor([[3.0, 0.0, 0.0], [0.0, 0.0, -4.0]], device=d)
    found[1].grad = t.tensor([0.0, 12.0, 0.0, 0.0], device=d)
    return found


def clipped(name, *arguments, **options):
    def scenario(t, d):
        held = weights(t, d)
        given = getattr(t.nn.utils, name)(held, *arguments, **options)
        return given, [p.grad for p in held]
    return scenario


def bad_gradients(t, d):
    held = weights(t, d)
    held[1].grad[0] = float("inf")
    return t.nn.utils.clip_grad_norm_(held, 1.0, error_if_nonfinite=True)


def vectors(t, d):
    held = weights(t, d)
    vector = t.nn.utils.parameters_to_vector(held)
    t.nn.utils.vector_to_parameters(t.arange(11.0, device=d), held)
    return vector, held


def with_norm(t, d):
    held = weights(t, d)
    return t.nn.utils.clip_grads_with_norm_(held, 1.0, t.tensor(2.0, device=d)), [p.grad for p in held]


CLIPPED = {
    "norm": clipped("clip_grad_norm_", 6.5), "norm is small": clipped("clip_grad_norm_", 100),
    "norm 1": clipped("clip_grad_norm_", 4.75, norm_type=1), "infinite norm": clipped("clip_grad_norm_", 3, math.inf),
    "lists": clipped("clip_grad_norm_", 6.5, foreach=True),
    "one by one": clipped("clip_grad_norm_", 6.5, foreach=False),
    "value": clipped("clip_grad_value_", 3.5),
    "value one by one": clipped("clip_grad_value_", 3.5, foreach=False), "not finite": bad_gradients,
    "one parameter": lambda t, d: t.nn.utils.clip_grad_norm_(weights(t, d)[0], 1.0),
    "generator": lambda t, d: t.nn.utils.clip_grad_norm_((p for p in weights(t, d)), 1.0),
    "empty generator": lambda t, d: t.nn.utils.clip_grad_norm_((p for p in ()), 1.0).item(),
    "old name": clipped("clip_grad_norm", 6.5),
    "total norm": lambda t, d: t.nn.utils.get_total_norm([p.grad for p in weights(t, d)[:2]], 2.0),
    "with norm": with_norm, "vectors": vectors, "no vector": lambda t, d: t.nn.utils.vector_to_parameters([1], []),
}


@pytest.mark.parametrize("scenario", CLIPPED.values(), ids=list(CLIPPED))
def test_utils(scenario, device):
    check(scenario, device)


def test_two_devices():
    w, far = weights(mindtorch, "cpu"), weights(mindtorch, "npu")
    with pytest.raises(TypeError, match="Found two parameters on different devices"):
        mindtorch.nn.utils.parameters_to_vector(w + far)
    assert mindtorch.nn.utils.clip_grad_norm_(w + far, 1.0).item() == pytest.approx(13 * math.sqrt(2))
    assert far[0].grad.cpu()[0, 0].item() == pytest.approx(3 / (13 * math.sqrt(2)))
