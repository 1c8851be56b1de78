"""__torch_function__: who is asked, with what, and what becomes of the results, beside torch."""
import copy
import inspect
import operator
import pickle
import subprocess
import sys
import warnings
import weakref
from operator import attrgetter

import pytest
import torch

import mindtorch
import mindtorch.nn.functional
import mindtorch.overrides


def noting(lib, log):
    """A class derived from Tensor that notes each function it is asked for."""
    class Noting(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append((lib.overrides.resolve_name(func), len(args)))
            return super().__torch_function__(func, types, args, kwargs)
    return Noting


def duck(lib, log, answer, *bases):
    """A class that is no tensor, and answers every function with `answer`."""
    class Duck(*bases):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append((lib.overrides.resolve_name(func), len(args), kwargs, [kind.__name__ for kind in types]))
            return answer
    return Duck


def kinds(value):
    """Classes, values and nesting of a result, in words that both packages share."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [kinds(item) for item in value]
    if hasattr(value, "tolist"):
        return type(value).__name__, value.tolist()
    return type(value).__name__, str(value).replace("mindtorch", "torch")


def outcome(call, *args):
    try:
        return kinds(call(*args))
    except (TypeError, RuntimeError) as error:
        return type(error).__name__, str(error).replace("mindtorch", "torch")


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge"]
BITS = ["and_", "or_", "xor", "lshift", "rshift"]
IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"]
OPERANDS = {"m t": lambda m, t: (m, t), "t m": lambda m, t: (t, m), "m 2": lambda m, t: (m, 2),
            "2 m": lambda m, t: (2, m)}


def applied(name, way):
    return lambda lib, m, t: getattr(operator, name)(*OPERANDS[way](m, t))


def applied_to_bits(name, way):
    return lambda lib, m, t: applied(name, way)(lib, m.long(), t.long())


OPERATIONS = {
    **{f"{name} {way}": applied(name, way) for name in BINARY for way in OPERANDS},
    **{f"{name} {way}": applied_to_bits(name, way) for name in BITS for way in ("m t", "2 m")},
    **{name: applied(name, "m t") for name in IN_PLACE},
    "iadd of a tensor": lambda lib, m, t: operator.iadd(t, m),
    "neg": lambda lib, m, t: -m, "abs": lambda lib, m, t: abs(m), "invert": lambda lib, m, t: ~m.bool(),
    "matmul": lambda lib, m, t: t @ m, "item": lambda lib, m, t: m[0].item(),
    "index": lambda lib, m, t: t[m.long() - 1],
    "getitem": lambda lib, m, t: m[1:], "setitem": lambda lib, m, t: m.__setitem__(0, 5.0),
    "value set": lambda lib, m, t: t.__setitem__(0, m[1]), "float": lambda lib, m, t: float(m[1]),
    "bool": lambda lib, m, t: bool(m[0]), "shape": lambda lib, m, t: m.shape, "T": lambda lib, m, t: m[None].T,
    "requires_grad": lambda lib, m, t: m.requires_grad, "set": lambda lib, m, t: setattr(m, "data", t),
    "data": lambda lib, m, t: m.data, "grad": lambda lib, m, t: m.grad, "add": lambda lib, m, t: lib.add(t, m, alpha=2),
    "out": lambda lib, m, t: lib.add(t, t, out=m), "cat": lambda lib, m, t: lib.cat([t, m]),
    "stack": lambda lib, m, t: lib.stack((m, t)), "max": lambda lib, m, t: lib.max(m, 0),
    "keyword": lambda lib, m, t: lib.sum(input=m, dim=0), "where": lambda lib, m, t: lib.where(t > 2, m, t),
    "relu": lambda lib, m, t: lib.nn.functional.relu(m),
    "hardtanh": lambda lib, m, t: lib.nn.functional.hardtanh(m, 0, 1),
    "mse_loss": lambda lib, m, t: lib.nn.functional.mse_loss(t, m), "view": lambda lib, m, t: m.view(2, 1),
    "reshape": lambda lib, m, t: m.reshape(-1), "chunk": lambda lib, m, t: m.chunk(2),
    "size": lambda lib, m, t: m.size(),
    "to": lambda lib, m, t: m.to(lib.float64), "new_zeros": lambda lib, m, t: m.new_zeros((2,)),
    "empty_like": lambda lib, m, t: lib.zeros_like(m), "fft": lambda lib, m, t: lib.fft.rfft(m).real,
    "norm": lambda lib, m, t: lib.linalg.norm(m), "tensor": lambda lib, m, t: lib.zeros(2),
    "is_tensor": lambda lib, m, t: lib.is_tensor(m), "tolist": lambda lib, m, t: m.tolist(),
    "view of it": lambda lib, m, t: lib.Tensor(m),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_derived_class_is_asked(name, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        log = []
        tensor = lib.tensor([3.0, 4.0], device=place)
        noting_one = lib.tensor([1.0, 2.0], device=place).as_subclass(noting(lib, log))
        result = outcome(OPERATIONS[name], lib, noting_one, tensor)
        # By the last part: mindtorch has one function for torch.chunk and torch.Tensor.chunk.
        names = [(entry[0].removesuffix(".__get__").rpartition(".")[2], entry[1]) for entry in log]
        found.append((result, names))
    assert found[0] == found[1]


DUCKS = {
    "function": lambda lib, t, d, e: lib.add(t, d, alpha=2), "first": lambda lib, t, d, e: lib.add(d, t),
    "method": lambda lib, t, d, e: t.add(d), "operator": lambda lib, t, d, e: t + d,
    "reflected": lambda lib, t, d, e: d + t, "comparison": lambda lib, t, d, e: t < d,
    "in place": lambda lib, t, d, e: t.__iadd__(d), "in a list": lambda lib, t, d, e: lib.cat([t, d]),
    "index": lambda lib, t, d, e: t[d], "size": lambda lib, t, d, e: t.view(d, 1),
    "subclass first": lambda lib, t, d, e: lib.add(d, e), "keyword": lambda lib, t, d, e: lib.sum(d, dim=e),
    "in Python": lambda lib, t, d, e: lib.nn.functional.dropout(d), "factory": lambda lib, t, d, e: lib.zeros(d),
    "reshape": lambda lib, t, d, e: lib.reshape(t, (d, 2)), "no operator of its own": lambda lib, t, d, e: d * 2,
}


@pytest.mark.parametrize("answer", [5, NotImplemented])
@pytest.mark.parametrize("name", DUCKS)
def test_a_class_that_is_no_tensor_is_asked(name, answer, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        log = []
        first = duck(lib, log, answer)
        second = duck(lib, log, answer, first)
        found.append((outcome(DUCKS[name], lib, lib.ones(2, device=place), first(), second()),
                      [(*entry[:2], {} if entry[2] is None else entry[2].keys(), entry[3]) for entry in log]))
    assert found[0] == found[1]


def test_unknown_until_the_first_call():
    """Without mindtorch.overrides: the first call that fails finds the class out."""
    code = """
import mindtorch
class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, len(args)
{call}
assert "mindtorch.overrides" not in __import__("sys").modules
"""
    for call in ("assert mindtorch.add(mindtorch.ones(2), Duck()) == ('add', 2)",
                 "assert mindtorch.ones(2) + Duck() == ('add', 2)",
                 "assert mindtorch.ones(2).mul(Duck()) == ('mul', 2)",
                 "assert mindtorch.stack([mindtorch.ones(2), Duck()]) == ('stack', 1)",
                 "assert mindtorch.vstack([mindtorch.ones(2), Duck()]) == ('vstack', 1)",
                 "assert mindtorch.nn.functional.normalize(Duck()) == ('normalize', 1)"):
        done = subprocess.run([sys.executable, "-c", code.format(call=call)], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stderr


def test_the_package_itself_wants_nobody_asked():
    """Else every program would pay for it."""
    code = """
import mindtorch, mindtorch.nn.attention.bias, mindtorch.nn.functional, mindtorch.optim, mindtorch.utils.data
from mindtorch._core.python import torch_function
mindtorch.nn.LazyLinear(2)(mindtorch.ones(2, 3)).sum().backward()
mindtorch.FloatTensor(2), mindtorch.nn.Buffer(mindtorch.ones(1))
assert not torch_function.is_active()
class Mine(mindtorch.Tensor): pass
assert torch_function.is_active()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("within", [False, True])
def test_profiles_before_and_around(within):
    """What a profile records is asked for handlers as well."""
    code = """
import contextlib, mindtorch
from mindtorch.profiler import profile
ones = mindtorch.ones(2)
def result_classes(mine):
    found = (mine + 1, mine.view(2, 1), mindtorch.relu(mine), mindtorch.tile(mine, (2,)), mine[0])
    return [type(value).__name__ for value in found]
with profile() as first:
    ones + 1
    if {within}:
        class Mine(mindtorch.Tensor): pass
        assert result_classes(ones.as_subclass(Mine)) == ["Mine"] * 5
if not {within}:
    class Mine(mindtorch.Tensor): pass
mine = ones.as_subclass(Mine)
assert result_classes(mine) == ["Mine"] * 5
with profile() as second:
    assert result_classes(mine) == ["Mine"] * 5
assert result_classes(mine) == ["Mine"] * 5
names = [event.name for event in second.events()]
assert "aten::add" in names and "aten::relu" in names, names
"""
    done = subprocess.run([sys.executable, "-c", code.format(within=within)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


def test_derived_classes_pass_on(device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        class Base(lib.Tensor):
            pass

        class Derived(Base):
            pass

        class Other(lib.Tensor):
            pass
        one = lib.ones(2, device=place)
        pair = [one.as_subclass(kind) for kind in (Base, Derived)]
        weight = Base(lib.tensor([1.0, 2.0], device=place)).requires_grad_()
        (weight * 3).sum().backward()
        found.append([
            kinds(pair[0] + pair[1]), outcome(operator.add, pair[0], one.as_subclass(Other)),
            kinds(pair[0] + lib.nn.Parameter(one)), kinds(weight.grad), kinds(weight.detach()),
            kinds(lib.nn.Parameter(weight)), isinstance(lib.nn.Parameter(weight), lib.nn.Parameter),
            kinds(lib.nn.Parameter(one) + 1), kinds(lib.nn.Buffer(weight)), repr(weight.detach().cpu())])
    assert found[0] == found[1]


def test_nobody_is_asked_within():
    for lib in (mindtorch, torch):
        log = []
        noted = lib.ones(2).as_subclass(noting(lib, log))
        with lib._C.DisableTorchFunctionSubclass():
            assert type(noted + 1) is lib.Tensor
            assert not lib._C._is_torch_function_enabled()
            assert not lib.overrides.has_torch_function((noted,))
        assert not log
        assert lib.overrides.has_torch_function((1, noted))
        assert not lib.overrides.has_torch_function((lib.ones(2), lib.nn.Parameter(lib.ones(2)), None))


def mode(lib, log, answer=None):
    class Mode(lib.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append((lib.overrides.resolve_name(func) or func.__name__, len(args)))
            return func(*args, **(kwargs or {})) if answer is None else answer
    return Mode()


MODES = {
    "operator": lambda lib, t: t + 1, "reflected": lambda lib, t: 1 - t, "factory": lambda lib, t: lib.zeros(2),
    "tensor": lambda lib, t: lib.tensor([1]), "property": lambda lib, t: t.shape, "index": lambda lib, t: t[0],
    "in Python": lambda lib, t: lib.nn.functional.relu(t), "set": lambda lib, t: t.__setitem__(0, 1),
    "not a function of tensors": lambda lib, t: lib.get_default_dtype(), "view": lambda lib, t: t.view(2, 1),
}


@pytest.mark.parametrize(("name", "answer"), [
    *((name, answer) for name in MODES for answer in (None, 7)),
    *((name, NotImplemented) for name in ("operator", "factory", "index", "in Python", "set", "view"))])
def test_modes(name, answer, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        log, outer = [], []
        tensor = lib.ones(2, device=place)
        with mode(lib, outer), mode(lib, log, answer):
            result = outcome(MODES[name], lib, tensor)
        if answer is NotImplemented and result[0] == "TypeError":
            result = result[0], result[1].split("object at")[0]
        found.append((result, [entry[1] for entry in log], len(outer)))
    assert found[0] == found[1]


def test_a_mode_is_left_after_an_error():
    for lib in (mindtorch, torch):
        with pytest.raises(ZeroDivisionError), mode(lib, []):
            lib.ones(2) + 1 / 0
        assert lib.overrides._get_current_function_mode_stack() == []


def test_backward_asks_nobody():
    """What the engine computes is no function that somebody called."""
    for lib in (mindtorch, torch):
        log = []
        weight = lib.ones(2, requires_grad=True)
        loss = (weight * weight).sum()
        with mode(lib, log):
            loss.backward()
        assert [entry[0] for entry in log] == ["torch.Tensor.backward"]


FUNCTIONS = {"generated": lambda: mindtorch.add, "compiled": lambda: mindtorch.reshape,
             "in Python": lambda: mindtorch.vstack, "of networks": lambda: mindtorch.nn.functional.relu,
             "method": lambda: mindtorch.Tensor.backward, "compiled method": lambda: mindtorch.Tensor.reshape,
             "factory": lambda: mindtorch.zeros, "with all arguments": lambda: mindtorch.einsum}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_objects_like_those_of_python(name):
    function = FUNCTIONS[name]()
    assert pickle.loads(pickle.dumps(function)) is copy.deepcopy(function) is function is FUNCTIONS[name]()
    assert weakref.ref(function)() is function
    assert {function: 1}[function] == 1
    assert function.__doc__
    assert function.__name__ in repr(function)
    assert function.__module__.startswith(("mindtorch", "torch"))


def test_neither_handlers_nor_profiles_change_functions():
    functions = [make() for make in FUNCTIONS.values()]
    plain = [inspect.unwrap(function) for function in functions]
    codes = [getattr(function, "__code__", None) for function in functions]
    with mindtorch.profiler.profile(), mode(mindtorch, []):
        assert [make() for make in FUNCTIONS.values()] == functions
        assert [inspect.unwrap(function) for function in functions] == plain
        assert [getattr(function, "__code__", None) for function in functions] == codes


def test_functions_of_networks_look_like_those_of_python():
    for lib in (mindtorch, torch):
        function = lib.nn.functional.relu
        assert inspect.isfunction(function)
        assert function.__code__.co_varnames[:2] == ("input", "inplace")
        assert function.__defaults__ == (False,)


def test_functions_bind_and_call():
    x = mindtorch.ones(2, 3)
    for function in (mindtorch.Tensor.reshape, mindtorch.Tensor.add):
        bound = function.__get__(x, type(x))
        assert bound.__self__ is x
        assert bound.__func__ is function is function.__get__(None, type(x))
    assert mindtorch.relu.__call__(x).shape == mindtorch.vstack.__call__([x]).shape == (2, 3)
    with pytest.raises(AttributeError, match="nope"):
        _ = mindtorch.vstack.nope


def test_functions_keep_name_and_signature():
    function = mindtorch.nn.functional.dropout
    assert function.__name__ == "dropout"
    assert list(inspect.signature(function).parameters) == ["input", "p", "training", "inplace"]
    assert "def dropout" in inspect.getsource(function)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        function()


def test_warnings_name_the_line_of_the_caller():
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated") as caught:
        mindtorch.ones(2).resize(1, 2)
    assert caught[0].filename == __file__


def test_wrap_torch_function():
    for lib in (mindtorch, torch):
        log = []

        @lib.overrides.wrap_torch_function(lambda a, b=None: (a,))
        def own(a, b=None):
            return a

        assert own(3) == 3
        assert own(duck(lib, log, 5)(), b=2) == 5
        assert [entry[1:] for entry in log] == [(1, {"b": 2}, ["Duck"])]


def test_errors_stay_when_classes_are_asked_for_the_first_time():
    """After an error the arguments' classes are looked at; that must not clear the error."""
    for call in (mindtorch.rand_like, mindtorch.abs, lambda value: mindtorch.add(mindtorch.ones(1), value)):
        fresh = type("Fresh", (), {})
        with pytest.raises(TypeError):
            call(fresh())


def test_a_list_that_holds_itself():
    endless = []
    endless.append(endless)
    for call in (mindtorch.cat, mindtorch.relu):
        with pytest.raises(TypeError):
            call(endless)

    class Through(mindtorch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))
    with Through(), pytest.raises(TypeError):
        mindtorch.relu(endless)


@pytest.mark.parametrize("packed", [False, True])
def test_operands_of_einsum_are_handed_over_one_by_one(packed):
    found = []
    for lib in (mindtorch, torch):
        log = []
        mine = lib.ones(2, 2).as_subclass(noting(lib, log))
        lib.einsum("ab,bc->ac", [mine, mine]) if packed else lib.einsum("ab,bc->ac", mine, mine)
        found.append(log)
    assert [count for _, count in found[0]] == [count for _, count in found[1]] == [3]


def test_testing_overrides_have_the_parameters_of_what_they_override():
    made = mindtorch.overrides.get_testing_overrides()
    elsewhere = {mindtorch.nn.init.normal_, mindtorch.distributed.all_reduce}
    assert set(made) > elsewhere | {function for functions in mindtorch.overrides.get_overridable_functions().values()
                                    for function in functions}
    theirs = torch.overrides.get_testing_overrides()
    for name in ("add", "sum", "matmul", "clamp"):
        ours = inspect.getfullargspec(made[getattr(mindtorch, name)]).args
        assert ours[:1] == inspect.getfullargspec(theirs[getattr(torch, name)]).args[:1]
    assert made[mindtorch.add](1, 2) == -1
    with pytest.raises(TypeError):
        made[mindtorch.add]()


@pytest.mark.parametrize(("space", "name"), [
    ("_VariableFunctions", "add"), ("_VariableFunctions", "__and__"), ("_linalg", "linalg_det"), ("_fft", "fft_rfft"),
    ("_special", "special_erf"), ("_nn", "gelu"), ("_nn", "linear")])
def test_native_functions_have_the_names_of_their_operators(space, name):
    arguments = [[[3, 1], [2, 5]]] * (2 if name in ("add", "__and__", "linear") else 1)
    dtype = "int64" if name == "__and__" else "float32"

    def call(library):
        function = getattr(getattr(library._C, space), name)
        return function(*(library.tensor(a, dtype=getattr(library, dtype)) for a in arguments)).tolist()
    torch.testing.assert_close(call(mindtorch), call(torch), rtol=1e-5, atol=1e-6)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = getattr(mindtorch._C, space).nothing


@pytest.mark.parametrize("path", [
    "bernoulli", "isin", "layer_norm", "max_pool3d", "linalg.solve", "linalg.svd", "special.erfcx", "special.zeta",
    "special.digamma", "special.psi", "special.round", "special.multigammaln", "special.softmax", "nn.init.uniform_",
    "fft.rfft", "nn.functional.elu", "nn.functional.smooth_l1_loss"])
def test_a_function_is_named_as_in_torch_and_pickled(path):
    ours, theirs = operator.attrgetter(path)(mindtorch), operator.attrgetter(path)(torch)
    assert (ours.__module__, ours.__name__) == (theirs.__module__, theirs.__name__)
    assert pickle.loads(pickle.dumps(ours)) is ours


@pytest.mark.parametrize("name", ["less", "arcsin", "negative", "divide", "clip", "chunk", "std", "kl_div", "sym_max",
                                  "moveaxis"])
def test_functions_aliases_and_methods_are_distinguished(name):
    """As in torch an alias has its own name, and a method is not the function of its name."""
    function = getattr(mindtorch, name)
    assert function.__name__ == getattr(torch, name).__name__
    assert mindtorch.overrides.resolve_name(function) == f"torch.{name}"
    assert pickle.loads(pickle.dumps(function)) is function
    method = getattr(mindtorch.Tensor, name, None)
    assert (method is None) == (not hasattr(torch.Tensor, name))
    if method is not None:
        assert method is not function
        assert mindtorch.overrides.resolve_name(method) == f"torch.Tensor.{name}"
        assert pickle.loads(pickle.dumps(method)) is method
    with pytest.raises(TypeError, match=rf"{name}\(\)"):
        function()


def test_methods_and_functions_have_handlers_of_their_own():
    log = []
    made = noting(mindtorch, log)([1., -2.])
    made.chunk(2), mindtorch.chunk(made, 2), made.arcsin(), mindtorch.negative(made)
    assert not made.is_cuda
    assert not made.is_nested
    assert [name for name, _ in log] == [
        "torch.Tensor.chunk", "torch.chunk", "torch.Tensor.arcsin", "torch.negative", "torch.Tensor.is_cuda.__get__",
        "torch.Tensor.is_nested.__get__"]


def test_properties_are_no_functions_of_their_names():
    log = []
    made = noting(mindtorch, log)([1., -2.])
    mindtorch.real(made), made.real, mindtorch.special.expit(made), mindtorch.sigmoid(made)
    assert [name for name, _ in log] == [
        "torch.real", "torch.Tensor.real.__get__", "torch.special.expit", "torch.sigmoid"]


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_a_mode_skips_the_initialisation_of_layers(lib):
    class Empty(lib.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if getattr(func, "__module__", None) == "torch.nn.init":
                skipped.append(func.__name__)
                return kwargs["tensor"] if "tensor" in kwargs else args[0]
            return func(*args, **kwargs)
    skipped = []
    with Empty():
        lib.nn.Linear(2, 3), lib.nn.LayerNorm(3), lib.nn.Embedding(2, 3)
        lib.nn.init.xavier_normal_(lib.empty(2, 2)), lib.nn.init.constant_(lib.empty(2), 1.0)
    assert skipped == ["kaiming_uniform_", "uniform_", "normal_", "constant_"]


def test_collectives_ask_classes_that_are_no_tensors():
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func
    dist = mindtorch.distributed
    assert dist.all_reduce(Like()) is dist.all_reduce
    assert dist.isend(Like(), 1) is dist.isend
    assert dist.all_reduce.__module__ == torch.distributed.all_reduce.__module__


def test_operators_of_python_can_be_overridden():
    functions = mindtorch.overrides.get_overridable_functions()[mindtorch.Tensor]
    names = {"__add__", "__rsub__", "__isub__", "__lshift__", "__rlshift__", "__matmul__", "__eq__"}
    assert names <= {function.__name__ for function in functions}


def test_properties_have_the_names_of_torch():
    for name in ("T", "shape", "is_cuda", "requires_grad", "output_nr"):
        assert getattr(mindtorch.Tensor, name).__qualname__ == getattr(torch.Tensor, name).__qualname__


@pytest.mark.parametrize("name", ["fft.ifftn", "fft.rfftn", "fft.fft", "linalg.multi_dot", "nansum", "kron"])
def test_out_of_composites_reaches_a_mode(name):
    class Mode(mindtorch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(sorted(kwargs or {}))
            return func(*args, **(kwargs or {}))

    function, seen, x = operator.attrgetter(name)(mindtorch), [], mindtorch.ones(2, 2)
    args = {"linalg.multi_dot": ([x, x],), "kron": (x, x)}.get(name, (x,))
    out = mindtorch.empty_like(function(*args))
    with Mode():
        assert function(*args, out=out) is out
    assert "out" in seen[0]


def redispatched(t, mode):
    """The functions that are seen, outermost first, while a function that asks by itself is redispatched."""
    seen = []

    class Subclass(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return t.overrides.redispatch_function(func, types, args, kwargs)

    class Mode(t.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            with self:
                return t.overrides.redispatch_function(func, types, args, kwargs)

    def scaled(a, b):
        if t.overrides.has_torch_function((a, b)):
            return t.overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    operands = t.tensor([3.0]), t.tensor([4.0])
    if mode:
        with Mode():
            result = scaled(*operands)
    else:
        result = scaled(*(operand.as_subclass(Subclass) for operand in operands))
    return seen, type(result) is t.Tensor, result.tolist(), t.overrides.has_torch_function(operands)


@pytest.mark.parametrize("mode", [False, True])
def test_redispatched_functions_do_not_ask_again(mode):
    assert redispatched(mindtorch, mode) == redispatched(torch, mode)


class Recorded:
    """An argument whose handler returns what it gets."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return [len(args), set(kwargs or ())]


def overridable_functions():
    """Names of functions that handlers override in torch, and how many arguments each needs."""
    signatures = {function: inspect.signature(stand_in)
                  for function, stand_in in torch.overrides.get_testing_overrides().items()}
    for module in ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special"):
        for name, function in vars(sys.modules[module]).items():
            if inspect.isroutine(function) and function in signatures:
                parameters = signatures[function].parameters.values()
                yield f"{module}.{name}".removeprefix("torch."), sum(
                    each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)


def received(lib, name, count):
    """How many positional arguments, and which keywords, the handler got; None where the call was refused before."""
    try:
        return attrgetter(name)(lib)(*[Recorded() for _ in range(count)])
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return None


def test_handlers_get_no_argument_that_torch_does_not_give():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = [(name, received(torch, name, count), received(mindtorch, name, count))
                 for name, count in overridable_functions()]
    compared = [(name, theirs, ours) for name, theirs, ours in calls
                if isinstance(theirs, list) and isinstance(ours, list)]
    assert len(compared) > 500
    # torch's l1_loss does not hand its weight on.
    assert [(name, ours[1] - theirs[1]) for name, theirs, ours in compared
            if not ours[1] <= theirs[1] and name != "nn.functional.l1_loss"] == []


@pytest.mark.parametrize("call", ["linalg.solve(x, x)", "linalg.svd(x)", "linalg.inv(x, out=x)", "Tensor.unique(x)"])
def test_handlers_get_defaults_of_functions_in_python_alone(call):
    def received(lib):
        class Same(lib.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return len(args), sorted(kwargs or ())
        return eval(call, {"linalg": lib.linalg, "Tensor": lib.Tensor, "x": lib.eye(2).as_subclass(Same)})
    assert received(mindtorch) == received(torch)


@pytest.mark.parametrize("name", ["conv2d", "einsum", "norm", "stack", "nn.functional.gelu", "nn.functional.pad",
                                  "nn.functional.cross_entropy", "linalg.solve", "Tensor.add"])
def test_functions_become_methods_of_classes_where_torchs_do(name):
    def becomes_a_method(lib):
        class Holder(lib.Tensor if name.startswith("Tensor") else object):
            function = attrgetter(name)(lib)
        instance = lib.ones(1).as_subclass(Holder) if name.startswith("Tensor") else Holder()
        return getattr(instance.function, "__self__", None) is instance
    assert becomes_a_method(mindtorch) == becomes_a_method(torch)
