"""SchemaCheckMode beside torch's: what operators write to and what their results share."""
import pytest
import torch
import torch._subclasses.schema_check_mode

import mindtorch
import mindtorch._subclasses.schema_check_mode


def program(lib):
    x = lib.ones(3, 3)
    y = x.add(1)
    y.mul_(2)
    lib.relu_(y.t())
    lib.addcmul(x, y.view(9)[:3], y)
    lib.nn.functional.layer_norm(x, (3,))
    lib.split(x, 1)
    lib.matmul(x, y)
    x.sum(0, keepdim=True)
    lib.unique(x)
    x.expand(2, 3, 3)
    lib.add(x, x, out=y)
    x.to(lib.float64)
    x.contiguous()


def test_what_operators_do_is_noted():
    found = []
    for lib in (mindtorch, torch):
        with lib._subclasses.schema_check_mode.SchemaCheckMode() as mode:
            program(lib)
        found.append((mode.ops, [tuple(each) for each in mode.mutated], [tuple(each) for each in mode.aliasing]))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["mutated", "aliasing"])
def test_a_schema_that_is_not_true(kind):
    said = []
    for lib in (mindtorch, torch):
        library = lib.library.Library(f"untrue_{kind}", "DEF")
        library.define("call(Tensor x) -> Tensor")
        library.impl("call", (lambda x: x.add_(1).clone()) if kind == "mutated" else lambda x: x.view(-1), "CPU")
        with pytest.raises(RuntimeError) as error, lib._subclasses.schema_check_mode.SchemaCheckMode():
            getattr(lib.ops, f"untrue_{kind}").call(lib.ones(2, 2))
        said.append(str(error.value))
    assert said[0] == said[1]
