"""The generators of the devices: states of 16 bytes, offsets, forks, and numbers that no stream changes."""
import struct

import pytest
from process import run

import mindtorch as torch


@pytest.fixture(autouse=True)
def state_kept():
    state = torch.npu.get_rng_state()
    yield
    torch.npu.set_rng_state(state)


def parts(state):
    assert state.dtype is torch.uint8
    assert state.device.type == "cpu"
    return struct.unpack("<Qq", bytes(state.tolist()))


def test_a_state_is_the_seed_and_the_offset():
    torch.npu.manual_seed(1 << 63)
    assert parts(torch.npu.get_rng_state()) == (1 << 63, 0)
    torch.rand(5, device="npu")
    seed, offset = parts(torch.npu.get_rng_state())
    assert seed == 1 << 63 == torch.npu.initial_seed()
    assert offset > 0
    assert offset % 4 == 0
    torch.npu.manual_seed(-1)
    assert parts(torch.npu.get_rng_state()) == ((1 << 64) - 1, 0)


def test_a_state_taken_and_put_back():
    torch.rand(3, device="npu")
    state = torch.npu.get_rng_state()
    first = torch.randn(1000, device="npu")
    torch.npu.set_rng_state(state)
    assert torch.randn(1000, device="npu").equal(first)
    torch.npu.set_rng_state(state[:8])                      # a seed alone: from its beginning
    assert parts(torch.npu.get_rng_state()) == (parts(state)[0], 0)


def test_offsets():
    torch.npu.manual_seed(5)
    torch.rand(100, device="npu")
    offset = torch.npu._get_rng_state_offset()
    assert offset == parts(torch.npu.get_rng_state())[1]
    second = torch.rand(100, device="npu")
    torch.npu._set_rng_state_offset(offset)
    assert torch.rand(100, device="npu").equal(second)
    assert torch.npu.initial_seed() == 5
    with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
        torch.npu._set_rng_state_offset(6)
    torch.npu.manual_seed(5)
    assert torch.npu._get_rng_state_offset() == 0


@pytest.mark.parametrize("size", [0, 7, 9, 24])
def test_states_of_the_wrong_size(size):
    before = torch.npu.get_rng_state()
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        torch.npu.set_rng_state(torch.zeros(size, dtype=torch.uint8))
    assert torch.npu.get_rng_state().equal(before)
    with pytest.raises(TypeError):
        torch.npu.set_rng_state(torch.zeros(16))


def test_torch_seeds_the_npu():
    torch.manual_seed(77)
    assert torch.npu.initial_seed() == 77
    assert torch.npu._get_generator(torch.device("npu")).initial_seed() == 77
    assert [g.initial_seed() for g in torch.npu.default_generators] == [77] * torch.npu.device_count()


def test_new_generators_begin_with_one_seed():
    generator = torch.Generator("npu")
    assert parts(generator.get_state()) == (67280421310721, 0)


def test_numbers_are_the_same_on_every_stream():
    def numbers():
        torch.npu.manual_seed(9)
        made = torch.rand(1000, device="npu"), torch.randn(10, device="npu"), torch.randperm(20, device="npu")
        torch.npu.current_stream().synchronize()
        return [tensor.tolist() for tensor in made]
    first = numbers()
    with torch.npu.stream(torch.npu.Stream()):
        assert numbers() == first


def test_fork_rng():
    torch.npu.manual_seed(4)
    state, on_cpu = torch.npu.get_rng_state(), torch.get_rng_state()
    with torch.random.fork_rng(device_type="npu"):
        torch.rand(3, device="npu")
        torch.rand(3)
        torch.manual_seed(1)
    assert torch.npu.get_rng_state().equal(state)
    assert torch.get_rng_state().equal(on_cpu)


def test_several_devices():
    run("""
import warnings
import mindtorch as torch
npu = torch.npu
npu.manual_seed_all(6)
draw = lambda index: torch.rand(50, device=f"npu:{index}").tolist()
assert draw(0) == draw(1)                               # each device has a generator, seeded alike
states = npu.get_rng_state_all()
assert len(states) == 2
first = draw(0), draw(1)
npu.set_rng_state_all(states)
assert (draw(0), draw(1)) == first
with npu.device(1):
    npu.manual_seed(8)
assert npu._get_generator("npu:1").initial_seed() == 8 and npu._get_generator("npu:0").initial_seed() == 6
npu.set_rng_state(states[0], "npu:1")
assert npu.get_rng_state(1).equal(states[0])
before = npu.get_rng_state_all()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.random.fork_rng():
        draw(1)
assert len(caught) == 1 and "2 available devices" in str(caught[0].message)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    with torch.random.fork_rng(devices=[1]):
        draw(1)
assert all(a.equal(b) for a, b in zip(before, npu.get_rng_state_all()))
npu.seed_all()
assert npu._get_generator(0).initial_seed() == npu._get_generator(1).initial_seed() != 6
""", MINDTORCH_SIM_DEVICES="2")
