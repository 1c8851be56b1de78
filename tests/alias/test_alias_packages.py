"""Unmodified packages from PyPI and an unmodified script print through the alias what they print on torch."""
from pathlib import Path

import pytest
from running import passes, python

pytestmark = pytest.mark.one_mode

PROGRAMS = Path(__file__).parent

# What is left out of einops's own tests, and why.
LEFT_OUT = (
    "test_torch_layer", "test_torch_layers_scripting",      # TorchScript's compiler
    "test_torch_compile_with_dynamic_shape",                # sets an option of torch._dynamo
    "test_torch_compile_for_functions",                     # wants a float32 sum of 70000 numbers right to 1e-5
    "test_einops_threading",                                # starts another `python`, which need not know einops
)


@pytest.fixture(scope="module")
def einops_on_torch():
    return python(PROGRAMS / "program_einops.py", "cpu")


def test_einops(einops_on_torch, device):
    assert einops_on_torch.returncode == 0, einops_on_torch.stderr
    assert passes(PROGRAMS / "program_einops.py", device) == einops_on_torch.stdout


def test_einops_passes_its_own_tests(tmp_path):
    output = passes("-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "einops",
                    "-k", " and ".join(f"not {name}" for name in LEFT_OUT), cwd=tmp_path, EINOPS_TEST_BACKENDS="torch")
    assert int(output.splitlines()[-1].partition(" passed")[0]) > 40, output


@pytest.fixture(scope="module")
def saved_by_torch(tmp_path_factory):
    """(the folder with torch's files, what the program printed when it wrote them)."""
    folder = tmp_path_factory.mktemp("safetensors")
    done = python(PROGRAMS / "program_safetensors.py", folder, "cpu", "torch", "-")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_safetensors(saved_by_torch, device):
    """torch writes, mindtorch reads that and writes, torch reads that: what is printed is the same."""
    program, (folder, first) = PROGRAMS / "program_safetensors.py", saved_by_torch
    own = passes(program, folder, device, f"own-{device}", "torch")
    theirs = python(program, folder, "cpu", "again", f"own-{device}")
    assert own.splitlines() == theirs.stdout.splitlines(), theirs.stderr
    assert own.startswith(first)
    for kind in ("", "-model"):
        assert folder.joinpath(f"own-{device}{kind}.safetensors").read_bytes() == \
            folder.joinpath(f"torch{kind}.safetensors").read_bytes()


@pytest.fixture(scope="module")
def training_on_torch(tmp_path_factory):
    return python(PROGRAMS / "program_training.py", tmp_path_factory.mktemp("torch"))


def test_a_training_script(training_on_torch, tmp_path, device):
    """To the four digits that it prints."""
    assert training_on_torch.returncode == 0, training_on_torch.stderr
    assert passes(PROGRAMS / "program_training.py", tmp_path, "--device", device) == training_on_torch.stdout
