"""FakeTensorMode: shapes, dtypes and devices without elements, beside torch."""
import contextlib
import copy
import importlib
import io
import subprocess
import sys

import numpy
import pytest
import torch
import torch._subclasses

import mindtorch
import mindtorch._subclasses


def looks(value):
    if isinstance(value, (tuple, list)):
        return [looks(item) for item in value]
    return tuple(value.shape), value.stride(), str(value.dtype).replace("mindtorch", "torch"), value.device.type


WITHIN = {
    "factories": lambda lib, t: [lib.zeros(2, 3), lib.arange(4), lib.empty(2, dtype=lib.float64), lib.randn(3)],
    "numbers": lambda lib, t: lib.tensor([1., 2]), "arithmetic": lambda lib, t: [t + 1, t @ t.t(), t.sum(0), t.exp()],
    "views": lambda lib, t: [t.t(), t[0], t.reshape(-1), t.unsqueeze(0)], "in place": lambda lib, t: t.add_(1),
    "module": lambda lib, t: lib.nn.Linear(3, 5)(t), "casts": lambda lib, t: t.to(lib.float16),
    "two results": lambda lib, t: t.max(dim=1), "cat": lambda lib, t: lib.cat([t, t]),
    "convolution": lambda lib, t: lib.nn.Conv2d(3, 4, 3)(lib.zeros(2, 3, 8, 8)),
}


@pytest.mark.parametrize("name", WITHIN)
def test_fake_tensors_look_as_in_torch(name):
    found = []
    for lib in (torch, mindtorch):
        with lib._subclasses.FakeTensorMode() as mode:
            found.append(looks(WITHIN[name](lib, mode.from_tensor(lib.ones(2, 3)))))
    assert found[0] == found[1]


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_what_needs_elements_is_refused(lib):
    with lib._subclasses.FakeTensorMode() as mode:
        fake = mode.from_tensor(lib.ones(2, 3))
        with pytest.raises(lib._subclasses.fake_tensor.DataDependentOutputException):
            fake.sum().item()
        with pytest.raises(lib._subclasses.DynamicOutputShapeException):
            fake.nonzero()
    with pytest.raises(Exception, match="Please convert all Tensors to FakeTensors first"):
        fake + lib.ones(2, 3)


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_a_fake_tensor_has_gradients(lib):
    with lib._subclasses.FakeTensorMode() as mode:
        fake = mode.from_tensor(lib.ones(2, 3)).requires_grad_()
        (fake * 2).exp().sum().backward()
        assert lib._subclasses.fake_tensor.is_fake(fake.grad)
        assert fake.grad.shape == (2, 3)


def test_a_fake_tensor_shows_an_npu():
    with mindtorch._subclasses.FakeTensorMode():
        made = mindtorch.zeros(2, device="npu") + 1
    assert made.device.type == "npu"
    assert made.is_npu


def test_importing_it_slows_nothing_down():
    """Operators look for handlers from the first fake tensor on."""
    program = ("import mindtorch, mindtorch._subclasses as s\n"
               "from mindtorch._core.tensor.torch_dispatch import is_active\n"
               "assert not is_active()\nwith s.FakeTensorMode(): mindtorch.ones(2)\nassert is_active()")
    subprocess.run([sys.executable, "-c", program], check=True)


def metadata_of(tensor):
    return (tensor.shape, tensor.stride(), tensor.storage_offset(), str(tensor.dtype), tensor.is_leaf,
            tensor.requires_grad, tensor._is_view(), tensor.is_conj(),
            tensor.untyped_storage().nbytes(), None if tensor._base is None else metadata_of(tensor._base))


def view_of_leaf_view(lib):
    view = lib.ones(8).view(2, 4)
    view.requires_grad = True
    return view.view(2, 2, 2)


TO_META = {
    "leaf": lambda lib: lib.ones(2, 3, requires_grad=True),
    "computed": lambda lib: lib.ones(2, requires_grad=True).neg(),
    "view": lambda lib: lib.ones(4, 6)[1:, ::2], "view of leaf": lambda lib: lib.ones(4, requires_grad=True)[1:],
    "view of computed": lambda lib: lib.ones(4, requires_grad=True).neg().view(2, 2),
    "view of a view that is a leaf": view_of_leaf_view, "gaps": lambda lib: lib.empty_strided((2, 2), (4, 2)),
    "channels last": lambda lib: lib.empty(2, 3, 4, 5, memory_format=lib.channels_last),
    "channels last computed": lambda lib: lib.empty(2, 3, 4, 5, memory_format=lib.channels_last,
                                                    requires_grad=True) + 2,
    "real parts": lambda lib: lib.ones(4, dtype=lib.complex64).imag,
    "pairs": lambda lib: lib.view_as_complex(lib.ones(4, 2)),
    "words": lambda lib: lib.ones(4).view(lib.int32),
}


@pytest.mark.filterwarnings("ignore:The .grad attribute")          # torch's converter reads it
@pytest.mark.parametrize("name", TO_META)
def test_meta_tensors_like_given_ones(name):
    def run(lib):
        utils = importlib.import_module(f"{lib.__name__}._subclasses.meta_utils")
        tensor, convert = TO_META[name](lib), utils.MetaConverter()
        made = convert(tensor)
        seen = []
        utils.assert_metadata_eq(lambda a, b: seen.append(a == b), made, tensor)
        assert all(seen)
        assert convert(tensor) is made
        assert convert.successful()
        return made.device.type, metadata_of(made)
    assert run(mindtorch) == run(torch)


def test_meta_tensors_share_memory_as_the_given_ones_do():
    for lib in (mindtorch, torch):
        convert = importlib.import_module(f"{lib.__name__}._subclasses.meta_utils").MetaConverter()
        base = lib.ones(4)
        views = [convert(base[:2]), convert(base[2:])]
        assert views[0]._base is views[1]._base is convert(base)
        assert convert(base.detach()).untyped_storage()._cdata == convert(base).untyped_storage()._cdata
        version = views[0]._version
        convert(base).add_(1)
        assert views[0]._version == views[1]._version == version + 1
        parameter = lib.nn.Parameter(lib.ones(2))
        parameter.grad = lib.ones(2)
        assert convert(parameter).grad.is_meta
        assert convert("no tensor") == "no tensor"


def test_properties_that_differ_are_told():
    utils = importlib.import_module("mindtorch._subclasses.meta_utils")

    def check(a, b):
        assert a == b
    one = mindtorch.ones(2, 3)
    for other in (one.double(), one[:1], mindtorch.ones(2, 3, requires_grad=True), one.t().contiguous().t(),
                  mindtorch.ones(3, 3)[1:], one.to_sparse()):
        with pytest.raises(AssertionError):
            utils.assert_metadata_eq(check, one, other)


def constants(lib):
    one, two = lib.tensor(4.0), lib.tensor([1.0])
    view, wide, four = two[:], lib.tensor([1]), lib.tensor([1., 2., 3., 4.])
    sum_, before = one.add_(1), (one.item(), view.constant is not None, four.constant is None)
    view.add_(lib.rand(1))                              # not known: nor is what shares the memory
    wide.expand(4)[0] = 2
    return before, sum_.item(), sum_ is one, two.constant, view.constant, wide.constant, (one > 3).item()


def adam(lib):
    model = lib.nn.Sequential(lib.nn.Linear(4, 3), lib.nn.ReLU(), lib.nn.Linear(3, 2))
    optimizer = lib.optim.Adam(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(lib.randn(5, 4)).sum().backward()
        optimizer.step()
    return repr(model[0].weight), repr(model[0].weight.grad), sorted(map(str, optimizer.state[model[0].weight]))


def loaded(lib):
    file = io.BytesIO()
    with lib._subclasses.fake_tensor.unset_fake_temporarily():
        lib.save({"a": lib.ones(3), "b": lib.ones(2, 2, dtype=lib.int8).t()}, file)
    file.seek(0)
    return repr(lib.load(file))


def copied(lib):
    module = copy.deepcopy(lib.nn.Linear(2, 2))
    return repr(module.weight), isinstance(module.weight, lib.nn.Parameter), repr(copy.deepcopy(lib.zeros(3) * 2))


PROGRAMS = {
    "constants": constants, "adam": adam, "loaded": loaded, "copied": copied,
    "arrays": lambda lib: [repr(made) for made in (lib.tensor(numpy.zeros((4, 4))), lib.from_numpy(numpy.zeros(3)),
                                                   lib.Tensor([1, 2]), lib.as_tensor(numpy.ones(2, numpy.int32)))],
    "history": lambda lib: repr(lib.nn.BatchNorm2d(3)(lib.zeros(2, 3, 4, 4))),
    "printed": lambda lib: [repr(lib.zeros(2, dtype=lib.int8, device="meta")), str(lib.zeros(()).double())],
    "storage": lambda lib: str(lib.zeros(3).storage()).replace("mindtorch", "torch"),
}


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated", "ignore:Accessing the data pointer of FakeTensor")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_under_the_mode(name):
    def run(lib):
        with lib._subclasses.FakeTensorMode():
            return PROGRAMS[name](lib)
    assert run(mindtorch) == run(torch)


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_fake_tensors_like_given_ones(lib):
    fake_tensor = importlib.import_module(f"{lib.__name__}._subclasses.fake_tensor")
    mode, tensor, parameter = fake_tensor.FakeTensorMode(), lib.ones(2, 3), lib.nn.Parameter(lib.ones(2))
    parameter.grad = lib.ones(2)
    made, view = mode.from_tensor(tensor), mode.from_tensor(tensor[1])
    assert mode.from_tensor(tensor) is made
    assert made.untyped_storage()._cdata == view.untyped_storage()._cdata
    fake = mode.from_tensor(parameter)
    assert isinstance(fake, lib.nn.Parameter)
    assert fake_tensor.is_fake(fake.grad)
    assert repr(fake) == "Parameter(FakeTensor(..., size=(2,), requires_grad=True))"
    memo = mode.fake_tensor_converter.tensor_memo
    assert len(memo) >= 3
    with fake_tensor.FakeCopyMode(mode):
        norm = copy.deepcopy(lib.nn.BatchNorm1d(3))
    assert all(map(fake_tensor.is_fake, norm.state_dict().values()))
    assert isinstance(norm.weight, lib.nn.Parameter)
    with fake_tensor.FakeTensorMode(allow_non_fake_inputs=True):
        assert fake_tensor.is_fake(lib.nn.Linear(2, 3)(lib.randn(4, 2)))
        assert fake_tensor.is_fake(tensor + 1)


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_operators_without_fake_kernels(lib):
    fake_tensor = importlib.import_module(f"{lib.__name__}._subclasses.fake_tensor")
    library = lib.library.Library("fake_kernels", "FRAGMENT")
    library.define("plain(Tensor x) -> Tensor")
    library.impl("plain", lambda x: x.cos(), "CPU")
    library.define("places(Tensor x) -> Tensor")
    library.impl("places", lambda x: x.nonzero(), "CPU")
    library._register_fake("places", lambda x: x.new_empty(lib.library.get_ctx().new_dynamic_size(), 1))
    with fake_tensor.FakeTensorMode():
        with pytest.raises(fake_tensor.UnsupportedOperatorException, match=r"fake_kernels\.plain\.default"):
            lib.ops.fake_kernels.plain(lib.ones(2))
        with pytest.raises(fake_tensor.DynamicOutputShapeException, match=r"fake_kernels\.places\.default"):
            lib.ops.fake_kernels.places(lib.ones(2))
    library._destroy()


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_operators_held_against_fake_ones(lib):
    library = lib.library.Library("fake_crossref", "FRAGMENT")
    library.define("wrong(Tensor x) -> Tensor")
    library.impl("wrong", lambda x: x.clone(), "CPU")
    library.impl("wrong", lambda x: x.new_empty(3), "Meta")
    mismatch = importlib.import_module(f"{lib.__name__}._subclasses.fake_tensor").MetadataMismatchError
    with lib._subclasses.CrossRefFakeMode():
        assert (lib.ones(2, 3) @ lib.ones(3)).tolist() == [3, 3]
        assert lib.tensor([0, 5]).nonzero().tolist() == [[1]]           # not compared: elements decide the shape
        with pytest.raises(mismatch, match="found mismatched tensor metadata: Shapes"):
            lib.ops.fake_crossref.wrong(lib.ones(2))
    with lib._subclasses.CrossRefFakeMode(lambda func: func.namespace == "fake_crossref"):
        lib.ops.fake_crossref.wrong(lib.ones(2))
    library._destroy()


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_metadata_of_two_tensors(lib):
    common = importlib.import_module(f"{lib.__name__}._prims_common")
    one = lib.ones(2, 3)
    for first, second in ((one, lib.ones(3, 2).t()), (one[:1], one[:1].clone()), (one[:0], lib.ones(3, 0).t())):
        assert common.check_significant_strides(first, second) == (True, None)
        found = [check(first, second, only_cuda=False)
                 for check in (common.check_significant_strides, common.check_all_strides)]
        assert found == ([(False, 0)] * 2 if first is one else [(True, None)] * 2)
    common.compare_tensor_meta(one, lib.ones(3, 2).t())
    for other in (lib.ones(2, 4), one.int(), one.to("meta"), lib.ones(3, 2).t()):
        with pytest.raises(RuntimeError):
            common.compare_tensor_meta(one, other, check_strides=True)
    for shape, kind in (((2, 3, 4, 5), lib.channels_last), ((2, 3, 4, 5, 6), lib.channels_last_3d),
                        ((2, 3), lib.contiguous_format)):
        made = lib.empty(shape, memory_format=kind)
        assert common.suggest_memory_format(made) is kind


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_which_results_share_memory(lib):
    utils = importlib.import_module(f"{lib.__name__}._subclasses.fake_utils")
    with lib._subclasses.FakeTensorMode():
        x = lib.ones(2, 3)
        for results, found in (((x.t(),), (True, False, False)), (x, (True, True, False)),
                               ([x[0], x[1]], (True, False, True)), ((x + 1, x.clone()), (False, False, False))):
            assert (utils.outputs_alias_inputs(results, [x]), utils.outputs_are_inputs(results, [x]),
                    utils.output_alias_each_other(results)) == found


@pytest.mark.filterwarnings("ignore:guard_size_oblivious")
@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_questions_about_sizes_of_numbers(lib):
    shapes = importlib.import_module(f"{lib.__name__}.fx.experimental.symbolic_shapes")
    size = lib.ones(2, 3).shape[0]
    for ask in (shapes.statically_known_true, shapes.guard_or_true, shapes.guard_or_false,
                shapes.guard_size_oblivious):
        assert ask(size == 2) is True
        assert ask(size == 3) is False
    assert (shapes.is_symbolic(size), shapes.is_concrete_int(size), shapes.is_concrete_bool(True)) == (
        False, True, True)
    assert shapes.has_free_symbols(size) is False
    assert not {*shapes.free_symbols(size), *shapes.free_unbacked_symbols(size)}
    mode = lib._subclasses.FakeTensorMode(shape_env=shapes.ShapeEnv(allow_scalar_outputs=False))
    assert mode.shape_env.allow_scalar_outputs is False
    assert tuple(mode.from_tensor(lib.ones(2, 3), static_shapes=True).shape) == (2, 3)


def test_sizes_that_are_symbols_are_refused():
    shapes = importlib.import_module("mindtorch.fx.experimental.symbolic_shapes")
    with pytest.raises(NotImplementedError, match="static_shapes=True"):
        mindtorch._subclasses.FakeTensorMode(shape_env=shapes.ShapeEnv()).from_tensor(mindtorch.ones(2))


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_autocast_casts_fake_tensors_of_its_device(device):
    """On the NPU as on it without the mode; on the CPU as torch does."""
    def dtypes(lib, mode):
        with lib.autocast(device), mode:
            a, b = lib.ones(2, 3, device=device), lib.ones(3, 3, device=device)
            return [str(x.dtype).removeprefix("mindtorch.").removeprefix("torch.") for x in (
                a @ b, lib.nn.functional.linear(a, b, b[0]), lib.cat([a, a.bfloat16()]), a.exp(), lib.addmm(a, a, b),
                a.double() @ b.double())]
    fake = dtypes(mindtorch, mindtorch._subclasses.FakeTensorMode())
    assert fake == dtypes(mindtorch, contextlib.nullcontext())
    assert fake == dtypes(torch, torch._subclasses.FakeTensorMode()) if device == "cpu" else fake[0] == "float16"
