"""uint16, uint32, uint64 and the floats of 8 bits: what torch does with them, and what it refuses."""
import copy
import io
import pickle

import numpy as np
import pytest
import torch
from oracle import plain

import mindtorch

UNSIGNED = ("uint16", "uint32", "uint64")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
RARE = (*UNSIGNED, *FLOAT8)
COMMON = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
# What aclnnCast has no data type for, or does not document.
NOT_CAST_ON_NPU = ("float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")

EXPRESSIONS = """
d.is_floating_point, d.is_complex, d.is_signed, d.itemsize | d.to_real() | d.to_complex() | repr(d)
torch.set_default_dtype(d) | torch.finfo(d) | torch.iinfo(d) | torch.finfo(d).resolution | torch.iinfo(d).max
torch.tensor([1, 2, 3], dtype=d) | torch.tensor(2, dtype=d) | torch.tensor([True], dtype=d)
torch.tensor([1.5], dtype=d) | torch.tensor([-1], dtype=d) | torch.tensor([300], dtype=d)
torch.tensor([70000], dtype=d) | torch.tensor([1j], dtype=d) | torch.tensor([2**33], dtype=d)
torch.tensor([-1.5], dtype=d) | torch.tensor([1e9], dtype=d) | torch.tensor([], dtype=d)
torch.zeros(2, dtype=d) | torch.ones(2, dtype=d) | torch.full((2,), 3, dtype=d) | torch.full((2,), -3, dtype=d)
torch.full((2,), 1e6, dtype=d) | torch.full((2,), 1e20, dtype=d) | torch.full((2,), float('inf'), dtype=d)
torch.full((2,), -1.5, dtype=d) | torch.full((2,), 2**63, dtype=d) | torch.full((2,), float('nan'), dtype=d)
torch.ones_like(a) | a.new_zeros(2) | a.new_full((2,), 2) | a.new_tensor([1]) | torch.empty(0, dtype=d)
a[0].item() | a.tolist() | bool(a[0]) | int(a[1]) | float(a[1]) | 2 in a | list(a) | len(a) | a.item()
a.clone() | a[1] | a[:2] | a[[0, 1]] | a[a != 2] | a.reshape(3, 1).expand(3, 2).contiguous() | a[::2].clone()
a.view(torch.uint8) | a.view(torch.int8).view(d) | a.reshape(3, 1).t() | a.unfold(0, 2, 1) | a.as_strided((2,), (1,))
a == a | a != a | a == 2 | a == b | a.any() | a.all() | a.isnan() | torch.cat([a, b]) | torch.stack([a, b])
torch.where(a == 2, a, b) | a.repeat(2) | a.roll(1) | torch.diag(a) | F.pad(a, (1, 1), value=1)
F.embedding(torch.tensor([0, 2]), a.reshape(3, 1)) | a * a | a.fill_(2) | a.zero_() | a.copy_(torch.ones(3))
torch.ones(3).copy_(a) | assigned(a, 0, 4) | assigned(a, slice(1, 3), b[1:]) | torch.eye(2, dtype=d)
a.numpy() | a.requires_grad_().requires_grad | a.type() | a.element_size() | a.untyped_storage().nbytes()
torch.is_floating_point(a) | a.is_signed() | repr(a) | str(a[0]) | repr(torch.ones(2000, dtype=d)) | hash(d) == hash(d)
a + a | a - a | -a | a / 2 | a < a | a.max() | a.argmax() | a.abs() | a.sqrt() | a & a | ~a | a << 1 | a % a
a.sum() | a.mean() | a.cumsum(0) | a.sort() | a.clamp(1, 2) | torch.tril(torch.ones(2, 2, dtype=d))
a.masked_fill(a == 2, 1) | a.nonzero()
a.masked_select(a == 2) | torch.arange(3, dtype=d) | torch.linspace(0, 1, 3, dtype=d) | torch.rand(2, dtype=d)
torch.randn(2, dtype=d) | torch.randperm(3, dtype=d) | a.pow(2) | a.sign() | a.neg() | a.unique()
a.reshape(1, 3).mm(b.reshape(3, 1)) | a.reshape(1, 3) @ b.reshape(3, 1) | a + torch.ones(3)
a + torch.ones(3, dtype=torch.int64) | a * 1.5 | a + 1 | torch.maximum(a, a) | torch.equal(a, a)
torch.result_type(a, 1) | torch.result_type(a, 1.5) | torch.result_type(a, torch.ones(1)) | torch.result_type(a, a)
torch.zeros(3)[a] | torch.cat([a, torch.ones(2)]) | a.reshape(1, 3).bmm(a) | a.topk(2) | a.isfinite() | a.isinf()
torch.from_dlpack(a) if not d.is_floating_point else 0 | copy.deepcopy(a)
"""
TABLE = [expression.strip() for line in EXPRESSIONS.strip().splitlines() for expression in line.split(" | ")]


def scope(lib, name, device="cpu"):
    d = getattr(lib, name)

    def assigned(target, index, value):
        target = target.clone()
        target[index] = value
        return target

    return {"torch": lib, "d": d, "F": lib.nn.functional, "assigned": assigned, "copy": copy, "pickle": pickle,
            "a": lib.tensor([1, 2, 4], dtype=d).to(device), "b": lib.tensor([8, 2, 16], dtype=d).to(device)}


def outcome(lib, name, expression):
    try:
        return "value", plain(eval(expression, scope(lib, name)))
    except Exception as error:      # noqa: BLE001 - any refusal is an outcome
        return "error", type(error), str(error).splitlines()[0]


@pytest.mark.quick
@pytest.mark.parametrize("name", RARE)
def test_as_torch(name):
    wrong = []
    for expression in TABLE:
        theirs, ours = outcome(torch, name, expression), outcome(mindtorch, name, expression)
        if theirs != ours:
            wrong.append(f"{expression}\n  torch: {theirs}\n  here:  {ours}")
    assert not wrong, "\n".join(wrong)


def described(call):
    try:
        return repr(call())
    except RuntimeError as error:
        return str(error)


@pytest.mark.quick
@pytest.mark.parametrize("name", RARE)
def test_promotion_and_casts(name):
    for other in (*COMMON, *RARE):
        for pair in ((name, other), (other, name)):
            ours, theirs = (tuple(getattr(lib, one) for one in pair) for lib in (mindtorch, torch))
            assert described(lambda ours=ours: mindtorch.promote_types(*ours)) == described(
                lambda theirs=theirs: torch.promote_types(*theirs))
            assert mindtorch.can_cast(*ours) == torch.can_cast(*theirs)


NUMBERS = np.float32([0, -0.0, 1, -1, 1.5, 3, 5, -7.3, 100, 239, 247, 249, 448, 463, 465, 480, 57344, 61439, 61441,
                      65536, 1e9, -1e9, 2.0 ** -6, 2.0 ** -9, 2.0 ** -10, 1.5 * 2.0 ** -10, 2.0 ** -16, 2.0 ** -17,
                      1e-30, 2.0 ** -127, 2.0 ** -128, 3e38, np.inf, -np.inf, np.nan])


def bits(tensor):
    return tensor.cpu().view((mindtorch if isinstance(tensor, mindtorch.Tensor) else torch).uint8).tolist()


@pytest.mark.parametrize("name", FLOAT8)
def test_rounding(name, device):
    """Bit for bit, with the numbers between two of the dtype: from float32, float64 and bfloat16."""
    halfway = torch.arange(256, dtype=torch.uint8).view(getattr(torch, name)).float()
    halfway = halfway[halfway.isfinite()].sort().values
    numbers = np.concatenate([halfway.numpy(), ((halfway[1:] + halfway[:-1]) / 2).numpy(), NUMBERS])
    for source in ("float32", "float64", "bfloat16"):
        kept = numbers[:-1] if source == "bfloat16" else numbers        # whose NaN may have either sign
        theirs = torch.from_numpy(kept).to(getattr(torch, source)).to(getattr(torch, name))
        start = mindtorch.from_numpy(kept).to(getattr(mindtorch, source)).to(device)
        if device == "npu" and name in NOT_CAST_ON_NPU:
            with pytest.raises(NotImplementedError, match=f"aclnnCast: argument out of dtype torch.{name}"):
                start.to(getattr(mindtorch, name))
            continue
        assert bits(start.to(getattr(mindtorch, name))) == bits(theirs), source


@pytest.mark.parametrize("name", RARE)
def test_conversions(name, device):
    """To and from every dtype, of tensors with and without gaps."""
    for other in (*COMMON, *RARE):
        ours, theirs = (lib.tensor([[0, 1, 2], [3, 64, 100]], dtype=lib.float32).to(getattr(lib, name))
                        for lib in (mindtorch, torch))
        ours = ours.to(device)
        floats = name in FLOAT8 or other in FLOAT8
        for source, expected in ((ours, theirs), (ours.t(), theirs.t()), (ours[:, ::2], theirs[:, ::2])):
            if device == "npu" and floats and name != other and {name, other} & set(NOT_CAST_ON_NPU):
                with pytest.raises(NotImplementedError, match=r"aclnnCast: argument (self|out) of dtype torch.float8_"):
                    source.to(getattr(mindtorch, other))
                continue
            found, wanted = source.to(getattr(mindtorch, other)), expected.to(getattr(torch, other))
            assert (str(found.dtype), found.tolist()) == (str(wanted.dtype), wanted.tolist())


@pytest.mark.parametrize("name", RARE)
def test_on_devices(name, device):
    """What every dtype can do on every device: made empty or of zeros, moved, viewed, copied, printed."""
    d = getattr(mindtorch, name)
    a = mindtorch.tensor([1, 2, 4, 8], dtype=d, device=device)
    assert (a.tolist(), a[2].item(), a.device.type) == ([1, 2, 4, 8], 4, device)
    assert a[::2].clone().tolist() == [1, 4]
    assert a.reshape(2, 2).t().contiguous().tolist() == [[1, 4], [2, 8]]
    assert bits(a) == bits(torch.tensor([1, 2, 4, 8], dtype=getattr(torch, name)))
    a[1:3] = mindtorch.tensor([16, 32], dtype=d)
    assert a.cpu().tolist() == [1, 16, 32, 8]
    assert bits(mindtorch.zeros(3, dtype=d, device=device)) == [0] * 3 * d.itemsize
    if name in UNSIGNED:
        assert mindtorch.full((3,), 7, dtype=d, device=device).tolist() == [7, 7, 7]
    assert repr(a.cpu()) == repr(torch.tensor([1, 16, 32, 8], dtype=getattr(torch, name)))


def test_refusals_on_npu():
    for name in RARE:
        a = mindtorch.tensor([1, 2], dtype=getattr(mindtorch, name), device="npu")
        for refused in (lambda a: a + a, lambda a: a.relu(), lambda a: a.dot(a), lambda a: a * a):
            with pytest.raises(NotImplementedError, match=f"of dtype torch.{name} is not supported on npu"):
                refused(a)


def test_documented_on_npu():
    """CANN documents more for the unsigned integers than torch computes on a CPU."""
    for name in UNSIGNED:
        a, b = (mindtorch.tensor(values, dtype=getattr(mindtorch, name), device="npu") for values in ([1, 7], [3, 5]))
        assert mindtorch.cat([a, b]).tolist() == [1, 7, 3, 5]
        assert a.bitwise_or(b).tolist() == [3, 7]
        assert a.exp().dtype is mindtorch.float32
    a = mindtorch.tensor([1, 2], dtype=mindtorch.float8_e4m3fn, device="npu")
    assert mindtorch.cat([a, a]).tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("name", RARE)
def test_files(name):
    """Files of either package, read by the other."""
    ours, theirs = (lib.tensor([[1, 2], [4, 8]], dtype=getattr(lib, name)) for lib in (mindtorch, torch))
    for source, saving, loading in ((ours, mindtorch, torch), (theirs, torch, mindtorch), (ours, mindtorch, mindtorch)):
        for zipped in (True, False) if saving is loading else (True,):      # torch does not load them in the old form
            file = io.BytesIO()
            saving.save({"whole": source, "part": source[1]}, file, _use_new_zipfile_serialization=zipped)
            file.seek(0)
            found = loading.load(file)
            assert (plain(found["whole"]), plain(found["part"])) == (plain(theirs), plain(theirs[1]))


def test_large_uint64():
    """Beyond int64."""
    for lib in (mindtorch, torch):
        a = lib.tensor([1, 2 ** 63 + 5], dtype=lib.uint64)
        assert (a.tolist(), a[1].item()) == ([1, 2 ** 63 + 5], 2 ** 63 + 5)
        assert (a == 2 ** 63 + 5).tolist() == [False, True]
        assert (a.double().tolist(), a.to(lib.int64).tolist()) == ([1, float(2 ** 63)], [1, 5 - 2 ** 63])
        assert repr(a) == "tensor([                  1, 9223372036854775813], dtype=torch.uint64)"
        with pytest.raises(OverflowError, match="int too big to convert"):
            lib.tensor([2 ** 64], dtype=lib.uint64)
        for wrong in (-1, [-1]):
            with pytest.raises(OverflowError, match="can't convert negative int to unsigned"):
                lib.tensor(wrong, dtype=lib.uint64)


def test_numpy():
    for name in UNSIGNED:
        array = np.array([1, 2, 65535], dtype=name)
        ours = mindtorch.from_numpy(array)
        assert (str(ours.dtype), ours.numpy().dtype) == (f"torch.{name}", array.dtype)
        assert mindtorch.tensor(array).tolist() == torch.tensor(array).tolist()
        assert pickle.loads(pickle.dumps(ours)).tolist() == [1, 2, 65535]
        ours[0] = 7
        assert array[0] == 7
