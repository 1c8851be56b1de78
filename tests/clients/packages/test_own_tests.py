"""own_tests.py on a package made up here: it tells apart what passes with both, with torch alone, and with neither."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import own_tests

pytestmark = pytest.mark.one_mode

TESTS = """
import pytest
import torch
from made_up import twice


def test_sum():
    assert twice(torch.ones(3)).sum() == 6


@pytest.mark.parametrize("name", ["first", "second"])
def test_that_only_torch_passes(name):
    assert not hasattr(torch, "npu"), "an NPU"


def test_that_nobody_passes():
    assert twice(torch.ones(1)) == 3


def test_that_is_left_out():
    pytest.skip("not here")
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """What the script says of the chosen tests, and its exit status."""
    folder = tmp_path / "made-up-1.0"
    folder.joinpath("tests").mkdir(parents=True)
    folder.joinpath("made_up.py").write_text("def twice(x):\n    return x + x\n")
    folder.joinpath("tests", "test_made_up.py").write_text(TESTS)
    monkeypatch.setattr(own_tests, "SOURCES", tmp_path)

    def run(*chosen):
        tests = [f"tests/test_made_up.py{each}" for each in chosen]
        monkeypatch.setattr(own_tests, "PACKAGES", {"made-up==1.0": tests})
        monkeypatch.setattr(sys, "argv", ["own_tests.py", "--packages", sys.executable])
        status = own_tests.main()
        return capfd.readouterr().out.splitlines(), status
    return run


def test_what_passes_with_torch_alone_is_listed_by_its_error(run):
    lines, status = run("")
    assert status == 1
    assert lines[0] == "made-up==1.0: 1 of 3 tests that pass with torch"
    assert len(lines) == 2
    assert lines[1].startswith("  2 x AssertionError: an NPU")


def test_all_is_well_where_both_pass_the_same(run):
    assert run("::test_sum", "::test_that_nobody_passes") == (["made-up==1.0: 1 of 1 tests that pass with torch"], 0)
