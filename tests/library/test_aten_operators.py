"""torch.ops.aten, beside torch's: overloads by name, calls, results and errors on both devices."""
import copy
import pickle
import subprocess
import sys
import textwrap
import warnings

import pytest
import torch
from both_libraries import plain, said

import mindtorch

# operator, overload, arguments; "x", "y", "i", "b" are tensors made anew for each call.
CALLS = [
    ("add", "Tensor", "x, y"), ("add", "Tensor", "x, 2, alpha=3"), ("add", "Scalar", "x, 2, 3"),
    ("add_", "Tensor", "x, y"), ("add", "out", "x, y, out=z"), ("sub_", "Scalar", "x, 1"), ("mul", "Tensor", "x, y"),
    ("div", "Tensor_mode", "x, y, rounding_mode='floor'"), ("pow_", "Scalar", "x, 2"), ("neg_", "default", "x"),
    ("sum", "default", "x"), ("sum", "dim_IntList", "x, [0], True"), ("mean", "dim", "x, 1"), ("var", "dim", "x, [1]"),
    ("var", "correction", "x, [1], correction=0"), ("max", "dim", "x, 0"),
    ("max", "dim_max", "x, 0, max=m, max_values=n"),
    ("cat", "default", "[x, y], 1"), ("stack", "default", "[x, y]"), ("split", "Tensor", "x, 2, 1"),
    ("unbind", "int", "x"), ("view", "default", "x, [3, 2]"), ("permute", "default", "x, [1, 0]"),
    ("transpose", "int", "x, 0, 1"), ("expand", "default", "x, [2, 2, 3]"), ("slice", "Tensor", "x, 1, 0, 2"),
    ("select", "int", "x, 0, 1"), ("index", "Tensor", "x, [None, i]"), ("index_put_", "default", "x, [i], y[0]"),
    ("gather", "default", "x, 1, j"), ("embedding", "default", "x, i"), ("where", "self", "b, x, y"),
    ("masked_fill", "Scalar", "x, b, 3"), ("alias", "default", "x"), ("clone", "default", "x"),
    ("detach", "default", "x"),
    ("_to_copy", "default", "x, dtype=lib.float64"), ("to", "dtype", "x, lib.int64"), ("copy_", "default", "x, y"),
    ("mm", "default", "x, y.t()"), ("addmm", "default", "y[:, :2], x, y.t()"), ("linear", "default", "x, y"),
    ("bmm", "default", "x[None], y.t()[None]"), ("relu", "default", "x"), ("gelu", "default", "x, approximate='tanh'"),
    ("_softmax", "default", "x, 1, False"), ("_log_softmax", "default", "x, 1, False"), ("softmax", "int", "x, 1"),
    ("native_layer_norm", "default", "x, [3], None, None, 1e-5"),
    ("nll_loss_forward", "default", "x, i, None, 1, -100"),
    ("convolution", "default", "x[None], y[None], None, [1], [1], [1], False, [0], 1"),
    ("avg_pool2d", "default", "x[None, None], [2, 2]"), ("avg_pool2d", "default", "x[None, None], [2], [1]"),
    ("max_pool2d_with_indices", "default", "x[None, None], [2, 2]"), ("_fft_r2c", "default", "x, [1], 0, True"),
    ("_is_all_true", "default", "b"),
    ("_sparse_addmm", "default", "y[:, :2], x, y.t(), beta=2"),
    ("_assert_async", "msg", "x[0, 0], 'no'"),
    ("_assert_scalar", "default", "1, 'no'"), ("constant_pad_nd", "default", "x, [1, 1], 2.0"),
    ("arange", "start_step", "0, 6, 2"), ("full", "default", "[2], 3.0"), ("zeros_like", "default", "x"),
    ("scalar_tensor", "default", "2.5"), ("empty_like", "default", "i.float()[:0]"), ("sym_size", "int", "x, 1"),
    ("sym_numel", "default", "x"), ("_local_scalar_dense", "default", "x[0, 0]"), ("__and__", "Tensor", "b, b"),
    ("linalg_inv", "default", "x[:, :2]"), ("fft_fft", "default", "x"), ("special_expit", "default", "x"),
    ("_foreach_add", "Scalar", "[x, y], 2"), ("_foreach_mul_", "List", "[x, y], [y, x]"),
    ("std_mean", "correction", "x, [0], correction=1"), ("count_nonzero", "dim_IntList", "x, [0]"),
    ("imag", "default", "c"),
    ("upsample_nearest2d", "vec", "x[None, None], [4, 3], None"),
    ("upsample_nearest2d", "vec", "x[None, None], None, [1.5, 2.0]"),
    ("upsample_nearest2d", "default", "x[None, None], [4, 3], 2.0, 1.0"),
    ("upsample_linear1d", "vec", "x[None], None, True, [2.5]"),
    ("upsample_bilinear2d", "vec", "x[None, None], None, False, [1.5, 2.0]"),
    ("upsample_bicubic2d", "vec", "x[None, None], [4, 3], False, scale_factors=None"),
    ("upsample_trilinear3d", "vec", "x[None, None, None], None, False, [2.0, 1.5, 2.0]"),
    ("_upsample_bilinear2d_aa", "vec", "x[None, None], None, False, [1.0, 0.75]"),
]


def made(lib, device):
    """The tensors that calls name."""
    def tensor(values, **options):
        return lib.tensor(values, device=device, **options)
    return {"x": tensor([[0.5, -1.25, 2.0], [3.0, 0.75, -0.5]]), "y": tensor([[1.5, 2.5, -1.0], [0.25, 2.0, 4.0]]),
            "z": tensor([[0.0] * 3] * 2), "m": tensor([0.0] * 3), "n": tensor([0] * 3), "i": tensor([1, 0]),
            "j": tensor([[0, 2], [1, 1]]), "b": tensor([[True, False, True], [False, False, True]]),
            "c": tensor([1 + 2j, 3 - 4j])}


def outcome(lib, packet, overload, text, device):
    """What a call returns, and what it wrote to."""
    names = made(lib, device)
    args, kwargs = eval(f"(lambda *args, **kwargs: (args, kwargs))({text})", {"lib": lib, **names})
    if packet in ("arange", "full", "scalar_tensor"):
        kwargs["device"] = device
    result = getattr(getattr(lib.ops.aten, packet), overload)(*args, **kwargs)
    return plain(result), [plain(names[name]) for name in "xyz"]


def rounded(value):
    """Numbers as far as float32 carries them."""
    if isinstance(value, (list, tuple)):
        return type(value)(rounded(item) for item in value)
    return pytest.approx(value, rel=1e-4, abs=1e-5) if type(value) in (float, complex) else value


@pytest.mark.parametrize(("packet", "overload", "text"), CALLS, ids=[
    f"{p}.{o}-{n}" for n, (p, o, _) in enumerate(CALLS)])
def test_overloads_compute_what_torchs_do(packet, overload, text, device):
    with warnings.catch_warnings(action="ignore"):
        theirs = outcome(torch, packet, overload, text, "cpu")
        assert outcome(mindtorch, packet, overload, text, device) == rounded(theirs)


PACKETS = ["add(x, y)", "add(x, 1)", "add(x, y, alpha=2)", "sum(x)", "sum(x, [0])", "max(x)", "max(x, 0)", "relu(x)",
           "cat((x, y))", "pow(x, 2)", "pow(2, x)", "eq(x, 1)", "eq(x, y)", "clamp(x, 0, 1)", "sort(x, 1, True)"]


@pytest.mark.parametrize("text", PACKETS)
def test_a_packet_finds_its_overload(text, device):
    theirs = plain(eval(f"ops.{text}", {"ops": torch.ops.aten, **made(torch, "cpu")}))
    assert plain(eval(f"ops.{text}", {"ops": mindtorch.ops.aten, **made(mindtorch, device)})) == theirs


WRONG = ["relu.default(1)", "relu.default(None)", "relu.default(x, 1)", "relu.default()", "add.Tensor(x)", "add.nope",
         "add.Tensor(x, y, foo=1)", "add.Tensor(x, y, alpha='s')", "add.Tensor(x, self=x, other=y)", "nope", "__file__",
         "add.Tensor(x, y, x)", "sum.dim_IntList(x, 'a')", "sum.dim_IntList(x, [0.5])", "cat.default(x)",
         "cat.default([x, 1])", "view.default(x, [5])", "mm.default(x, x)", "_fft_r2c.default(x, [], 0, True)",
         "_assert_async(x[0, 0] * 0)", "_assert_async.msg(x[0, 0] * 0, 'no')", "_assert_scalar(0, 'no')",
         "im2col.default(x[None, None], [2, 2], [1], [0, 0], [1, 1])"]


@pytest.mark.parametrize("text", WRONG)
def test_what_torch_refuses_is_refused_in_its_words(text):
    def scenario(lib):
        found = said(eval, f"ops.{text}", {"ops": lib.ops.aten, **made(lib, "cpu")})
        return (found[0], found[1].split("Cast error details")[0]) if isinstance(found, tuple) else found
    assert scenario(mindtorch) == scenario(torch)


@pytest.mark.parametrize("text", [
    "avg_pool2d.default(x[None, None], [2, 2], [0, 0])", "avg_pool2d.default(x[None, None], [2, 2, 2])",
    "col2im.default(x, [3, 3], [2, 2], [1, 1], [0, 0], [0, 1])", "_fft_c2r.default(c, [3], 0, 2)",
    "upsample_nearest2d.default(x[None, None], [4])"])
def test_rows_are_not_reached_by_what_their_kernels_do_not_expect(text, device):
    with pytest.raises((RuntimeError, IndexError)):
        eval(f"ops.{text}", {"ops": mindtorch.ops.aten, **made(mindtorch, device)})


@pytest.mark.parametrize("text", [
    "ops.aten", "ops.aten.add", "str(ops.aten.add)", "ops.aten.add.Tensor", "str(ops.aten.add.Tensor)",
    "ops.aten.add.Tensor.name()", "ops.aten.add.Tensor.namespace", "ops.aten.add.Tensor.__name__",
    "ops.aten.add.Tensor._schema", "ops.aten.add_.Tensor._schema", "ops.aten.add.out._schema",
    "ops.aten.view.default._schema", "ops.aten.view.default.is_view", "ops.aten.relu.default.overloadpacket",
    "ops.aten.relu.default is ops.aten.relu.default", "ops.__file__", "ops.aten.__file__", "ops.other",
    "hasattr(ops.other, 'f')", "'Scalar' in ops.aten._foreach_maximum_.overloads()", "ops.loaded_libraries"])
def test_operators_tell_what_torchs_tell(text):
    theirs, ours = (repr(eval(text, {"ops": lib.ops})) for lib in (torch, mindtorch))
    assert ours == theirs


def test_every_schema_has_its_function():
    operators = mindtorch.ops.aten
    for name in dir(operators):
        assert getattr(operators, name).overloads()
    assert len(dir(operators)) > 900


def test_overloads_are_copied_and_pickled_by_name():
    for operator in (mindtorch.ops.aten.add, mindtorch.ops.aten.add.Tensor):
        assert copy.deepcopy(operator) is operator
        assert pickle.loads(pickle.dumps(operator)) is operator


def test_gradients_flow_through_torch_ops(device):
    x = mindtorch.tensor([1.0, 2.0], device=device, requires_grad=True)
    mindtorch.ops.aten.mul.Tensor(x, x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_torch_npus_operators_are_in_their_namespace():
    x = mindtorch.tensor([[1.0, 2.0, 3.0, 4.0]], device="npu")
    assert str(mindtorch.ops.npu.npu_swiglu.default._schema) == "npu::npu_swiglu(Tensor input, int dim=-1) -> Tensor"
    expected = torch.nn.functional.silu(torch.tensor([[1.0, 2.0]])) * torch.tensor([[3.0, 4.0]])
    assert mindtorch.ops.npu.npu_swiglu(x).tolist()[0] == pytest.approx(expected.tolist()[0], rel=1e-4)


def test_libraries_are_loaded_for_real(tmp_path):
    for text in ("ops.load_library('/none.so')", "classes.load_library('/none.so')", "classes.a.B"):
        assert said(eval, text, vars(mindtorch) | {"ops": mindtorch.ops, "classes": mindtorch.classes}) == said(
            eval, text, {"ops": torch.ops, "classes": torch.classes})
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    with pytest.raises(OSError, match="Could not load this library"):
        mindtorch.ops.load_library(str(broken))
    mindtorch.ops.load_library("libm.so.6")
    assert "libm.so.6" in mindtorch.ops.loaded_libraries
    mindtorch.ops.loaded_libraries.discard("libm.so.6")


def test_classes_may_say_that_their_tensors_are_taken_as_they_are():
    class Plain(mindtorch.Tensor):
        __torch_function__ = mindtorch._C._disabled_torch_function_impl
    tensor = mindtorch.ones(2).as_subclass(Plain)
    assert not mindtorch.overrides.has_torch_function((tensor,))
    assert not torch.overrides.has_torch_function((torch.ones(2),))
    assert mindtorch._C._disabled_torch_function_impl(mindtorch.add, (), (tensor, 1)).tolist() == [2.0, 2.0]


def test_out_forms_that_only_the_namespace_has():
    aten, out = mindtorch.ops.aten, mindtorch.empty(0, dtype=mindtorch.int64)
    assert aten.repeat_interleave.Tensor_out(mindtorch.tensor([1, 2]), out=out) is out
    assert out.tolist() == [0, 1, 1]
    assert aten.fill.Scalar_out(mindtorch.ones(2), 3, out=mindtorch.empty(0)).tolist() == [3, 3]


def test_keys_that_a_thread_excludes():
    excluded, key = mindtorch._C._dispatch_tls_local_exclude_set, mindtorch._C.DispatchKey.CPU
    with mindtorch._C._ExcludeDispatchKeyGuard(mindtorch._C.DispatchKeySet(key)):
        assert excluded().has(key)
    assert not excluded().has(key)


def test_threads_may_ask_for_an_operator_at_once():
    """Operators are made when they are first asked for."""
    script = textwrap.dedent("""
        import sys, threading
        import mindtorch as torch
        sys.setswitchinterval(1e-6)
        errors = []
        def ask():
            try:
                for name in torch.ops.aten:
                    getattr(torch.ops.aten, name).overloads()
            except RuntimeError as error:
                errors.append(error)
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sys.exit(str(errors) if errors else 0)
    """)
    subprocess.run([sys.executable, "-c", script], check=True)
