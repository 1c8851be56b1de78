"""Views by how they were made (in which mode, by a function of several views or a custom Function), and the in-place
operators that then write to them or to their base, beside torch: errors, and what requires a gradient afterwards."""
import contextlib
import functools
import itertools

import pytest
import torch
from opinfo import NotCarriedOver, carried_over, infos

import mindtorch

BASES = {
    "plain": lambda lib, x: x,
    "leaf": lambda lib, x: x.requires_grad_(),
    "result": lambda lib, x: x.requires_grad_() * 1,
    "integers": lambda lib, x: x.long(),
    "of inference mode": None,
}
MODES = {
    "grad": lambda lib: contextlib.nullcontext(),
    "no_grad": lambda lib: lib.no_grad(),
    "inference": lambda lib: lib.inference_mode(),
}


def of_function(lib, x, outputs=1):
    """The first output of a custom Function that gives its input, and views of it."""
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return (x, x[:1], x.detach()[1:])[:outputs] if outputs > 1 else x

        @staticmethod
        def backward(ctx, *grads):
            return grads[0]
    made = Same.apply(x)
    return made[0] if outputs > 1 else made


def slice_of_function(lib, x):
    class Slice(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1]

        @staticmethod
        def backward(ctx, grad):
            return lib.cat([grad, lib.zeros_like(grad)])
    return Slice.apply(x)


VIEWS = {
    "slice": lambda lib, x: x[:1],
    "select": lambda lib, x: x.select(0, 1),
    "view": lambda lib, x: x.view(-1),
    "transpose": lambda lib, x: x.transpose(0, 1),
    "as_strided": lambda lib, x: x.as_strided((2,), (1,)),
    "unbind": lambda lib, x: x.unbind()[1],
    "iterated": lambda lib, x: list(x)[1],
    "chunk": lambda lib, x: x.chunk(2)[0],
    "split": lambda lib, x: x.split(1)[1],
    "tensor_split": lambda lib, x: x.tensor_split(2)[1],
    "hsplit": lambda lib, x: x.hsplit(2)[1],
    "unsafe_chunk": lambda lib, x: x.unsafe_chunk(2)[0],
    "slice of unbind": lambda lib, x: x.unbind()[1][:1],
    "unbind of a slice": lambda lib, x: x[:1].unbind()[0],
    "a Function's": of_function,
    "one of a Function's": lambda lib, x: of_function(lib, x, 3),
    "a Function's slice": slice_of_function,
    "slice of a Function's": lambda lib, x: of_function(lib, x)[:1],
    "slice of one of no_grad": lambda lib, x: without(lib, "no_grad", x)[:1],
    "slice of one of inference mode": lambda lib, x: without(lib, "inference", x)[:1],
    "slice of no_grad of one": lambda lib, x: without(lib, "no_grad", x[:1]),
    "detached": lambda lib, x: x.detach(),
    "as it is": lambda lib, x: x,
}
WRITES = {
    "mul_ by a number": lambda lib, view, base, w: view.mul_(2),
    "mul_": lambda lib, view, base, w: view.mul_(w),
    "copy_": lambda lib, view, base, w: view.copy_(w),
    "fill_": lambda lib, view, base, w: view.fill_(w),
    "zero_": lambda lib, view, base, w: view.zero_(),
    "all items": lambda lib, view, base, w: view.__setitem__(..., w),
    "an item": lambda lib, view, base, w: view.__setitem__(0, w),
    "the base": lambda lib, view, base, w: base.mul_(w),
    "unsqueeze_": lambda lib, view, base, w: view.unsqueeze_(0),
}


def without(lib, mode, x):
    with MODES[mode](lib):
        return x[:2]


def flags(tensor):
    try:
        return (tensor.requires_grad, tensor.is_leaf, tensor._is_view(), tensor.is_inference(),
                tensor.grad_fn is not None)
    except RuntimeError as error:
        return str(error)


def outcome(lib, device, base, view, made, write, written, gradient):
    mode = MODES["inference"](lib) if base == "of inference mode" else contextlib.nullcontext()
    try:
        with mode:
            x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
            x = BASES[base](lib, x) if BASES[base] else x
        with MODES[made](lib):
            tensor = VIEWS[view](lib, x)
        found = [flags(tensor)]
        w = lib.tensor(2.0, device=device, requires_grad=gradient)
        with MODES[written](lib):
            WRITES[write](lib, tensor, x, w)
    except RuntimeError as error:
        return type(error).__name__, str(error)
    return [*found, flags(tensor), flags(x)]


def excluded(base, view, made, write, written, gradient):
    """What torch does by mistake: integers get a history, a tensor of inference mode is written to outside it, parts
    that are no views are views of inference mode there."""
    return ((base == "integers" and gradient and write in ("fill_", "all items", "an item"))
            or (base == "of inference mode" and view == "detached")
            or (made == "inference" and view == "unsafe_chunk"))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("base", BASES)
def test_writes_to_views_of_every_mode(base, view, device):
    wrong = {}
    for case in itertools.product([base], [view], MODES, WRITES, MODES, (False, True)):
        if excluded(*case):
            continue
        ours, theirs = outcome(mindtorch, device, *case), outcome(torch, "cpu", *case)
        if ours != theirs:
            wrong[case] = ours, theirs
    assert not wrong, "\n".join(f"{case}\n  {ours}\n  {theirs}" for case, (ours, theirs) in wrong.items())


@functools.cache
def in_place_calls():
    """(name of an in-place operator, tensor, other arguments) of the samples of PyTorch's op database."""
    return [(f"{info.name}_", sample.input, sample.args, sample.kwargs) for info in infos().values()
            if hasattr(torch.Tensor, f"{info.name}_") and torch.float32 in info.supported_dtypes("cpu")
            for sample in itertools.islice(info.sample_inputs("cpu", torch.float32), 2)
            if isinstance(sample.input, torch.Tensor)]


def written_by(lib, name, input, args, kwargs, made, view):
    """What an in-place operator makes of a view, with operands that require a gradient."""
    base = lib.stack([input, input])
    with MODES[made](lib):
        written = VIEWS[view](lib, base)
    args = [arg.detach().requires_grad_() if isinstance(arg, lib.Tensor) and arg.is_floating_point() else arg
            for arg in args]
    try:
        getattr(written, name)(*args, **kwargs)
    except RuntimeError as error:
        return type(error).__name__, str(error)
    except TypeError:
        return "TypeError"
    return flags(written)


@pytest.mark.parametrize(("made", "view"), [("no_grad", "select"), ("inference", "select"), ("grad", "unbind")])
@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")
def test_in_place_operators_on_views_of_every_mode(made, view, device):
    wrong, refused = {}, 0
    for name, *arguments in in_place_calls():
        try:
            carried = carried_over(arguments, device)
        except NotCarriedOver:
            continue
        ours = written_by(mindtorch, name, *carried, made, view)
        theirs = written_by(torch, name, *arguments, made, view)
        refused += " is being modified inplace" in str(theirs)
        if ours != theirs:
            wrong[name] = ours, theirs
    assert refused > 40
    assert not wrong, "\n".join(f"{name}\n  {ours}\n  {theirs}" for name, (ours, theirs) in wrong.items())
