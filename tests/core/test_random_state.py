"""Generators: seeds, states, and the functions over the default ones, beside torch's."""
import copy
import pickle

import numpy as np
import pytest
import torch

import mindtorch


@pytest.fixture(autouse=True)
def _states_kept():
    state = mindtorch.get_rng_state()
    yield
    mindtorch.set_rng_state(state)


@pytest.mark.parametrize("seed", [0, 7, -5, 2 ** 40 + 1, 2 ** 64 - 1, -2 ** 63])
def test_seeds(seed):
    ours, theirs = mindtorch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    assert ours.initial_seed() == theirs.initial_seed()
    assert mindtorch.empty(7).uniform_(generator=ours).tolist() == torch.empty(7).uniform_(generator=theirs).tolist()


def test_the_state_is_torchs():
    """A state saved by either is one for the other, whatever has been drawn."""
    ours, theirs = mindtorch.Generator(), torch.Generator()
    for draws in (0, 1, 3, 1200):
        mindtorch.empty(draws).uniform_(generator=ours)
        torch.empty(draws).uniform_(generator=theirs)
        assert ours.get_state().tolist() == theirs.get_state().tolist()
        mindtorch.empty(1).normal_(generator=ours)
        fresh = torch.Generator()
        fresh.set_state(torch.tensor(ours.get_state().tolist(), dtype=torch.uint8))
        torch.empty(1).normal_(generator=theirs)
        torch.testing.assert_close(torch.empty(5).normal_(generator=fresh), torch.empty(5).normal_(generator=theirs))
        theirs.set_state(torch.tensor(ours.get_state().tolist(), dtype=torch.uint8))


def test_states_go_round(device):
    generator = mindtorch.Generator(device).manual_seed(11)
    mindtorch.empty(3, device=device).normal_(generator=generator)
    copies = [generator.clone_state(), pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator)]
    state = generator.get_state()
    assert (state.dtype, state.device.type) == (mindtorch.uint8, "cpu")
    expected = mindtorch.empty(5, device=device).normal_(generator=generator).tolist()
    assert [mindtorch.empty(5, device=device).normal_(generator=g).tolist() for g in copies] == [expected] * 3
    generator.set_state(state)
    assert mindtorch.empty(5, device=device).normal_(generator=generator).tolist() == expected


REFUSED = {
    "float seed": lambda lib, g: g.manual_seed(1.5),
    "large seed": lambda lib, g: g.manual_seed(2 ** 64),
    "small seed": lambda lib, g: g.manual_seed(-2 ** 63 - 1),
    "text as default seed": lambda lib, g: lib.manual_seed("x"),
    "large default seed": lambda lib, g: lib.manual_seed(2 ** 64),
    "number as state": lambda lib, g: g.set_state(3),
    "None as state": lambda lib, g: g.set_state(None),
    "float state": lambda lib, g: g.set_state(lib.zeros(3)),
    "short state": lambda lib, g: g.set_state(lib.zeros(3, dtype=lib.uint8)),
    "short default state": lambda lib, g: lib.set_rng_state(lib.zeros(16, dtype=lib.uint8)),
    "offset": lambda lib, g: g.get_offset(),
    "offset set": lambda lib, g: g.set_offset(4),
    "device": lambda lib, g: lib.Generator(3.5),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    found = []
    for lib in (torch, mindtorch):
        generator = lib.Generator()
        before = generator.get_state().tolist()
        with pytest.raises(Exception) as caught:        # noqa: PT011 - torch says which
            REFUSED[name](lib, generator)
        assert generator.get_state().tolist() == before
        found.append((type(caught.value), str(caught.value)))
    assert found[0] == found[1]


def test_default_functions():
    assert mindtorch.manual_seed(5) is mindtorch.default_generator
    assert mindtorch.initial_seed() == mindtorch.default_generator.initial_seed() == 5
    assert mindtorch.manual_seed(1.5).initial_seed() == 1
    assert mindtorch.seed() == mindtorch.initial_seed() != mindtorch.seed()
    state = mindtorch.get_rng_state()
    first = mindtorch.empty(3).uniform_().tolist()
    mindtorch.set_rng_state(state)
    assert mindtorch.empty(3).uniform_().tolist() == first
    assert mindtorch.Generator().initial_seed() == torch.Generator().initial_seed()


def test_npu_states():
    npu = mindtorch.npu
    mindtorch.manual_seed(9)
    assert npu.initial_seed() == 9
    assert npu.get_rng_state().tolist() == list(np.array([9, 0], "<i8").view(np.uint8))
    first = mindtorch.empty(4, device="npu").uniform_().tolist()
    assert npu.get_rng_state()[8:].tolist() == list(np.array([12], "<i8").view(np.uint8)), "each call moves it by 12"
    npu.manual_seed(9)
    assert mindtorch.empty(4, device="npu").uniform_().tolist() == first
    npu.manual_seed_all(9)
    assert mindtorch.empty(4, device="npu").uniform_().tolist() == first
    states = npu.get_rng_state_all()
    npu.seed()
    npu.seed_all()
    assert npu.initial_seed() != 9
    npu.set_rng_state_all(states)
    assert npu.get_rng_state().tolist() == states[0].tolist()
    npu.set_rng_state(mindtorch.tensor([9, 0, 0, 0, 0, 0, 0, 0], dtype=mindtorch.uint8))
    assert mindtorch.empty(4, device="npu").uniform_().tolist() == first
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        npu.set_rng_state(mindtorch.zeros(9, dtype=mindtorch.uint8))
    with pytest.raises(RuntimeError, match="multiple of 4"):
        mindtorch.Generator("npu").set_offset(3)
    generator = mindtorch.Generator("npu")
    assert generator.set_offset(8) is generator
    assert generator.get_offset() == 8


def test_fork_rng():
    mindtorch.manual_seed(1)
    with mindtorch.random.fork_rng(devices=[0]):
        first = mindtorch.empty(3).uniform_().tolist(), mindtorch.empty(3, device="npu").uniform_().tolist()
    assert (mindtorch.empty(3).uniform_().tolist(), mindtorch.empty(3, device="npu").uniform_().tolist()) == first
    with mindtorch.random.fork_rng(enabled=False):
        state = mindtorch.get_rng_state().tolist()
        mindtorch.empty(3).uniform_()
    assert mindtorch.get_rng_state().tolist() != state
