"""__torch_dispatch__: wrappers, modes, what handlers are asked for and with what, beside torch."""
import copy
import functools
import pickle
import sys
import threading

import pytest
import torch
import torch.utils._python_dispatch
import torch.utils._pytree
import torch.utils.checkpoint
import torch.utils.weak

import mindtorch
import mindtorch.utils._python_dispatch
import mindtorch.utils._pytree
import mindtorch.utils.checkpoint
import mindtorch.utils.weak

LIBRARIES = {"torch": torch, "mindtorch": mindtorch}


def shown(value):
    """An argument or result in words that both packages share."""
    if isinstance(value, (torch.Tensor, mindtorch.Tensor)):
        return type(value).__name__
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    return str(value)


def rounded(value):
    """Numbers to three digits, of which both packages have the last."""
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


class Wrapping:
    """One package, with a class of wrappers and a mode that note what their handlers are asked for."""

    def __init__(self, lib):
        log = []
        self.lib, self.log = lib, log
        tree_map, dispatch = lib.utils._pytree.tree_map, lib.utils._python_dispatch

        class Wrapper(lib.Tensor):
            @staticmethod
            def __new__(cls, inner):
                made = lib.Tensor._make_wrapper_subclass(
                    cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(),
                    dtype=inner.dtype, device=inner.device, requires_grad=inner.requires_grad)
                made.inner = inner
                return made

            def __tensor_flatten__(self):
                return ["inner"], None

            @staticmethod
            def __tensor_unflatten__(inner, context, size, stride):
                return Wrapper(inner["inner"])

            def __repr__(self, *, tensor_contents=None):
                return f"Wrapper({self.inner.tolist()})"

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                log.append((str(func), shown(args), {name: str(value) for name, value in (kwargs or {}).items()}))
                given = tree_map(lambda each: each.inner if isinstance(each, cls) else each, (args, kwargs or {}))
                result = tree_map(lambda each: cls(each) if isinstance(each, lib.Tensor) else each,
                                  func(*given[0], **given[1]))
                return dispatch.return_and_correct_aliasing(func, args, kwargs, result)

        class Noting(dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                log.append((str(func), shown(args), {name: str(value) for name, value in (kwargs or {}).items()}))
                return func(*args, **(kwargs or {}))

        self.Wrapper, self.Noting = Wrapper, Noting

    def tensor(self):
        return self.lib.arange(1., 7).reshape(2, 3)

    def wrapper(self, requires_grad=False):
        return self.Wrapper(self.tensor()).requires_grad_(requires_grad)

    def plain(self, value):
        """Results as numbers."""
        if isinstance(value, (list, tuple)):
            return [self.plain(item) for item in value]
        if isinstance(value, self.Wrapper):
            return "Wrapper", tuple(value.shape), value.stride(), self.plain(value.inner)
        if isinstance(value, self.lib.Tensor):
            return rounded(value.tolist())
        return str(rounded(value)).replace("mindtorch", "torch")


@pytest.fixture(params=LIBRARIES)
def wrapping(request):
    return Wrapping(LIBRARIES[request.param])


def both(call, *state):
    """(result, log) of a call with each package."""
    outcomes = []
    for lib in LIBRARIES.values():
        used = Wrapping(lib)
        given = [getattr(used, name)(**options) for name, options in state]
        used.log.clear()
        result = call(lib, *given)
        outcomes.append((used.plain(result), used.log))
    return outcomes


# --- wrappers ---------------------------------------------------------------------------------------------------------

ON_WRAPPER = {
    "number": lambda lib, w: w + 1, "reflected number": lambda lib, w: 1 - w, "reciprocal": lambda lib, w: 2 / w,
    "power": lambda lib, w: w ** 2, "beside a tensor": lambda lib, w: w * lib.ones(3),
    "after a tensor": lambda lib, w: lib.ones(3) * w, "unary": lambda lib, w: w.exp(), "alpha": lambda lib, w: lib.add(
        w, w, alpha=2), "comparison": lambda lib, w: w > 2, "sum": lambda lib, w: w.sum(), "sum of a dimension": lambda
    lib, w: w.sum(1, keepdim=True), "mean": lambda lib, w: w.mean(dim=0), "two results": lambda lib, w: w.max(dim=1),
    "list": lambda lib, w: lib.cat([w, w], 1), "softmax": lambda lib, w: lib.softmax(w, -1),
    "log_softmax": lambda lib, w: w.log_softmax(0), "matrices": lambda lib, w: w @ w.t(),
    "matrix and vector": lambda lib, w: w @ lib.ones(3),
    "linear": lambda lib, w: lib.nn.functional.linear(w, w, lib.ones(2)),
    "layer_norm": lambda lib, w: lib.nn.functional.layer_norm(w, (3,)),
    "where": lambda lib, w: lib.where(w > 2, w, w), "gather": lambda lib, w: w.gather(1, lib.tensor([[0], [1]])),
    "clamp": lambda lib, w: w.clamp(min=2), "gelu": lambda lib, w: lib.nn.functional.gelu(w),
    "item": lambda lib, w: w.sum().item(), "bool": lambda lib, w: bool(w.sum() > 2),
    "in place": lambda lib, w: w.add_(1), "fill": lambda lib, w: w.fill_(2), "zero": lambda lib, w: w.zero_(),
    "relu_": lambda lib, w: w.relu_(), "copy_": lambda lib, w: w.copy_(lib.ones(2, 3)),
    "transpose": lambda lib, w: w.transpose(0, 1), "t": lambda lib, w: w.t(), "permute": lambda lib, w: w.permute(1, 0),
    "view": lambda lib, w: w.view(3, 2), "reshape": lambda lib, w: w.reshape(6), "unsqueeze": lambda lib, w:
    w.unsqueeze(0), "squeeze": lambda lib, w: w.squeeze(0), "expand": lambda lib, w: w.expand(2, 2, 3),
    "select": lambda lib, w: w.select(0, 1), "index": lambda lib, w: w[1], "split": lambda lib, w: w.split(1),
    "chunk": lambda lib, w: w.chunk(2), "unbind": lambda lib, w: w.unbind(), "diagonal": lambda lib, w: w.diagonal(),
    "as_strided": lambda lib, w: w.as_strided((2,), (1,)), "view_as_complex": lambda lib, w: lib.view_as_complex(
        w.reshape(3, 2)), "split_with_sizes": lambda lib, w: w.split([1, 2], 1),
    "clone": lambda lib, w: w.clone(), "contiguous": lambda lib, w: w.t().contiguous(),
    "cast": lambda lib, w: w.to(lib.float64), "no cast": lambda lib, w: w.to(lib.float32),
    "cpu": lambda lib, w: w.cpu(),
    "detach": lambda lib, w: w.detach(), "data": lambda lib, w: w.data,
    "zeros_like": lambda lib, w: lib.zeros_like(w), "full_like": lambda lib, w: lib.full_like(w, 3),
    "new_zeros": lambda lib, w: w.new_zeros((3,)), "new_full": lambda lib, w: w.new_full((3,), 2.0),
    "parameter": lambda lib, w: lib.nn.Parameter(w), "Ellipsis": lambda lib, w: w[...],
    "mask": lambda lib, w: w[lib.tensor([True, False])],
    "masked columns": lambda lib, w: w[:, lib.tensor([False, True, True])],
}


@pytest.mark.parametrize("name", ON_WRAPPER)
def test_a_wrapper_is_asked_what_torch_asks(name):
    theirs, ours = both(ON_WRAPPER[name], ("wrapper", {}))
    assert ours == theirs


# The same results by operators with other names, or by more of them.
RESULTS = {
    "floor": lambda lib, w: w // 2, "batches": lambda lib, w: w[None] @ w.t()[None],
    "slices": lambda lib, w: w[0, 1:], "None and Ellipsis": lambda lib, w: w[..., None, 1],
    "whole": lambda lib, w: w[:],
    "step": lambda lib, w: w[:, ::2],
    "integers": lambda lib, w: w[:, lib.tensor([2, 0])],
    "out": lambda lib, w: lib.add(w, w, out=w.clone()), "stack": lambda lib, w: lib.stack([w, w]),
    "std": lambda lib, w: w.std(), "einsum": lambda lib, w: lib.einsum("ij,kj->ik", w, w),
    "loss": lambda lib, w: lib.nn.functional.cross_entropy(w, lib.tensor([0, 1])),
    "lists of tensors": lambda lib, w: lib._foreach_add([w, w], 1), "flatten": lambda lib, w: w.flatten(),
    "softmax of another dtype": lambda lib, w: lib.softmax(w, 0, dtype=lib.float64),
    "copy": lambda lib, w: copy.deepcopy(w), "equal": lambda lib, w: lib.equal(w, w),
    "broadcast batches": lambda lib, w: lib.matmul(w.expand(4, 2, 3), w.t()),
    "batches of both": lambda lib, w: w.expand(2, 1, 2, 3) @ w.t().expand(3, 3, 2),
    "vector and batch": lambda lib, w: lib.ones(2) @ w.expand(4, 2, 3), "T": lambda lib, w: w.T,
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_wrapper_gives_the_results_of_torch(name):
    theirs, ours = both(RESULTS[name], ("wrapper", {}))
    assert ours[0] == theirs[0]


def assigned(index, value):
    def call(lib, w):
        w[index] = value(lib) if callable(value) else value
        return w
    return call


@pytest.mark.parametrize("call", [assigned(0, 7.), assigned((slice(None), 1), lambda lib: lib.ones(2)),
                                  assigned(([0, 1], [1, 2]), 9.)])
def test_assignments_reach_the_inner_tensor(call):
    theirs, ours = both(call, ("wrapper", {}))
    assert ours[0] == theirs[0]


def test_a_wrapper_shows_the_attributes_it_was_made_with(wrapping):
    lib = wrapping.lib
    made = lib.Tensor._make_wrapper_subclass(wrapping.Wrapper, (2, 3), strides=(1, 2), storage_offset=4,
                                             dtype=lib.float64, device="cpu", requires_grad=True)
    assert made.shape == (2, 3)
    assert made.stride() == (1, 2)
    assert made.storage_offset() == 4
    assert made.dtype is lib.float64
    assert str(made.device) == "cpu"
    assert made.is_cpu
    assert not made.is_meta
    assert made.requires_grad
    assert made.is_leaf
    assert made.numel() == 6
    assert not made.is_contiguous()
    assert made.get_device() == -1
    assert type(made) is wrapping.Wrapper


def test_on_an_npu_a_wrapper_shows_the_npu():
    used = Wrapping(mindtorch)
    inner = mindtorch.ones(2, device="npu")
    made = used.Wrapper(inner) + 1
    assert made.is_npu
    assert made.device == inner.device
    assert made.inner.tolist() == [2, 2]


def test_a_class_without_handler_cannot_wrap(wrapping):
    class Plain(wrapping.lib.Tensor):
        pass
    with pytest.raises(TypeError, match="Plain must define __torch_dispatch__"):
        wrapping.lib.Tensor._make_wrapper_subclass(Plain, (2,))


def test_the_memory_of_a_wrapper_cannot_be_read():
    made = Wrapping(mindtorch).wrapper()
    with pytest.raises(RuntimeError, match="its data is not allocated yet"):
        mindtorch.Tensor.tolist(made)
    with mindtorch._C._DisableTorchDispatch(), pytest.raises(RuntimeError, match="its data is not allocated yet"):
        made.item() if made.numel() == 1 else made[0, 0].item()


# --- autograd ---------------------------------------------------------------------------------------------------------

BACKWARD = {
    "product": lambda lib, p: (p * p).sum(), "exp": lambda lib, p: p.exp().sum(), "view": lambda lib, p: (
        p.t() * 2).reshape(-1).sum(), "matmul": lambda lib, p: (p @ p.t()).sum(), "softmax": lambda lib, p: (
        p.softmax(1) * lib.ones(3)).sum(), "index": lambda lib, p: p[0, 1:].sum(), "linear": lambda lib, p:
    lib.nn.functional.linear(p, p).relu().mean(), "split": lambda lib, p: p.split(1)[1].sum(), "cat": lambda lib, p:
    lib.cat([p, p]).pow(2).sum(), "in place": lambda lib, p: (p * 2).mul_(3).sum(), "write to a view": lambda lib, p:
    written(p * 2).sum(), "layer_norm": lambda lib, p: (lib.nn.functional.layer_norm(p, (3,)) ** 3).sum(),
}


def written(tensor):
    tensor[0].mul_(3)
    return tensor


@pytest.mark.parametrize("name", BACKWARD)
def test_backward_goes_through_wrappers(name):
    def call(lib, p):
        BACKWARD[name](lib, p).backward()
        BACKWARD[name](lib, p).backward()
        return (p.grad * 1).contiguous()
    theirs, ours = both(call, ("wrapper", {"requires_grad": True}))
    assert ours[0] == theirs[0]


def test_the_handler_runs_below_autograd(wrapping):
    lib, seen = wrapping.lib, []

    class Asking(wrapping.Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            inner = lib.ones(2, requires_grad=True)
            seen.append((lib.is_grad_enabled(), (inner * 2).requires_grad, inner[0].grad_fn))
            return super().__torch_dispatch__(func, types, args, kwargs)
    made = Asking(lib.ones(2)).requires_grad_()
    result = made * 2
    assert seen == [(True, False, None)]
    assert result.requires_grad
    assert "Mul" in type(result.grad_fn).__name__


def test_gradients_of_gradients(wrapping):
    p = wrapping.wrapper(True)
    grad, = wrapping.lib.autograd.grad((p ** 3).sum(), p, create_graph=True)
    again, = wrapping.lib.autograd.grad(grad.sum(), p)
    assert type(again) is wrapping.Wrapper
    assert again.inner.tolist() == [[6, 12, 18], [24, 30, 36]]


def test_a_module_of_wrappers_trains(wrapping):
    lib = wrapping.lib
    lib.manual_seed(0)
    model = lib.nn.Linear(3, 2)
    for name, value in list(model._parameters.items()):
        setattr(model, name, lib.nn.Parameter(wrapping.Wrapper(value.detach())))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(wrapping.tensor()).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert type(model.weight.grad) is wrapping.Wrapper
    assert losses[-1] < losses[0]


def test_versions_count_writes_once(wrapping):
    made = wrapping.wrapper()
    before = made._version
    made.add_(1)
    made.t().mul_(2)
    assert made._version == before + 2
    with wrapping.Noting():
        plain = wrapping.lib.ones(2)
        before = plain._version
        plain.add_(1)
    assert plain._version == before + 1


def test_no_grad_records_nothing(wrapping):
    with wrapping.lib.no_grad():
        assert not (wrapping.wrapper(True) * 2).requires_grad


# --- classes ----------------------------------------------------------------------------------------------------------

def test_classes_are_asked_in_turn(wrapping):
    lib, asked = wrapping.lib, []

    def deferring(base, name):
        def handler(cls, func, types, args=(), kwargs=None):
            asked.append((name, [kind.__name__ for kind in types]))
            return NotImplemented
        return type(name, (base,), {"__torch_dispatch__": classmethod(handler)})
    first = deferring(wrapping.Wrapper, "First")
    second = deferring(first, "Second")
    with pytest.raises(TypeError, match=r"(?s)Multiple dispatch failed for 'torch._ops.aten.add.Tensor'; all "
                                        r"__torch_dispatch__ handlers returned NotImplemented:.*subclass.*Second"):
        lib.add(first(lib.ones(2)), second(lib.ones(2)))
    assert asked == [("Second", ["Second", "First"]), ("First", ["Second", "First"])]


def test_a_result_must_be_a_tensor(wrapping):
    class Three(wrapping.Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return 3
    with pytest.raises(RuntimeError, match="Unable to cast 3 to Tensor"):
        wrapping.lib.add(Three(wrapping.lib.ones(2)), 1)


def test_a_class_over_its_own_elements(wrapping):
    """_make_subclass: the handler is asked, and the elements are there without it."""
    lib, log = wrapping.lib, []

    class Over(lib.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            with lib._C._DisableTorchDispatch():
                return func(*args, **(kwargs or {}))
    made = lib.Tensor._make_subclass(Over, lib.ones(2))
    assert (made + 1).sum().item() == 4
    assert log == ["aten.add.Tensor"] or log[:1] == ["aten.add.Tensor"]


def test_a_class_that_switches_it_off(wrapping):
    lib = wrapping.lib

    class Off(wrapping.Wrapper):
        __torch_dispatch__ = lib._C._disabled_torch_dispatch_impl
    made = lib.ones(2).as_subclass(Off)
    assert lib.add(made, 1).sum().item() == 4
    assert wrapping.log == []


# --- modes ------------------------------------------------------------------------------------------------------------

UNDER_MODE = {
    "operator": lambda lib, t: t + 1, "view": lambda lib, t: t.t(), "in place": lambda lib, t: t.mul_(2),
    "zeros": lambda lib, t: lib.zeros(2), "ones": lambda lib, t: lib.ones(2, 3, dtype=lib.int64),
    "empty": lambda lib, t: lib.empty(2).shape, "full": lambda lib, t: lib.full((2,), 3.0),
    "arange": lambda lib, t: lib.arange(3), "arange from": lambda lib, t: lib.arange(1, 3),
    "linspace": lambda lib, t: lib.linspace(0, 1, 3), "rand": lambda lib, t: lib.rand(2).shape,
    "randn": lambda lib, t: lib.randn(2, 3).shape, "randint": lambda lib, t: lib.randint(3, (2,)).shape,
    "randperm": lambda lib, t: lib.randperm(3).shape, "ones_like": lambda lib, t: lib.ones_like(t),
    "item": lambda lib, t: t.sum().item(), "clone": lambda lib, t: t.clone(), "cast": lambda lib, t: t.to(lib.float64),
    "matmul": lambda lib, t: t @ t.t(),
}


@pytest.mark.parametrize("name", UNDER_MODE)
def test_a_mode_is_asked_what_torch_asks(name):
    outcomes = []
    for lib in LIBRARIES.values():
        used = Wrapping(lib)
        tensor = used.tensor()
        with used.Noting():
            result = UNDER_MODE[name](lib, tensor)
        outcomes.append((used.plain(result), used.log))
    assert outcomes[0] == outcomes[1]


def test_numbers_are_lifted_under_a_mode(wrapping):
    with wrapping.Noting():
        assert wrapping.lib.tensor([1., 2]).sum().item() == 3
    assert wrapping.log[0][0] == "aten.lift_fresh.default"


def test_backward_under_a_mode(wrapping):
    p = wrapping.tensor().requires_grad_()
    with wrapping.Noting():
        (p * 2).exp().sum().backward()
    names = [name for name, *_ in wrapping.log]
    assert names[:2] == ["aten.mul.Tensor", "aten.exp.default"]
    assert "aten.ones_like.default" in names
    assert names.count("aten.mul.Tensor") == 3
    assert p.grad is not None


def test_modes_nest_and_their_handlers_run_without_them(wrapping):
    lib, asked = wrapping.lib, []

    class Named(lib.utils._python_dispatch.TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            asked.append((self.name, str(func), [kind.__name__ for kind in types]))
            return func(*args, **(kwargs or {}))
    made = wrapping.wrapper()
    dispatch = lib.utils._python_dispatch
    with Named("outer") as outer, Named("inner") as inner:
        made + 1
        assert dispatch._get_current_dispatch_mode() is inner
        assert dispatch._get_current_dispatch_mode_stack() == [outer, inner]
        with dispatch._disable_current_modes() as disabled:
            assert dispatch._get_current_dispatch_mode() is None
            wrapping.tensor()
        assert list(disabled) in ([outer, inner], [inner, outer])
    assert asked == [("inner", "aten.add.Tensor", ["Wrapper"]), ("outer", "aten.add.Tensor", ["Wrapper"])]
    assert wrapping.log == [("aten.add.Tensor", ["Wrapper", "1"], {})]
    assert dispatch._get_current_dispatch_mode() is None


def test_a_mode_belongs_to_its_thread(wrapping):
    with wrapping.Noting():
        thread = threading.Thread(target=lambda: wrapping.lib.ones(2) + 1)
        thread.start()
        thread.join()
    assert wrapping.log == []


def test_a_mode_that_raises_is_left(wrapping):
    class Refusing(wrapping.lib.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError(str(func))
    tensor = wrapping.tensor()
    with pytest.raises(ValueError, match=r"aten\.add\.Tensor"), Refusing():
        tensor.add(1)
    assert (tensor + 1).sum().item() == 27


def test_printing_asks_no_mode(wrapping):
    tensor = wrapping.tensor()
    with wrapping.Noting():
        repr(tensor)
    assert wrapping.log == []


# --- other ------------------------------------------------------------------------------------------------------------

def test_the_handler_is_asked_for_custom_operators(wrapping):
    lib = wrapping.lib
    with lib.library._scoped_library("dispatched", "DEF") as library:
        library.define("twice(Tensor x, int n=2) -> Tensor")
        library.impl("twice", lambda x, n=2: x * n, "CPU")
        made = lib.ops.dispatched.twice(wrapping.wrapper())
        assert type(made) is wrapping.Wrapper
        assert made.inner.sum().item() == 42
    assert wrapping.log[0][0] == "dispatched.twice.default"


def test_a_rule_takes_the_place_of_a_handler(wrapping):
    lib = wrapping.lib
    with lib.library._scoped_library("dispatched", "DEF") as library:
        library.define("thrice(Tensor x) -> Tensor")
        library.impl("thrice", lambda x: x * 3, "CPU")
        lib.library.register_torch_dispatch("dispatched::thrice", wrapping.Wrapper,
                                            lambda cls, func, types, args, kwargs: args[0].inner + 1, lib=library)
        lib.library.register_torch_dispatch("dispatched::thrice", wrapping.Noting,
                                            lambda mode, func, types, args, kwargs: func(*args) - 1, lib=library)
        assert lib.ops.dispatched.thrice(wrapping.wrapper()).sum().item() == 27
        with wrapping.Noting():
            assert lib.ops.dispatched.thrice(wrapping.tensor()).tolist() == [[2, 5, 8], [11, 14, 17]]


def test_wrappers_are_flattened_and_rebuilt(wrapping):
    dispatch, made = wrapping.lib.utils._python_dispatch, wrapping.wrapper()
    assert dispatch.is_traceable_wrapper_subclass(made)
    assert dispatch.is_traceable_wrapper_subclass_type(type(made))
    assert not dispatch.is_traceable_wrapper_subclass(wrapping.tensor())
    doubled = dispatch.transform_subclass(made, lambda name, inner: inner * 2)
    assert type(doubled) is wrapping.Wrapper
    assert doubled.inner.sum().item() == 42


def test_views_share_the_storage_of_their_wrapper(wrapping):
    made = wrapping.wrapper()
    view = made.t()
    assert view.untyped_storage()._cdata == made.untyped_storage()._cdata
    assert view._base is made
    assert made.add_(1) is made


class Pickled(mindtorch.Tensor):
    """A wrapper that pickles find by its name."""

    @staticmethod
    def __new__(cls, inner):
        made = mindtorch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(str(func))


def test_a_wrapper_is_pickled_with_its_attributes():
    made = pickle.loads(pickle.dumps(Pickled(mindtorch.ones(2))))
    assert type(made) is Pickled
    assert made.shape == (2,)
    assert made.inner.tolist() == [1, 1]


def test_a_deep_copy_needs_a_clone_of_the_same_class():
    class Losing(Pickled):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return mindtorch.ones(2)
    with pytest.raises(RuntimeError, match="only works for subclass types that properly implement clone"):
        copy.deepcopy(Losing(mindtorch.ones(2)))


def test_operators_look_for_handlers_only_after_the_first():
    """A process without classes and modes does not even import what calls them."""
    import subprocess
    program = ("import sys, mindtorch as torch\ntorch.ones(2).add(1)\n"
               "assert 'mindtorch._library.torch_dispatch' not in sys.modules")
    subprocess.run([sys.executable, "-c", program], check=True)


# --- what is built on it ----------------------------------------------------------------------------------------------

def counting(lib, calls):
    """A checkpointed function of two products, whose context counts the operators that backward runs again."""
    class Counting(lib.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append(func)
            return func(*args, **(kwargs or {}))
    return Counting


@pytest.mark.parametrize(("saved", "again"), [(["mm"], 2), ([], 3)])
def test_a_selective_checkpoint_repeats_only_what_it_did_not_keep(wrapping, saved, again):
    lib, calls = wrapping.lib, []
    x, y = lib.ones(2, 2, requires_grad=True), lib.ones(2, 2, requires_grad=True)
    keep = [getattr(lib.ops.aten, name).default for name in saved]
    contexts = functools.partial(lib.utils.checkpoint.create_selective_checkpoint_contexts, keep)
    out = lib.utils.checkpoint.checkpoint(lambda x, y: lib.mm(x.cos(), y).sin().sum(), x, y, use_reentrant=False,
                                          context_fn=contexts)
    with counting(lib, calls)():
        out.backward()
    assert calls.count(lib.ops.aten.mm.default) == again
    assert x.grad is not None


def test_a_selective_checkpoint_notices_writes(wrapping):

    lib = wrapping.lib
    contexts = functools.partial(lib.utils.checkpoint.create_selective_checkpoint_contexts, [lib.ops.aten.sin.default])
    out = lib.utils.checkpoint.checkpoint(lambda x: x.sin().mul_(2).cos().exp(), lib.ones(3, requires_grad=True),
                                          use_reentrant=False, context_fn=contexts)
    with pytest.raises(RuntimeError, match="has been mutated"):
        out.sum().backward()
    with pytest.raises(ValueError, match="update the OpOverloadPacket to a specific OpOverload"):
        lib.utils.checkpoint.create_selective_checkpoint_contexts([lib.ops.aten.sin])


def test_keys_by_identity_go_with_their_tensors(wrapping):
    table = wrapping.lib.utils.weak.WeakTensorKeyDictionary()
    one, other = wrapping.lib.ones(2), wrapping.lib.ones(2)
    table[one], table[other] = 1, 2
    assert table[one] == 1
    assert len(table) == 2
    assert one in table
    assert 3 not in table
    del other
    assert list(table.values()) == [1]
    assert next(iter(table)) is one


def test_arguments_keep_their_values_in_operators_of_other_parameter_names():
    """`from` is a word of Python, so the row calls it from_: the mode got the default in place of what was given."""
    def run(lib):
        class Seen(lib.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                calls.append((str(func), args[1:]))
                return func(*args, **(kwargs or {}))
        calls = []
        with Seen():
            lib.ones(3).uniform_(2, 3)
            lib.ones(3).random_(4, 5)
        assert lib.ones(3).uniform_(2, 3).min() >= 2
        return [call for call in calls if "ones" not in call[0]]
    assert run(mindtorch) == run(torch)


def test_pdist_of_one_row_has_a_batched_gradient():
    x = mindtorch.ones(1, 3, dtype=mindtorch.float64, requires_grad=True)
    assert mindtorch.autograd.gradcheck(mindtorch.nn.functional.pdist, (x,), check_batched_grad=True)


@pytest.mark.parametrize("lib", LIBRARIES.values(), ids=list(LIBRARIES))
def test_handlers_may_set_the_storage_of_what_requires_gradients(lib):
    """They run below autograd."""
    class Setting(lib.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            leaf.set_(values)
            return func(*args, **(kwargs or {}))

    leaf, values = lib.zeros(2, requires_grad=True), lib.ones(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
        leaf.set_(values)
    with Setting():
        values + 1
    assert leaf.tolist() == [1, 1]
