"""torch._library.utils, torch._functorch.config, and which kernels an operator has."""
import importlib

import pytest
import torch

import mindtorch


def module(lib, name):
    return importlib.import_module(f"{lib.__name__}.{name}")


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_operators_and_schemas(lib):
    utils = module(lib, "_library.utils")
    assert utils.lookup_op("aten::sin") is lib.ops.aten.sin.default
    assert utils.lookup_op("aten::add.Tensor") is lib.ops.aten.add.Tensor
    assert utils.parse_namespace("a::b") == ("a", "b")
    with pytest.raises(ValueError, match="namespace::name"):
        utils.parse_namespace("a")
    assert utils.is_builtin(lib.ops.aten.sin.default)
    for text, is_functional, is_functional_or_view in (
            ("f(Tensor x) -> Tensor", True, True), ("f(Tensor(a!) x) -> Tensor", False, False),
            ("f(Tensor(a) x) -> Tensor(a)", False, True), ("f(Tensor x) -> ()", False, False)):
        assert utils.is_functional_schema(text) == is_functional
        assert utils.is_functional_schema(text, allow_valid_view=True) == is_functional_or_view
    schema = lib._C.parse_schema("f(Tensor x, Tensor? y, Tensor[] z, Tensor?[]? v, int[] w) -> Tensor")
    assert [utils.is_tensor_like_type(argument.type) for argument in schema.arguments] == [True, True] + [False] * 3
    assert [utils.is_tensorlist_like_type(argument.type) for argument in schema.arguments] == [
        False, False, True, True, False]


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_kernels_are_told_by_key(lib):
    library = lib.library.Library("kernels_by_key", "FRAGMENT")
    library.define("plain(Tensor x) -> Tensor")
    library.impl("plain", lambda x: x.cos(), "CPU")
    assert lib._C._dispatch_has_kernel_for_dispatch_key("kernels_by_key::plain", "CPU")
    assert not lib._C._dispatch_has_kernel_for_dispatch_key("kernels_by_key::plain", "Meta")
    library._destroy()


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_settings_of_the_compiler_can_be_changed_for_a_while(lib):
    config = module(lib, "_functorch.config")
    before = config.donated_buffer
    with config.patch(donated_buffer=not before):
        assert config.donated_buffer is not before
    with config.patch("activation_memory_budget", 0.5):
        assert config.activation_memory_budget == 0.5
    assert (config.donated_buffer, config.activation_memory_budget) == (before, 1.0)
