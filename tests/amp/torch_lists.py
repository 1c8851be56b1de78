"""torch's autocast with the lists of an NPU, on the CPU: the oracle for what mindtorch does on "npu".

torch dispatches to kernels under the key AutocastCPU. For a while those of torch are replaced by kernels with the
policies that _ops/rows/autocast.toml has for "npu", so that torch itself says which operators meet them, and where.
"""
import warnings
from contextlib import contextmanager
from functools import partial

import torch
from torch.utils._pytree import tree_leaves, tree_map

from mindtorch._ops.codegen.rows import FOLDER, read_autocast

KEY = "AutocastCPU"
LISTS = read_autocast(FOLDER / "autocast.toml")
# torch calls these where the lists have one name, or none.
ALSO = {"norm": ("norm.Scalar", "norm.ScalarOpt_dim"), "square": (), "nll_loss": ("nll_loss", "nll_loss2d"),
        "linalg_matrix_norm": ("linalg_matrix_norm", "linalg_matrix_norm.str_ord")}


def registered():
    """The operators that torch's autocast of the CPU knows, without "aten::"."""
    return {name.removeprefix("aten::") for name in torch._C._dispatch_get_registrations_for_dispatch_key(KEY)}


def _eligible(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64


def _kernel(op, policy, lower, *args, **kwargs):
    if policy == "banned":
        raise RuntimeError("banned")
    goal = lower if policy == "lower_precision_fp" else torch.float32
    if policy == "promote" and not any(v.dtype == torch.float32 for v in tree_leaves((args, kwargs)) if _eligible(v)):
        goal = lower
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, KEY))):
        if policy == "fp32_set_opt_dtype":
            if any(isinstance(v, torch.dtype) for v in (*args, *kwargs.values())) or not _eligible(args[0]):
                return op(*args, **kwargs)
            return op(args[0].float(), *args[1:], **kwargs)
        args, kwargs = tree_map(lambda v: v.to(goal) if _eligible(v) else v, (args, kwargs))
        return op(*args, **kwargs)


@contextmanager
def npu_lists(lower):
    """torch.autocast("cpu", lower) inside does what the lists of "npu" say."""
    library = torch.library.Library("aten", "IMPL")
    wanted = {key: policies["npu"] for name, policies in LISTS.items() if "npu" in policies
              for key in ALSO.get(name, (name,))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in registered() - wanted.keys():
            library.impl(name, torch.library.fallthrough_kernel, KEY)
        for name, policy in wanted.items():
            base, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.aten, base), overload or "default")
            library.impl(name, partial(_kernel, op, policy, lower), KEY)
    try:
        yield
    finally:
        library._destroy()
