"""Names that few programs use, beside torch 2.13: of Tensor and of the torch namespace."""
import ast
import os
import warnings

import numpy as np
import pytest
import torch
from oracle import check, expressions, outcome

import mindtorch

IN_PLACE = """
a.swapaxes_(0, 1) | a.swapdims_(0, -1) | a.swapaxes_(0, 2) | a.as_strided_((2, 2), (1, 2)) | a.as_strided_((9,), (1,))
torch.as_strided_(a, (2,), (3,), 1) | a.as_strided_((2, 2), (1,)) | torch.deg2rad_(a) | torch.rad2deg_(a)
torch.ldexp_(a, i) | torch.deg2rad_(i) | a.conj_physical_() | torch.conj_physical_(torch.tensor([1 + 2j], device=dev))
torch.addmv_(a[:, 0], a, a[0]) | torch.addmv_(a[0], a, a[0]) | a.fill_diagonal_(9) | a.t().fill_diagonal_(9)
z.fill_diagonal_(1) | c.fill_diagonal_(1) | c[:, :2, :2].fill_diagonal_(7) | e.fill_diagonal_(2)
torch.zeros(7, 3, device=dev).fill_diagonal_(1, True) | torch.zeros(7, 3, device=dev).fill_diagonal_(1, wrap=False)
torch.zeros(8, 2, device=dev).fill_diagonal_(1, True) | i.fill_diagonal_(1.5) | a[:, ::2].fill_diagonal_(4)
a.renorm_(2, 0, 1.) | a.renorm_(1, 1, 2.) | a.renorm_(0, 0, 1.)
"""

COPIES = """
a.narrow_copy(1, 0, 2) | a.narrow_copy(1, 5, 2) | a.unsafe_split_with_sizes([1, 2], 1)
torch.unsafe_split_with_sizes(a, (1, 1), 1) | torch.detach_copy(a) | torch.view_as_complex_copy(a[:, :2].contiguous())
torch.view_as_real_copy(torch.tensor([1 + 2j], device=dev)) | torch.view_as_complex_copy(a)
a.dequantize() | i.dequantize() | h.dequantize() | torch.dequantize(z) | a.dequantize() is a | a.to_dense() is a
a.to_dense(torch.int32) | a.to_dense(masked_grad=True) is a
a.new() | a.new(2, 2).shape | i.new([1.5, 2]) | a.new([1, 2]) | a.new(torch.Size([2])).shape | a.new(2.5) | a.new('x')
a.new(a).data_ptr() == a.data_ptr() | a.new(np.zeros((2, 3))) | a.new(-1) | a.new().device.type == dev
a.module_load(torch.ones(3, 3, device=dev)) | a.module_load(a + 1) | a.module_load(a + 1, assign=True)
a.conj_physical() is a | torch.conj_physical(a) is a | torch.conj_physical(i, out=i * 0)
torch.conj_physical(torch.tensor([1 + 2j], device=dev), out=torch.zeros(1, dtype=torch.complex64, device=dev))
type(a.as_subclass(torch.nn.Parameter)) is torch.nn.Parameter | a.as_subclass(int)
"""

QUESTIONS = """
a.is_sparse_csr | a.is_ipu | a.is_maia | a.is_mtia | a.is_vulkan | a.is_xla | a.is_distributed() | a.is_nonzero()
z.is_nonzero() | e.is_nonzero() | torch.is_nonzero(z * 0) | torch.is_distributed(a) | torch.is_inference(a)
a.sparse_dim() | a.dense_dim() | z.dense_dim() | a.const_data_ptr() == a.data_ptr() | a.name
a.is_coalesced() | a.coalesce() | a.indices() | a.values() | a.crow_indices() | a.col_indices() | a.ccol_indices()
a.row_indices() | a.xpu() | a.ipu() | a.cuda() | a.volatile | a.resize(3, 2) | a.resize_as(a.t())
torch.result_type(i, 1.) | torch.result_type(1, 2.) | torch.result_type(1j, a) | torch.result_type(z, a)
torch.result_type(u, z) | torch.result_type(u, i) | torch.result_type(True, False)
torch.newaxis | torch.e | torch.pi | torch.inf | torch.nan
a.dim_order() | a.t().dim_order() | c.permute(2, 0, 1).dim_order() | z.dim_order() | a.expand(4, 2, 3).dim_order()
a.dim_order(ambiguity_check=True) | a[:1].dim_order(ambiguity_check=True) | a[:, :1].expand(2, 3).dim_order()
a[:1].dim_order(ambiguity_check=[torch.contiguous_format]) | a[:1].dim_order(ambiguity_check=[torch.channels_last])
a.dim_order(ambiguity_check=3) | a[:, :1].expand(2, 3).dim_order(ambiguity_check=True)
c[:, None, :, :].contiguous().dim_order(ambiguity_check=[torch.channels_last])
c[:, None, :, :].contiguous().dim_order(ambiguity_check=[torch.channels_last, torch.contiguous_format])
c[None].contiguous(memory_format=torch.channels_last).dim_order()
"""

# On the CPU only: these ask for every element.
BY_PYTHON = """
a.apply_(lambda v: v + 1) | i.apply_(lambda v: v + 0.5) | m.apply_(lambda v: not v) | h.apply_(lambda v: v * 2)
torch.tensor([1j]).apply_(lambda v: v * 2) | a.apply_(1) | a.apply_(lambda v: 's') | a.apply_(lambda v: None)
a.requires_grad_().apply_(abs) | a.t().apply_(lambda v: v * v) | a.map_(a + 1, lambda v, w: v * w)
a.map_(a[0].clone(), lambda v, w: v + w) | a.map_(a.double(), max) | a.map_(a.reshape(6), max) | a.map_(1, max)
a.map_(a.clone().requires_grad_(), max)
a.map2_(a[0].clone(), a[1].clone(), lambda v, w, x: v + w * x) | a.map2_(a[0], i, max)
a.map2_(a, 3, max) | e.apply_(abs)
"""

# Their last bits differ.
FUNCTIONS = """
torch.frobenius_norm(a, [0, 1]) | torch.frobenius_norm(a, 1, True) | torch.frobenius_norm(a, ()) | torch.nuclear_norm(a)
torch.nuclear_norm(c.float(), (0, 1)) | torch.nuclear_norm(a, (0, 1), True)
torch.embedding_renorm_(a, z.new_zeros(1), 1., 2.) | torch.embedding_renorm_(a, i[0, :2], 3., 1.)
torch.layer_norm(a, (3,)) | torch.layer_norm(a, [3], a[0], a[1], 0.1) | torch.layer_norm(a, (2,))
torch.rms_norm(a, (3,)) | torch.rms_norm(a, (3,), a[1], 0.1) | torch.group_norm(a, 3) | torch.group_norm(a, 2)
torch.group_norm(c.float(), 3, a[1], a[0], 0.1) | torch.batch_norm(a, None, None, None, None, True, 0.1, 1e-5, False)
torch.batch_norm(a, a[0], a[1], a[0], a[1], False, 0.1, 1e-5, False)
torch.batch_norm(a, None, None, None, None, False, 0.1, 1e-5, False)
torch.instance_norm(c.float(), a[0], a[1], None, None, True, 0.1, 1e-5, False)
torch.dropout(a, 0.5, False) | torch.dropout(a, 1.0, True) | torch.dropout(a, 1.5, True) | torch.dropout_(a, 1., True)
torch.alpha_dropout(a, 0.5, False) | torch.alpha_dropout_(a, 0.5, False) | torch.feature_dropout(a, 1.0, True)
torch.feature_dropout(a[0], 0.5, True) | torch.feature_dropout_(a, 0.5, False)
torch.feature_alpha_dropout(a, 0., True) | torch.feature_alpha_dropout_(a, 0.5, False)
torch.kl_div(a, a) | torch.kl_div(a, a, 1) | torch.kl_div(a, a, 2, log_target=True) | torch.kl_div(a, a, 5)
torch.binary_cross_entropy_with_logits(a, a) | torch.binary_cross_entropy_with_logits(a, a, a, a[0], 1)
torch.cosine_embedding_loss(a, a + 1, z.new_ones(2), 0.5, 0) | torch.hinge_embedding_loss(a, torch.ones_like(a), 1., 2)
torch.margin_ranking_loss(a, a + 1, torch.ones_like(a), 0.5) | torch.triplet_margin_loss(a, a + 1, a - 1)
torch.triplet_margin_loss(a, a + 1, a - 1, 1., 2, 1e-6, True, 1) | torch.poisson_nll_loss(a, a, True, True, 1e-8, 2)
torch.pairwise_distance(a, a + 1) | torch.pairwise_distance(a, a + 1, 1., 0., True) | torch.cosine_similarity(a, a + 1)
torch.conv_tbc(c.float(), torch.ones(2, 4, 3, device=dev), a[0], 1) | torch.conv_tbc(a, a, a[0])
torch.conv_tbc(c.float(), torch.ones(2, 3, 3, device=dev), a[0])
torch.conv_tbc(c.float(), c.float(), z.view(1).float())
F.conv_tbc(c.float(), torch.ones(1, 4, 2, device=dev), a[0, :2]) | torch.native_channel_shuffle(c, 3)
F.native_channel_shuffle(c, 2) | F.assert_int_or_pair(3, 'x', 'bad {}') | F.assert_int_or_pair([1, 2, 3], 'x', 'bad {}')
torch.special.logsumexp(a, 1) | torch.special.logsumexp(c.float(), (0, 2), keepdim=True)
torch.norm_except_dim(a) | torch.norm_except_dim(a, 2, 1) | torch.norm_except_dim(a, 3, -1)
torch.norm_except_dim(c.float(), 3, 1) | torch.sym_max(1, 2.) | torch.sym_min(1, 2) | torch.sym_max(3, 2.)
torch.sym_int(-2.7) | torch.sym_float(3) | torch.sym_not(True) | torch.sym_ite(True, 1, 2) | torch.sym_sum([1, 2, 3])
torch.sym_sqrt(4) | isinstance(3, torch.SymInt) | isinstance(3., torch.SymFloat) | isinstance(True, torch.SymBool)
"""

DEPRECATED = """
a.resize(3, 2) | a.resize(7) | a.resize_as(a.t()) | a.volatile
torch.range(1, 4) | torch.range(1, 4, 0.5) | torch.range(1, 4, dtype=torch.int32) | torch.range(4, 1)
torch.range(4, 1, -1) | torch.range(1, 2, 0) | torch.range(1, float('inf')) | torch.range(0.5, 3, device=dev)
torch.range(5, 0, -2, dtype=torch.int64) | torch.range(0, 1, 0.1, dtype=torch.float64)
torch.set_default_tensor_type(torch.LongTensor) | torch.set_default_tensor_type(3)
torch.set_default_tensor_type('torch.cuda.FloatTensor') | torch.set_default_tensor_type(torch.cuda.HalfTensor)
"""

OLD_TYPES = """
torch.FloatTensor([[1, 2], [3, 4]]) | torch.FloatTensor(2, 3).shape | torch.LongTensor([1.5]) | torch.BoolTensor([1, 0])
torch.FloatTensor(torch.Size([3, 2])).shape | torch.FloatTensor() | torch.FloatTensor((1, 2)) | torch.FloatTensor(2.5)
torch.FloatTensor(size=(2, 3)).shape | torch.FloatTensor(np.arange(3)) | torch.FloatTensor(-1) | torch.HalfTensor([1])
torch.FloatTensor('a') | torch.DoubleTensor([1]).type() | torch.ByteTensor([3]) | torch.BFloat16Tensor([1.5])
isinstance(torch.zeros(1), torch.FloatTensor) | isinstance(torch.zeros(1), torch.LongTensor) | torch.IntTensor.dtype
isinstance(1, torch.FloatTensor) | isinstance(torch.nn.Parameter(torch.ones(1)), torch.FloatTensor)
torch.FloatTensor.is_cuda | torch.ShortTensor.layout | torch.zeros(2).type(torch.LongTensor) | torch.CharTensor.__name__
torch.zeros(2).type(torch.BoolTensor) | torch.zeros(2).type('torch.HalfTensor') | torch.zeros(2).type('HalfTensor')
torch.zeros(2, dtype=torch.float64).type(torch.Tensor) | torch.ones(2, dtype=torch.int32).type('torch.Tensor')
torch.zeros(2).type(int) | torch.zeros(2).type(torch.nn.Parameter)
"""

BUFFERS = """
torch.frombuffer(bytearray(b'abcdefgh'), dtype=torch.int16) | torch.frombuffer(bytearray(7), dtype=torch.int16)
torch.frombuffer(bytearray(b'abcdefgh'), dtype=torch.bfloat16, count=2, offset=2)
torch.frombuffer(bytearray(b'abcdefg'), dtype=torch.int16, offset=3)
torch.frombuffer(bytearray(7), dtype=torch.int16, offset=9) | torch.frombuffer(bytearray(7), dtype=torch.int16, count=5)
torch.frombuffer(bytearray(7), dtype=torch.int16, count=0) | torch.frombuffer(bytearray(0), dtype=torch.int16)
torch.frombuffer(bytearray(8), dtype=torch.float32, requires_grad=True).requires_grad
torch.frombuffer([1], dtype=None) | torch.frombuffer(bytearray(8), dtype=torch.int32, requires_grad=True)
torch.frombuffer(np.arange(3), dtype=torch.int64)
torch.frombuffer(bytearray(8), dtype=torch.bool, offset=-1) | torch.frombuffer(np.arange(9)[::2], dtype=torch.int64)
"""


@pytest.mark.parametrize("expression", expressions(IN_PLACE) + expressions(COPIES) + expressions(QUESTIONS))
def test_on_both_devices(expression, device):
    check(expression, device)


@pytest.mark.parametrize("expression", expressions(FUNCTIONS))
def test_functions(expression, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")             # torch calls its norms deprecated
        ours, theirs = outcome(mindtorch, expression, device), outcome(torch, expression)
    if theirs[0] == "value" and theirs[1][0] == "tensor":
        assert ours[1][:5] == theirs[1][:5]
        found, wanted = (np.array(ast.literal_eval(side[1][5])) for side in (ours, theirs))
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)
    else:
        assert ours == theirs


@pytest.mark.parametrize("expression", expressions(BY_PYTHON) + expressions(OLD_TYPES) + expressions(BUFFERS))
def test_in_host_memory(expression):
    check(expression)


@pytest.mark.parametrize("expression", expressions(DEPRECATED))
def test_deprecated(expression, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(expression, device)


def test_names_of_the_namespace_are_those_of_the_modules_behind_them():
    for module in ("_ops.composite.nn_functional", "_compat.legacy_types", "_compat.symbolic"):
        held = __import__(f"mindtorch.{module}", fromlist=["__all__"])
        listed = {name for name, place in mindtorch._LAZY_NAMES.items() if place == module}
        assert listed == set(held.__all__)


@pytest.mark.parametrize("name", ["swapaxes_", "swapdims_"])
def test_a_swap_in_place_keeps_the_history(name, device):
    leaf = mindtorch.ones(2, 3, device=device, requires_grad=True)
    turned = leaf * 2
    assert getattr(turned, name)(0, 1) is turned
    (turned * mindtorch.arange(6., device=device).reshape(3, 2)).sum().backward()
    assert leaf.grad.tolist() == [[0, 4, 8], [2, 6, 10]]


def test_gradient_through_fill_diagonal_and_as_subclass(device):
    leaf = mindtorch.ones(3, 3, device=device, requires_grad=True)
    made = (leaf * 2).fill_diagonal_(5)
    made.as_subclass(mindtorch.Tensor).sum().backward()
    assert leaf.grad.tolist() == [[0, 2, 2], [2, 0, 2], [2, 2, 0]]


def test_python_functions_are_refused_elsewhere():
    for call in (lambda t: t.apply_(abs), lambda t: t.map_(t, max), lambda t: t.map2_(t, t, max)):
        with pytest.raises(TypeError, match="is only implemented on CPU tensors"):
            call(mindtorch.ones(2, device="npu"))


def test_frombuffer_shares_memory():
    held = bytearray(8)
    shared = mindtorch.frombuffer(held, dtype=mindtorch.int32)
    shared[1] = 7
    assert held == b"\0\0\0\0\7\0\0\0"
    with pytest.warns(UserWarning, match="not writable"):
        assert mindtorch.frombuffer(b"ab", dtype=mindtorch.uint8).tolist() == [97, 98]


def files_scenario(lib, path):
    """What comes of mapping a file that is not there, is too small, is shared and is not."""
    def tried(*args, **options):
        try:
            return lib.from_file(path, *args, **options)
        except RuntimeError as error:
            return str(error)
    scenario = [tried(False, 4), tried(True, 4).fill_(3).tolist(), os.path.getsize(path), tried(False, 8)]
    scenario += [tried(False, 2).fill_(9).tolist(), tried(True, 2).tolist(), os.path.getsize(path), tried().tolist()]
    return [*scenario, tried(size=2, dtype=lib.int16).tolist(), tried(True, 6, dtype=lib.int64)[:2].tolist()]


def test_from_file(tmp_path):
    told = []
    for lib in (torch, mindtorch):
        path = tmp_path / "numbers"
        told.append(files_scenario(lib, str(path)))
        path.unlink()
    assert told[0] == told[1]


def test_the_default_type(recwarn):
    for lib in (torch, mindtorch):
        try:
            lib.set_default_tensor_type(lib.DoubleTensor)
            assert lib.zeros(1).dtype is lib.float64
            lib.set_default_tensor_type("torch.FloatTensor")
            assert lib.zeros(1).dtype is lib.float32
        finally:
            lib.set_default_dtype(lib.float32)
            lib.set_default_device(None)


@pytest.mark.parametrize("shapes", [((6, 8), (2, 8, 8)), ((2, 8, 8), (8, 16)), ((8, 8), (8, 8)),
                                    ((2, 8, 8), (2, 8, 8))])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_grouped_mm(shapes, dtype, device):
    results, ends = [], [2, 16 if len(shapes[0]) == 3 else shapes[0][0]]
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        first, second = (lib.linspace(-1, 1, int(np.prod(shape))).reshape(shape).to(where, getattr(lib, dtype))
                         .requires_grad_() for shape in shapes)
        flat = 2 in (first.dim(), second.dim())
        offs = lib.tensor(ends, dtype=lib.int32, device=where) if flat else None
        product = lib.nn.functional.grouped_mm(first, second, offs=offs)
        (product * lib.linspace(1, 2, product.numel()).reshape(product.shape).to(product)).sum().backward()
        results.append(np.concatenate([t.detach().cpu().float().numpy().reshape(-1)
                                       for t in (product, first.grad, second.grad)]))
    np.testing.assert_allclose(results[1], results[0], **({"rtol": 2e-2, "atol": 3e-2} if dtype == "bfloat16"
                                                            else {"rtol": 1e-5, "atol": 1e-5}))


@pytest.mark.parametrize("expression", expressions("""
F.grouped_mm(c.float(), c.float()) | F.grouped_mm(a, a) | F.grouped_mm(i, i) | F.grouped_mm(z.float(), a)
F.grouped_mm(torch.ones(6, 8), torch.ones(2, 8, 8)) | F.grouped_mm(torch.ones(2, 8, 8), torch.ones(3, 8, 8))
F.grouped_mm(torch.ones(6, 8), torch.ones(2, 8, 8), offs=torch.tensor([2, 6]))
F.grouped_mm(torch.ones(6, 8), torch.ones(3, 8, 8), offs=torch.tensor([2, 6], dtype=torch.int32))
F.grouped_mm(torch.ones(6, 8), torch.ones(2, 8, 8), offs=torch.ones(1, 2, dtype=torch.int32))
F.grouped_mm(torch.ones(6, 8), torch.ones(2, 4, 8), offs=torch.ones(2, dtype=torch.int32))
F.grouped_mm(torch.ones(2, 6, 8), torch.ones(2, 8, 8), bias=a) | F.grouped_mm(c.double(), c.double())
F.grouped_mm(torch.ones(2, 6, 8), torch.ones(2, 8, 8), out_dtype=torch.bfloat16)
F.grouped_mm(torch.ones(8, 8)[:, ::2], torch.ones(2, 4, 8), offs=torch.ones(2, dtype=torch.int32))
"""))
def test_grouped_mm_refuses(expression):
    check(expression)


@pytest.mark.parametrize("module", [mindtorch, torch], ids=["mindtorch", "torch"])
@pytest.mark.parametrize("kind", ["'torch.cuda.FloatTensor'", "torch.cuda.FloatTensor"])
def test_no_tensor_becomes_one_of_cuda(module, kind):
    with pytest.raises(RuntimeError, match="Cannot initialize CUDA without ATen_cuda library"):
        eval(f"torch.ones(2).type({kind})", {"torch": module})
