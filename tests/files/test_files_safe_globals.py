"""What weights_only lets files name, and the arguments of torch.save and torch.load."""
import datetime
import io
import pickle

import pytest
import torch

import mindtorch
from mindtorch.serialization import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    get_unsafe_globals_in_checkpoint,
    safe_globals,
)


class Config:
    """A class of the user's, with attributes."""

    def __init__(self, width):
        self.width = width


class Slots:
    """One whose attributes are in slots."""

    __slots__ = ("width",)


class Stateful:
    """One that restores itself."""

    def __getstate__(self):
        return 5

    def __setstate__(self, state):
        self.width = state + 1


@pytest.fixture(autouse=True)
def _empty_list():
    yield
    clear_safe_globals()


def saved(obj, package=mindtorch):
    file = io.BytesIO()
    package.save(obj, file)
    file.seek(0)
    return file


def slotted():
    made = Slots()
    made.width = 6
    return made


@pytest.mark.parametrize("make", [lambda: Config(6), slotted, Stateful])
@pytest.mark.parametrize("package", [mindtorch, torch])
def test_a_listed_class_is_loaded(make, package):
    obj = make()
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals.*safe_globals"):
        mindtorch.load(saved(obj, package))
    with safe_globals([type(obj)]):
        assert get_safe_globals() == [type(obj)]
        read = mindtorch.load(saved(obj, package))
        assert type(read) is type(obj)
        assert read.width == 6
    assert get_safe_globals() == []
    with pytest.raises(pickle.UnpicklingError):
        mindtorch.load(saved(obj, package))


def test_the_list_of_safe_globals():
    add_safe_globals([Config])
    add_safe_globals([Config, (datetime.date, "datetime.date")])
    assert get_safe_globals() == [Config, (datetime.date, "datetime.date")]
    assert mindtorch.load(saved(datetime.date(2020, 1, 2))) == datetime.date(2020, 1, 2)
    clear_safe_globals()
    assert get_safe_globals() == []


def test_some_modules_are_refused_though_listed():
    import os
    add_safe_globals([(os.system, "os.system"), (os.system, "posix.system")])
    with pytest.raises(pickle.UnpicklingError, match="blocked"):
        mindtorch.load(saved(os.system))


@pytest.mark.parametrize("package", [mindtorch, torch])
def test_unsafe_globals_are_found(package):
    obj = {"w": package.ones(2), "c": Config(1), "d": datetime.date(2020, 1, 1)}
    ours = get_unsafe_globals_in_checkpoint(saved(obj, package))
    theirs = torch.serialization.get_unsafe_globals_in_checkpoint(saved(obj, package))
    assert sorted(ours) == sorted(theirs)
    assert get_unsafe_globals_in_checkpoint(saved([package.ones(2)], package)) == []


# (what is called, with torch or mindtorch)
MISUSE = {
    "save to a number": lambda t: t.save(3, 4),
    "save without a file": lambda t: t.save(3),
    "save into no folder": lambda t: t.save(3, "no such folder/deeper/file.pt"),
    "load from a number": lambda t: t.load(3),
    "load what is not there": lambda t: t.load("no such file.pt"),
    "map a buffer": lambda t: t.load(saved(1, t), mmap=True),
    "weights_only and a module": lambda t: t.load(saved(1, t), weights_only=True, pickle_module=pickle),
    "two dtypes": lambda t: t.save([t.ones(2), *(lambda x: (x, x.view(t.int32)))(t.ones(2))], io.BytesIO()),
}


@pytest.mark.parametrize("case", MISUSE)
def test_misuse_is_answered_as_torch_does(case):
    with pytest.raises((TypeError, ValueError, RuntimeError, AttributeError, OSError)) as theirs:
        MISUSE[case](torch)
    with pytest.raises(type(theirs.value)) as ours:
        MISUSE[case](mindtorch)
    assert str(ours.value) == str(theirs.value)


def test_what_cannot_be_pickled_leaves_the_file_alone(tmp_path):
    path = tmp_path / "model.pt"
    mindtorch.save(1, path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        mindtorch.save(lambda: 1, path)
    assert mindtorch.load(path) == 1
