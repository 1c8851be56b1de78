"""The documentation site: `make docs`. Sphinx with MyST; the reference pages are written from what help() says."""
import inspect
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import mindtorch as torch  # noqa: E402
from mindtorch import _docs  # noqa: E402

project, author = "mindtorch", "The mindtorch authors"
copyright = "2026, the mindtorch authors"
version = release = str(torch.__version__)
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "mindtorch"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
# Files of the repository that pages name are links there, not pages.
suppress_warnings = ["myst.xref_missing"]
REFERENCE = HERE / "reference"
TITLES = {"torch": "torch", "tensor": "torch.Tensor", "linalg": "torch.linalg", "fft": "torch.fft",
          "special": "torch.special", "functional": "torch.nn.functional"}


def block(name, text):
    """A heading and the docstring below it."""
    return f"## {name}\n\n```text\n{inspect.cleandoc(text)}\n```\n"


def write_reference():
    """A page for each namespace, of what help() says."""
    REFERENCE.mkdir(exist_ok=True)
    functions = dict(_docs.public_functions())
    for namespace, prefix in _docs.NAMESPACES.items():
        blocks = [block(f"torch.{name}", function.__doc__) for name, function in functions.items()
                  if name.rpartition(".")[0] == prefix.rstrip(".") and _docs.find_entry(name)[0]]
        (REFERENCE / f"{namespace}.md").write_text(f"# {TITLES[namespace]}\n\n" + "\n".join(blocks), encoding="utf-8")
    layers = [block(f"torch.nn.{name}{inspect.signature(layer)}", layer.__doc__)
              for name, layer in vars(torch.nn).items()
              if isinstance(layer, type) and name[0] != "_" and layer.__doc__ and name != "Any"]
    (REFERENCE / "nn.md").write_text("# torch.nn\n\n" + "\n".join(layers), encoding="utf-8")


write_reference()
