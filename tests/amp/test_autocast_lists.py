"""Which operators cast their arguments to what: torch's lists, and the dtypes of results beside torch's."""
import contextlib
import itertools
import warnings

import pytest
import torch
from opinfo import NotCarriedOver, carried_over, flattened, function_of, infos
from torch_lists import LISTS, npu_lists, registered

import mindtorch
import mindtorch.fft
import mindtorch.nn.functional
from mindtorch._core.operators import autocast
from mindtorch._ops.codegen.rows import Table

# Of torch's list for the CPU: parts of torch that are not there, names of functions that are there under another, and
# what is a part of one that is listed.
NOT_THERE = {"_addmm_activation", "_convolution.deprecated", "_grid_sampler_2d_cpu_fallback", "_lu_with_info",
             "_native_multi_head_attention"}
ELSEWHERE = {"cholesky": "linalg_cholesky", "inverse": "linalg_inv", "orgqr": "linalg_householder_product",
             "nll_loss2d": "nll_loss", "multilabel_margin_loss_forward": "multilabel_margin_loss"}
COMPOSED = {"affine_grid_generator", "roll"}      # which torch makes of bmm and of cat
DTYPES = (torch.float32, torch.bfloat16)
# Functions that call listed ones, or are made of them here while torch has kernels.
AROUND = {"inner", "vdot", "kron", "matmul", "matrix_exp", "nansum", "nanmean", "var", "std", "std_mean", "mean", "cov",
          "corrcoef", "norm", "linalg.norm", "linalg.pinv", "linalg.lu_solve", "nn.functional.normalize", "svd_lowrank",
          "nn.functional.pairwise_distance", "nn.functional.max_unpool1d", "nn.functional.gelu", "square", "add", "mul",
          "nn.functional.embedding", "nn.functional.batch_norm", "masked.sum", "masked.prod", "masked.softmax",
          "logaddexp", "sigmoid", "nn.functional.softmin", "nn.functional.instance_norm", "nn.functional.rms_norm",
          "sum_to_size", "lerp", "tensordot", "nn.functional.bilinear"}
# linalg.pinv of Hermitian matrices ends in a product in torch, here in its own derivative; torch reduces to a size by
# a plain sum. Both keep the dtype here.
OTHERWISE = {"cpu": {"linalg.pinv:hermitian"},
             "npu": {"linalg.pinv:hermitian", "sum_to_size", "pinverse", "matrix_exp"}}


def base(name):
    return name.partition(".")[0]


def compared(device):
    """Names in torch's op database of the ops on the lists of a device, and around them."""
    listed = {base(name).removeprefix("linalg_").removeprefix("fft_") for name, on in LISTS.items() if device in on}
    return [name for name, info in infos().items()
            if name in AROUND or info.name.rpartition(".")[2] in listed or base(info.aten_name or "") in listed]


def test_torchs_list_of_the_cpu():
    ours = {base(ELSEWHERE.get(name, name)) for name, devices in LISTS.items() if "cpu" in devices} - COMPOSED
    theirs = {base(ELSEWHERE.get(name, name)) for name in registered() - NOT_THERE}
    assert ours == theirs


def test_every_name_of_the_lists_is_somebodys():
    rows = {row.key for row in Table().rows}
    assert not set(LISTS) - rows - autocast.DECORATED_NAMES


def dtypes(result):
    return [str(value.dtype) if hasattr(value, "dtype") else type(value).__name__ for value in flattened(result)]


def outcome(call, region):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with region:
            try:
                return dtypes(call())
            except Exception as error:      # noqa: BLE001 - what a library refuses is an outcome
                return error


def cases(info):
    """The first samples of an op that torch takes, in each dtype."""
    for dtype in DTYPES:
        if dtype in info.supported_dtypes("cpu"):
            with contextlib.suppress(RuntimeError):
                yield from itertools.islice(info.sample_inputs("cpu", dtype), 2)


def differences(name, device):
    info = infos()[name]
    function = function_of(info)
    for sample in cases(info) if function else ():
        try:
            args = carried_over([sample.input, *sample.args], device)
            kwargs = carried_over(sample.kwargs, device)
        except NotCarriedOver:
            continue
        theirs = outcome(lambda s=sample: info.op(s.input, *s.args, **s.kwargs),
                         torch.autocast("cpu", dtype=torch.bfloat16))
        ours = outcome(lambda a=args, k=kwargs: function(*a, **k),
                       mindtorch.autocast(device, dtype=mindtorch.bfloat16))
        plain = outcome(lambda a=args, k=kwargs: function(*a, **k), contextlib.nullcontext())
        if isinstance(theirs, Exception) or isinstance(plain, Exception) or isinstance(ours, NotImplementedError):
            continue
        if ours != theirs:
            yield f"{name} of {sample.input.dtype if hasattr(sample.input, 'dtype') else 'a list'}: {ours}, {theirs}"


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")         # of torch
def test_dtypes_of_results(device):
    lists = npu_lists(torch.bfloat16) if device == "npu" else contextlib.nullcontext()
    with lists:
        wrong = [text for name in compared(device) if name not in OTHERWISE[device]
                 for text in differences(name, device)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_bilinear_is_no_product_of_matrices(dtype, device):
    def outcome_of(lib, place):
        one, weight = (lib.ones(shape, dtype=getattr(lib, dtype), device=place) for shape in ((3, 4), (2, 4, 4)))
        with lib.autocast(place, dtype=lib.bfloat16):
            return str(lib.nn.functional.bilinear(one, one, weight).dtype)
    assert outcome_of(mindtorch, device) == outcome_of(torch, "cpu")


def test_torch_has_its_own_lists_back():
    with npu_lists(torch.bfloat16), torch.autocast("cpu"):
        assert torch.ones(2).exp().dtype == torch.float32
        assert torch.ones(2).bfloat16().exp().dtype == torch.float32
    with torch.autocast("cpu"):
        assert torch.ones(2).bfloat16().exp().dtype == torch.bfloat16


# Layer, how it is made, the shapes of its inputs.
LAYERS = {
    "lstm": (lambda nn: nn.LSTM(3, 4, 2, bidirectional=True), [(5, 2, 3)]),
    "gru": (lambda nn: nn.GRU(3, 4), [(5, 2, 3)]), "rnn": (lambda nn: nn.RNN(3, 4), [(5, 2, 3)]),
    "lstm cell": (lambda nn: nn.LSTMCell(3, 4), [(2, 3)]), "gru cell": (lambda nn: nn.GRUCell(3, 4), [(2, 3)]),
    "rnn cell": (lambda nn: nn.RNNCell(3, 4), [(2, 3)]), "bilinear": (lambda nn: nn.Bilinear(4, 4, 3), [(2, 4)] * 2),
    "attention": (lambda nn: nn.MultiheadAttention(6, 2), [(5, 2, 6)] * 3),
    "decoder": (lambda nn: nn.TransformerDecoderLayer(8, 2, 16), [(3, 2, 8)] * 2),
    "line": (lambda nn: nn.Sequential(nn.Conv1d(3, 4, 1), nn.BatchNorm1d(4), nn.ELU(), nn.AdaptiveAvgPool1d(2)),
             [(2, 3, 5)]),
    "image": (lambda nn: nn.Sequential(nn.ConvTranspose2d(4, 4, 2), nn.GroupNorm(2, 4), nn.SiLU(), nn.InstanceNorm2d(4),
                                       nn.Upsample(scale_factor=2, mode="bilinear"), nn.LogSoftmax(1)), [(2, 4, 5, 5)]),
    "rows": (lambda nn: nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.PReLU(), nn.RMSNorm(4), nn.Softplus()),
             [(2, 4)]),
    "cosine": (lambda nn: nn.CosineSimilarity(), [(2, 4)] * 2),
    "distance": (lambda nn: nn.PairwiseDistance(), [(2, 4)] * 2),
}


def of_layer(lib, device, name):
    """The dtypes of a layer's results and of its parameters' gradients."""
    make, shapes = LAYERS[name]
    layer = make(lib.nn).to(device)
    with lib.autocast(device, dtype=lib.bfloat16):
        result = layer(*(lib.full(shape, 0.5, device=device) for shape in shapes))
    first = next(flattened(result))
    if first.requires_grad:
        first.float().sum().backward()
    return dtypes(result), dtypes([p.grad for p in layer.parameters()])


@pytest.mark.filterwarnings("ignore:Mismatch dtype")        # torch on its RMSNorm
@pytest.mark.parametrize("name", LAYERS)
def test_layers(device, name):
    if (name, device) == ("lstm", "cpu"):
        # oneDNN's LSTM, which torch casts for, has no bfloat16 on processors without AVX-512: its dtypes are told here.
        theirs = ["torch.bfloat16"] * 3, ["torch.float32"] * 16
    else:
        with npu_lists(torch.bfloat16) if device == "npu" else contextlib.nullcontext():
            theirs = of_layer(torch, "cpu", name)
    assert of_layer(mindtorch, device, name) == theirs


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 0), (2, 3)])
def test_pinv_ends_in_a_product_with_and_without_elements(shape):
    def dtype(lib):
        with lib.autocast("cpu", dtype=lib.float16):
            return str(lib.linalg.pinv(lib.ones(shape)).dtype).rpartition(".")[2]
    assert dtype(mindtorch) == dtype(torch) == "float16"
