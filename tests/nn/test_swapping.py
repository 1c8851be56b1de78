"""torch.utils.swap_tensors and torch.__future__, beside torch."""
import weakref

import pytest
import torch

import mindtorch

BOTH = pytest.mark.parametrize("kind", ["swap", "overwrite", "neither"])


@pytest.fixture
def mode(kind):
    for library in (torch, mindtorch):
        library.__future__.set_swap_module_params_on_conversion(kind == "swap")
        library.__future__.set_overwrite_module_params_on_conversion(kind == "overwrite")
    yield kind
    for library in (torch, mindtorch):
        library.__future__.set_swap_module_params_on_conversion(False)
        library.__future__.set_overwrite_module_params_on_conversion(False)


def test_swapped():
    def call(library):
        class Own(library.Tensor):
            pass
        a, b = library.nn.Parameter(library.ones(2)), library.arange(3.).as_subclass(Own)
        b.note, a.grad = "b", library.full((2,), 7.)
        before = id(a), id(b)
        library.utils.swap_tensors(a, b)
        return ((id(a), id(b)) == before, type(a) is Own, type(b) is library.nn.Parameter, a.note, hasattr(b, "note"),
                a.tolist(), b.tolist(), b.grad.tolist(), a.grad, a.requires_grad, b.requires_grad)
    assert call(mindtorch) == call(torch)


def test_refusals():
    def errors(library):
        found, kept = [], library.ones(1)
        reference = weakref.ref(kept)
        for t1, t2 in ((kept, library.ones(1)), (library.ones(1), kept)):
            with pytest.raises(RuntimeError, match="Cannot swap") as error:
                library.utils.swap_tensors(t1, t2)
            found.append(str(error.value))
        return found, reference() is kept
    assert errors(mindtorch) == errors(torch)


@BOTH
def test_conversion(mode):
    def call(library):
        layer = library.nn.Linear(2, 2)
        own, bias = layer.weight, layer.bias
        own.grad = library.ones(2, 2)
        layer.double()
        return (layer.weight is own, layer.bias is bias, str(layer.weight.dtype), str(layer.weight.grad.dtype),
                layer.weight.grad.tolist(), type(layer.weight).__name__, layer.weight.requires_grad, str(own.dtype))
    assert call(mindtorch) == call(torch)


@BOTH
@pytest.mark.parametrize("assign", [False, True])
def test_load_state_dict(mode, assign):
    def call(library):
        layer = library.nn.BatchNorm1d(2)
        own = layer.weight
        state = {name: value.double() + 1 for name, value in layer.state_dict().items()}
        layer.load_state_dict(state, assign=assign)
        errors = []
        try:
            layer.load_state_dict({**state, "weight": 3, "bias": library.ones(5)})
        except RuntimeError as error:
            errors.append(str(error).replace("mindtorch", "torch"))
        return (layer.weight is own, str(layer.weight.dtype), layer.weight.tolist(), layer.weight.requires_grad,
                layer.running_mean.tolist(), errors)
    assert call(mindtorch) == call(torch)


@pytest.mark.parametrize("kind", ["swap"])
def test_what_is_loaded_is_made_by_the_tensor(mode):
    def call(library):
        class Own(library.nn.Parameter):
            def module_load(self, other, assign=False):
                return self if other.sum() == 0 else library.nn.Parameter(other * 2)
        layer = library.nn.Linear(1, 1, bias=False)
        layer.weight = Own(library.ones(1, 1))
        layer.load_state_dict({"weight": library.full((1, 1), 3.)})
        try:
            layer.load_state_dict({"weight": library.zeros(1, 1)})
            return layer.weight.tolist(), type(layer.weight).__name__
        except RuntimeError as error:
            return layer.weight.tolist(), str(error)
    assert call(mindtorch) == call(torch)


def test_cdata():
    """The address of a tensor's contents: it stays where data is assigned, and swap_tensors exchanges it."""
    def call(library):
        a, b = library.nn.Parameter(library.ones(2)), library.arange(3.)
        first, second = a._cdata, b._cdata
        a.data = library.zeros(4)
        kept = a._cdata == first
        library.utils.swap_tensors(a, b)
        return kept, first != second, (a._cdata, b._cdata) == (second, first), a.detach()._cdata != a._cdata
    assert call(mindtorch) == call(torch)


def test_hooks_are_swapped():
    def call(library):
        a, b = library.ones(2, requires_grad=True), library.zeros(2, requires_grad=True)
        a.register_hook(lambda grad: grad * 10)
        library.utils.swap_tensors(a, b)
        (a * 2 + b * 3).sum().backward()
        return a.grad.tolist(), b.grad.tolist()
    assert call(mindtorch) == call(torch)


@pytest.mark.parametrize("kind", ["swap"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_a_conversion_swaps(mode, dtype):
    """Parameters always; gradients where the conversion makes other tensors of them."""
    def call(library):
        layer = library.nn.Linear(2, 2)
        layer.weight.grad = library.ones(2, 2)
        before = layer.weight._cdata, layer.weight.grad._cdata
        layer.to(getattr(library, dtype))
        return layer.weight._cdata == before[0], layer.weight.grad._cdata == before[1]
    assert call(mindtorch) == call(torch)


@BOTH
def test_meta(mode):
    """On the way from the device meta parameters are exchanged for new ones, unless they are swapped."""
    def call(library):
        layer = library.nn.Linear(2, 2, device="meta")
        weight, identity = layer.weight, id(layer.weight)
        layer.to_empty(device="cpu")
        made = layer.weight
        found = id(made) == identity, str(weight.device), type(made).__name__, made.requires_grad
        made.grad = library.ones(2, 2)
        layer.to("meta")
        return *found, layer.weight is made, str(layer.weight.grad.device)
    assert call(mindtorch) == call(torch)
