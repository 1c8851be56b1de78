"""Operators on lists of tensors beside torch's: values, dtypes, errors, identity, gradients; launches on the NPU."""
import itertools

import numpy
import pytest
import torch

import mindtorch
from mindtorch import sim

SHAPES = ((3, 4), (), (5,), (2, 1, 3))
UNARY = ("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor",
         "frac", "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt",
         "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc")
NUMBERS = ("add", "sub", "mul", "div", "clamp_min", "clamp_max", "maximum", "minimum", "pow")
SCALAR_LIST = (0.5, 2, 1.5, 3)
WHOLE_LIST = (1, 2, 3, 4)


def arrays(count, dtype="float32", seed=0, shapes=SHAPES):
    """`count` lists of arrays with values between 0.1 and 0.9, or small integers."""
    generator = numpy.random.default_rng(seed)
    if dtype.startswith("int") or dtype == "uint8":
        return [[generator.integers(1, 5, shape).astype(dtype) for shape in shapes] for _ in range(count)]
    return [[generator.uniform(0.1, 0.9, shape).astype("float64") for shape in shapes] for _ in range(count)]


def lists(lib, made, dtype, device, grad=False):
    dtype = getattr(lib, dtype)
    return [[lib.tensor(a.tolist(), dtype=dtype, device=device, requires_grad=grad) for a in group] for group in made]


def cases():
    """name: (how many lists, call of the library and the lists), all of which are also called in place."""
    made = {}

    def add(name, count, call, inplace=True):
        made[name] = (count, call, inplace)
    for op in UNARY:
        add(op, 1, lambda f, a: f(a))
    for op in NUMBERS:
        add(f"{op} number", 1, lambda f, a: f(a, 2))
        add(f"{op} fraction", 1, lambda f, a: f(a, 0.5))
        add(f"{op} list", 2, lambda f, a, b: f(a, b))
        add(f"{op} numbers", 1, lambda f, a: f(a, list(SCALAR_LIST)))
        add(f"{op} whole numbers", 1, lambda f, a: f(a, WHOLE_LIST))
    for op in ("add", "sub"):
        add(f"{op} alpha", 2, lambda f, a, b: f(a, b, alpha=3))
    for op in ("addcmul", "addcdiv"):
        add(f"{op}", 3, lambda f, a, b, c: f(a, b, c))
        add(f"{op} value", 3, lambda f, a, b, c: f(a, b, c, value=0.5))
        add(f"{op} numbers", 3, lambda f, a, b, c: f(a, b, c, SCALAR_LIST))
        add(f"{op} equal numbers", 3, lambda f, a, b, c: f(a, b, c, (0.5,) * 4))
    add("lerp number", 2, lambda f, a, b: f(a, b, 0.25))
    add("lerp list", 3, lambda f, a, b, c: f(a, b, c))
    add("lerp numbers", 2, lambda f, a, b: f(a, b, SCALAR_LIST))
    add("pow base", 1, lambda f, a: f(2, a), False)
    add("norm", 1, lambda f, a: f(a), False)
    add("norm 1", 1, lambda f, a: f(a, 1), False)
    add("norm inf", 1, lambda f, a: f(a, ord=float("inf")), False)
    add("norm 3", 1, lambda f, a: f(a, 3.0), False)
    add("max", 1, lambda f, a: f(a), False)
    return made


CASES = cases()
DTYPES = ("float32", "float16", "bfloat16", "float64", "int32", "int64", "uint8")
TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 4e-6}


def outcome(call):
    """(result, None), or (None, the exception)."""
    try:
        return call(), None
    except (TypeError, ValueError, RuntimeError) as error:      # NotImplementedError is a RuntimeError
        return None, error


def assert_same(ours, theirs, tolerance=None):
    assert type(ours) is type(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert str(a.dtype).removeprefix("torch.") == str(b.dtype).removeprefix("torch.")
        assert tuple(a.shape) == tuple(b.shape)
        got, expected = a.detach().cpu().double().numpy(), b.detach().double().numpy()
        within = tolerance or TOLERANCES.get(str(b.dtype).removeprefix("torch."), 1e-12)
        numpy.testing.assert_allclose(got, expected, rtol=within, atol=within)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("form", ["function", "in place"])
def test_values(device, name, form):
    count, call, inplace = CASES[name]
    if form == "in place" and not inplace:
        return
    function = f"_foreach_{name.split()[0]}" + ("_" if form == "in place" else "")
    for dtype in DTYPES:
        made = arrays(count, dtype)
        theirs_in, ours_in = lists(torch, made, dtype, "cpu"), lists(mindtorch, made, dtype, device)
        theirs, error = outcome(lambda f=function, x=theirs_in: call(getattr(torch, f), *x))
        ours, raised = outcome(lambda f=function, x=ours_in: call(getattr(mindtorch, f), *x))
        if error is not None:
            assert isinstance(raised, type(error)), (dtype, error, raised)
            continue
        if device == "npu" and isinstance(raised, NotImplementedError):
            assert "npu" in str(raised), raised         # what the op on one tensor cannot do either
            continue
        assert raised is None, (dtype, raised)
        assert_same(ours, theirs)
        if form == "in place":
            assert ours is ours_in[0]
            assert_same(ours_in[0], theirs_in[0])


def addcdiv(a, b, c, value=1):
    """In place of torch._foreach_addcdiv, whose own derivative fails for 0-d tensors."""
    values = value if isinstance(value, tuple) else (value,) * len(a)
    return [torch.addcdiv(x, y, z, value=v) for x, y, z, v in zip(a, b, c, values, strict=True)]


@pytest.mark.parametrize("name", [name for name in CASES if name.split()[0] != "max"])
def test_gradients(device, name):
    count, call, _ = CASES[name]
    results = []
    for lib, place in ((torch, "cpu"), (mindtorch, device)):
        inputs = lists(lib, arrays(count), "float32", place, grad=True)
        function = getattr(lib, f"_foreach_{name.split()[0]}")
        outputs = call(addcdiv if function is torch._foreach_addcdiv else function, *inputs)
        sum((out * out).sum() for out in outputs).backward()
        results.append([[tensor.grad for tensor in group] for group in inputs])
    for ours, theirs in zip(results[1], results[0], strict=True):
        assert_same(ours, theirs, 1e-4)


def test_gradients_in_place(device):
    results = []
    for lib, place in ((torch, "cpu"), (mindtorch, device)):
        (leaves,) = lists(lib, arrays(1), "float32", place, grad=True)
        values = lib._foreach_mul(leaves, 2)
        assert lib._foreach_mul_(values, leaves) is values
        lib._foreach_addcdiv_(values, leaves, leaves, 0.5)
        lib._foreach_maximum_(values, [leaf * 1.5 for leaf in leaves])
        lib._foreach_sqrt_(values)
        sum(value.sum() for value in values).backward()
        results.append([leaf.grad for leaf in leaves])
    assert_same(results[1], results[0], 1e-5)


def mixtures(lib, device):
    """Lists that a kernel for lists cannot take."""
    floats = [lib.arange(6, dtype=lib.float32, device=device).reshape(2, 3) + 1, lib.ones(3, device=device)]
    return {
        "dtypes": [floats[0], floats[1].to(lib.int64)],
        "transposed": [floats[0].t(), floats[1]],
        "strided": [floats[0][:, ::2], floats[1]],
        "empty": [floats[0], lib.zeros((0, 3), device=device)],
        "halves": [floats[0].to(lib.float16), floats[1]],
        "one": [floats[0]],
    }


@pytest.mark.parametrize("mixture", mixtures(torch, "cpu"))
def test_mixed_lists(device, mixture):
    for function, *args in (("add", 1), ("add", 1.5), ("mul", 2), ("exp",), ("neg",), ("div", 2), ("pow", 2)):
        ours = getattr(mindtorch, f"_foreach_{function}")(mixtures(mindtorch, device)[mixture], *args)
        theirs = getattr(torch, f"_foreach_{function}")(mixtures(torch, "cpu")[mixture], *args)
        assert_same(ours, theirs)
    ours, theirs = mixtures(mindtorch, device)[mixture], mixtures(torch, "cpu")[mixture]
    assert_same(mindtorch._foreach_add(ours, ours), torch._foreach_add(theirs, theirs))
    assert_same(mindtorch._foreach_mul_(ours, 3), torch._foreach_mul_(theirs, 3))


def test_broadcast_and_other_dtypes_beside(device):
    """Shapes and dtypes of the second list differ from the first's."""
    for other in ("rows", "wider"):
        results = []
        for lib, place in ((torch, "cpu"), (mindtorch, device)):
            first = [lib.ones((2, 3), device=place), lib.full((3,), 2.0, device=place)]
            beside = {"rows": [lib.arange(3, dtype=lib.float32, device=place)] * 2,
                      "wider": [tensor.to(lib.float64) for tensor in first]}[other]
            results.append(lib._foreach_add(first, beside, alpha=2))
        assert_same(results[1], results[0])


def test_tensor_overloads(device):
    """A 0-d tensor for all, or one packed number for each."""
    results = []
    for lib, place in ((torch, "cpu"), (mindtorch, device)):
        a, b, c = lists(lib, arrays(3), "float32", place)
        two, packed = lib.tensor(2.0, device=place), lib.tensor(SCALAR_LIST)
        made = [lib._foreach_add(a, two, alpha=3), lib._foreach_mul(a, two), lib._foreach_div(a, two),
                lib._foreach_addcmul(a, b, c, packed), lib._foreach_addcdiv(a, b, c, packed)]
        lib._foreach_mul_(a, two)
        lib._foreach_addcmul_(a, b, c, packed)
        results.append([*made, tuple(a)])
    for ours, theirs in zip(results[1], results[0], strict=True):
        assert_same(ours, theirs)


def test_zero_and_copy(device):
    for dtype, other in itertools.product(("float32", "bfloat16", "int32", "bool"), ("float32", "int64")):
        results = []
        for lib, place in ((torch, "cpu"), (mindtorch, device)):
            made, source = lists(lib, arrays(2), dtype, place)[0], lists(lib, arrays(2, other), other, place)[1]
            assert lib._foreach_copy_(made, source) is made
            copied = [tensor.clone() for tensor in made]
            assert lib._foreach_zero_(made) is made
            results.append(copied + made)
        assert_same(results[1], results[0])


def test_names_of_parameters(device):
    (made,) = lists(mindtorch, arrays(1), "float32", device)
    for given in ({"scalar": 2}, {"scalars": [2] * 4}, {"other": [mindtorch.full_like(x, 2) for x in made]}):
        for ours, plain in zip(mindtorch._foreach_mul(self=made, **given), made, strict=True):
            assert (ours == plain * 2).all()


def test_a_tuple_stays_a_tuple(device):
    made = tuple(lists(mindtorch, arrays(1), "float32", device)[0])
    assert mindtorch._foreach_neg_(made) is made


def bad_calls(lib, device):
    a = [lib.tensor([1.0, 2.0], device=device)]
    whole, leaf = [lib.tensor([1, 2], device=device)], [lib.tensor([1.0], device=device, requires_grad=True)]
    truth, matrix = [lib.tensor([True], device=device)], lib.ones((2, 2), device=device)
    f = lib
    return {
        "empty": lambda: f._foreach_exp([]),
        "empty add": lambda: f._foreach_add([], 1),
        "empty norm": lambda: f._foreach_norm([]),
        "empty zero": lambda: f._foreach_zero_([]),
        "empty copy": lambda: f._foreach_copy_(a, []),
        "lengths": lambda: f._foreach_add(a, a + a),
        "lengths in place": lambda: f._foreach_mul_(a, a + a),
        "lengths of three": lambda: f._foreach_addcmul(a, a, a + a, 1),
        "lengths before numbers": lambda: f._foreach_addcmul(a, a, a + a, [1]),
        "fewer numbers": lambda: f._foreach_add(a + a, [1]),
        "no numbers": lambda: f._foreach_add(a, []),
        "more numbers": lambda: f._foreach_lerp(a, a, [0.5, 1.0]),
        "a string": lambda: f._foreach_add(a, "x"),
        "a tensor": lambda: f._foreach_add(a[0], 1),
        "numbers as tensors": lambda: f._foreach_add([1], 1),
        "a number among tensors": lambda: f._foreach_add(a, [a[0], 1]),
        "None among tensors": lambda: f._foreach_exp([a[0], None]),
        "no list": lambda: f._foreach_exp(1),
        "shapes": lambda: f._foreach_add(a, [lib.ones(3, device=device)]),
        "not 0-d": lambda: f._foreach_mul(a, matrix),
        "packed": lambda: f._foreach_addcmul(a, a, a, lib.tensor(2.0)),
        "packed length": lambda: f._foreach_addcdiv(a, a, a, lib.tensor([2.0, 3.0])),
        "integers to float": lambda: f._foreach_exp_(whole),
        "integers with fraction": lambda: f._foreach_add_(whole, 1.5),
        "maximum of floats": lambda: f._foreach_maximum_(whole, a),
        "leaf": lambda: f._foreach_exp_(leaf),
        "leaf zero": lambda: f._foreach_zero_(leaf),
        "bool": lambda: f._foreach_sub(truth, 1),
        "empty max": lambda: f._foreach_max([lib.zeros(0, device=device)]),
        "integer norm": lambda: f._foreach_norm(whole),
        "alpha": lambda: f._foreach_add(whole, whole, alpha=1.5),
        "empty clone": lambda: f._foreach_clone([]),
        "clone of a tensor": lambda: f._foreach_clone(a[0]),
        "clone of a number": lambda: f._foreach_clone([a[0], 1]),
    }


@pytest.mark.parametrize("name", bad_calls(torch, "cpu"))
def test_errors(device, name):
    _, theirs = outcome(bad_calls(torch, "cpu")[name])
    _, ours = outcome(bad_calls(mindtorch, device)[name])
    assert type(ours) is type(theirs), (ours, theirs)
    assert str(ours).splitlines()[0] == str(theirs).splitlines()[0]


def test_what_torch_returns_is_new(device):
    (made,) = lists(mindtorch, arrays(1), "float32", device)
    before = [tensor.clone() for tensor in made]
    for tensor in mindtorch._foreach_add(made, 0):
        tensor.zero_()
    assert all((a == b).all() for a, b in zip(made, before, strict=True))


def test_versions_are_counted(device):
    (made,) = lists(mindtorch, arrays(1), "float32", device)
    versions = [tensor._version for tensor in made]
    mindtorch._foreach_add_(made, 1)
    assert [tensor._version for tensor in made] == [version + 1 for version in versions]


def launched(call):
    """The operators that the call puts on the stream, and how often each."""
    with sim.counting() as counts:
        call()
    return counts.operators()


def test_one_launch_for_a_list():
    a, b, c = lists(mindtorch, arrays(3, shapes=SHAPES[:3]), "float32", "npu")
    assert launched(lambda: mindtorch._foreach_add_(a, b, alpha=2)) == {"aclnnForeachAddListV2": 1}
    assert launched(lambda: mindtorch._foreach_mul(a, 2)) == {"aclnnForeachMulScalarV2": 1}
    assert launched(lambda: mindtorch._foreach_mul(a, [1, 2.5, 3])) == {"aclnnForeachMulScalarList": 1}
    assert launched(lambda: mindtorch._foreach_addcdiv_(a, b, c, 0.5)) == {"aclnnForeachAddcdivScalarV2": 1}
    assert launched(lambda: mindtorch._foreach_addcdiv_(a, b, c, [0.5] * 3)) == {"aclnnForeachAddcdivScalarV2": 1}
    assert launched(lambda: mindtorch._foreach_addcdiv_(a, b, c, [0.5, 0.5, 1])) == {"aclnnAddcdiv": 3}
    assert launched(lambda: mindtorch._foreach_norm(a)) == {"aclnnForeachNorm": 1}
    assert launched(lambda: mindtorch._foreach_zero_(a)) == {"aclnnForeachZeroInplace": 1}
    assert launched(lambda: mindtorch._foreach_copy_(a, b)) == {"aclnnForeachCopy": 1}
    wide = [tensor.to(mindtorch.int64) for tensor in a]
    assert launched(lambda: mindtorch._foreach_mul_(wide, 2)) == {"aclnnInplaceMuls": 3}


def test_parameters_are_taken_at_once_where_nothing_is_recorded():
    (made,) = lists(mindtorch, arrays(1), "float32", "npu", grad=True)
    with mindtorch.no_grad():
        assert launched(lambda: mindtorch._foreach_mul_(made, 2)) == {"aclnnForeachMulScalarV2": 1}
    assert launched(lambda: mindtorch._foreach_mul(made, 2)) == {"aclnnMuls": len(SHAPES)}


@pytest.mark.parametrize(("count", "calls"), [(24, 1), (25, 2), (48, 2), (49, 3)])
def test_an_operator_takes_48_tensors(count, calls):
    made = [mindtorch.full((2,), float(i), device="npu") for i in range(count)]
    assert launched(lambda: mindtorch._foreach_add_(made, list(made))) == {"aclnnForeachAddListV2": calls}
    assert [tensor[0].item() for tensor in made] == [2.0 * i for i in range(count)]


@pytest.mark.parametrize("function", ["aclCreateScalarList", "aclCreateScalar", "aclCreateTensorList",
                                      "aclDestroyScalarList", "aclnnForeachAddScalarList",
                                      "aclnnForeachAddScalarListGetWorkspaceSize"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.usefixtures("queue_mode")
def test_faults_leave_nothing_behind(function, nth):
    made = [mindtorch.ones(3, device="npu") for _ in range(3)]
    with sim.fault(function, nth):
        outcome(lambda: (mindtorch._foreach_add_(made, [1, 2, 3]), mindtorch.npu.synchronize()))
    for tensor in made:
        tensor.fill_(0)
    mindtorch._foreach_add_(made, [1, 2, 3])
    assert [tensor[0].item() for tensor in made] == [1, 2, 3]


def test_many_tensors(device):
    """More than one operator takes."""
    made = [numpy.full((2,), i, "float32") for i in range(101)]
    ours = [mindtorch.tensor(a, device=device) for a in made]
    mindtorch._foreach_add_(ours, [float(i) for i in range(101)])
    doubled = mindtorch._foreach_add(ours, ours)
    assert [t.tolist() for t in ours] == [[2.0 * i] * 2 for i in range(101)]
    assert [t.tolist() for t in doubled] == [[4.0 * i] * 2 for i in range(101)]


def test_clones_of_a_list(device):
    found = []
    for lib, place in ((torch, "cpu"), (mindtorch, device)):
        tensors = [lib.arange(6., device=place).view(2, 3).t(), lib.ones(2, device=place, requires_grad=True)]
        kept, dense = lib._foreach_clone(tensors), lib._foreach_clone(tensors, memory_format=lib.contiguous_format)
        (kept[1] * 3).sum().backward()
        kept[0].zero_()
        found.append((type(kept), [x.tolist() for x in (*kept, *dense, *tensors)],
                      [x.stride() for x in (*kept, *dense)], tensors[1].grad.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["clamp_min", "clamp_max"])
def test_bools_are_limited_by_tensors(name, device):
    found = []
    for lib, place in ((torch, "cpu"), (mindtorch, device)):
        a, b = lib.tensor([True, True, False], device=place), lib.tensor([True, False, False], device=place)
        found.append([getattr(lib, name)(a, b).tolist(), getattr(a, f"{name}_")(b).tolist(), a.tolist()])
    assert found[0] == found[1]


def test_packed_numbers_are_contiguous():
    for lib in (mindtorch, torch):
        tensors = [lib.ones(2), lib.ones(2)]
        with pytest.raises(RuntimeError, match=r"^Expected scalars to be contiguous\.$"):
            lib._foreach_addcmul(tensors, tensors, tensors, lib.ones(2, 2)[:, 1])
