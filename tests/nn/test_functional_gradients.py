"""First and second derivatives of torch.nn.functional, on both devices, against torch's."""
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as theirs

import mindtorch
import mindtorch.nn.functional as ours

ACTIVATIONS = [
    ("relu", {}), ("relu6", {}), ("hardtanh", {"min_val": -0.5}), ("leaky_relu", {}), ("elu", {"alpha": 1.3}),
    ("selu", {}), ("celu", {"alpha": 1.5}), ("silu", {}), ("mish", {}), ("hardswish", {}), ("hardsigmoid", {}),
    ("threshold", {"threshold": 0.1, "value": 2}), ("softsign", {}), ("tanhshrink", {}), ("glu", {}),
    ("softmax", {"dim": 1}), ("softmin", {"dim": 0}), ("log_softmax", {"dim": 1}), ("gelu", {}),
    ("gelu", {"approximate": "tanh"}), ("logsigmoid", {}), ("softplus", {"beta": 2}), ("hardshrink", {}),
    ("softshrink", {}), ("sigmoid", {}), ("tanh", {}), ("rrelu", {})]


def numbers(shape, phase):
    """Values of both signs, none near 0."""
    values = np.cos(np.arange(np.prod(shape)) * 1.7 + phase) * 3
    return (values + np.sign(values) * 0.05).reshape(shape).astype("float32")


FIRST_ONLY = ("hardsigmoid",)        # torch cannot differentiate their backward


def derivatives(lib, call, arrays, device, second=True):
    """The value of call(*tensors), its gradients, and with `second` the gradients of those."""
    tensors = [lib.tensor(array, device=device).requires_grad_(True) for array in arrays]

    def weighted(tensor):
        return (tensor * lib.tensor(numbers(tuple(tensor.shape), 1.0), device=device)).sum()
    value = call(*tensors)
    first = lib.autograd.grad(weighted(value), tensors, create_graph=True)
    found = [value, *first]
    if second and any(one.requires_grad for one in first):
        total = sum(weighted(one) for one in first if one.requires_grad)
        again = lib.autograd.grad(total, tensors, allow_unused=True)
        found += [lib.zeros_like(t) if one is None else one for one, t in zip(again, tensors, strict=True)]
    elif second:
        found += [lib.zeros_like(t) for t in tensors]
    # + 0: some of torch's zeros have no memory
    return [np.array((one.detach() + 0).tolist(), "float32") for one in found]


@pytest.mark.parametrize(("name", "options"), ACTIVATIONS, ids=str)
def test_activations(name, options, device):
    arrays = [numbers((4, 6), 0.0)]
    second = name not in FIRST_ONLY
    expected = derivatives(torch, partial(getattr(theirs, name), **options), arrays, "cpu", second)
    found = derivatives(mindtorch, partial(getattr(ours, name), **options), arrays, device, second)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["relu", "relu6", "hardtanh", "leaky_relu", "elu", "selu", "celu", "silu", "mish",
                                  "hardswish", "hardsigmoid", "rrelu"])
def test_activations_in_place(name, device):
    x = mindtorch.tensor(numbers((4, 6), 0.0), device=device)
    result = getattr(ours, name)(x, inplace=True)
    assert result is x
    expected = getattr(theirs, name)(torch.tensor(numbers((4, 6), 0.0)))
    np.testing.assert_allclose(np.array(x.cpu().tolist()), expected.numpy(), rtol=2e-5, atol=2e-6)


CLASSES = np.array([1, 0, 3, 2])
TARGETS = (np.arange(24).reshape(4, 6) % 5 + 1) / 7
SIGNS = np.where(np.arange(24).reshape(4, 6) % 3 == 0, -1.0, 1.0)


def constant(lib, array, device):
    """What no gradient is asked of; integers are classes."""
    array = np.asarray(array)
    return lib.tensor(array if array.dtype.kind == "i" else array.astype("float32"), device=device)


# name, the differentiable inputs' shapes, the constants, options
LOSSES = [
    ("mse_loss", [(4, 6)], [TARGETS], {}), ("l1_loss", [(4, 6)], [TARGETS], {"reduction": "sum"}),
    ("smooth_l1_loss", [(4, 6)], [TARGETS], {"beta": 0.7}), ("huber_loss", [(4, 6)], [TARGETS], {"delta": 0.7}),
    ("kl_div", [(4, 6)], [TARGETS], {"reduction": "batchmean"}),
    ("kl_div", [(4, 6)], [TARGETS], {"reduction": "sum", "log_target": True}),
    ("poisson_nll_loss", [(4, 6)], [TARGETS * 4], {"full": True}),
    ("soft_margin_loss", [(4, 6)], [SIGNS], {"reduction": "none"}), ("hinge_embedding_loss", [(4, 6)], [SIGNS], {}),
    ("margin_ranking_loss", [(4, 6), (4, 6)], [SIGNS], {"margin": 0.3}),
    ("cosine_embedding_loss", [(4, 6), (4, 6)], [SIGNS[0, :4]], {"margin": 0.1}),
    ("binary_cross_entropy_with_logits", [(4, 6)], [TARGETS], {}),
    ("multilabel_soft_margin_loss", [(4, 6)], [TARGETS], {}),
    ("triplet_margin_loss", [(4, 6), (4, 6), (4, 6)], [], {"swap": True}),
    ("multi_margin_loss", [(4, 6)], [CLASSES], {"p": 2}), ("nll_loss", [(4, 6)], [CLASSES], {"reduction": "none"}),
    ("nll_loss", [(4, 6, 3)], [np.arange(12).reshape(4, 3) % 6], {"ignore_index": 2}),
    ("cross_entropy", [(4, 6)], [CLASSES], {}), ("cross_entropy", [(4, 6)], [TARGETS], {"label_smoothing": 0.2}),
    ("cross_entropy", [(4, 6)], [CLASSES], {"label_smoothing": 0.2, "ignore_index": 3, "reduction": "sum"}),
    ("cosine_similarity", [(4, 6), (4, 6)], [], {}), ("pairwise_distance", [(4, 6), (4, 6)], [], {"p": 3}),
    ("normalize", [(4, 6)], [], {}), ("local_response_norm", [(2, 5, 3)], [], {"size": 3}),
]


@pytest.mark.parametrize(("name", "shapes", "constants", "options"), LOSSES,
                         ids=[f"{name}-{options}" for name, _, _, options in LOSSES])
def test_losses(name, shapes, constants, options, device):
    def results(lib, functions, device):
        rest = [constant(lib, array, device) for array in constants]

        def call(*tensors):
            return getattr(functions, name)(*tensors, *rest, **options)
        second = not any(word in name for word in ("hinge", "margin", "distance"))      # not smooth
        return derivatives(lib, call, [numbers(s, 0.4 * i) for i, s in enumerate(shapes)], device, second)
    for one, other in zip(results(mindtorch, ours, device), results(torch, theirs, "cpu"), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-5)


def _normalisation(name, options, *shapes):
    return pytest.param(name, options, shapes, id=f"{name}-{options}")


@pytest.mark.parametrize(("name", "options", "shapes"), [
    _normalisation("layer_norm", {"normalized_shape": (6,)}, (4, 6), (6,), (6,)),
    _normalisation("layer_norm", {"normalized_shape": (5, 3)}, (2, 5, 3), (5, 3)),
    _normalisation("rms_norm", {"normalized_shape": (6,)}, (4, 6), (6,)),
    _normalisation("group_norm", {"num_groups": 2}, (3, 4, 5), (4,), (4,)),
    _normalisation("instance_norm", {}, (3, 4, 5)),
    _normalisation("batch_norm", {"training": True}, (3, 4, 5), (4,), (4,)),
    _normalisation("batch_norm", {"training": False}, (3, 4), (4,), (4,)),
])
def test_normalisation(name, options, shapes, device):
    """Values, gradients and running statistics."""
    def results(lib, functions, device):
        given = dict(options)
        if name == "batch_norm":
            given["running_mean"] = lib.zeros(4, device=device)
            given["running_var"] = lib.ones(4, device=device) * 2

        def call(x, *parameters):
            return getattr(functions, name)(x, **dict(zip(("weight", "bias"), parameters, strict=False)), **given)
        found = derivatives(lib, call, [numbers(s, 0.4 * i) for i, s in enumerate(shapes)], device)
        return found + [np.array(given[key].tolist()) for key in ("running_mean", "running_var") if key in given]
    for one, other in zip(results(mindtorch, ours, device), results(torch, theirs, "cpu"), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}, {"scale_grad_by_freq": True}], ids=str)
def test_embedding(options, device):
    def results(lib, functions, device):
        indices = constant(lib, [[0, 1, 4], [1, 1, 0]], device)
        return derivatives(lib, lambda weight: functions.embedding(indices, weight, **options), [numbers((5, 3), 0)],
                           device, second=False)
    for one, other in zip(results(mindtorch, ours, device), results(torch, theirs, "cpu"), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize(("name", "shape"), [("dropout", (40, 30, 20)), ("dropout2d", (40, 30, 4, 5)),
                                             ("dropout3d", (40, 30, 4, 1, 5))])
def test_dropout(name, shape, device):
    """Zeros with the probability asked for, the rest scaled; the gradient is the mask."""
    x = mindtorch.ones(shape, device=device).requires_grad_(True)
    y = getattr(ours, name)(x, 0.25)
    y.sum().backward()
    values = np.array(y.tolist())
    assert set(np.unique(np.round(values, 4))) == {0.0, 1.3333}
    assert abs((values == 0).mean() - 0.25) < 0.06
    np.testing.assert_array_equal(np.array(x.grad.tolist()), values)
    assert getattr(ours, name)(x, 0.25, training=False) is x
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1, but got 2"):
        getattr(ours, name)(x, 2)


NORMS = {
    "layer_norm": lambda x: ours.layer_norm(x, (2,)),
    "group_norm": lambda x: ours.group_norm(x[None], 1),
    "batch_norm": lambda x: ours.batch_norm(x.mT, None, None, training=True),
}


@pytest.mark.parametrize("name", NORMS)
def test_the_tangent_of_a_norm_of_close_elements_far_from_zero(name, device):
    x = mindtorch.tensor([[-3.27, -3.2]], dtype=mindtorch.float64, device=device)
    tangent = mindtorch.func.jvp(NORMS[name], (x,), (x * 2,))[1]
    # With d half of the difference, normal elements are d / sqrt(d ** 2 + eps); the tangent has 2 * d.
    slope = -0.01612863462579483
    np.testing.assert_allclose(tangent.flatten().tolist(), [slope, -slope], rtol=1e-12)


# What does not depend on the input's elements is a second derivative of zeros, not of a constant: calls of (F, x).
LINEAR = {
    "avg_pool1d": lambda f, x: f.avg_pool1d(x[0], 2), "avg_pool2d": lambda f, x: f.avg_pool2d(x, 2),
    "avg_pool3d": lambda f, x: f.avg_pool3d(x, 2), "max_pool2d": lambda f, x: f.max_pool2d(x, 2),
    "adaptive_avg_pool1d": lambda f, x: f.adaptive_avg_pool1d(x[0], 3),
    "adaptive_avg_pool1d of one": lambda f, x: f.adaptive_avg_pool1d(x[0], 1),
    "adaptive_avg_pool2d": lambda f, x: f.adaptive_avg_pool2d(x, 3),
    "adaptive_avg_pool3d": lambda f, x: f.adaptive_avg_pool3d(x, (1, 3, 3)),
    "adaptive_max_pool1d": lambda f, x: f.adaptive_max_pool1d(x[0], 3),
    "adaptive_max_pool2d": lambda f, x: f.adaptive_max_pool2d(x, 3),
    "adaptive_max_pool3d": lambda f, x: f.adaptive_max_pool3d(x, (1, 3, 3)),
    **{f"pad {mode} {dims}": lambda f, x, mode=mode, dims=dims: f.pad(x if dims > 1 else x[0], (1,) * 2 * dims, mode)
       for mode in ("reflect", "replicate", "circular") for dims in (1, 2)},
    "pad replicate 3": lambda f, x: f.pad(x, (1,) * 6, "replicate"),
    "nll_loss": lambda f, x: f.nll_loss(x[0, 0], x[0, 0, :, 0].detach().long() * 0),
    "nll_loss of images": lambda f, x: f.nll_loss(x, x[:, 0].detach().long() * 0),
    "interpolate": lambda f, x: f.interpolate(x, scale_factor=2), "unfold": lambda f, x: f.unfold(x, 2),
}


@pytest.mark.parametrize("name", LINEAR)
def test_whether_the_gradient_of_a_linear_function_has_a_history(name, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        x = lib.tensor(numbers((2, 3, 4, 4), 0).tolist(), device=place, requires_grad=True)
        result = LINEAR[name](lib.nn.functional, x)
        gradient, = lib.autograd.grad(result.sum(), x, create_graph=True)
        second = lib.autograd.grad(gradient.sum(), x)[0].tolist() if gradient.requires_grad else None
        found.append((gradient.requires_grad, second))
    assert found[0] == found[1]


@pytest.mark.parametrize(("shape", "groups"), [((1, 2), 2), ((1, 3), 2), ((2, 2), 0), ((1, 0, 3), 0), ((1, 2), -1)])
def test_group_norm_looks_for_several_values_of_a_group(shape, groups, device):
    with pytest.raises((ValueError, RuntimeError, ZeroDivisionError)) as expected:
        theirs.group_norm(torch.ones(shape), groups)
    with pytest.raises(type(expected.value)) as raised:
        ours.group_norm(mindtorch.ones(shape, device=device), groups)
    assert str(raised.value) == str(expected.value)


@pytest.mark.parametrize("log_target", [False, True])
def test_the_gradient_of_kl_div_does_not_depend_on_the_input(log_target, device):
    x, target = (mindtorch.rand(2, 3, device=device, requires_grad=first) for first in (True, False))
    loss = ours.kl_div(x, target, reduction="sum", log_target=log_target)
    grad, = mindtorch.autograd.grad(loss, x, create_graph=True)
    assert not grad.requires_grad
