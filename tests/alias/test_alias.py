"""`import torch` under the alias: the same modules, clear errors for what is missing, and children that know it too."""
import pytest
import torch as oracle
from running import passes, python

pytestmark = pytest.mark.one_mode

MODULES = """
import sys
import torch, torch.nn.functional as F, mindtorch
import torch.utils.data
from torch.optim import AdamW
from torch import nn, save, Tensor
import importlib, importlib.metadata as metadata, importlib.util, pickle, io, threading

assert torch is mindtorch and F is mindtorch.nn.functional and nn is mindtorch.nn and AdamW is mindtorch.optim.AdamW
assert importlib.import_module("torch.utils.data") is sys.modules["mindtorch.utils.data"] is torch.utils.data
for name, module in list(sys.modules.items()):
    if name == "torch" or name.startswith("torch."):
        assert module is sys.modules["mindtorch" + name[5:]], name
        assert module.__spec__.name == "mindtorch" + name[5:], (name, module.__spec__)
        assert module.__name__ == ("mindtorch" + name[5:] if "." in name else "torch")
from torch.autograd.gradcheck import gradgradcheck
from torch.multiprocessing.spawn import ProcessContext
from torch._custom_ops import get_ctx
from torch._utils import ExceptionWrapper, _rebuild_tensor_v2
import torch._tensor_str, torch._weights_only_unpickler
assert torch._tensor_str is mindtorch._tensor.printing is mindtorch._tensor_str        # moved here
assert callable(torch.autograd.gradcheck) and callable(torch.multiprocessing.spawn)
assert ProcessContext is mindtorch.multiprocessing.ProcessContext
assert importlib.reload(torch.utils) is torch.utils

model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
data = pickle.dumps(model)
assert b"torch.nn" not in data.replace(b"mindtorch.nn", b"")          # readable without the alias
assert pickle.loads(data)[0].weight.equal(model[0].weight)

assert metadata.version("torch") == torch.__version__ and metadata.version("Torch") == torch.__version__
assert metadata.metadata("torch")["Name"] == "torch"
assert "torch" in metadata.packages_distributions()
assert importlib.util.find_spec("torch").name == "mindtorch"
assert importlib.util.find_spec("torch.nn.utils").origin.endswith("mindtorch/nn/utils/__init__.py")
assert importlib.util.find_spec("torch.nothing") is None
assert importlib.util.find_spec("torchmetrics_nothing") is None
mindtorch.alias_torch()
assert sum(type(finder).__module__ == "mindtorch._alias" for finder in sys.meta_path) == 1
"""

CLASSES = """
import copy, io, pickle, sys
import mindtorch
if sys.argv[1:] == ["alias"]:
    mindtorch.alias_torch()
torch = mindtorch

parameter, linear = torch.nn.Parameter(torch.ones(2)), torch.nn.Linear(1, 1)
values = [torch.ones(1), parameter, torch.Tensor, torch.nn.Parameter, torch.float32, torch.Size([1]), linear]
print(type(values[0]).__module__, type(parameter).__module__, type(values[0]), type(parameter))
print(torch.ones(1), parameter, copy.deepcopy(parameter), torch.typename(parameter))
read = pickle.loads(pickle.dumps(values))
assert read[0].equal(values[0]) and type(read[1]) is torch.nn.Parameter and read[2:6] == values[2:6]
file = io.BytesIO()
torch.save(values, file)
assert b"mindtorch" not in file.getvalue()
file.seek(0)
read = torch.load(file, weights_only=False)
assert read[0].equal(values[0]) and type(read[1]) is torch.nn.Parameter and read[2:6] == values[2:6]
pickle.dump([values[0], parameter, linear], open("pickled" + str(len(sys.argv)), "wb"))
torch.save(values, "saved" + str(len(sys.argv)))
"""

READ = """
import pickle, sys
import mindtorch
read = [value for name in ("1", "2") for value in (pickle.load(open("pickled" + name, "rb")),
                                                   mindtorch.load("saved" + name, weights_only=False))]
assert "torch" not in sys.modules
assert all(type(value) is mindtorch.Tensor and type(parameter) is mindtorch.nn.Parameter
           for value, parameter, *_ in read)
assert all(type(values[-1]) is mindtorch.nn.Linear for values in read)
"""

TORCH_NPU = """
import importlib.metadata, importlib.util, sys
import torch, torch_npu
from torch_npu.npu import amp, Event
import torch_npu.npu.streams

assert torch_npu.npu is torch.npu is sys.modules["torch_npu.npu"] and Event is torch.npu.Event
assert torch_npu.npu.streams is sys.modules["mindtorch.npu.streams"] and amp is torch.npu.amp
assert torch_npu.npu.device_count() == 1 and torch_npu.__version__ == torch.__version__
assert importlib.util.find_spec("torch_npu") and importlib.util.find_spec("torch_npu.nothing") is None
assert importlib.metadata.version("torch_npu") == importlib.metadata.version("torch-npu") == torch.__version__
assert {"torch", "torch_npu"} <= set(importlib.metadata.packages_distributions())
for code in ("torch_npu.nothing", "import torch_npu.dynamo"):
    try:
        exec(code)
    except Exception as error:
        print(type(error).__name__, error)
"""

MISSING = """
def error(code):
    try:
        exec(code, {})
    except Exception as error:
        return type(error).__name__, str(error)

for code in ("import torch; torch.nothing", "from torch import nothing", "import torch.nothing",
             "import torch.nothing.more", "from torch.nothing import x", "from torch.nn import Nothing",
             "import torch.nn; torch.nn.Nothing"):
    kind, text = error(code)
    print(code, "|", kind, "|", text)
import torch
assert not hasattr(torch, "nothing")
"""

CHILDREN = """
import multiprocessing, sys
import torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        import torch.nn.functional as F
        assert (torch.__name__, F.__name__.partition(".")[0]) == ("torch", "mindtorch")
        return F.relu(torch.tensor(float(index)) ** 2)

def name(_):
    import torch.optim
    return torch.optim.__name__, sys.argv[1:]

if __name__ == "__main__":
    for method in ("spawn", "fork", "forkserver"):
        loader = DataLoader(Squares(), batch_size=3, num_workers=1, multiprocessing_context=method)
        assert torch.cat(list(loader)).tolist() == [0, 1, 4, 9, 16, 25]
    for method in ("spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.map(name, range(2)) == [("mindtorch.optim", ["argument"])] * 2
    print("done")
"""

GUARDED = """
if __name__ == "__main__":
    import multiprocessing
    import mindtorch
    mindtorch.alias_torch()
    import helper
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(helper.name))
"""


def test_the_modules_are_mindtorchs_own(tmp_path):
    tmp_path.joinpath("script.py").write_text(MODULES, encoding="utf-8")
    passes("script.py", cwd=tmp_path)


def test_tensors_tell_torchs_module(tmp_path):
    """By it packages such as eagerpy and autoray choose their functions. Without the alias it is mindtorch's."""
    tmp_path.joinpath("script.py").write_text(CLASSES, encoding="utf-8")
    tmp_path.joinpath("read.py").write_text(READ, encoding="utf-8")
    found = []
    for arguments, root in ((["alias"], "torch"), ([], "mindtorch")):
        done = python("script.py", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        first, rest = done.stdout.split("\n", 1)
        assert first == (f"{root} {root}.nn.parameter <class '{root}.Tensor'> "
                         f"<class '{root}.nn.parameter.Parameter'>")
        found.append(rest)
    assert found[0] == found[1]
    done = python("read.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_torch_npu():
    assert passes("-c", TORCH_NPU).splitlines() == [
        "AttributeError module 'torch_npu' has no attribute 'nothing': mindtorch does not have it",
        "ModuleNotFoundError No module named 'torch_npu.dynamo': mindtorch does not have it"]


@pytest.mark.parametrize(("mode", "found"), [("off", ["torch"]), ("sim", ["torch", "torch_npu"])])
def test_torch_npu_is_a_distribution_where_there_is_an_npu(mode, found):
    code = ("import importlib.metadata as metadata, torch_npu\n"
            "print(*(name for name in ('torch', 'torch_npu') if list(metadata.distributions(name=name))))\n"
            "print(*sorted({'torch', 'torch_npu'} & set(metadata.packages_distributions())))")
    assert passes("-c", code, MINDTORCH_NPU=mode) == 2 * (" ".join(found) + "\n")


def test_what_is_missing_is_named():
    """The same kinds of error as torch, which say whose fault it is."""
    lines = [line.split(" | ") for line in passes("-c", MISSING).splitlines()]
    for code, kind, text in lines:
        with pytest.raises((AttributeError, ImportError)) as caught:
            exec(code, {})
        assert kind == caught.type.__name__
        assert "mindtorch" in text
        assert str(caught.value).partition(" from ")[0].replace("torch.nn", "mindtorch.nn").split("'")[0] in text
    assert [text for _, _, text in lines][:3:2] == [
        "module 'torch' has no attribute 'nothing': mindtorch does not have it",
        "No module named 'torch.nothing': mindtorch does not have it"]


def test_children_know_the_alias(tmp_path):
    """Those of DataLoader and of multiprocessing, by every start method."""
    tmp_path.joinpath("script.py").write_text(CHILDREN, encoding="utf-8")
    assert passes("script.py", "argument", cwd=tmp_path) == "done\n"


def test_alias_torch_in_a_program(tmp_path):
    """Called under the main guard, so children learn of it from their parent only."""
    tmp_path.joinpath("script.py").write_text(GUARDED, encoding="utf-8")
    tmp_path.joinpath("helper.py").write_text("import torch.nn\n\n\ndef name():\n    return torch.nn.__name__\n",
                                              encoding="utf-8")
    done = python("script.py", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("mindtorch.nn\n", 0), done.stderr


def test_torch_itself_is_left_alone():
    """Nothing happens on import, and a torch that has been imported is not replaced."""
    done = python("-c", "import mindtorch, torch; assert torch is not mindtorch; mindtorch.alias_torch()")
    assert done.returncode == 1
    assert "RuntimeError: alias_torch() comes too late: torch has been imported already, from " in done.stderr
    assert oracle.__file__ in done.stderr


def test_version():
    assert passes("--version").startswith("mindtorch 0.1.0 (torch 2.13.0+mindtorch")
