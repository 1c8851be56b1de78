"""Names that packages import and that refuse on use: they are torch's, and they say why."""
import json
import subprocess
import sys

import pytest

import mindtorch
from mindtorch._refusals import modules

pytestmark = pytest.mark.one_mode

MODULES = {name: modules.refused(name) for name in sorted(modules.refused_modules())}
IN_TORCH = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
missing = []
for name, attributes in json.load(sys.stdin).items():
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        missing.append(f"{name}: {error}")
        continue
    missing += [f"{name}.{one}" for one in attributes if not hasattr(module, one)]
print(json.dumps(missing))
"""


IN_DISTRIBUTED = """
import importlib, json, pkgutil, types, warnings
warnings.simplefilter("ignore")
import torch.distributed as dist
names = {}
for found in pkgutil.walk_packages(dist.__path__, "torch.distributed."):
    if not any(part.startswith("_") for part in found.name.split(".")):
        try:
            module = importlib.import_module(found.name)
        except ImportError:             # a package that is absent here
            continue
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == found.name]
        names[found.name] = [name for name in getattr(module, "__all__", own)
                             if not name.startswith("_") and hasattr(module, name)]      # rpc lists some that it lacks
names["torch.distributed"] = [name for name, value in vars(dist).items() if not name.startswith("_")
                              and not isinstance(value, types.ModuleType)
                              and (getattr(value, "__module__", None) or "").startswith(("torch._C", "torch.distr"))]
print(json.dumps(names))
"""


def imported(name):
    """mindtorch's module of torch's name."""
    return __import__("mindtorch" + name[len("torch"):], fromlist=["x"])


def test_the_names_are_torchs():
    names = {module: list(found) for module, found in MODULES.items()}
    done = subprocess.run([sys.executable, "-c", IN_TORCH], input=json.dumps(names), capture_output=True, text=True,
                          check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_distributed_has_the_public_names_of_all_its_modules():
    """They work, or say why they refuse."""
    done = subprocess.run([sys.executable, "-c", IN_DISTRIBUTED], capture_output=True, text=True, check=True)
    names = json.loads(done.stdout.splitlines()[-1])
    assert len(names) > 150
    assert [f"{module}.{name}" for module, found in names.items() for name in found
            if not hasattr(imported(module), name)] == []


def test_no_name_is_there_beside_its_refusal():
    there = [f"{module}.{name}" for module, names in MODULES.items() for name in names
             if not hasattr(getattr(imported(module), name), "refuses")]
    assert there == []


def test_each_refuses_with_its_reason():
    for module, names in MODULES.items():
        for name, reason in names.items():
            found = getattr(imported(module), name)
            if isinstance(found, type) and issubclass(found, Exception):
                continue
            if isinstance(found, modules.RefusedDecorator):
                found = found(print)
            with pytest.raises(NotImplementedError) as caught:
                found()
            assert str(caught.value) == f"{module}.{name}: {reason}."


def test_classes_serve_as_classes():
    from mindtorch.distributed.nn import RemoteModule

    class Derived(mindtorch.nn.Module, RemoteModule):
        pass

    assert not isinstance(mindtorch.ones(1), RemoteModule)
    with pytest.raises(NotImplementedError, match="Derived: mindtorch has not this part"):
        Derived()


def test_everything_of_a_package_may_refuse():
    """torch.ao: programs import names of it that they never use. What mindtorch has of it works, by both its names."""
    from mindtorch.ao.quantization.quantize_fx import _fuse_fx, prepare_qat_fx
    from mindtorch.nn.quantized import dynamic
    from mindtorch.quantization.observer import MinMaxObserver
    assert not isinstance(mindtorch.nn.Linear(1, 1), dynamic.Linear)
    assert mindtorch.quantization.QuantStub is mindtorch.ao.quantization.QuantStub
    for call in (_fuse_fx, prepare_qat_fx, dynamic.Linear, MinMaxObserver, mindtorch.ao.nn.quantized.Linear,
                 mindtorch.quantization.quantize_dynamic):
        with pytest.raises(NotImplementedError, match="mindtorch has no quantized tensors"):
            call()
    assert not hasattr(mindtorch.ao, "__no_such_name__")


def test_a_decorator_refuses_when_its_function_is_called():
    from mindtorch.utils.data import functional_datapipe

    @functional_datapipe
    def program():
        raise AssertionError("never reached")

    with pytest.raises(NotImplementedError, match=r"torch.utils.data.functional_datapipe: "):
        program()


def test_questions_are_answered_with_no():
    from mindtorch.utils._triton import has_triton
    distributed = mindtorch.distributed
    assert not hasattr(distributed, "no_such_name")
    assert not any(ask() for ask in (
        distributed.is_initialized, distributed.is_ucc_available, distributed.is_torchelastic_launched, has_triton,
        mindtorch.backends.cusparselt.is_available, mindtorch.jit.is_tracing))
    with pytest.raises(ModuleNotFoundError):
        __import__("mindtorch.distributed.no_such_module")


def test_dtypes_that_are_absent():
    assert repr(mindtorch.quint8) == "torch.quint8"
    assert mindtorch.quint8 != mindtorch.uint8
    assert not isinstance(mindtorch.int4, mindtorch.dtype)
    with pytest.raises(TypeError, match=r"must be torch.dtype, not AbsentDtype"):
        mindtorch.ones(1, dtype=mindtorch.complex32)


def test_with_the_alias():
    code = ("import torch\nimport torch._inductor.config\n"
            "from torch.distributed.tensor.experimental import context_parallel\n"
            "print(context_parallel.__module__, torch.export.Dim.__name__)")
    done = subprocess.run([sys.executable, "-m", "mindtorch", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "torch.distributed.tensor.experimental Dim\n"
