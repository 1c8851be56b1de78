"""Tensors on the meta device: a shape, a dtype, strides and a history, and no elements. Torch 2.13 is the oracle."""
import copy
import io
import warnings

import pytest
import torch

import mindtorch


def both(call):
    """What a call of a library gives, in words, for torch and for mindtorch."""
    found = []
    for lib in (torch, mindtorch):
        try:
            result = call(lib)
        except Exception as error:      # noqa: BLE001 - what is raised is compared
            result = type(error), str(error)
        found.append(repr(result).replace("mindtorch", "torch"))
    return found


def meta(lib, *shape, **options):
    return lib.empty(shape, device="meta", **options)


SAME = {
    # Elements are asked for.
    "item": lambda t: meta(t).item(),
    "item_of_many": lambda t: meta(t, 3).item(),
    "tolist": lambda t: meta(t, 3).tolist(),
    "bool": lambda t: bool(meta(t)),
    "bool_of_many": lambda t: bool(meta(t, 3)),
    "float": lambda t: float(meta(t)),
    "size_from_tensor": lambda t: t.ones(meta(t, dtype=t.int64)),
    "numpy": lambda t: meta(t, 3).numpy(),
    "numpy_force": lambda t: meta(t, 3).numpy(force=True),
    "cpu": lambda t: meta(t, 3).cpu(),
    "to_cpu": lambda t: meta(t, 3).to("cpu"),
    "copied_from_meta": lambda t: t.ones(3).copy_(meta(t, 3)),
    "assigned_from_meta": lambda t: t.ones(3).__setitem__(0, meta(t)),
    "tensor_on_cpu": lambda t: t.tensor(meta(t), device="cpu"),
    "tensor_of_list": lambda t: t.tensor([meta(t), 1.0]),
    "allclose": lambda t: t.allclose(meta(t, 3), meta(t, 3)),
    "contains": lambda t: 3 in meta(t, 3),
    "one_hot": lambda t: t.nn.functional.one_hot(meta(t, 2, dtype=t.int64)),
    "dlpack": lambda t: meta(t, 3).__dlpack_device__(),
    "share": lambda t: meta(t, 3).share_memory_(),
    "pin": lambda t: meta(t, 3).pin_memory(),
    "module_to": lambda t: t.nn.Linear(2, 3, device="meta").to("cpu"),
    "storage_cpu": lambda t: meta(t, 3).untyped_storage().cpu(),
    "storage_element": lambda t: meta(t, 3).untyped_storage()[0],
    "storage_elements": lambda t: meta(t, 3).untyped_storage().tolist(),
    "typed_storage": lambda t: meta(t, 3).storage()[0],
    "typed_storage_elements": lambda t: meta(t, 3).storage().tolist(),
    # Devices differ.
    "meshgrid": lambda t: t.meshgrid(meta(t, 3), t.ones(3), indexing="ij"),
    "add": lambda t: meta(t, 3) + t.ones(3),
    "add_to_cpu": lambda t: t.ones(3) + meta(t, 3),
    "add_0d_meta": lambda t: t.ones(3) + meta(t),
    "matmul": lambda t: meta(t, 2, 3) @ t.ones(3),
    "cat": lambda t: t.cat([meta(t, 3), t.ones(3)]),
    "where": lambda t: t.where(meta(t, 3) > 0, meta(t, 3), t.ones(3)),
    "split_by_tensor": lambda t: meta(t, 4).tensor_split(meta(t, 1, dtype=t.int64)),
    # Printing.
    "repr": lambda t: meta(t, 3),
    "repr_0d": lambda t: meta(t, dtype=t.int8),
    "repr_empty": lambda t: meta(t, 0),
    "repr_bool": lambda t: meta(t, 2, dtype=t.bool),
    "repr_grad": lambda t: meta(t, 2, 3, requires_grad=True),
    "repr_history": lambda t: meta(t, 2, 3, requires_grad=True) * 2,
    "parameter": lambda t: t.nn.Parameter(meta(t, 2)),
    "format": lambda t: f"{meta(t)} {meta(t, 3)}",
    "storage": lambda t: meta(t, 3).untyped_storage(),
    # What a tensor tells.
    "device": lambda t: (meta(t, 3).device, t.empty(3, device="meta:1").device, meta(t).is_meta, t.ones(1).is_meta),
    "get_device": lambda t: (meta(t, 3).get_device(), meta(t, 3).untyped_storage().get_device()),
    "bytes": lambda t: (meta(t, 3).untyped_storage().nbytes(), meta(t, 3).data_ptr(), meta(t, 3).nbytes),
    "type": lambda t: meta(t, 3).type(),
    "shared": lambda t: (meta(t, 3).is_shared(), meta(t, 3).is_pinned()),
    # Tensors come there.
    "to": lambda t: t.ones(3, 4).t().to("meta").stride(),
    "to_like": lambda t: t.ones(3).to(meta(t, 2)),
    "copy": lambda t: meta(t, 3).copy_(t.ones(3)),
    "tensor": lambda t: (t.tensor([1, 2], device="meta"), t.as_tensor(t.ones(2), device="meta"), t.tensor(meta(t, 3))),
    "new": lambda t: (meta(t, 3).new_tensor([1, 2]), meta(t, 3).new_zeros(2), t.ones_like(t.ones(2), device="meta")),
    "factories": lambda t: (t.zeros(2, device="meta"), t.full((2,), 3, device="meta"), t.eye(3, device="meta"),
                            t.linspace(0, 1, 5, device="meta"), t.arange(4, device="meta")),
    "random": lambda t: (t.rand(3, device="meta"), t.randperm(4, device="meta"), t.randn_like(meta(t, 3)),
                         t.rand(3, device="meta", generator=t.Generator()), t.multinomial(meta(t, 3), 2)),
    "random_in_place": lambda t: meta(t, 3).normal_(generator=t.Generator()),
    "generator": lambda t: t.Generator("meta"),
    "0d_cpu": lambda t: (meta(t, 3) + t.tensor(1.0), t.tensor(1.0) + meta(t, 3), meta(t) + t.tensor(2.0)),
    # Indexing.
    "indices": lambda t: (meta(t, 3)[t.tensor([0, 1])], meta(t, 3)[[0, 1]], meta(t, 3)[t.tensor([99])]),
    "mask_of_cpu": lambda t: meta(t, 3)[t.tensor([True, False, True])],
    "assigned": lambda t: [meta(t, 3).__setitem__(index, value) for index, value in (
        (0, 3), (slice(0, 2), t.ones(2)), (t.tensor([0, 1]), meta(t, 2)), (meta(t, 3, dtype=t.bool), 3),
        (meta(t, 3, dtype=t.bool), meta(t, 2)))],
    "nonzero_static": lambda t: meta(t, 3, 2).nonzero_static(size=4),
    "iterated": lambda t: list(meta(t, 2)),
    # In place, views, resizing.
    "in_place": lambda t: meta(t, 2, 3).t().add_(1).stride(),
    "view_dtype": lambda t: meta(t, 3).view(t.int16),
    "resized": lambda t: meta(t, 3).resize_(5).untyped_storage().nbytes(),
    "max": lambda t: (meta(t, 3).max(), meta(t, 2, 3).max(0), meta(t, 2, 3).argmax(1)),
    "deepcopy": lambda t: copy.deepcopy(t.nn.Parameter(meta(t, 2))),
    "linalg": lambda t: (t.linalg.inv(meta(t, 3, 3)), t.linalg.eig(meta(t, 3, 3))),
    "quantile": lambda t: t.quantile(meta(t, 3), 0.5),
    "clip": lambda t: t.nn.utils.clip_grad_norm_([meta(t, 3)], 1.0),
    "foreach": lambda t: t._foreach_add([meta(t, 3), meta(t, 2)], 1.0),
    "autocast": lambda t: meta(t, 2, 3).half() @ meta(t, 3, 2).half(),
    "initialised": lambda t: [getattr(t.nn.init, name)(meta(t, 3, 4)) for name in (
        "kaiming_uniform_", "xavier_normal_", "orthogonal_", "trunc_normal_", "eye_", "ones_")],
    "sparse_": lambda t: t.nn.init.sparse_(meta(t, 3, 4), 0.5),
    "dirac_": lambda t: t.nn.init.dirac_(meta(t, 3, 4, 5)),
}


@pytest.mark.parametrize("case", SAME)
def test_as_torch(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = both(SAME[case])
    assert ours == theirs


@pytest.mark.parametrize("call", [lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: x.unique(),
                                  lambda x: x.masked_select(x > 0), mindtorch.unique_consecutive])
def test_results_whose_shape_depends_on_elements(call):
    with pytest.raises(NotImplementedError, match="attempted to run this operator with Meta tensors"):
        call(meta(mindtorch, 3))


def test_default_device():
    with mindtorch.device("meta"):
        assert mindtorch.ones(2).is_meta
        assert mindtorch.nn.Linear(2, 3).weight.is_meta
        assert mindtorch.from_numpy(mindtorch.ones(2, device="cpu").numpy()).is_cpu
    mindtorch.set_default_device("meta")
    try:
        assert mindtorch.get_default_device() == mindtorch.device("meta")
        assert mindtorch.rand(3).is_meta
    finally:
        mindtorch.set_default_device(None)


def test_huge_tensors_take_no_memory():
    x = meta(mindtorch, 1 << 20, 1 << 20, requires_grad=True)
    (x @ x + 1).softmax(-1).sum().backward()
    assert x.grad.shape == x.shape
    assert x.untyped_storage().nbytes() == 1 << 42


def test_from_npu():
    x = mindtorch.ones(2, 3, device="npu").t().to("meta")
    assert x.is_meta
    assert x.stride() == (1, 3)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        x.to("npu")
    with pytest.raises(RuntimeError, match="Tensor on device npu:0 is not on the expected device meta!"):
        x + mindtorch.ones(3, 2, device="npu")


def test_random_numbers_are_not_drawn():
    mindtorch.manual_seed(0)
    first = mindtorch.rand(2)
    mindtorch.manual_seed(0)
    mindtorch.rand(100, device="meta"), mindtorch.nn.Linear(4, 4, device="meta"), meta(mindtorch, 3).bernoulli_()
    assert mindtorch.rand(2).equal(first)


class Block(mindtorch.nn.Module):
    def __init__(self, width=8, device=None):
        super().__init__()
        nn = mindtorch.nn
        self.norm, self.after = nn.LayerNorm(width, device=device), nn.LayerNorm(width, device=device)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True, device=device)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width, device=device), nn.GELU(), nn.Dropout(),
                                  nn.Linear(4 * width, width, device=device))
        self.register_buffer("scale", mindtorch.ones(width, device=device))

    def forward(self, x):
        y = self.norm(x)
        mask = mindtorch.full((x.size(1), x.size(1)), float("-inf"), device=x.device).triu(1)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.feed(self.after(x)) * self.scale


def test_a_transformer_block(device):
    """Built, run and differentiated without memory; then it gets memory, and the weights of another."""
    real = Block()
    block = Block(device="meta")
    x = meta(mindtorch, 2, 5, 8, requires_grad=True)
    result = block(x)
    assert result.is_meta
    assert result.shape == x.shape
    assert result.grad_fn is not None
    result.sum().backward()
    assert x.grad.shape == x.shape
    assert all(p.grad.is_meta and p.grad.shape == p.shape for p in block.parameters())
    mindtorch.optim.AdamW(block.parameters()).step()
    block.zero_grad()
    block.to_empty(device=device).load_state_dict(real.state_dict())
    block.eval(), real.eval()
    given = mindtorch.rand(2, 5, 8)
    mindtorch.testing.assert_close(block(given.to(device)).cpu(), real(given))


def test_load_state_dict_warns_of_copies_into_nothing():
    state = mindtorch.nn.Linear(2, 3).state_dict()
    module = mindtorch.nn.Linear(2, 3, device="meta")
    with pytest.warns(UserWarning, match="for weight: copying from a non-meta parameter .* which is a no-op"):
        module.load_state_dict({"weight": state["weight"]}, strict=False)
    assert module.weight.is_meta
    module.load_state_dict(state, assign=True)
    assert module.weight.is_cpu
    assert module.weight.equal(state["weight"])
    assert module.weight.requires_grad


def test_module_moves_to_meta():
    module = mindtorch.nn.Linear(2, 3).to("meta")
    assert isinstance(module.weight, mindtorch.nn.Parameter)
    assert module.weight.is_meta
    assert module.weight.requires_grad
    module.to_empty(device="cpu")
    assert module.weight.is_cpu
    assert module.weight.shape == (3, 2)


def test_files():
    """torch reads and writes the same files."""
    for writer, reader in ((mindtorch, mindtorch), (torch, mindtorch), (mindtorch, torch)):
        saved = {"a": meta(writer, 2, 3).t(), "p": writer.nn.Parameter(meta(writer, 4, dtype=writer.bfloat16))}
        file = io.BytesIO()
        writer.save(saved, file)
        file.seek(0)
        found = reader.load(file)
        assert found["a"].is_meta
        assert found["a"].shape == (3, 2)
        assert found["a"].stride() == (1, 3)
        assert isinstance(found["p"], reader.nn.Parameter)
        assert found["p"].dtype == reader.bfloat16
    file = io.BytesIO()
    mindtorch.save({"a": mindtorch.ones(3), "b": 1}, file)
    file.seek(0)
    found = mindtorch.load(file, map_location="meta")
    assert found["b"] == 1
    assert found["a"].is_meta
    assert found["a"].shape == (3,)
    copied = copy.copy(meta(mindtorch, 3))
    assert copied.is_meta


def test_fake_kernels_of_custom_operators():
    @mindtorch.library.custom_op("test_meta::pairs", mutates_args=(), device_types="cpu")
    def pairs(x: mindtorch.Tensor) -> mindtorch.Tensor:
        return mindtorch.from_numpy(x.numpy().repeat(2))

    with pytest.raises(NotImplementedError):
        pairs(meta(mindtorch, 3))
    pairs.register_fake(lambda x: x.new_empty(2 * x.numel()))
    assert pairs(mindtorch.ones(3)).shape == (6,)
    found = pairs(meta(mindtorch, 3))
    assert found.is_meta
    assert found.shape == (6,)


def test_flops_without_computing():
    from mindtorch.utils.flop_counter import FlopCounterMode
    counts = []
    for device in ("cpu", "meta"):
        block = Block(device=device)
        with FlopCounterMode(display=False) as counter:
            block(mindtorch.ones(2, 5, 8, device=device)).sum().backward()
        counts.append(counter.get_total_flops())
    assert counts[0] == counts[1] > 0
