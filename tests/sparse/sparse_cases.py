"""A case is a function of the library and its tensors; what it does with torch and mindtorch must agree."""
import numpy as np
import torch

import mindtorch


def tensors_by_name(lib, device):
    """The tensors that cases use, by name: s is not coalesced, c is, h has a dense dimension, r is CSR, d is dense."""
    def tensor(values, dtype=None):
        return lib.tensor(values, dtype=dtype, device=device)

    dense = lib.arange(6.0, device=device).reshape(2, 3) - 1
    s = lib.sparse_coo_tensor(tensor([[1, 0, 1, 1], [2, 2, 0, 2]]), tensor([3.0, 4.0, 5.0, -6.0]), (2, 3))
    return {"s": s, "c": s.coalesce(), "d": dense, "r": s.coalesce().to_sparse_csr(), "tensor": tensor,
            "h": lib.sparse_coo_tensor(tensor([[2, 0]]), lib.arange(8.0, device=device).reshape(2, 4), (3, 4)),
            "b": (dense.reshape(1, 2, 3) * tensor([1.0, 2.0]).reshape(2, 1, 1)).to_sparse()}


def plain(value):
    """What results of both libraries are reduced to."""
    if isinstance(value, (torch.Tensor, mindtorch.Tensor)):
        value = value.detach()
        kind = str(value.layout), str(value.dtype), tuple(value.shape)
        if value.layout in (torch.sparse_coo, mindtorch.sparse_coo):
            return *kind, value.is_coalesced(), plain(value._indices()), plain(value._values())
        if value.layout in (torch.sparse_csr, mindtorch.sparse_csr, torch.sparse_bsr, mindtorch.sparse_bsr):
            return *kind, plain(value.crow_indices()), plain(value.col_indices()), plain(value.values())
        if value.layout in (torch.sparse_csc, mindtorch.sparse_csc, torch.sparse_bsc, mindtorch.sparse_bsc):
            return *kind, plain(value.ccol_indices()), plain(value.row_indices()), plain(value.values())
        return *kind, np.array(value.cpu().tolist())
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return str(value) if isinstance(value, (torch.layout, mindtorch.layout, torch.dtype, mindtorch.dtype)) else value


def outcome(function, lib, device):
    """The plain result, or the type and the first sentence of the error."""
    try:
        found = plain(function(lib, **tensors_by_name(lib, device)))
        return found.replace("npu.", "") if isinstance(found, str) else found
    except Exception as error:  # noqa: BLE001 - whatever torch raises
        message = str(error).split(". ")[0].rstrip(".").replace("npu.", "")
        if isinstance(error, NotImplementedError) and message.startswith("Could not run"):
            message = message.partition("arguments from")[2]            # whatever of its operators stopped torch
        return type(error).__name__, message.replace("NPU'", "CPU'")


def same(ours, theirs):
    """Raises AssertionError unless two plain results agree."""
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), (ours, theirs)
        np.testing.assert_allclose(ours, theirs, 1e-5, 1e-6)
    elif isinstance(theirs, (tuple, list)):
        assert isinstance(ours, (tuple, list)), (ours, theirs)
        assert len(ours) == len(theirs), (ours, theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
    elif isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            same(ours[key], theirs[key])
    else:
        assert ours == theirs


def agree(function, device):
    """Both libraries do the same."""
    same(outcome(function, mindtorch, device), outcome(function, torch, "cpu"))
