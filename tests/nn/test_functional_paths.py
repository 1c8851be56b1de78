"""ctc_loss, fractional pooling, and losses over many classes, beside torch's, on both devices."""
import numpy as np
import pytest
import torch
from test_functional_networks import agree, numbers, refused_alike

import mindtorch

LABELS = np.array([[1, 2, 2, 3], [3, 3, 1, 2], [2, 1, 1, 1]])


def paths(targets, inputs, lengths, form=list, **options):
    """ctc_loss of log_softmax, with lengths as numbers or as tensors."""
    def call(lib, functional, scores):
        given = [form(n) if form is list else lib.tensor(n) for n in (inputs, lengths)]
        logs = scores.log_softmax(-1)
        return functional.ctc_loss(logs, lib.tensor(targets, device=scores.device), *given, **options)
    return call


@pytest.mark.parametrize("form", [list, "tensors"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ctc_loss(reduction, form, device):
    agree(paths(LABELS, [9, 7, 8], [4, 2, 3], form, reduction=reduction), [numbers(9, 3, 4)], device)


@pytest.mark.parametrize(("targets", "inputs", "lengths"), [
    (LABELS.astype("int32"), [9, 9, 9], [4, 4, 4]), (LABELS.reshape(-1), [9, 8, 9], [4, 4, 4]),
    (np.array([1, 2, 3, 1]), [9, 5, 9], [1, 0, 3]), (LABELS, [9, 9, 9], [0, 0, 0]),
    (LABELS.astype("float32"), [9] * 3, [2] * 3)],
    ids=["int32", "flat", "some empty", "all empty", "float"])
def test_ctc_targets(targets, inputs, lengths, device):
    agree(paths(targets, inputs, lengths, reduction="none"), [numbers(9, 3, 4)], device)


@pytest.mark.parametrize("zero", [True, False])
def test_ctc_targets_that_do_not_fit(zero, device):
    """A target longer than its input, and one of the right length with a repeated label."""
    agree(paths(LABELS, [2, 9, 3], [4, 4, 3], reduction="none", zero_infinity=zero), [numbers(9, 3, 4)], device)


def test_ctc_blank(device):
    agree(paths(LABELS - 1, [9, 9, 9], [4, 3, 4], blank=3), [numbers(9, 3, 4)], device)


def test_ctc_without_a_batch(device):
    agree(paths(LABELS[0], [9], [4]), [numbers(9, 4)], device)


def test_ctc_of_many_samples(device):
    targets = np.tile(LABELS, (30, 1))
    agree(paths(targets, [9] * 90, [4, 3, 2] * 30), [numbers(9, 90, 4)], device)
    flat = np.concatenate([row[:n] for row, n in zip(targets, [4, 3, 2] * 30, strict=True)])
    agree(paths(flat, [9] * 90, [4, 3, 2] * 30), [numbers(9, 90, 4)], device)


def test_ctc_in_torchs_own_namespace(device):
    def call(lib, functional, scores):
        return lib.ctc_loss(scores.log_softmax(-1), lib.tensor(LABELS, device=scores.device), [9, 9, 9], [4, 4, 4])
    agree(call, [numbers(9, 3, 4)], device)


@pytest.mark.parametrize(("shape", "targets", "inputs", "lengths", "options"), [
    ((9, 3, 4), LABELS, [9, 9], [4, 4, 4], {}), ((9, 3, 4), LABELS, [9, 9, 9], [4, 4], {}),
    ((9, 3, 4), LABELS, [10, 9, 9], [4, 4, 4], {}), ((9, 3, 4), LABELS, [-1, 9, 9], [4, 4, 4], {}),
    ((9, 3, 4), LABELS, [9, 9, 9], [5, 4, 4], {}), ((9, 3, 4), LABELS, [9, 9, 9], [-5, 4, 4], {}),
    ((9, 3, 4), LABELS, [9, 9, 9], [4, 4, 4], {"blank": 4}), ((9, 3, 4), LABELS[:2], [9, 9, 9], [4, 4, 4], {}),
    ((9, 3, 4), LABELS.reshape(-1), [9, 9, 9], [4, 4, 3], {}), ((9, 0, 4), LABELS[:0], [], [], {}),
    ((9, 3, 4), LABELS, [9, 9, 9], [4, 4, 4], {"reduction": "least"}), ((9,), LABELS, [9], [4], {})], ids=str)
def test_ctc_refuses(shape, targets, inputs, lengths, options, device):
    refused_alike(paths(targets, inputs, lengths, **options), [numbers(*shape)], device)


# --- many classes of a sample ----------------------------------------------------------------------------------------

MANY = np.array([[1, 3, -1, 2], [0, -1, 1, 2], [-1, 0, 0, 0], [3, 2, 1, 0], [2, 2, -1, -1]])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(("scores", "labels"), [
    (numbers(5, 4), MANY), (numbers(4), MANY[0]), (numbers(), np.array(0)), (numbers(), np.array([0])),
    (numbers(1), np.array(0)), (numbers(0, 4), MANY[:0])], ids=lambda v: str(v.shape))
def test_multilabel_margin_loss(scores, labels, reduction, device):
    if reduction != "none" and not labels.size:      # torch returns memory as it finds it
        return
    agree(lambda lib, functional, scores, labels: functional.multilabel_margin_loss(
        scores, labels, reduction=reduction), [scores, labels], device)


@pytest.mark.parametrize(("scores", "labels"), [
    (numbers(5, 4), MANY[:, :3]), (numbers(5, 4), MANY.astype("int32")),
    (numbers(2, 2, 2), np.zeros((2, 2, 2), "int64")), (numbers(2, 0), np.zeros((2, 0), "int64"))],
    ids=lambda v: f"{v.shape}{v.dtype}")
def test_multilabel_margin_loss_refuses(scores, labels, device):
    refused_alike(lambda lib, functional, *given: functional.multilabel_margin_loss(*given), [scores, labels], device)


@pytest.mark.parametrize("labels", [MANY + 1, MANY - 1], ids=["too high", "too low"])
def test_multilabel_margin_loss_looks_at_labels(labels):
    """On an NPU nobody waits for them."""
    def run(lib, functional, *given):
        return functional.multilabel_margin_loss(*given)
    refused_alike(run, [numbers(5, 4), labels], "cpu")


# --- a product and its cross entropy ---------------------------------------------------------------------------------

@pytest.mark.parametrize("options", [{}, {"reduction": "none"}, {"label_smoothing": 0.2}, {"ignore_index": 1}], ids=str)
@pytest.mark.parametrize(("shapes", "target"), [
    (((5, 3), (4, 3), (4,)), np.array([0, 1, 2, 3, 1])), (((3,), (4, 3), (4,)), np.array(2)),
    (((5, 3), (4, 2, 3), (4, 2)), np.arange(10).reshape(5, 2) % 4)], ids=["batch", "sample", "more dimensions"])
def test_linear_cross_entropy(shapes, target, options, device):
    def call(lib, functional, input, weight, bias, target):
        return (functional.linear_cross_entropy(input, weight, target, linear_bias=bias, **options),
                functional.linear_cross_entropy(input, weight, target, **options))
    agree(call, [*(numbers(*shape) for shape in shapes), target], device)


@pytest.mark.parametrize(("shapes", "target", "options"), [
    (((5, 3, 2), (4, 2)), np.arange(5) % 4, {}), (((5, 3), (3,)), np.arange(5) % 4, {}),
    (((5, 3), (4, 2)), np.arange(5) % 4, {}), (((3,), (4, 2, 3)), np.arange(2), {})], ids=str)
def test_linear_cross_entropy_refuses(shapes, target, options, device):
    refused_alike(lambda lib, functional, input, weight, target: functional.linear_cross_entropy(
        input, weight, target, **options), [*(numbers(*shape) for shape in shapes), target], device)


# --- fractional pooling ----------------------------------------------------------------------------------------------

FRACTIONAL = {
    "square": (2, (2, 3, 9, 9), {"kernel_size": 2, "output_size": 4}),
    "sizes": (2, (2, 3, 9, 8), {"kernel_size": (2, 3), "output_size": (5, 3)}),
    "ratio": (2, (2, 3, 9, 8), {"kernel_size": 2, "output_ratio": (0.5, 0.6)}),
    "no batch": (2, (3, 9, 9), {"kernel_size": 3, "output_size": 2}),
    "one window": (2, (2, 3, 9, 9), {"kernel_size": 3, "output_size": 1}),
    "volume": (3, (2, 3, 6, 7, 8), {"kernel_size": (2, 3, 2), "output_size": (3, 2, 4)}),
    "volume by ratio": (3, (3, 6, 7, 8), {"kernel_size": 2, "output_ratio": 0.5}),
}


@pytest.mark.parametrize("name", FRACTIONAL)
def test_fractional_max_pool(name, device):
    dims, shape, options = FRACTIONAL[name]
    batch = shape[0] if len(shape) == dims + 2 else 2           # one sample more than without a batch is needed
    samples = (np.arange(batch * 3 * dims) % 7 / 7).reshape(batch, 3, dims).astype("float32")

    def call(lib, functional, x):
        pool = getattr(functional, f"fractional_max_pool{dims}d")
        given = lib.tensor(samples, device=x.device)
        return pool(x, return_indices=True, _random_samples=given, **options)
    agree(call, [numbers(*shape)], device)


def test_fractional_max_pool_draws_its_places(device):
    import mindtorch
    x = mindtorch.arange(81.0, device=device).reshape(1, 1, 9, 9)
    result, indices = mindtorch.nn.functional.fractional_max_pool2d(x, 2, 4, return_indices=True)
    assert result.flatten().tolist() == [float(i) for i in indices.flatten().tolist()]
    assert (result.diff(dim=-1) > 0).all().item()
    assert result[0, 0, -1, -1].item() == 80


@pytest.mark.parametrize(("shape", "options"), [
    ((1, 3, 6, 6), {"kernel_size": 3}), ((1, 3, 6, 6), {"kernel_size": 3, "output_size": 6}),
    ((1, 3, 6, 4), {"kernel_size": (2, 5), "output_size": 1}),
    ((1, 3, 6, 6), {"kernel_size": 2, "output_size": (2, 2, 2)}),
    ((1, 3, 6, 6), {"kernel_size": (2, 2, 2), "output_size": 2}), ((1, 0, 6, 6), {"kernel_size": 2, "output_size": 2}),
    ((1, 3, 6, 6), {"kernel_size": 2, "output_ratio": (0.5, 0.5, 0.5)})], ids=str)
def test_fractional_max_pool_refuses(shape, options, device):
    refused_alike(lambda lib, functional, x: functional.fractional_max_pool2d(x, **options), [numbers(*shape)], device)


@pytest.mark.parametrize(("pool", "shape"), [
    ("max_pool2d", (3, 4)), ("max_pool2d", (4,)), ("max_pool2d", (1, 2, 3, 4, 4)), ("max_pool2d", (3, 0, 4)),
    ("max_pool3d", (3, 4, 4)), ("avg_pool3d", (3, 4, 4)), ("avg_pool2d", (1, 2, 3, 4, 4)), ("avg_pool2d", (2, 0, 4, 4)),
])
def test_pools_refuse_what_is_no_image(pool, shape, device):
    refused_alike(lambda lib, functional, x: getattr(functional, pool)(x, 2), [numbers(*shape)], device)


@pytest.mark.parametrize("sizes", [(2, 2, 3), (2, 3, 2), (3, 2, 2)])
def test_fractional_max_pool_refuses_volumes(sizes, device):
    refused_alike(lambda lib, functional, x: functional.fractional_max_pool3d(x, 2, output_size=sizes),
                  [numbers(1, 2, 4, 4, 4)], device)


def test_fractional_max_pool_refuses_samples(device):
    for samples in ((0, 3, 2), (1, 2, 2), (1, 3, 3), (3, 2)):
        refused_alike(lambda lib, functional, x, given: functional.fractional_max_pool2d(
            x, 2, 2, _random_samples=given.detach()), [numbers(1, 3, 6, 6), abs(numbers(*samples)) / 3], device)




@pytest.mark.parametrize(("dims", "kernel", "padding", "dilation"), [
    (1, 4, 5, 3), (2, 4, 5, 3), (3, 4, 5, 3), (2, 3, 2, 2), (3, 2, 2, 9), (2, 4, 3, 1), (2, 1, 1, 5)])
def test_padding_of_a_maximum_is_at_most_half_of_the_kernel_whatever_the_dilation(dims, kernel, padding, dilation,
                                                                                  device):
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        pool = getattr(lib.nn.functional, f"max_pool{dims}d")
        assert pool(lib.ones(1, 1, *[20] * dims, device=where), 3, 1, 1, 2).shape == (1, 1, *[18] * dims)
        with pytest.raises(RuntimeError, match=r"pad(ding)? should be .* half of"):
            pool(lib.ones(1, 1, *[20] * dims, device=where), kernel, 1, padding, dilation)
