"""What help() says of the shapes of layers is true: each layer runs on random sizes, in each way that is listed."""
import inspect
import random
import re
from math import prod

import pytest

import mindtorch as torch
from mindtorch import _docs, nn
from mindtorch._core._gen.support import SUPPORT
from mindtorch.utils._python_dispatch import TorchDispatchMode

# They are no layers of their own: containers, bases and options.
WITHOUT_SHAPES = {"Module", "Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential",
                  "RNNBase", "RNNCellBase", "LinearCrossEntropyOptions"}


def size(low=1, high=4):
    return random.randint(low, high)


def sizes(count, low=1, high=3):
    return tuple(size(low, high) for _ in range(count))


def window(dims, *names):
    """Options of a window that fits into the inputs below, one for each dimension; a pair of lists for 1-d."""
    ranges = {"kernel_size": (2, 3), "stride": (1, 2), "padding": (0, 1), "dilation": (1, 2)}
    chosen = {name: sizes(dims, *ranges[name]) for name in ("kernel_size", *names)}
    return {name: values[0] if dims == 1 else values for name, values in chosen.items()}


def convolution(dims, is_transposed, is_lazy):
    groups = 1 if is_lazy else size(1, 2)
    made = window(dims, "stride", "padding", "dilation") | {"out_channels": groups * size(), "groups": groups}
    if is_transposed:                   # below the stride
        stride = made["stride"] if dims > 1 else (made["stride"],)
        added = tuple(one - 1 for one in stride)
        made["output_padding"] = added if dims > 1 else added[0]
    return made if is_lazy else made | {"in_channels": groups * size()}


def pooling(dims, *names, indices=None):
    made = window(dims, *names)
    return made if indices is None else made | {"return_indices": indices}


def recurrent():
    return {"input_size": size(), "hidden_size": size(3, 5), "num_layers": size(1, 2), "bidirectional": size(0, 1) == 1}


def transformer(**more):
    return {"d_model": 4, "nhead": 2, "dim_feedforward": size(), **more}


def with_layer(kind, made):
    """The arguments of a stack of two layers of a kind."""
    return {f"{kind}_layer": getattr(nn, f"Transformer{kind.title()}Layer")(**made), "num_layers": 2}


BOTH = (False, True)
# Layer, or the end of its name -> the arguments of its constructor, in each of the ways that its shapes depend on.
ARGUMENTS = {
    "Threshold": [lambda: {"threshold": 0.5, "value": 0.0}],
    "PReLU": [lambda: {"num_parameters": size()}, dict],
    "GLU": [dict],
    "Softmax": [lambda: {"dim": 0}], "LogSoftmax": [lambda: {"dim": 0}], "Softmin": [lambda: {"dim": 0}],
    "Softmax2d": [dict],
    "MultiheadAttention": [lambda: {"embed_dim": 4, "num_heads": 2, "kdim": size(), "vdim": size()},
                           lambda: {"embed_dim": 4, "num_heads": 2, "kdim": size(), "vdim": size(),
                                    "batch_first": True}],
    "AdaptiveLogSoftmaxWithLoss": [lambda: {"in_features": 4, "n_classes": 6, "cutoffs": [2, 4], "div_value": 2.0}],
    "BatchNorm": [lambda: {"num_features": size()}], "InstanceNorm": [lambda: {"num_features": size()}],
    "SyncBatchNorm": [lambda: {"num_features": size()}],
    "LazyBatchNorm": [dict], "LazyInstanceNorm": [dict],
    "ChannelShuffle": [lambda: {"groups": size()}],
    "PairwiseDistance": [lambda: {"keepdim": False}, lambda: {"keepdim": True}],
    "Flatten": [dict, lambda: {"start_dim": 0, "end_dim": 1}],
    "Unflatten": [lambda: {"dim": 1, "unflattened_size": sizes(2)}],
    "Fold": [lambda: {"output_size": sizes(2, 5, 7), **window(2, "stride", "padding", "dilation")}],
    "Unfold": [lambda: window(2, "stride", "padding", "dilation")],
    "Bilinear": [lambda: {"in1_features": size(), "in2_features": size(), "out_features": size()}],
    "Linear": [lambda: {"in_features": size(), "out_features": size()}],
    "LazyLinear": [lambda: {"out_features": size()}],
    "LinearCrossEntropyLoss": [lambda reduction=reduction: {"in_features": size(), "num_classes": size(),
                                                            "reduction": reduction} for reduction in ("mean", "none")],
    "KLDivLoss": [lambda reduction=reduction: {"reduction": reduction} for reduction in ("batchmean", "none")],
    "Loss": [lambda reduction=reduction: {"reduction": reduction} for reduction in ("mean", "sum", "none")],
    "CrossMapLRN": [lambda: {"size": size()}], "LocalResponseNorm": [lambda: {"size": size()}],
    "GroupNorm": [lambda: {"num_groups": 2, "num_channels": 2 * size()}],
    "LayerNorm": [lambda: {"normalized_shape": sizes(2)}], "RMSNorm": [lambda: {"normalized_shape": sizes(2)}],
    "PixelShuffle": [lambda: {"upscale_factor": size()}], "PixelUnshuffle": [lambda: {"downscale_factor": size()}],
    "RNN": [recurrent, lambda: recurrent() | {"batch_first": True}],
    "GRU": [recurrent, lambda: recurrent() | {"batch_first": True}],
    "LSTM": [recurrent, lambda: recurrent() | {"batch_first": True, "proj_size": 2}],
    "Cell": [lambda: {"input_size": size(), "hidden_size": size()}],
    "Embedding": [lambda: {"num_embeddings": size(), "embedding_dim": size()}],
    "EmbeddingBag": [lambda: {"num_embeddings": size(), "embedding_dim": size()}],
    "Transformer": [lambda first=first: transformer(num_encoder_layers=1, num_decoder_layers=1, batch_first=first)
                    for first in BOTH],
    "TransformerEncoderLayer": [lambda first=first: transformer(batch_first=first) for first in BOTH],
    "TransformerDecoderLayer": [lambda first=first: transformer(batch_first=first) for first in BOTH],
    "TransformerEncoder": [lambda: with_layer("encoder", transformer())],
    "TransformerDecoder": [lambda: with_layer("decoder", transformer())],
    "Upsample": [lambda mode=mode: {"scale_factor": 1.5, "mode": mode}
                 for mode in ("nearest", "linear", "bilinear", "bicubic", "trilinear")] + [lambda: {"size": sizes(2)}],
    "Upsampling": [lambda: {"scale_factor": size(2, 3)}, lambda: {"size": sizes(2)}],
}
for dims in (1, 2, 3):
    ARGUMENTS |= {
        f"{lazy}Conv{kind}{dims}d": [lambda dims=dims, kind=kind, lazy=lazy: convolution(dims, bool(kind), bool(lazy))]
        for lazy in ("", "Lazy") for kind in ("", "Transpose")}
    ARGUMENTS |= {f"{name}Pad{dims}d": [lambda dims=dims: {"padding": sizes(2 * dims, 0, 2)}]
                  for name in ("Circular", "Reflection", "Replication", "Zero")}
    ARGUMENTS |= {
        f"ConstantPad{dims}d": [lambda dims=dims: {"padding": sizes(2 * dims, 0, 2), "value": 1.0}],
        f"AdaptiveAvgPool{dims}d": [lambda dims=dims: {"output_size": size() if dims == 1 else sizes(dims)}],
        f"AdaptiveMaxPool{dims}d": [
            lambda dims=dims, both=both: {"output_size": size() if dims == 1 else sizes(dims), "return_indices": both}
            for both in BOTH],
        f"AvgPool{dims}d": [lambda dims=dims: pooling(dims, "stride", "padding")],
        f"LPPool{dims}d": [lambda dims=dims: {"norm_type": 2} | pooling(dims, "stride")],
        f"MaxPool{dims}d": [lambda dims=dims, both=both: pooling(dims, "stride", "padding", "dilation", indices=both)
                            for both in BOTH],
        f"FractionalMaxPool{dims}d": [
            lambda dims=dims, both=both: {"kernel_size": 2, "output_size": sizes(dims, 2, 3), "return_indices": both}
            for both in BOTH],
        f"MaxUnpool{dims}d": [lambda dims=dims: pooling(dims, "stride")]}


def arguments_of(name):
    """The entry of the layer, or of the longest end or beginning of its name; none where it takes no arguments."""
    plain = re.sub(r"\dd$", "", name)
    return next((ARGUMENTS[known] for known in (name, plain) if known in ARGUMENTS),
                ARGUMENTS[next(end for end in ("Loss", "Cell", "Upsampling") if end in name)]
                if re.search("Loss|Cell|Upsampling", name) else [dict])


class Sizes(dict):
    """The sizes that names of a table stand for: equations, arguments of the constructor, else random ones."""

    def __init__(self, layer, given, equations):
        super().__init__(prod=prod, int=int)
        self.layer, self.given, self.equations = layer, given, equations

    def __missing__(self, name):
        equation = self.equations.get(name)
        if equation:
            text, dims, place = equation
            self[name] = eval(text, {}, self if place is None else _OneDimension(self, dims, place))
        elif name in self.given or hasattr(self.layer, name):
            self[name] = self.given.get(name, getattr(self.layer, name, None))
        else:                                           # large enough for the windows above
            self[name] = size(*((6, 8) if name in ("L", "H", "W", "D") else (2, 4)))
        return self[name]

    def shape(self, expressions):
        found = []
        for expression in expressions:
            if expression == "*":
                found += self.setdefault("*", sizes(size(0, 2)))
            elif expression.startswith("*"):
                found += eval(expression[1:], {}, self)
            else:
                found.append(eval(expression, {}, self))
        return tuple(found)


class _OneDimension(dict):
    """The names of an equation for each dimension: an option of a window is that of this one."""

    def __init__(self, whole, dims, place):
        super().__init__()
        self.whole, self.dims, self.place = whole, dims, place

    def __missing__(self, name):
        value = self.whole[self.dims[self.place] if name == self.dims[0] else name]
        return value[self.place] if isinstance(value, tuple) else value


def made_tensor(declared, known):
    """A random tensor of a declared shape and kind."""
    shape = known.shape(declared.sizes)
    if not declared.kind:
        return torch.rand(shape)
    _, relation, bound = declared.kind.split(" ", 2)
    bound = eval(bound, {}, known)
    return torch.full(shape, bound, dtype=torch.int64) if relation == "=" else torch.randint(bound, shape)


def flattened(results):
    return [one for result in results for one in flattened(result)] if isinstance(results, tuple) else [results]


LAYERS = sorted(set(nn.modules.__all__) - WITHOUT_SHAPES)


# What modes see of these rows is the name that torch's dispatcher has for their work.
ROWS = {"_softmax": "softmax.int", "_log_softmax": "log_softmax.int"}


class Recorder(TorchDispatchMode):
    """Which operators run."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = re.sub(r"^\w+\.|\.default$", "", str(func))
        self.names.add(ROWS.get(name, name))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", LAYERS)
def test_shapes_are_those_of_the_help(name):
    random.seed(name)
    torch.manual_seed(0)
    entry = _docs.shapes()[name]
    assert set(entry.operators) <= set(SUPPORT)
    reached, run = set(), Recorder()
    for make in arguments_of(name) * 3:
        for way in entry.ways:
            given = make()
            layer = getattr(nn, name)(**given)
            known = Sizes(layer, given, entry.equations)
            if not eval(way.condition or "True", {}, known):
                continue
            reached.add(way)
            with run:
                results = layer(*(made_tensor(one, known) for one in way.inputs))
            said = [known.shape(one.sizes) for one in way.outputs]
            assert [tuple(one.shape) for one in flattened(results)] == said, (way, given, dict(known))
    assert reached == set(entry.ways)
    assert set(entry.operators) <= run.names, run.names


def test_inputs_are_named_as_forward_names_them():
    for name in LAYERS:
        forward = list(inspect.signature(getattr(nn, name).forward).parameters)[1:]
        for way in _docs.shapes()[name].ways:
            named = [one.name for one in way.inputs]
            assert named in ([""], [one for one in forward if one in named]), name


def test_every_layer_has_shapes_and_every_entry_is_a_layer():
    assert sorted(_docs.shapes()) == LAYERS
