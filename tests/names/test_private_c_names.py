"""torch._C: the names that torch's namespace takes from it, and private ones that stand elsewhere in mindtorch."""
import pytest
import torch

import mindtorch
from mindtorch import _C

pytestmark = pytest.mark.one_mode


@pytest.mark.parametrize("name", sorted(_C._OF_TORCH))
def test_torch_takes_the_name_from_its_c_module(name):
    assert getattr(torch._C, name) is getattr(torch, name)
    assert getattr(_C, name) is getattr(mindtorch, name)


def test_torch_takes_no_other_name_that_mindtorch_has():
    taken = [name for name, value in vars(torch._C).items() if not name.startswith("_") and hasattr(mindtorch, name)
             and getattr(torch, name, None) is value]
    of_torchscript = {"ScriptFunction", "ScriptModule", "TensorType"}        # classes of mindtorch's own
    assert {name for name in taken if not hasattr(_C, name)} == of_torchscript


@pytest.mark.parametrize("name", sorted(_C._ELSEWHERE))
def test_private_names(name):
    assert callable(getattr(torch._C, name))
    assert callable(getattr(_C, name))


def test_kernels_of_attention_have_a_name_each():
    for kernel in ("flash", "mem_efficient", "math", "cudnn"):
        switch = getattr(mindtorch.backends.cuda, f"enable_{kernel}_sdp")
        before = getattr(_C, f"_get_{kernel}_sdp_enabled")()
        switch(not before)
        try:
            assert getattr(_C, f"_get_{kernel}_sdp_enabled")() is not before
        finally:
            switch(before)


def test_calls():
    sizes = mindtorch.Size((2, 1)), mindtorch.Size((3,))
    assert tuple(_C._infer_size(*sizes)) == tuple(torch._C._infer_size(torch.Size((2, 1)), torch.Size((3,))))
    assert _C._get_graph_executor_optimize(True) is torch._C._get_graph_executor_optimize(True)
    assert _C._is_autocast_available("cpu") is torch._C._is_autocast_available("cpu")
    assert _C._get_math_sdp_enabled() is torch._C._get_math_sdp_enabled()
