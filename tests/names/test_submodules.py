"""Submodules are attributes of their packages where torch's are, without an import of their own."""
import json
import subprocess
import sys
from pathlib import Path

import mindtorch

ROOT = Path(mindtorch.__file__).parent
REACHED = """
import json, sys, torch, torch._dynamo, torch.distributed.tensor
def reached(name):
    found = torch
    try:
        for part in name.split(".")[1:]:
            found = getattr(found, part)
    except AttributeError:
        return False
    return True
print(json.dumps([name for name in json.load(sys.stdin) if reached(name)]))
"""


def modules():
    """The modules of mindtorch, under torch's names; it has many more than torch's packages show."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("torch", *path.relative_to(ROOT).with_suffix("").parts)
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def reached(names, *alias):
    done = subprocess.run([sys.executable, "-W", "ignore", *alias, "-c", REACHED], input=json.dumps(names),
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_submodules_are_attributes():
    in_torch = reached(list(modules()))
    assert len(in_torch) > 200
    assert {"torch._dynamo.config", "torch.optim._functional", "torch.fx.passes.shape_prop"} <= set(in_torch)
    assert reached(in_torch, "-m", "mindtorch") == in_torch
