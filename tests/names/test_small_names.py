"""Small functions of torch that only packages call, beside torch."""
import copy
import gc
import importlib
import inspect

import pytest
import torch
import torch._prims_common

import mindtorch


def outcome(call):
    try:
        return call()
    except Exception as error:      # noqa: BLE001 - the exceptions are what is compared
        return type(error).__name__, str(error)


CHECKS = {
    "passes": lambda t: t._check(True), "fails": lambda t: t._check(False),
    "message": lambda t: t._check(False, lambda: "text"), "value": lambda t: t._check_value(False, lambda: 1),
    "index": lambda t: t._check_index(False), "type": lambda t: t._check_type(False),
    "not implemented": lambda t: t._check_not_implemented(False), "no bool": lambda t: t._check(1),
    "no function": lambda t: t._check(False, "text"), "own": lambda t: t._check_with(KeyError, False, lambda: "k"),
    "tensor": lambda t: t._check_tensor_all(t.tensor([True, False])),
    "tensor passes": lambda t: t._check_tensor_all(t.tensor([True])), "no tensor": lambda t: t._check_tensor_all(1),
    "floats": lambda t: t._check_tensor_all(t.ones(1)),
    "metadata": lambda t: t._assert_tensor_metadata(t.ones(2), [2], (1,), t.float32, device="cpu", layout=t.strided),
    "size": lambda t: t._assert_tensor_metadata(t.ones(2), [3]),
    "no size": lambda t: t._assert_tensor_metadata(t.ones(2), []),
    "stride": lambda t: t._assert_tensor_metadata(t.ones(2), None, [3]),
    "dtype": lambda t: t._assert_tensor_metadata(t.ones(2), dtype=t.int64),
    "device": lambda t: t._assert_tensor_metadata(t.ones(2), device="meta"),
    "layout": lambda t: t._assert_tensor_metadata(t.ones(2, 2), layout=t.sparse_csr),
    "sparse": lambda t: t._assert_tensor_metadata(t.ones(2, 2), layout=t.sparse_coo),
}


@pytest.mark.parametrize("name", CHECKS)
def test_checks(name):
    assert outcome(lambda: CHECKS[name](mindtorch)) == outcome(lambda: CHECKS[name](torch))


def test_tags_are_torchs():
    assert {tag.name: int(tag) for tag in mindtorch.Tag} == {k: int(v) for k, v in torch.Tag.__members__.items()}


def flattened(t):
    parts = [t.arange(3.0), t.ones(2, 2)]
    flat = t._utils._flatten_dense_tensors(parts)
    back = t._utils._unflatten_dense_tensors(flat, parts)
    return flat.tolist(), [one.tolist() for one in back]


def groups_by_size(t):
    tensors = [t.ones(3), t.ones(5, dtype=t.int64), t.ones(2), t.ones(1)]
    return [[(str(one.dtype), one.numel()) for one in part] for part in t._utils._take_tensors(tensors, 20)]


def indices(t):
    return [outcome(lambda device=device, allow=allow: t._utils._get_device_index(device, allow_cpu=allow))
            for device in (3, "cpu", "cpu:0") for allow in (False, True)]


def worker_seeds(t):
    worker = importlib.import_module(f"{t.__name__}.utils.data._utils.worker")
    return worker._generate_state(2 ** 40 + 7, 3)


def faked(t):
    fake_tensor = importlib.import_module(f"{t.__name__}._subclasses.fake_tensor")
    made = fake_tensor.FakeTensorConverter().from_real_tensor(fake_tensor.FakeTensorMode(), t.ones(2, 3))
    return type(made).__name__, tuple(made.shape), str(made.device)


def grouped(t):
    utils = importlib.import_module(f"{t.__name__}.utils._foreach_utils")
    tensors = [t.ones(1), t.ones(2, dtype=t.float64), t.ones(3)]
    found = [utils._group_tensors_by_device_and_dtype(lists, with_indices) for with_indices in (True, False)
             for lists in ([tensors], [tensors, [None, tensors[1], None], []])]
    return [sorted((str(dtype), str(device), str(content)) for (device, dtype), content in each.items())
            for each in found], utils._has_foreach_support(tensors, t.device("cpu"))


def initialised(t):
    init, found = t.nn.init, []
    for name, *args in (("uniform", 1, 2), ("normal", 1., 2.), ("trunc_normal", 0., 1., -.5, .5), ("fill", 3),
                        ("zero",)):
        t.manual_seed(0)
        found.append(getattr(init, f"_no_grad_{name}_")(t.nn.Parameter(t.ones(3)), *args).tolist())
    return found


def batch_sizes(t):
    return [outcome(lambda size=size: t.nn.functional._verify_batch_size(t.Size(size)))
            for size in ((1,), (1, 3), (2, 3), (1, 0, 1), (1, 3, 1, 2), ())]


def implied_dims(t):
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated"):
        return [t.nn.functional._get_softmax_dim("softmax", ndim, 2) for ndim in range(5)]


def permuted(t):
    with pytest.warns(FutureWarning, match="`apply_permutation` is deprecated"):
        return t.nn.modules.rnn.apply_permutation(t.arange(4).reshape(2, 2), t.tensor([1, 0])).tolist()


def of_normal_distributions(t):
    steps = t.distributions.multivariate_normal
    factor, vectors = t.tensor([[2., 0.], [1., 4.]]), t.arange(6.).reshape(3, 2)
    return steps._batch_mahalanobis(factor, vectors).tolist(), steps._batch_mv(factor, vectors).tolist()


def printed_parts(t):
    text, printing = "tensor([1, 2]", t._tensor_str
    return [printing._add_suffixes(text, ["a=1", "b" * 60, "c"], 4, force) for force in (False, True)] + [
        printing._str_intern(t.ones(2, requires_grad=True)), printing._str_intern(t.ones(2), tensor_contents="some")]


def profiled(t):
    profile = t.profiler._KinetoProfile(record_shapes=True)
    found = [outcome(profile.events), isinstance(t.profiler.profile(), t.profiler._KinetoProfile)]
    profile.start()
    t.ones(2, 3) + 1
    profile.stop()
    return *found, [event.input_shapes[0] for event in profile.events() if event.name == "aten::add"]


def fetched(t):
    kind = t.utils.data._utils.fetch._MapDatasetFetcher
    return kind([3, 4, 5], True, sum, False).fetch([0, 2]), kind([3, 4, 5], False, str, False).fetch(1)


@pytest.mark.parametrize("call", [initialised, batch_sizes, implied_dims, permuted, of_normal_distributions,
                                  printed_parts, profiled, fetched,
                                  lambda t: t.nn.modules.module._addindent("a\nb\nc", 2)])
def test_steps_that_programs_call(call):
    assert call(mindtorch) == call(torch)


@pytest.mark.parametrize("call", [flattened, groups_by_size, indices, worker_seeds, faked, grouped,
                                  lambda t: t.jit.annotations.List,
                                  lambda t: t._shape_as_tensor(t.ones(2, 3)).tolist()])
def test_helpers_of_packages(call):
    import torch._utils
    assert call(mindtorch) == call(torch)


def test_dictionaries_with_weak_keys():
    from mindtorch.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakTensorKeyDictionary
    first, second = mindtorch.ones(2), mindtorch.ones(2)
    table = WeakTensorKeyDictionary({first: 1, second: 2})
    assert (table[first], table[second], len(table), first in table, 3 in table) == (1, 2, 2, True, False)
    assert list(copy.copy(table).values()) == [1, 2]
    ref = TensorWeakRef(first)
    del first
    gc.collect()
    assert (len(table), ref(), next(iter(table)) is second) == (1, None, True)
    del table[second]
    assert not WeakIdKeyDictionary(table)


def test_ordered_set():
    from mindtorch.utils._ordered_set import OrderedSet
    ordered = OrderedSet([3, 1, 2, 1])
    ordered.add(0)
    ordered.discard(1)
    assert list(ordered) == [3, 2, 0]
    assert list(ordered.union([5, 3])) == [3, 2, 0, 5]
    assert (ordered.intersection([0, 3]), ordered.difference([3]), ordered.pop()) == ({3, 0}, {2, 0}, 0)


def test_settings_of_the_absent_compiler():
    from mindtorch._dynamo import config
    with config.patch(verbose=True), config.patch("cache_size_limit", 3), config.patch({"disable": True}):
        assert (config.verbose, config.cache_size_limit, config.disable) == (True, 3, True)
    assert (config.verbose, config.cache_size_limit, config.disable) == (False, 8, False)
    assert mindtorch._dynamo.optimize("inductor")(abs) is abs


def test_context_managers_as_decorators():
    from mindtorch.utils._contextlib import _DecoratorContextManager
    log = []

    class Noted(_DecoratorContextManager):
        def __enter__(self):
            log.append("in")

        def __exit__(self, *exception):
            log.append("out")

    @Noted()
    def work():
        log.append("work")

    work()
    with Noted():
        pass
    assert log == ["in", "work", "out", "in", "out"]


def test_assert_allclose_compares_no_dtypes():
    mindtorch.testing.assert_allclose(mindtorch.ones(2), mindtorch.ones(2, dtype=mindtorch.float64))
    with pytest.raises(AssertionError, match="not close"):
        mindtorch.testing.assert_allclose(mindtorch.ones(2), [1.0, 1.1])


def test_notes_of_traces():
    from mindtorch.fx import traceback
    with traceback.preserve_node_meta(), traceback.annotate({"stage": 1}):
        assert traceback.get_current_meta() == {"custom": {"stage": 1}}
    assert not traceback.get_current_meta()


def test_tracing_is_seen():
    from mindtorch.fx._symbolic_trace import is_fx_tracing
    seen = []

    def function(x):
        seen.append(is_fx_tracing())
        return x + 1

    mindtorch.fx.symbolic_trace(function)
    assert (seen, is_fx_tracing()) == ([True], False)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"])
def test_facts_about_dtypes(dtype):
    found = []
    for lib in (torch, mindtorch):
        prims, kind = lib._prims_common, getattr(lib, dtype)
        found.append([getattr(prims, name)(kind) for name in (
            "is_boolean_dtype", "is_complex_dtype", "is_float_dtype", "is_integer_dtype", "is_low_precision_dtype",
            "dtype_to_type")])
        if dtype == "complex64":
            found[-1].append(prims.corresponding_complex_dtype(prims.corresponding_real_dtype(kind)) is kind)
    assert found[1] == found[0]


@pytest.mark.parametrize("kind", ["DEFAULT", "NO_OPMATH", "INT_TO_FLOAT", "ALWAYS_BOOL", "COMPLEX_TO_FLOAT",
                                  "BOOL_TO_LONG"])
def test_dtypes_of_elementwise_operators(kind):
    def found(lib):
        vector = lib.zeros(2)
        cases = [(vector.to(getattr(lib, name)), other) for name in (
                    "bool", "int32", "float16", "bfloat16", "complex64")
                 for other in (None, True, 2, 2.5, vector.double()[0], lib.tensor(3), lib.zeros(1).half())]
        cases += [(3,), (2, 1j), (True, 2.5), (2.5, lib.tensor(3), None), (1.5, vector.int(), vector.bool())]
        prims = lib._prims_common
        return [tuple(map(str, prims.elementwise_dtypes(
            *case, type_promotion_kind=prims.ELEMENTWISE_TYPE_PROMOTION_KIND[kind]))) for case in cases]
    assert found(mindtorch) == found(torch)
    with pytest.raises(ValueError, match="Unexpected type"):
        mindtorch._prims_common.elementwise_dtypes(
            "x", type_promotion_kind=mindtorch._prims_common.ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (2, 0, 4), (1, 1)])
def test_strides_of_contiguous_tensors(shape):
    ours, theirs = (lib._prims_common.make_contiguous_strides_for
                    for lib in (mindtorch, torch))
    assert ours(shape) == theirs(shape)
    assert ours(shape, row_major=False) == theirs(shape, row_major=False)


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_kernels_in_python(lib):
    switch = importlib.import_module(f"{lib.__name__}._dispatch.python")
    with switch.enable_python_dispatcher(), switch.no_python_dispatcher():
        assert (lib.ones(2, device="meta") + 1).shape == (2,)


def test_vmap_of_before_torch_func():
    x = mindtorch.arange(6.).reshape(2, 3)
    assert mindtorch._vmap_internals._vmap(mindtorch.sum)(x).tolist() == [3, 12]
    with pytest.warns(FutureWarning, match="Please use torch.vmap"):
        mapped = mindtorch._vmap_internals.vmap(mindtorch.sum)
    assert mapped(x).tolist() == [3, 12]


@pytest.mark.parametrize("name", ["_prims_common", "_tensor_str", "_vmap_internals"])
def test_a_private_module_is_the_same_however_it_is_imported(name):
    assert importlib.import_module(f"mindtorch.{name}") is getattr(mindtorch, name)


def lbfgs(t):
    return importlib.import_module(f"{t.__name__}.optim.lbfgs")


def strong_wolfe(t, **options):
    def at(x, length, direction):
        place = x + length * direction
        return float((place ** 4 - place).sum()), 4 * place ** 3 - 1
    x, direction = t.tensor([2.0, -1.0]), t.tensor([-1.0, 0.5])
    loss, grad = at(x, 0, direction)
    loss, grad, length, calls = lbfgs(t)._strong_wolfe(at, x, 0.1, direction, loss, grad, grad.dot(direction),
                                                       **options)
    return loss, grad.tolist(), float(length), calls


def cubic(t, bounds):
    return float(lbfgs(t)._cubic_interpolate(0.0, 1.0, t.tensor(-1.0), 2.0, 3.0, t.tensor(4.0), bounds))


PRIVATE = {
    "strong Wolfe": strong_wolfe,
    "strong Wolfe, other limits": lambda t: strong_wolfe(t, c1=0.2, c2=0.3, max_ls=4),
    "cubic": lambda t: cubic(t, None), "cubic in bounds": lambda t: cubic(t, (1, 1.5)),
    "as tuple": lambda t: [len(t.autograd.functional._as_tuple(each)) for each in (t.ones(2), (t.ones(2), t.ones(1)))],
    "as named tuple": lambda t: [t.autograd.functional._as_tuple(each, "inputs", "jacobian")[0] for each in (
        t.ones(2), (t.ones(2), t.ones(1)))],
    "as tuple of text": lambda t: t.autograd.functional._as_tuple("text", "inputs", "jacobian"),
    "as tuple with text": lambda t: t.autograd.functional._as_tuple((t.ones(1), "text"), "inputs", "jacobian"),
    "unpacked": lambda t: [t.autograd.functional._tuple_postprocess(((1, 2), (3, 4)), each) for each in (
        True, False, (True, True), (False, True), (True, False), (False, False))],
    "without graph": lambda t: [each.requires_grad for wanted in (True, False) for each in
                                t.autograd.functional._grad_postprocess((t.ones(1, requires_grad=True),), wanted)],
    "basis": lambda t: [each.tolist() for each in t.autograd.functional._construct_standard_basis_for(
        (t.ones(2), t.ones(1, 3)), (2, 3))],
    "reduction": lambda t: [t.nn._reduction.get_enum(each) for each in ("none", "mean", "sum")],
    "no reduction": lambda t: t.nn._reduction.get_enum("most"),
    "legacy": lambda t: [t.nn._reduction.legacy_get_string(one, two, False) for one in (None, True, False)
                         for two in (None, True, False)],
    "legacy number": lambda t: t.nn._reduction.legacy_get_enum(False, None, False),
    "storage": lambda t: t.serialization.normalize_storage_type(t.FloatStorage).__name__,
    "precision": lambda t: t.distributions.multivariate_normal._precision_to_scale_tril(
        t.tensor([[4.0, 1.0], [1.0, 3.0]])).tolist(),
}


def rounded(value):
    if isinstance(value, (list, tuple)):
        return [rounded(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


@pytest.mark.parametrize("name", PRIVATE)
def test_private_functions_that_packages_call(name):
    importlib.import_module("mindtorch.nn._reduction")
    assert rounded(outcome(lambda: PRIVATE[name](mindtorch))) == rounded(outcome(lambda: PRIVATE[name](torch)))


def test_errors_of_a_compiler_are_there_to_be_caught():
    for library in ("torch", "mindtorch"):
        errors = importlib.import_module(f"{library}._dynamo.exc")
        assert issubclass(errors.Unsupported, errors.TorchDynamoException)
        assert issubclass(errors.BackendCompilerFailed, RuntimeError)
        assert issubclass(errors.InternalTorchDynamoError, errors.TorchDynamoException)


@pytest.mark.parametrize("kind", [float, int, bool, complex, str, 3])
@pytest.mark.parametrize("function", ["finfo", "iinfo"])
def test_limits_of_pythons_types(function, kind):
    assert outcome(lambda: repr(getattr(mindtorch, function)(kind))) == outcome(
        lambda: repr(getattr(torch, function)(kind)))


@pytest.mark.parametrize("lib", [mindtorch, torch])
def test_tensor_type_of_a_storage(lib):
    with pytest.raises(AttributeError, match="has no attribute 'UntypedTensor'"):
        lib.serialization.storage_to_tensor_type(lib.ones(1).untyped_storage())


def test_names_of_a_star_import():
    """Those of torch that mindtorch has, and no modules; torch itself takes one, torch.export."""
    found = {}
    exec("from mindtorch import *", found)
    assert {"Tensor", "float32", "add", "save", "finfo"} <= set(mindtorch.__all__) <= set(found)
    assert {name for name in torch.__all__ if name in dir(mindtorch)} - {"export"} <= set(mindtorch.__all__)
    assert not {"nn", "mindtorch", "torch", "autograd"} & set(mindtorch.__all__)


@pytest.mark.parametrize("lib", [mindtorch, torch])
def test_storages_have_a_base(lib):
    assert isinstance(lib.ones(1).untyped_storage(), lib.StorageBase)
    assert not isinstance(lib.ones(1), lib.StorageBase)


@pytest.mark.parametrize("lib", [mindtorch, torch])
def test_notes_for_torchscript_change_no_function(lib):
    internal = importlib.import_module(f"{lib.__name__}._jit_internal")
    for note in (internal._copy_to_script_wrapper, internal.export, internal.unused, internal.ignore):
        assert note(flattened) is flattened


def test_no_autograd_over_rpc():
    from mindtorch.distributed.rpc.api import _require_initialized

    from mindtorch.distributed import autograd
    assert not autograd.is_available()
    with pytest.raises(NotImplementedError, match=r"torch\.distributed\.autograd\.backward: "):
        autograd.backward(1, [])
    with pytest.raises(NotImplementedError, match=r"_require_initialized: "):
        _require_initialized(flattened)(1)


def test_what_torch_has_in_cpp_is_a_builtin():
    """inspect.isbuiltin, by which fx and others choose, also of functions that are written in Python here."""
    differ = []
    for place in ("", ".nn.functional", ".linalg", ".fft", ".special"):
        ours, theirs = (importlib.import_module(f"{lib}{place}") for lib in ("mindtorch", "torch"))
        for name in dir(theirs):
            function, own = getattr(theirs, name), getattr(ours, name, None)
            written_here = hasattr(own, "__wrapped__") and not getattr(own, "refuses", False)
            if written_here and callable(function) and inspect.isbuiltin(own) != inspect.isbuiltin(function):
                differ.append(f"{place}.{name}")
    assert differ == [".is_inference"]              # one function with the method


def test_annotations_of_functional_are_classes():
    """As in torch, for programs that look for parameters by their types."""
    functional = mindtorch.nn.functional
    found = inspect.signature(functional.ctc_loss).parameters["targets"].annotation
    assert found is mindtorch.Tensor
    for name in ("relu", "conv2d", "max_pool2d", "dropout", "cross_entropy", "embedding", "interpolate"):
        for parameter in inspect.signature(getattr(functional, name)).parameters.values():
            assert not isinstance(parameter.annotation, str), (name, parameter)


def test_unions_of_dictionaries_with_weak_keys():
    def run(lib):
        weak = importlib.import_module(f"{lib.__name__}.utils.weak")
        a, b, c = (lib.zeros(1) + number for number in range(3))
        one, other, plain = weak.WeakIdKeyDictionary({a: 1, b: 2}), weak.WeakIdKeyDictionary({b: 3, c: 4}), {a: 5, c: 6}
        several = [one | other, one | plain, plain | one]
        one |= [(c, 7)]
        with pytest.raises(TypeError):
            one | [(a, 1)]
        return [(type(each) is weak.WeakIdKeyDictionary, sorted(each.values())) for each in (*several, one)]
    assert run(mindtorch) == run(torch)


def test_functional_has_the_names_that_functions_of_ones_own_take_from_there():
    for lib in (mindtorch, torch):
        functional = lib.nn.functional
        assert not functional.has_torch_function((1,))
        assert not functional.has_torch_function_unary(lib.ones(1))
        assert not functional.has_torch_function_variadic(1, lib.ones(1))
        assert functional.handle_torch_function.__name__ == "handle_torch_function"
