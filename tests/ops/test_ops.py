"""Every op row, on both devices, over dtypes, layouts and samples, in every form: torch 2.13 is the oracle.

What torch refuses must be refused, what it computes must come out equal: value, dtype, shape. On the NPU an operator
may refuse a dtype that CANN does not document for it, by NotImplementedError.
"""
import warnings
from functools import lru_cache, partial

import pytest
import torch
from samples import DTYPES, LAYOUTS, SAMPLES, Description, Make

import mindtorch
from mindtorch._core._gen.namespace import ATEN
from mindtorch._ops.codegen.emit_python import SYNONYMS
from mindtorch._ops.codegen.rows import Table

pytestmark = pytest.mark.one_mode

TABLE = Table()
# Random ops are compared with torch in test_random.py: on one device at most they deal the same numbers.
# Operators of our own are compared where nn.functional calls them, torch_npu's in tests/npu.
ROWS = {row.key: row for row in TABLE.rows
        if row.samples and not row.schema.argument("generator")
        and {"own", "npu"}.isdisjoint(row.variants)}
# Refused dtypes may be many on the NPU, but never the ones that training needs.
ALWAYS = ("float32",)
# torch lets them write to expanded tensors, as it does the rows that write onto an operand.
OVERWRITING = ("index_fill", "threshold", "tril", "triu")
UNDEFINED_CONTENT = ("empty.memory_format", "empty_like")
TOLERANCE = {"float16": (2e-3, 1e-3), "bfloat16": (2e-2, 1e-2), "float32": (2e-5, 1e-5), "complex64": (2e-5, 1e-5),
             "float64": (1e-9, 1e-9), "complex128": (1e-9, 1e-9)}


# torch's own convolutions of 16 bits are less exact on processors without AVX-512: what they should give is its
# convolution in float32, rounded. Ours sum products in float32 and round once: an ulp of the result is the bound.
IN_FLOAT32 = ("convolution", "convolution_backward")
ULP = {"float16": 2 ** -10, "bfloat16": 2 ** -7}


def realised(value, lib, device, layout):
    """Arguments with every description made into a tensor of `lib`."""
    if isinstance(value, Description):
        return value.realise(lib, device, layout)
    if isinstance(value, (list, tuple)):
        return type(value)(realised(v, lib, device, layout) for v in value)
    if isinstance(value, dict):
        return {k: getattr(lib, v) if k.endswith("dtype") else realised(v, lib, device, layout)
                for k, v in value.items()}
    return value


def outcome(call, lib, device, layout, args, kwargs):
    """What a call with the described arguments returned, or the exception it raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(lib, realised(args, lib, device, layout), realised(kwargs, lib, device, layout))
        except Exception as error:      # noqa: BLE001 - any refusal is an outcome
            return error


def computed_in_float32(call, lib, args, kwargs):
    """A call with tensors of 16 bits made wider, its results made narrow again."""
    def wide(value):
        if isinstance(value, (list, tuple)):
            return type(value)(map(wide, value))
        return value.float() if isinstance(value, lib.Tensor) and value.dtype in (lib.float16, lib.bfloat16) else value
    narrow = next(a.dtype for a in args if isinstance(a, lib.Tensor))
    results = call(lib, wide(args), {name: wide(value) for name, value in kwargs.items()})
    if isinstance(results, tuple):
        return tuple(result if result is None else result.to(narrow) for result in results)
    return results.to(narrow)


def expected(row, call, layout, args, kwargs, dtype):
    """What torch makes of the described arguments, or the exception that it raises."""
    exact = row.schema.name in IN_FLOAT32 and dtype in ULP
    return outcome(partial(computed_in_float32, call) if exact else call, torch, "cpu", layout, args, kwargs)


def to_torch(tensor):
    name = str(tensor.dtype).removeprefix("torch.")
    return torch.tensor(tensor.cpu().tolist(), dtype=getattr(torch, name)).reshape(tuple(tensor.shape))


def _is_empty(result):
    """torch looks at the dtype only once there is something to compute."""
    return not next(r for r in (result if isinstance(result, tuple) else (result,)) if r is not None).numel()


def check(ours, theirs, where, npu, dtype, rounded_once=False):
    if isinstance(theirs, Exception):
        if "ComplexHalf" in str(theirs):
            return
        assert isinstance(ours, Exception), f"{where}: torch raises {theirs!r}, the result here is {ours}"
        same = isinstance(ours, type(theirs)) or isinstance(theirs, type(ours)) or isinstance(ours, NotImplementedError)
        assert same, f"{where}: torch raises {theirs!r}, here {ours!r}"
        return
    if isinstance(ours, NotImplementedError) and ((npu and dtype not in ALWAYS) or _is_empty(theirs)):
        return
    if isinstance(ours, Exception):
        raise AssertionError(f"{where}: {ours!r}; torch gives {theirs}") from ours
    if isinstance(theirs, tuple):
        for one, other in zip(ours, theirs, strict=True):
            check(one, other, where, npu, dtype, rounded_once)
        return
    if theirs is None:                   # left out by a mask
        assert ours is None, where
        return
    assert tuple(ours.shape) == tuple(theirs.shape), where
    if str(theirs.dtype) == "torch.complex32":       # not a dtype of this package: complex64 stands for it
        return
    assert str(ours.dtype) == str(theirs.dtype), f"{where}: {ours.dtype}, torch: {theirs.dtype}"
    rtol, atol = TOLERANCE.get(str(theirs.dtype).removeprefix("torch."), (0, 0))
    if rtol:      # computed in the operands' precision (float32 for integers), whatever `out` is
        least = TOLERANCE.get(dtype, TOLERANCE["float32"])
        rtol, atol = max(rtol, least[0]), max(atol, least[1])
    if rounded_once and dtype in ULP:
        rtol, atol = ULP[dtype], TOLERANCE["float32"][1]
    ours = to_torch(ours)
    if not torch.equal(ours, theirs):       # most are equal, and assert_close takes ten times as long to say so
        torch.testing.assert_close(ours, theirs, rtol=rtol, atol=atol, equal_nan=True,
                                   msg=lambda message: f"{where}: {message}")


def not_on(row, device):
    """Whether the row says that there is no kernel; test_missing_kernels looks at those."""
    return device == "npu" and row.npu.startswith("none")


def beyond(row, device, theirs):
    """Whether torch's CPU refuses what the row says that the NPU takes, or what the CPU makes of it on the way."""
    return device == "npu" and row.cpu_check and (
        isinstance(theirs, NotImplementedError) or str(theirs).endswith("without overflow"))


def cases(row, dtype):
    for number, (args, kwargs) in enumerate(SAMPLES[row.samples](Make(dtype, seed=row.key))):
        yield f"{row.key} sample {number} of {dtype}", args, kwargs


def function_of(row, lib):
    """The function form, or None where torch has none."""
    if row.schema.name == "linear":
        return lib.nn.functional.linear
    if "aten" in row.variants:
        return ATEN[row.schema.name] if lib is mindtorch else getattr(torch.ops.aten, row.schema.name)
    return getattr(lib, row.schema.name, None) if "function" in row.variants else None


def takes_tensor_first(row):
    return bool(row.schema.arguments) and row.schema.arguments[0].name == "self" and row.schema.arguments[0].is_tensor


def forms(row):
    """(name, how to call it) for the forms that return a result."""
    if function_of(row, torch) is not None:
        yield "function", lambda lib, args, kwargs: function_of(row, lib)(*args, **kwargs)
    if "method" in row.variants:
        def method(lib, args, kwargs):
            if not isinstance(args[0], (torch.Tensor, mindtorch.Tensor)):
                raise TypeError("a number has no methods")
            return getattr(args[0], row.schema.name)(*args[1:], **kwargs)
        yield "method", method
    if row.inplace and "own" not in row.variants:
        yield "in-place", lambda lib, args, kwargs: inplace_of(row, lib)(*args, **kwargs)


def inplace_of(row, lib):
    name = row.schema.name + "_"
    if "aten" in row.variants:
        return ATEN[name] if lib is mindtorch else getattr(torch.ops.aten, name)
    return getattr(lib.Tensor if "method" in row.variants else lib, name)


def on_device(row, kwargs, device):
    return {**kwargs, "device": device} if row.factory and not takes_tensor_first(row) else kwargs


def without_frames(theirs):
    """An outcome of torch, to be compared with twice: an exception without the frames of the test that found it."""
    if isinstance(theirs, Exception):
        theirs.__traceback__ = theirs.__context__ = theirs.__cause__ = None
    return theirs


# The devices last: of two neighbouring tests the second one finds what torch has made for the first.
both_devices = pytest.mark.parametrize("device", ["cpu", "npu"])


@lru_cache(maxsize=3)
def compared(key, dtype, layout="contiguous"):
    """Each sample in each form, and what torch makes of it: [(where, form, call, args, kwargs, torch's outcome)]."""
    row = ROWS[key]
    return [(where, form, call, args, kwargs, without_frames(expected(row, call, layout, args, kwargs, dtype)))
            for where, args, kwargs in cases(row, dtype) for form, call in forms(row)]


@both_devices
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key", ROWS)
def test_forms(key, dtype, device):
    row = ROWS[key]
    if not_on(row, device):
        return
    for where, form, call, args, kwargs, theirs in compared(key, dtype):
        if beyond(row, device, theirs):
            continue
        ours = outcome(call, mindtorch, device, "contiguous", args, on_device(row, kwargs, device))
        if row.key in UNDEFINED_CONTENT and not isinstance(theirs, Exception) and not isinstance(ours, Exception):
            assert (tuple(ours.shape), str(ours.dtype)) == (tuple(theirs.shape), str(theirs.dtype)), where
            continue
        check(ours, theirs, f"{where}, {form} on {device}, {args} {kwargs}", device == "npu", dtype,
              row.schema.name in IN_FLOAT32)


@both_devices
@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("key", ROWS)
def test_layouts(key, layout, device):
    """float32 and int64 in memory that is not dense; in-place forms write through the view."""
    row = ROWS[key]
    if row.key in UNDEFINED_CONTENT or not_on(row, device):
        return
    for dtype in ("float32", "int64"):
        for where, form, call, args, kwargs, theirs in compared(key, dtype, layout):
            if beyond(row, device, theirs):
                continue
            ours = outcome(call, mindtorch, device, layout, args, on_device(row, kwargs, device))
            if layout == "expanded" and form == "in-place" and isinstance(ours, RuntimeError) and (
                    row.inout or row.schema.name in OVERWRITING):
                continue      # torch has deprecated what is refused here
            check(ours, theirs, f"{where}, {form} on {device}, {layout}, {args} {kwargs}", device == "npu", dtype)


@lru_cache(maxsize=3)
def compared_with_out(key, dtype):
    """Each sample with each kind of out=: [(where, kind, call, args, kwargs, torch's outcome)]."""
    row = ROWS[key]
    makers = (_empty_out, _wide_out, _strided_out)
    calls = [(make_out.__name__, partial(_with_out, row, make_out)) for make_out in makers]
    return [(where, kind, call, args, kwargs, without_frames(outcome(call, torch, "cpu", "contiguous", args, kwargs)))
            for where, args, kwargs in cases(row, dtype) for kind, call in calls]


@both_devices
@pytest.mark.parametrize("key", [key for key, row in ROWS.items()
                                 if row.takes_out and not (row.handwritten or row.schema.inplace or row.factory)])
def test_out(key, device):
    """out= of the right shape, to be resized, of another dtype, and strided: taken or refused."""
    row = ROWS[key]
    if not_on(row, device):
        return
    for dtype in ("float32", "int64", "bool"):
        for where, kind, call, args, kwargs, theirs in compared_with_out(key, dtype):
            # Overloads that take no out= in torch; taking one does no harm.
            if isinstance(theirs, TypeError) or beyond(row, device, theirs) or (
                    isinstance(theirs, Exception) and "match any schema" in str(theirs)):
                continue
            ours = outcome(call, mindtorch, device, "contiguous", args, kwargs)
            check(ours, theirs, f"{where}, {kind} on {device}, {args} {kwargs}", device == "npu", dtype)


def _empty_out(lib, like):
    return lib.empty(0, dtype=like.dtype, device=like.device)


def _wide_out(lib, like):
    wide = lib.float64 if like.dtype in (lib.float32, lib.float64) else lib.float32
    return lib.zeros(tuple(like.shape), dtype=wide, device=like.device)


def _strided_out(lib, like):
    return lib.zeros((*tuple(like.shape), 2), dtype=like.dtype, device=like.device)[..., 0]


def _with_out(row, make_out, lib, args, kwargs):
    function = function_of(row, lib)
    plain = function(*args, **kwargs)
    outs = tuple(make_out(lib, one) for one in plain) if isinstance(plain, tuple) else make_out(lib, plain)
    result = function(*args, **kwargs, out=outs)
    if isinstance(outs, tuple):
        assert all(one is out for one, out in zip(result, outs, strict=True))
        return tuple(outs)
    assert result is outs
    return outs


MIXED = [key for key, row in ROWS.items() if row.samples in ("binary", "binary_alpha", "binary_nonzero")]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key", MIXED)
def test_two_dtypes(key, dtype, device):
    """Type promotion between tensors with dimensions, 0-d tensors, and in-place."""
    row = ROWS[key]
    if not_on(row, device):
        return
    for args, kwargs in SAMPLES["binary_mixed"](Make(dtype, seed=key)):
        for form, call in forms(row):
            theirs = outcome(call, torch, "cpu", "contiguous", args, kwargs)
            ours = outcome(call, mindtorch, device, "contiguous", args, kwargs)
            where = f"{key} {form} on {device}, {args}"
            other = next(a.dtype for a in args if a.dtype != dtype) if len({a.dtype for a in args}) > 1 else dtype
            check(ours, theirs, where, device == "npu", dtype if other == "float32" else other)


def test_samples_exist():
    """Random operators have tests of their own instead."""
    assert {row.samples for row in TABLE.rows if row.samples and row.family != "random"} <= set(SAMPLES)


def test_aliases():
    for alias, name in TABLE.aliases.items():
        special = alias.removeprefix("special_")
        if special != alias:                            # torch.special has functions of torch once more
            one, other = getattr(mindtorch.special, special), getattr(mindtorch, name)
            assert one is not other, alias
            assert one._keys() == other._keys(), alias
            continue
        for owner in (mindtorch, mindtorch.Tensor):
            one, other = getattr(owner, alias, None), getattr(owner, name, None)
            assert (one is None) is (other is None), alias
            assert one is None or one._keys() == other._keys(), alias


def test_synonyms():
    x = mindtorch.ones(2, 3)
    assert SYNONYMS == {"dim": "axis", "keepdim": "keepdims"}
    assert x.sum(axis=0, keepdims=True).shape == (1, 3)


def test_schemas_are_torchs():
    for row in TABLE.rows:
        if row.key in ("_slice", "_basic_index") or not {"own", "npu"}.isdisjoint(row.variants):
            continue      # ours: views that stand for several of torch's
        packet = getattr(torch.ops.aten, row.schema.name)
        if row.schema.overload == "dims":
            continue      # the table's own default for `dim` stands for the overload without it
        schema = str(getattr(packet, row.schema.overload or "default")._schema).removeprefix("aten::")
        schema = schema.replace("ScalarType? dtype=4", "ScalarType? dtype=long")       # a dtype by its number
        assert row.schema.text == schema, row.key
