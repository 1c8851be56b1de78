"""Torch's public names: the list checked in, the page of those that mindtorch has, and how many there must be."""
import name_coverage
import pytest

_VERSION, _PLACES = name_coverage.read_names()


def test_names_are_those_of_torch():
    assert name_coverage.torch_names() == name_coverage.NAMES.read_text(encoding="utf-8")


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
    assert [name for name in absent if not name_coverage.subject(name)] == []
