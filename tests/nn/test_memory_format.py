"""Results and gradients have torch's strides where operands are channels_last."""
import pytest
import torch

import mindtorch

IMAGES, VOLUMES = (2, 4, 6, 6), (2, 4, 5, 5, 5)


def batch_norm(lib, x, training):
    mean, variance = (make(x.shape[1], device=x.device) for make in (lib.zeros, lib.ones))
    return lib.nn.functional.batch_norm(x, mean, variance, training=training)


def weight(lib, x, *shape):
    return lib.ones(shape, device=x.device)


def called(name, *args, **options):
    return lambda lib, x: getattr(lib.nn.functional, name)(x, *args, **options)


CALLS = {
    "conv2d": (IMAGES, lambda lib, x: lib.nn.functional.conv2d(x, weight(lib, x, 8, 4, 3, 3), weight(lib, x, 8))),
    "conv2d of a sample": ((1, 4, 6, 6), lambda lib, x: lib.nn.functional.conv2d(x, weight(lib, x, 8, 4, 1, 1))),
    "conv2d of a channel": ((2, 1, 6, 6), lambda lib, x: lib.nn.functional.conv2d(x, weight(lib, x, 8, 1, 3, 3))),
    "conv2d in groups": (IMAGES, lambda lib, x: lib.nn.functional.conv2d(x, weight(lib, x, 8, 2, 3, 3), groups=2)),
    "conv_transpose2d": (IMAGES, lambda lib, x: lib.nn.functional.conv_transpose2d(x, weight(lib, x, 4, 8, 3, 3))),
    "conv3d": (VOLUMES, lambda lib, x: lib.nn.functional.conv3d(x, weight(lib, x, 8, 4, 3, 3, 3))),
    "max_pool2d": (IMAGES, called("max_pool2d", 2)), "avg_pool2d": (IMAGES, called("avg_pool2d", 2)),
    "max_pool2d, indices": (IMAGES, lambda lib, x: lib.nn.functional.max_pool2d(x, 2, return_indices=True)[1]),
    "max_pool3d": (VOLUMES, called("max_pool3d", 2)), "avg_pool3d": (VOLUMES, called("avg_pool3d", 2)),
    "adaptive_avg_pool2d": (IMAGES, called("adaptive_avg_pool2d", 2)),
    "adaptive_avg_pool2d, one window": (IMAGES, called("adaptive_avg_pool2d", 1)),
    "adaptive_avg_pool3d, one window": (VOLUMES, called("adaptive_avg_pool3d", 1)),
    "adaptive_max_pool2d": (IMAGES, called("adaptive_max_pool2d", 2)),
    "batch_norm": (IMAGES, lambda lib, x: batch_norm(lib, x, True)),
    "batch_norm, evaluated": (VOLUMES, lambda lib, x: batch_norm(lib, x, False)),
    "group_norm": (IMAGES, called("group_norm", 2)), "layer_norm": (IMAGES, called("layer_norm", (6,))),
    "instance_norm": (IMAGES, called("instance_norm")),
    "nearest": (IMAGES, called("interpolate", scale_factor=2)), "area": (IMAGES, called("interpolate", 3, mode="area")),
    "nearest of volumes": (VOLUMES, called("interpolate", 7)),
    "bilinear": (IMAGES, called("interpolate", scale_factor=2, mode="bilinear")),
    "bilinear, antialiased": (IMAGES, called("interpolate", 3, mode="bilinear", antialias=True)),
    "bicubic": (IMAGES, called("interpolate", 3, mode="bicubic")),
    "trilinear": (VOLUMES, called("interpolate", 3, mode="trilinear")),
    "pad": (IMAGES, called("pad", (1, 1, 1, 1))), "reflect": (IMAGES, called("pad", (1, 1, 1, 1), mode="reflect")),
    "replicate": (VOLUMES, called("pad", (1, 1) * 3, mode="replicate")),
    "cat": (IMAGES, lambda lib, x: lib.cat([x, x])), "cat of channels": (IMAGES, lambda lib, x: lib.cat([x, x], 1)),
    "cat with a contiguous one": (IMAGES, lambda lib, x: lib.cat([x, x.contiguous()])),
    "cat of volumes": (VOLUMES, lambda lib, x: lib.cat([x, x], 2)), "flip": (IMAGES, lambda lib, x: x.flip(2)),
    "roll": (IMAGES, lambda lib, x: x.roll((1, 2), (2, 3))), "sort": (IMAGES, lambda lib, x: x.sort(1)[0]),
    "sort, indices": (IMAGES, lambda lib, x: x.sort(1)[1]), "glu": (IMAGES, called("glu", 1)),
    "channel_shuffle": (IMAGES, lambda lib, x: lib.channel_shuffle(x, 2)),
    "index_fill": (IMAGES, lambda lib, x: x.index_fill(1, lib.tensor([0], device=x.device), 2.0)),
    "masked_fill": (IMAGES, lambda lib, x: x.masked_fill(x > 0.5, 2.0)),
    "masked_scatter": (IMAGES, lambda lib, x: x.masked_scatter(x > 0.5, x)),
}


def strides(lib, device, name, channels_last):
    """Of the result, and of the gradient for a gradient that is contiguous, and for one that is channels_last."""
    shape, call = CALLS[name]
    last = lib.channels_last if len(shape) == 4 else lib.channels_last_3d
    x = lib.rand(shape, device=device)
    x = (x.contiguous(memory_format=last) if channels_last else x).requires_grad_()
    result = call(lib, x)
    grads = [lib.ones_like(result, memory_format=lib.contiguous_format).contiguous(memory_format=memory_format)
             for memory_format in (lib.contiguous_format, last) if result.requires_grad]
    return [tuple(result.stride()), *(tuple(lib.autograd.grad(result, x, grad, retain_graph=True)[0].stride())
                                      for grad in grads)]


@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_strides_of_torch(name, channels_last, device):
    assert strides(mindtorch, device, name, channels_last) == strides(torch, "cpu", name, channels_last)


@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("name", ["pixel_shuffle", "pixel_unshuffle"])
def test_rearranged_pixels(name, factor, device):
    """A new tensor, even where every pixel keeps its place."""
    def found(lib, device, memory_format):
        x = lib.arange(192.0).reshape(2, 4, 4, 6).to(device).contiguous(memory_format=getattr(lib, memory_format))
        result = getattr(lib.nn.functional, name)(x, factor)
        return result.stride(), result.tolist(), result.data_ptr() == x.data_ptr()
    for memory_format in ("contiguous_format", "channels_last"):
        assert found(mindtorch, device, memory_format) == found(torch, "cpu", memory_format)


def test_a_weight_in_channels_last_decides_too(device):
    def found(lib, device):
        x, w = lib.ones(2, 4, 6, 6, device=device), lib.ones(8, 4, 3, 3, device=device)
        w = w.contiguous(memory_format=lib.channels_last).requires_grad_()
        result = lib.nn.functional.conv2d(x, w)
        result.sum().backward()
        return tuple(result.stride()), tuple(w.grad.stride())
    assert found(mindtorch, device) == found(torch, "cpu")


def test_values_in_channels_last(device):
    x, w = torch.rand(2, 4, 6, 6), torch.rand(8, 4, 3, 3)
    ours, of_ours = (mindtorch.tensor(t.tolist(), device=device) for t in (x, w))
    ours = ours.contiguous(memory_format=mindtorch.channels_last)
    found = mindtorch.nn.functional.conv2d(ours, of_ours).cpu().numpy()
    torch.testing.assert_close(torch.from_numpy(found.copy()), torch.nn.functional.conv2d(x, w))


FACTORIES = {
    **{name: (lambda lib, x, name=name, **options: getattr(lib, name)(x, **options))
       for name in ("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like")},
    "full_like": lambda lib, x, **options: lib.full_like(x, 7, **options),
    "randint_like": lambda lib, x, **options: lib.randint_like(x, 2, 7, **options),
    "empty": lambda lib, x, **options: lib.empty(x.shape, device=x.device, **options),
    "resize_": lambda lib, x, **options: lib.rand(x.numel(), device=x.device).resize_(x.shape, **options),
    "resize_as_": lambda lib, x, **options: lib.rand(x.numel(), device=x.device).resize_as_(x, **options),
    "resize_ to the same": lambda lib, x, **options: x.resize_(x.shape, **options)}


@pytest.mark.parametrize("name", FACTORIES)
def test_new_tensors_have_the_format_asked_for(name, device):
    def found(lib, device, shape):
        made = []
        for last in (None, lib.channels_last if len(shape) == 4 else lib.channels_last_3d):
            of_another = () if name in ("empty", "resize_", "resize_ to the same") else (lib.preserve_format,)
            for wanted in (None, lib.contiguous_format, last, *of_another):
                x = lib.rand(shape, device=device)
                x = x if last is None else x.contiguous(memory_format=last)
                options = {} if wanted is None else {"memory_format": wanted}
                try:
                    result = FACTORIES[name](lib, x, **options)
                    made.append((result.stride(), name == "full_like" and float(result.sum()) == 7 * x.numel()))
                except RuntimeError as error:
                    made.append(str(error))
        return made
    for shape in (IMAGES, VOLUMES):
        assert found(mindtorch, device, shape) == found(torch, "cpu", shape)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        mindtorch.empty(3, 3, memory_format=mindtorch.channels_last, device=device)


@pytest.mark.parametrize("name", ["contiguous", "clone", "to"])
def test_a_copy_in_another_format_is_no_view(name, device):
    x = mindtorch.arange(48.0, device=device).reshape(2, 3, 2, 4).requires_grad_()
    copy = getattr(x, name)(memory_format=mindtorch.channels_last)
    assert copy._base is None
    assert copy.stride() == (24, 1, 12, 3)
    copy.sum().backward()
    assert x.grad.tolist() == mindtorch.ones(2, 3, 2, 4).tolist()
