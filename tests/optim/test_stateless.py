"""An optimizer that is lent other parameters and another state, and SparseAdam, beside torch's."""
import copy

import pytest
from optim_problems import assert_close, plain


def optimizer_of(lib, device, **options):
    params = [lib.full((2,), float(value), device=device, requires_grad=True) for value in (1, 2)]
    optimizer = lib.optim.Adam([{"params": params[:1]}, {"params": params[1:], "lr": 0.5}], lr=0.1, **options)
    for param in params:
        param.grad = lib.ones_like(param)
    return params, optimizer


def others(lib, device):
    values = {"a": 0.0, "b": 5.0}
    params = {name: lib.full((2,), value, device=device, requires_grad=True) for name, value in values.items()}
    for param in params.values():
        param.grad = lib.full_like(param, 0.5)
    return params


@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"fused": True}])
def test_swap(both, options):
    results = []
    for lib, device in both:
        params, optimizer = optimizer_of(lib, device, **options)
        optimizer.step()
        state, lent = copy.deepcopy(optimizer.state_dict()), others(lib, device)
        state["param_groups"][0]["lr"] = 0.7
        groups = optimizer.param_groups
        with lib.optim.swap_in_optimizer_params_and_state(optimizer, lent, state):
            assert optimizer.param_groups is groups
            assert optimizer.param_groups[0]["params"][0] is lent["a"]
            optimizer.step()
            optimizer.param_groups[0]["lr"] = 3
            optimizer.state[lent["a"]]["exp_avg"] = None
        optimizer.step()
        results.append((plain(params), plain(lent), plain(state), plain(optimizer.state_dict())))
    assert_close(results[1], results[0])


def test_is_as_before_after_an_error(both):
    for lib, device in both:
        params, optimizer = optimizer_of(lib, device)
        optimizer.step()
        before = plain(optimizer.state_dict())

        def fail():
            state = optimizer.state_dict()                              # noqa: B023 - called in this turn
            with lib.optim.swap_in_optimizer_params_and_state(optimizer, others(lib, device), state):   # noqa: B023
                optimizer.param_groups[0]["lr"] = 3                     # noqa: B023 - called in this turn
                raise KeyError("inside")
        with pytest.raises(KeyError, match="inside"):
            fail()
        assert optimizer.param_groups[0]["params"][0] is params[0]
        assert_close(plain(optimizer.state_dict()), before)


def drop_group(state, lent):
    state["param_groups"].pop()


def other_ids(state, lent):
    state["param_groups"][0]["params"] = [0, 1]


WRONG = {
    "few parameters": lambda state, lent: lent.pop("b"),
    "a group less": drop_group,
    "groups of others": other_ids,
    "more states": lambda state, lent: state["state"].update({5: {}}),
    "nothing": lambda state, lent: state.clear(),
    "no groups": lambda state, lent: state.pop("param_groups"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_state(both, name):
    messages = []
    for lib, device in both:
        _, optimizer = optimizer_of(lib, device)
        optimizer.step()
        state, lent = copy.deepcopy(optimizer.state_dict()), others(lib, device)
        WRONG[name](state, lent)
        with pytest.raises(RuntimeError) as refused, \
                lib.optim.swap_in_optimizer_params_and_state(optimizer, lent, state):
            pass
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def test_needs_a_state(both):
    for lib, device in both:
        _, optimizer = optimizer_of(lib, device)
        with pytest.raises(RuntimeError, match="params_and_state requires initialized optimizer state"), \
                lib.optim.swap_in_optimizer_params_and_state(optimizer, others(lib, device), optimizer.state_dict()):
            pass


SPARSE = [{}, {"lr": -1}, {"lr": 0.0}, {"eps": 0.0}, {"betas": (1.0, 0.9)}, {"betas": (0.9, 1.0)}, {"lr": "vector"}]


@pytest.mark.parametrize("options", SPARSE)
def test_sparse_adam(both, options):
    results = []
    for lib, device in both:
        param, calls = lib.ones(3, device=device, requires_grad=True), []
        real = {key: lib.ones(2) if value == "vector" else value for key, value in options.items()}
        try:
            optimizer = lib.optim.SparseAdam([param], **real)
            assert optimizer.step(lambda: calls.append(lib.is_grad_enabled()) or 5) == 5        # noqa: B023
            results.append([repr(optimizer), plain(optimizer.state_dict())])
            param.grad = lib.ones_like(param)
            optimizer.step()
        except (ValueError, RuntimeError) as error:
            results.append([type(error), str(error), param.tolist(), calls])
    assert results[0] == results[len(results) // 2]
    assert results[-1][0] is (ValueError if options else RuntimeError)
