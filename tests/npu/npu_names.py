"""docs/npu.md: the names of torch.npu, what each does here, and why some only say that they cannot; then which of
torch_npu's own operators are there.

`python tests/npu/npu_names.py` writes the page from torch_npu_names.txt and torch_npu_operator_names.txt, the names of
torch_npu 2.13, and from mindtorch's docstrings and rows.
"""
from pathlib import Path

from mindtorch import _torch_npu, npu
from mindtorch._ops.codegen.rows import Table
from mindtorch.npu import _unavailable, memory

NAMES = Path(__file__).with_name("torch_npu_names.txt").read_text(encoding="utf-8").split()
OPERATORS = Path(__file__).with_name("torch_npu_operator_names.txt").read_text(encoding="utf-8").split()
PAGE = Path(__file__).parents[2] / "docs" / "npu.md"

# Names with an underscore that programs use all the same, and the module of torch.npu that has them.
PRIVATE = {
    npu: ("_get_device_index", "_get_generator", "_get_rng_state_offset", "_is_in_bad_fork", "_launch_host_func",
          "_lazy_call", "_lazy_init", "_set_rng_state_offset", "_sleep", "default_generators"),
    memory: ("_dump_snapshot", "_erase_stream", "_free_mutex", "_get_current_allocator", "_record_memory_history",
             "_save_memory_usage", "_save_segment_usage", "_set_allocator_settings", "_snapshot"),
}

_HEAD = """# torch.npu

The {count} public names of `torch_npu.npu` 2.13. All exist; {refused} of them raise RuntimeError with the reason when
called. Written by `python tests/npu/npu_names.py`; a test keeps the page current.

| name | what it does here |
|---|---|
"""

_OPERATORS_HEAD = """
## torch_npu's own operators

{count} of the {all} functions `torch_npu.npu_*` of torch_npu 2.13 are available, on the NPU only. Under the alias
`import torch_npu` has them; [ops.md](ops.md#torch_npu) has the schemas.

| name | what it does here |
|---|---|
"""

_ABSENT = """
torch_npu's optimizers {optimizers} are there, too. The rest raises NotImplementedError when it is called:

| names | why, and what to do instead |
|---|---|
"""

# What has no docstring of its own.
_ATTRIBUTES = {
    "config": "`allow_internal_format` may be set; tensors never have the chip's internal formats.",
    "conv": "`allow_hf32` may be set; float32 is computed in full precision.",
    "matmul": "`allow_hf32` may be set; float32 is computed in full precision.",
    "default_generators": "The default generators of all devices; none before the first use of a device.",
}


def summary(module, name):
    """The first sentence about a name."""
    if name in _unavailable.REASONS:
        return f"not available: {_unavailable.REASONS[name]}"
    text = _ATTRIBUTES.get(name) or " ".join(getattr(module, name).__doc__.split("\n\n")[0].split())
    return text.replace("|", "\\|")


def operator(name, rows):
    """What a function of torch_npu is: a row, or one that is written in Python."""
    key = _torch_npu.__dict__[name].__name__
    in_place = key not in rows and key.endswith("_")
    row = rows.get(key.removesuffix("_") if in_place else key)
    if row is None or in_place > bool(row.inplace):
        return summary(_torch_npu, name)
    without = row.grad == "none" or any("no_derivative" in text for text in row.grad.values())
    return (f"`{row.npu.split('(')[0]}`{', in place' * in_place}"
            f"{', without a derivative' if without else ', with its derivative'}")


def operators():
    """The section about them."""
    table = Table()
    rows = {row.key: row for row in table.rows if row.is_torch_npu}
    rows |= {alias: rows[key] for alias, key in table.aliases.items() if key in rows}
    there = [name for name in OPERATORS if name not in _torch_npu._refused.FUNCTIONS]
    return (_OPERATORS_HEAD.format(count=len(there), all=len(OPERATORS))
            + "".join(f"| `{name}` | {operator(name, rows)} |\n" for name in there)
            + _ABSENT.format(optimizers=", ".join(f"`{name}`" for name in _torch_npu.optim.__all__))
            + "".join(f"| {', '.join(f'`{name}`' for name in names.split())} | {reason} |\n"
                      for reason, names in _torch_npu._refused.LISTS.items()))


def page():
    """The text of docs/npu.md."""
    refused = sum(name in _unavailable.REASONS for name in NAMES)
    rows = [f"| `{name}` | {summary(npu, name)} |" for name in NAMES]
    more = sorted(f"| `{'memory.' * (module is memory)}{name}` | {summary(module, name)} |"
                  for module, names in PRIVATE.items() for name in names)
    return (_HEAD.format(count=len(NAMES), refused=refused) + "\n".join(rows)
            + "\n\nPrivate names that programs use:\n\n| name | what it does here |\n|---|---|\n"
            + "\n".join(more) + "\n" + operators())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
