"""Orders of arguments that torch once had and still takes, with a number among the tensors; and refusals."""
import subprocess
import sys

import pytest
import torch

import mindtorch

MATRIX, VECTOR, BATCH = [[1., 2.], [3., 4.]], [5., 6.], [[[1., 2.], [3., 4.]]]
CALLS = [
    ("add", (MATRIX, 2, MATRIX)), ("sub", (MATRIX, 2, MATRIX)), ("addcmul", (VECTOR, 2, VECTOR, VECTOR)),
    ("addcdiv", (VECTOR, 2, VECTOR, VECTOR)), ("addmm", (2, MATRIX, 3, MATRIX, MATRIX)),
    ("addmm", (2, MATRIX, MATRIX, MATRIX)), ("addmv", (2, VECTOR, 3, MATRIX, VECTOR)),
    ("addmv", (2, VECTOR, MATRIX, VECTOR)), ("addr", (2, MATRIX, 3, VECTOR, VECTOR)),
    ("addr", (2, MATRIX, VECTOR, VECTOR)), ("addbmm", (2, MATRIX, 3, BATCH, BATCH)),
    ("addbmm", (2, MATRIX, BATCH, BATCH)), ("baddbmm", (2, BATCH, 3, BATCH, BATCH)),
    ("baddbmm", (2, BATCH, BATCH, BATCH))]
REFUSED = [("addcmul", (VECTOR,) * 4), ("addcdiv", (VECTOR,) * 4), ("mul", (MATRIX, 2, MATRIX))]


def lists_as_tensors(library, values):
    return [library.tensor(value) if isinstance(value, list) else value for value in values]


def forms(library, name, values):
    """The results of the function, the method and the method in place."""
    self = next(place for place, value in enumerate(values) if isinstance(value, list))
    yield getattr(library, name)(*lists_as_tensors(library, values))
    for method in (name, name + "_"):
        values_now = lists_as_tensors(library, values)
        yield getattr(values_now.pop(self), method)(*values_now)


@pytest.mark.filterwarnings("ignore:This overload of")
@pytest.mark.parametrize(("name", "values"), CALLS)
def test_orders(name, values):
    theirs, ours = ([each.tolist() for each in forms(library, name, values)] for library in (torch, mindtorch))
    assert ours == theirs


@pytest.mark.parametrize(("name", "values"), REFUSED)
def test_refusals(name, values):
    with pytest.raises(TypeError) as theirs:
        getattr(torch, name)(*lists_as_tensors(torch, values))
    with pytest.raises(TypeError) as ours:
        getattr(mindtorch, name)(*lists_as_tensors(mindtorch, values))
    assert str(ours.value).split("\n")[0] == str(theirs.value).split("\n")[0]


def test_the_first_such_call_of_a_process_warns_or_all():
    script = ("import warnings, mindtorch as torch\nv = torch.ones(2)\n"
              "with warnings.catch_warnings(record=True) as found:\n    warnings.simplefilter('always')\n"
              "    v.addcmul(2, v, v)\n    v.addcmul(2, v, v)\n    torch.set_warn_always(True)\n"
              "    torch.add(v, 2, v)\n    v.sub(2, v)\n"
              "print([str(each.message).split(':')[0] for each in found])")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([f"This overload of {name} is deprecated" for name in ("addcmul", "add", "sub")])


@pytest.mark.parametrize("prepend", [[1.], [[1.], [2.], [3.]], [[1., 2., 3.]]])
def test_diff_of_shapes_that_do_not_fit(prepend):
    def call(library):
        return library.diff(library.tensor(MATRIX), prepend=library.tensor(prepend))
    with pytest.raises(RuntimeError) as theirs:
        call(torch)
    with pytest.raises(RuntimeError) as ours:
        call(mindtorch)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack", "row_stack"])
@pytest.mark.parametrize("given", [lambda library: library.ones(2), lambda _: [], lambda _: [1], lambda _: 3])
def test_stacks_of_what_is_no_sequence_of_tensors(name, given):
    with pytest.raises((TypeError, RuntimeError)) as theirs:
        getattr(torch, name)(given(torch))
    with pytest.raises(theirs.type) as ours:
        getattr(mindtorch, name)(given(mindtorch))
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("call", [
    lambda t, x: t.cartesian_prod(x, 2.5), lambda t, x: t.broadcast_tensors(None, x), lambda t, x: t.meshgrid(
        x, x, 1, indexing="ij"), lambda t, x: t.meshgrid([x, None], indexing="ij")])
def test_what_is_no_tensor_among_tensors_is_named(call):
    """Whether they are given one by one or as a list."""
    found = []
    for library in (mindtorch, torch):
        with pytest.raises(TypeError) as error:
            call(library, library.ones(2))
        found.append(str(error.value))
    assert found[0] == found[1]
