"""functorch beside torch's: its functions warn and do what torch.func does; modules as functions of their tensors."""
import importlib
import subprocess
import sys
import warnings

import pytest
import torch
import torch._functorch.apis

import mindtorch
from mindtorch._library.keys import DispatchKey

LIBRARIES = (mindtorch, torch)


def functorch(lib, name="deprecated"):
    return importlib.import_module(f"{lib.__name__}._functorch.{name}")


def both(run):
    ours, theirs = map(run, LIBRARIES)
    assert ours == theirs
    return ours


@pytest.mark.filterwarnings("ignore:We've integrated functorch", "ignore::DeprecationWarning")
def test_functions():
    def run(lib):
        f = functorch(lib)
        x = lib.tensor([1.0, 2.0])
        return [f.vmap(lib.sum)(x.reshape(2, 1)).tolist(), f.grad(lambda x: (x * x).sum())(x).tolist(),
                [each.tolist() for each in f.grad_and_value(lambda x: (x * x).sum())(x)],
                f.jacrev(lambda x: x * x)(x).tolist(), f.jacfwd(lambda x: x * x)(x).tolist(),
                f.hessian(lambda x: (x ** 3).sum())(x).tolist(),
                f.vjp(lambda x: x * x, x)[1](x)[0].tolist(), f.jvp(lambda x: x * x, (x,), (x,))[1].tolist()]
    both(run)


@pytest.mark.parametrize("name", ["vmap", "grad", "make_functional", "combine_state_for_ensemble"])
def test_warnings(name):
    def run(lib):
        line = lib.nn.Linear(1, 1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(functorch(lib), name)([line] if name.startswith("combine") else line)
        return [(each.category, " ".join(str(each.message).split())) for each in caught]
    assert len(both(run)) == 1


def test_make_functional():
    def run(lib):
        m = functorch(lib, "make_functional")
        line = lib.nn.Linear(2, 2)
        norm = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))
        norm[0].weight = lib.nn.Parameter(lib.ones(2, 2))
        x = lib.ones(3, 2)
        function, parameters = m.make_functional(line, disable_autograd_tracking=True)
        assert not any(each.requires_grad for each in parameters)
        assert lib.allclose(function(parameters, x), line(x))
        zeros = tuple(lib.zeros_like(each) for each in parameters)
        with pytest.raises(RuntimeError, match="`model` has buffers"):
            m.make_functional(norm)
        whole, parameters, buffers = m.make_functional_with_buffers(norm)
        assert all(each.requires_grad for each in parameters)
        return function(zeros, x).tolist(), len(parameters), [list(each.shape) for each in buffers], list(
            whole(parameters, buffers, x).shape), whole.param_names, whole.buffer_names
    both(run)


def test_tied_parameters():
    def run(lib):
        net = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(2, 2))
        net[1].weight = net[0].weight
        function, parameters = functorch(lib, "make_functional").make_functional(net)
        ones = tuple(lib.ones_like(each) for each in parameters)
        return len(parameters), function(ones, lib.ones(1, 2)).tolist()
    both(run)


def test_ensembles():
    def run(lib):
        m = functorch(lib, "make_functional")
        nets = [lib.nn.Linear(2, 3) for _ in range(4)]
        function, parameters, buffers = m.combine_state_for_ensemble(nets)
        x = lib.ones(5, 2)
        found = lib.func.vmap(function, in_dims=(0, 0, None))(parameters, buffers, x)
        assert lib.allclose(found, lib.stack([net(x) for net in nets]), atol=1e-6)
        assert not any(each.requires_grad for each in parameters)
        messages = []
        for wrong in ([], [nets[0], lib.nn.Linear(2, 3).eval()], [nets[0], lib.nn.ReLU()]):
            with pytest.raises(RuntimeError) as error:
                m.combine_state_for_ensemble(wrong)
            messages.append(str(error.value))
        return messages
    both(run)


def test_chunks():
    def run(lib):
        chunk_vmap = functorch(lib, "apis").chunk_vmap
        sizes = []

        def function(x):
            sizes.append(1)
            return x.sum()
        found = chunk_vmap(function, in_dims=1, chunks=3)(lib.arange(14.0).reshape(2, 7))
        return found.tolist(), len(sizes)
    both(run)


def test_batch_norms_without_statistics():
    def run(lib):
        net = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))
        if lib is torch:
            from torch._functorch.batch_norm_replacement import replace_all_batch_norm_modules_ as replace
        else:
            replace = functorch(lib, "experimental").replace_all_batch_norm_modules_
        assert replace(net) is net
        return net[1].running_mean, net[1].running_var, net[1].track_running_stats, len(list(net.buffers()))
    both(run)


def test_operators_without_a_rule_warn_where_one_asks():
    looped = mindtorch.library.custom_op("functorch_test::plus_one", lambda x: x + 1, mutates_args=(),
                                         schema="(Tensor x) -> Tensor")
    from mindtorch import _C
    assert not _C._debug_only_are_vmap_fallback_warnings_enabled()
    _C._debug_only_display_vmap_fallback_warnings(True)
    try:
        with pytest.warns(UserWarning, match=r"batching rule for functorch_test::plus_one"):
            assert mindtorch.vmap(looped)(mindtorch.zeros(2, 1)).tolist() == [[1.0], [1.0]]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mindtorch.vmap(mindtorch.sin)(mindtorch.zeros(2, 1))
    finally:
        _C._debug_only_display_vmap_fallback_warnings(False)


def test_operators_of_functions():
    def run(lib):
        base = importlib.import_module(f"{lib.__name__}._ops").HigherOrderOperator
        keys = DispatchKey if lib is mindtorch else torch._C.DispatchKey
        with pytest.raises(TypeError, match="abstract class"):
            base("applied")

        class Applied(base):
            def __init__(self):
                super().__init__("applied")

            def __call__(self, function, x):
                return super().__call__(function, x)
        applied = Applied()

        @applied.py_impl(keys.CPU)
        def on_cpu(function, x):
            return function(x) + 1

        @applied.py_impl(keys.Autograd)
        def with_gradient(function, x):
            return function(x) * 0
        with pytest.raises(RuntimeError, match="override"):
            applied.py_impl(keys.CPU)(on_cpu)
        with lib._C._AutoDispatchBelowAutograd():
            below = applied(lib.abs, -lib.ones(1)).item()
        return applied(lib.abs, -lib.ones(1)).item(), below, applied.name(), applied.namespace, str(applied)
    both(run)


def test_operators_of_functions_without_a_kernel():
    class Empty(mindtorch._ops.HigherOrderOperator):
        def __init__(self):
            super().__init__("empty")

        def __call__(self, x):
            return super().__call__(x)
    empty = Empty()
    empty.py_impl(DispatchKey.Autograd)(lambda x: "gradient")
    assert empty(mindtorch.ones(1)) == "gradient"
    empty.fallthrough(DispatchKey.Autograd)
    with pytest.raises(NotImplementedError, match=r"empty at dispatch key DispatchKey.CPU"):
        empty(mindtorch.ones(1))


def test_alias():
    program = ("import mindtorch; mindtorch.alias_torch()\nimport functorch, torch, warnings\n"
               "from functorch.experimental import chunk_vmap\nwarnings.simplefilter('ignore')\n"
               "print(functorch.grad(torch.sum)(torch.ones(1)).item(), functorch.__name__)")
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True
                          ).stdout.split() == ["1.0", "mindtorch._functorch"]


def test_control_flow_is_a_module_of_functorch_experimental():
    code = ("import mindtorch; mindtorch.alias_torch()\n"
            "from functorch.experimental.control_flow import cond, map\n"
            "import torch\n"
            "assert cond is torch.cond\n"
            "assert map(lambda x, y: x + y, torch.ones(2, 3), torch.ones(3)).tolist() == [[2.0] * 3] * 2\n")
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("pattern", "sizes"), [
    ("a b c -> c (b a)", {}), ("... -> (...)", {}), ("a ... -> ... a", {}),
    ("a (b1 b2) ... -> (a b1) 1 ... b2", {"b1": 3}),
    ("a b (c d) -> b 1 (d a) c", {"d": 2}), ("(a e) b c -> a b c e", {"e": 2}), ("a ... c -> (a c) (...)", {})])
def test_rearrange(pattern, sizes):
    def run(lib):
        rearrange = importlib.import_module(EINOPS[lib]).rearrange
        x = lib.arange(2 * 6 * 4).reshape(2, 6, 4)
        return rearrange(x, pattern, **sizes).tolist(), rearrange([x[0], x[1]], pattern, **sizes).shape
    both(run)


@pytest.mark.parametrize(("pattern", "sizes"), [
    ("a b -> b a", {}), ("a b c d -> a b c d", {}), ("a (...) -> a ...", {}), ("a b c -> a b", {}),
    ("a a b -> a b", {}),
    ("a b (c d) -> a b c d", {}), ("a b (c d) -> a b c d", {"c": 3}), ("a b c", {}), ("a b c -> a b c", {"e": 2}),
    ("a b c! -> a b c", {})])
def test_a_pattern_that_does_not_fit(pattern, sizes):
    with pytest.raises(ValueError, match=r"pattern|'|size"):
        importlib.import_module(EINOPS[mindtorch]).rearrange(mindtorch.zeros(2, 6, 4), pattern, **sizes)


EINOPS = {mindtorch: "mindtorch._functorch.einops.rearrange", torch: "functorch.einops.rearrange"}
