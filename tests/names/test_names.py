"""Torch's public names: the list checked in, the page of those that mindtorch has, and how many there must be."""
import subprocess
import sys
from importlib.util import find_spec

import name_coverage
import pytest

_VERSION, _PLACES = name_coverage.read_names()


def test_names_are_those_of_torch():
    """In a process of its own, for it imports all modules of torch, some of which change the process."""
    code = f"import sys; sys.path.insert(0, {str(name_coverage.NAMES.parent)!r}); import name_coverage; " \
           "print('names:', name_coverage.torch_names())"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.partition("names: ")[2].rstrip("\n") == \
        name_coverage.NAMES.read_text(encoding="utf-8").rstrip("\n")


def test_the_page_is_current():
    assert name_coverage.page() == name_coverage.PAGE.read_text(encoding="utf-8"), \
        "run python tests/names/name_coverage.py"


@pytest.mark.parametrize("place", [place for place, required in name_coverage.REQUIRED.items() if required])
def test_enough_names_are_there(place):
    names = _PLACES[place]
    assert name_coverage.share(place, names) >= name_coverage.REQUIRED[place], name_coverage.missing(place, names)


@pytest.mark.parametrize("place", _PLACES)
def test_what_is_absent_has_a_reason(place):
    absent = [name for name in name_coverage.missing(place, _PLACES[place]) if not name_coverage.refuses(place, name)]
    assert [name for name in absent if not name_coverage.subject(place, name)] == []


def test_the_reasons_are_of_names_that_are_absent():
    modules = [name for names in name_coverage.ABSENT["modules"].values() for name in names.split()]
    assert [name for name in modules if name not in sys.modules and find_spec(name) is None] == []
    absent = {place: name_coverage.missing(place, names) for place, names in _PLACES.items()}
    lacking = {*(place for place, names in absent.items() if names),
               *(f"{place}.{name}" for place, names in absent.items() for name in names)}
    assert [name for names in name_coverage.ABSENT["names"].values() for name in names.split()
            if name not in lacking] == []
    named = {name_coverage.subject(place, name) for place, names in absent.items() for name in names}
    assert name_coverage.ABSENT["patterns"].keys() - named == set()
