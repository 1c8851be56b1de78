"""torch.library beside torch: custom_op, Library and the functions that register; kernels and gradients by device."""
import gc
import itertools
import warnings
import weakref

import pytest
import torch
from both_libraries import both, plain, said

import mindtorch
from mindtorch import library

_numbers = itertools.count()


def name_of(short):
    """A name that no other test has."""
    return f"mt_test_{next(_numbers)}::{short}"


def annotated(lib, parameters, result):
    """A function with those annotations, written in source as users write them."""
    from collections.abc import Sequence
    from typing import Optional, Union
    names = {"Tensor": lib.Tensor, "torch": lib, "List": list, "Optional": Optional, "Tuple": tuple, "Union": Union,
             "Sequence": Sequence}
    exec(f"def f({parameters}){'' if result is None else ' -> ' + result}: pass", names)
    return names["f"]


@pytest.mark.parametrize(("parameters", "result", "mutates"), [
    ("x: Tensor, y: int = 3, z: float = 2.5, s: str = 'a', b: bool = True", "Tensor", ()),
    ("x: Optional[Tensor], d: torch.dtype, dev: torch.device, n: Union[int, float, bool] = 2", "Tensor", ()),
    ("x: List[Tensor], y: Sequence[int], *, z: Optional[List[float]] = None", "Tuple[Tensor, int]", ()),
    ("x: list[Tensor], y: list[Optional[Tensor]]", "list[Tensor]", {"x"}),
    ("x: Tensor, y: Tensor", "None", {"x"}),
    ("x: Tensor, y: Tensor", "None", "unknown"),
    ("x: 'Tensor', y: 'int'", "'Tensor'", ()),
    ("x: Tensor", "tuple[()]", ()),
    ("x", "Tensor", ()), ("x: Tensor", None, ()), ("x: Tensor", "dict", ()), ("x: Tensor, y: dict", "Tensor", ()),
    ("x: Tensor, *a: int", "Tensor", ()), ("x: Tensor, /, y: int = 1", "Tensor", ()), ("x: 'Tensr'", "Tensor", ()),
    ("x: Tensor, y: int", "Tensor", {"y"}), ("x: Tensor", "Tensor", "x"), ("x: tuple[int, int]", "Tensor", ()),
    ("x: Tensor, y: Sequence[int] = ()", "Tensor", ()), ("x: Tensor", "Optional[Tensor]", ()),
])
def test_a_schema_is_inferred_as_torch_infers_it(parameters, result, mutates):
    def scenario(lib):
        outcome = said(lib.library.infer_schema, annotated(lib, parameters, result), mutates_args=mutates)
        return outcome if isinstance(outcome, str) else (outcome[0], outcome[1].split("valid types")[0])
    with warnings.catch_warnings(action="ignore"):
        theirs, ours = both(scenario)
    assert ours == theirs


def product(lib, name):
    """x * y * s as an operator, with its derivative."""
    @lib.library.custom_op(name, mutates_args=(), schema="(Tensor x, Tensor y, float s=1.0) -> Tensor")
    def operator(x, y, s=1.0):
        return x * y * s

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.s = inputs[2]

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y * ctx.s, grad * x * ctx.s, None
    operator.register_autograd(backward, setup_context=setup)
    return operator


def test_a_custom_operator_computes_and_is_differentiated(device):
    operator = product(mindtorch, name_of("product"))
    called = getattr(getattr(mindtorch.ops, operator._namespace), operator._name)
    x = mindtorch.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = mindtorch.tensor([3.0, 5.0], device=device, requires_grad=True)
    for function in (operator, called, called.default):
        result = function(x, y, s=2.0)
        assert result.device.type == device
        assert result.tolist() == [6.0, 20.0]
        grads = mindtorch.autograd.grad(result.sum(), (x, y))
        assert [grad.tolist() for grad in grads] == [[6.0, 10.0], [2.0, 4.0]]
    assert mindtorch.autograd.gradcheck(lambda a, b: operator(a, b, 3.0), (x.double(), y.double()))


def test_kernels_of_devices_are_chosen_by_the_tensors():
    operator = product(mindtorch, name_of("kernels"))
    operator.register_kernel("npu", lambda x, y, s=1.0: x + y)
    x = mindtorch.ones(2)
    assert operator(x, x * 3).tolist() == [3.0, 3.0]
    assert operator(x.npu(), x.npu() * 3).tolist() == [4.0, 4.0]
    with operator.set_kernel_enabled("npu", False):
        assert operator(x.npu(), x.npu() * 3).tolist() == [3.0, 3.0]


CALLS = [
    ("good", lambda op, x: op(x, x, 2.0)), ("keyword", lambda op, x: op(x, y=x)), ("int", lambda op, x: op(x, x, 2)),
    ("string for a tensor", lambda op, x: op("a", x)), ("string for a float", lambda op, x: op(x, x, "s")),
    ("missing", lambda op, x: op(x)), ("too many", lambda op, x: op(x, x, 1.0, 2)),
    ("unknown keyword", lambda op, x: op(x, x, foo=1)), ("twice", lambda op, x: op(x, x, x=x)),
    ("list", lambda op, x: op([x], x)),
]


@pytest.mark.parametrize("call", [call for _, call in CALLS], ids=[name for name, _ in CALLS])
def test_calls_are_bound_as_torch_binds_them(call):
    name = name_of("bound")

    def scenario(lib):
        operator = product(lib, name)
        outcome = said(call, operator, lib.ones(2))
        return outcome[0], outcome[1].split("Cast error details")[0] if outcome[0].endswith("Error") else outcome
    theirs, ours = both(scenario)
    assert ours == theirs


def lists(lib):
    """A list of tensors in, a list out, with gradients for some."""
    @lib.library.custom_op(name_of("lists"), mutates_args=(), schema="(Tensor[] xs, int k) -> Tensor[]")
    def operator(xs, k):
        return [x * k for x in xs]
    seen = []

    def setup(ctx, inputs, output):
        ctx.k = inputs[1]
        seen.append([len(inputs[0]), len(output)])

    def backward(ctx, grads):
        seen.append([len(grads), ctx.needs_input_grad[0]])
        return [grad * ctx.k for grad in grads], None
    operator.register_autograd(backward, setup_context=setup)
    x, y = lib.ones(2, requires_grad=True), lib.ones(2)
    results = operator([x, y], 3)
    results[0].sum().backward()
    return plain(results), seen, x.grad.tolist()


def without_formula(lib):
    """A custom operator that nobody has said the derivative of."""
    operator = lib.library.custom_op("mt_test_formula::none", lambda x: x * 2, mutates_args=(),
                                     schema="(Tensor x) -> Tensor")
    result = operator(lib.ones(2, requires_grad=True))
    return result.requires_grad, type(result.grad_fn).__name__, said(result.sum().backward)


def writing(lib):
    """One that writes to its argument."""
    operator = lib.library.custom_op("mt_test_writing::double", lambda x: x.mul_(2) and None, mutates_args={"x"},
                                     schema="(Tensor(a!) x) -> ()")
    x = lib.ones(())
    before = x._version
    operator(x)
    refused = said(operator.register_autograd, lambda ctx, grad: grad)
    return x.tolist(), x._version - before, refused


def aliasing(lib):
    """Results that are the arguments, or views of them."""
    short = iter("abc")
    outcomes = []
    for function in (lambda x: x, lambda x: x[:1], lambda x: 3):
        operator = lib.library.custom_op(f"mt_test_alias::{next(short)}", function, mutates_args=(),
                                         schema="(Tensor x) -> Tensor")
        kind, message = said(operator, lib.ones(2))
        outcomes.append((kind, message.partition("):")[2]))
    return outcomes


def refused_definitions(lib):
    """Names and schemas that are not accepted."""
    define = lib.library.custom_op
    return [said(lambda arguments=arguments: define(arguments[0], lambda x: x, mutates_args=arguments[1],
                                                    schema=arguments[2]))
            for arguments in (("mt_test_r::a", {"x"}, "(Tensor x) -> Tensor"),
                              ("mt_test_r::b", (), "(Tensor x, *, Tensor y) -> Tensor"))]


def keyword_only(lib):
    """Arguments by keyword reach setup_context by keyword."""
    seen = []
    operator = lib.library.custom_op("mt_test_kw::f", lambda x, *, s, t=2.0: x * s * t, mutates_args=(),
                                     schema="(Tensor x, *, float s, float t=2.0) -> Tensor")
    operator.register_autograd(lambda ctx, grad: grad * 6,
                               setup_context=lambda ctx, inputs, keyword_only_inputs, output: seen.append(
                                   (len(inputs), keyword_only_inputs)))
    x = lib.ones(2, requires_grad=True)
    operator(x, s=3.0).sum().backward()
    return seen, x.grad.tolist()


def wrong_gradients(lib):
    """Formulas whose results do not fit."""
    x, outcomes = lib.ones(2, requires_grad=True), []
    operator = lib.library.custom_op("mt_test_wrong::f", lambda xs, k: [x * k for x in xs], mutates_args=(),
                                     schema="(Tensor[] xs, int k) -> Tensor[]")
    for grads in (lambda ctx, gs: (gs[0], None), lambda ctx, gs: ([gs[0]], None)):
        operator.register_autograd(grads)
        kind, message = said(operator([x, x], 2)[0].sum().backward)
        outcomes.append((kind, message.split("Got")[0]))
    return outcomes


def libraries(lib):
    """Definitions and kernels that come and go with their library."""
    outcomes = []
    x, grad = lib.ones(2), lib.ones(2, requires_grad=True)
    with lib.library._scoped_library("mt_test_lib", "DEF") as made:
        add = "f.Tensor(Tensor x, Tensor y) -> Tensor"
        outcomes += [said(made.define, add), said(made.define, "f.Scalar(Tensor x, Scalar y) -> Tensor"),
                     said(made.define, add)[1].split(" Duplicate")[0]]
        ops = lib.ops.mt_test_lib
        outcomes += [ops.f.overloads(), str(ops.f.Tensor), repr(ops.f), ops.f.Tensor.name(), str(ops.f.Scalar._schema)]
        outcomes += [said(ops.f, x, x)[0], said(made.impl, "f.Tensor", lambda x, y: x + y, "CPU"), said(ops.f, x, x)]
        outcomes += [said(made.impl, "f.Scalar", lambda x, y: x * y, "CompositeImplicitAutograd"), said(ops.f, grad, 3)]
        outcomes += [said(made.impl, "f", 3, "CPU"), said(made.impl, 3, len, "CPU"), said(made.impl, "f", len, "Foo"),
                     said(lambda: ops.g), said(lambda: ops.f.nope), said(made.define, "h(Tensor x")[0]]
        outcomes += [said(made.define, "none(Tensor x) -> ()"), said(made.impl, "none", lambda x: 3, "CPU"),
                     said(ops.none, x), said(made.define, "two(Tensor x) -> (Tensor, int)"),
                     said(made.impl, "two", lambda x: [x * 2, 3], "CPU"), said(ops.two, x)]
        outcomes.append(said(made.define, "other::f(Tensor x) -> Tensor")[1].split("  (Error")[0])
        outcomes.append(said(lib.library.Library, "mt_test_lib", "DEF")[1].split(";")[0])
    return [*outcomes, hasattr(lib.ops.mt_test_lib, "f"), said(lib.library.Library, "a", "XX"),
            said(lib.library.Library, "prim", "DEF"), said(lib.library.Library, "a", "IMPL", "Nokey")]


def functions(lib):
    """torch.library.define, impl, register_kernel and register_autograd, and what they refuse."""
    own, x, outcomes = lib.library, lib.ones(2), []
    with own._scoped_library("mt_test_fun", "FRAGMENT") as made:
        outcomes.append(said(own.define, "mt_test_fun::f", "(Tensor x) -> Tensor", lib=made))
        outcomes.append(said(own.impl, "mt_test_fun::f", "cpu", lambda x: x * 3, lib=made))
        outcomes.append(said(own.register_autograd, "mt_test_fun::f", lambda ctx, grad: grad * 3, lib=made))
        grad = lib.ones(2, requires_grad=True)
        result = lib.ops.mt_test_fun.f(grad)
        result.sum().backward()
        outcomes += [plain(result), type(result.grad_fn).__name__, plain(grad.grad)]
        outcomes += [said(own.define, "bar", "(Tensor x) -> Tensor"), said(own.define, "a::g", "Tensor x -> Tensor"),
                     said(own.define, 3, "(Tensor x) -> Tensor"), said(own.impl, "mt_test_fun::f", "nope", len),
                     said(own.register_kernel, 3, "cpu", len), said(own.register_fake, 3, len),
                     said(own.register_autograd, 3, len), said(own.register_autograd, "mt_test_fun::nope", len)]
        made.define("m(Tensor(a!) x) -> ()")
        made.define("kw(Tensor x, *, Tensor y) -> Tensor")
        outcomes += [said(own.register_autograd, "mt_test_fun::m", len, lib=made),
                     said(own.register_autograd, "mt_test_fun::kw", len, lib=made), plain(lib.ops.mt_test_fun.f(x))]
    return outcomes


def autograd_key(lib):
    """A kernel under Autograd calls the operator again, below itself."""
    with lib.library._scoped_library("mt_test_key", "DEF") as made:
        made.define("f(Tensor x) -> Tensor")
        made.impl("f", lambda x: x * 2, "CPU")

        class Double(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                with lib._C._AutoDispatchBelowAutograd():
                    return lib.ops.mt_test_key.f(x)

            @staticmethod
            def backward(ctx, grad):
                return grad * 20
        made.impl("f", Double.apply, "Autograd")
        x = lib.ones(2, requires_grad=True)
        lib.ops.mt_test_key.f(x).sum().backward()
        return plain(lib.ops.mt_test_key.f(x)), x.grad.tolist()


def unrecorded(lib):
    """A kernel of a device without one for autograd: backward warns, and stops where the kernel recorded nothing."""
    with lib.library._scoped_library("mt_test_warn", "DEF") as made, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name, kernel in (("a", lambda x: x * 2), ("b", lambda x: x.detach() * 2)):
            made.define(f"{name}(Tensor x) -> Tensor")
            made.impl(name, kernel, "CPU")
        outcomes = []
        for name in "ab":
            x = lib.ones(2, requires_grad=True)
            result = getattr(lib.ops.mt_test_warn, name)(x)
            result.sum().backward()
            outcomes.append((result.requires_grad, x.grad is None))
        return outcomes, len(caught), {str(w.message).split(":")[2] for w in caught}


def autocast(lib):
    """register_autocast casts, and the operator runs without autocast."""
    seen = []
    operator = lib.library.custom_op("mt_test_cast::f", lambda x, y: seen.append(str(x.dtype)) or x * 1,
                                     mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")
    operator.register_autocast("cpu", lib.bfloat16)
    with lib.autocast("cpu", lib.bfloat16):
        operator(lib.ones(2), lib.ones(2))
    operator(lib.ones(2), lib.ones(2))
    return seen, said(operator.register_autocast, 3, lib.float16)


@pytest.mark.parametrize("scenario", [lists, without_formula, writing, aliasing, refused_definitions, keyword_only,
                                   wrong_gradients, libraries, functions, autograd_key, unrecorded, autocast])
def test_scenario_in_both_libraries(scenario):
    theirs, ours = both(scenario)
    assert ours == theirs


def test_opcheck_finds_what_is_wrong():
    def outcomes(function, fake, x):
        operator = library.custom_op(name_of("checked"), function, mutates_args=(), schema="(Tensor x) -> Tensor")
        operator.register_fake(fake)
        operator.register_autograd(lambda ctx, grad: grad)
        found = library.opcheck(operator, (x,), raise_exception=False)
        return [name for name, outcome in found.items() if outcome != "SUCCESS"]
    x = mindtorch.ones(3, requires_grad=True)
    assert outcomes(lambda x: x * 2, mindtorch.empty_like, x) == []
    assert outcomes(lambda x: x * 2, lambda x: x.new_empty(2), x) == ["test_faketensor"]
    assert outcomes(lambda x: x.data.mul_(2) * 1, mindtorch.empty_like, x) == ["test_schema"]
    sized = outcomes(lambda x: x[x > 0], lambda x: x.new_empty(library.get_ctx().new_dynamic_size()), x)
    assert sized == []
    assert library.get_ctx() is None
    with pytest.raises(ValueError, match="expected test_utils to be subset of"):
        library.opcheck(product(mindtorch, name_of("p")), (x, x), test_utils="nope")


def test_kernels_of_autocast_can_be_passed_over():
    keys = mindtorch._C.DispatchKeySet(mindtorch._C.DispatchKey.AutocastCPU)
    name = name_of("cast")
    operator = library.custom_op(name, lambda x: x * 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    operator.register_autocast("cpu", mindtorch.bfloat16)
    with mindtorch.autocast("cpu", mindtorch.bfloat16):
        assert operator(mindtorch.ones(2)).dtype == mindtorch.bfloat16
        with mindtorch._C._ExcludeDispatchKeyGuard(keys):
            assert operator(mindtorch.ones(2)).dtype == mindtorch.float32


def test_own_operators_keep_their_kernels():
    with library._scoped_library("aten", "IMPL") as made:
        with pytest.raises(NotImplementedError, match="aten::relu cannot be given another kernel for CPU"):
            made.impl("relu", lambda x: x, "CPU")
        made.impl("relu", lambda x: x, "Meta")
    assert mindtorch.ops.aten.relu(-mindtorch.ones(1)).tolist() == [0.0]


def test_a_fake_kernel_may_come_before_its_operator():
    fake = library.register_fake("mt_test_later::f")(mindtorch.empty_like)
    with library._scoped_library("mt_test_later", "FRAGMENT") as made:
        made.define("f(Tensor x) -> Tensor")
        made.impl("f", lambda x: x * 2, "CompositeExplicitAutograd")
        library.opcheck(mindtorch.ops.mt_test_later.f, (mindtorch.ones(2),), test_utils="test_faketensor")
    assert fake is mindtorch.empty_like




def test_a_call_dies_with_its_result():
    operator = product(mindtorch, name_of("dies"))
    x = mindtorch.ones(2, requires_grad=True) * 1
    gc.disable()
    try:
        result = operator(x, x)
        known = weakref.ref(result), weakref.ref(result.grad_fn), weakref.ref(x)
        del result, x
        assert [reference() for reference in known] == [None, None, None]
    finally:
        gc.enable()


def test_a_vmap_of_a_custom_operator_calls_it_for_each_sample():
    operator = product(mindtorch, name_of("mapped"))
    x = mindtorch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert mindtorch.func.vmap(operator)(x, x).tolist() == [[1.0, 4.0], [9.0, 16.0]]


def test_a_rule_for_batches_is_taken_and_not_needed():
    def call(library, name):
        @library.library.custom_op(name, mutates_args=())
        def doubled(x: library.Tensor) -> library.Tensor:
            return x * 2

        @doubled.register_vmap
        def rule(info, in_dims, x):
            return x * 2, in_dims[0]
        library.library.register_vmap(name, rule)
        return library.vmap(doubled)(library.arange(6.).reshape(3, 2)).tolist()
    assert call(mindtorch, "batches::doubled") == call(torch, "batches::doubled")


def test_operators_over_triton_kernels():
    """They are custom operators; only a kernel of Triton itself refuses."""
    found = []
    for lib in (mindtorch, torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")

            def twice(x):
                return 2 * x

            twice.__annotations__ = {"x": lib.Tensor, "return": lib.Tensor}
            made = lib.library.triton_op("over_triton::twice", twice, mutates_args={})
            made.register_fake(lib.empty_like)
            made.register_autograd(lambda context, grad: 3 * grad)
            x = lib.ones(2, requires_grad=True)
            lib.ops.over_triton.twice(x).sum().backward()
            found.append((made(x).tolist(), x.grad.tolist(), str(lib.ops.over_triton.twice.default._schema)))
    assert found[0] == found[1]
    with pytest.raises(NotImplementedError, match="wrap_triton"):
        mindtorch.library.wrap_triton(print)
