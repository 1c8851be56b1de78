"""Wrong arguments, in the function form and in the method form: torch's TypeErrors, which count `self` in neither."""
import numpy as np
import pytest
import torch
from oracle import check, expressions, names, outcome

import mindtorch

WRONG = """
torch.add(a, "x") | a.add("x") | a.add_("x") | torch.mm(a, "x") | a.mm("x") | a.matmul("x") | a.bmm("x")
a.mv("x")
torch.eq(a, "x") | a.eq("x") | a.eq_("x") | a.lt(None) | torch.eq("x", a) | torch.pow(a, "x") | a.pow("x")
a.pow_("x") | torch.amax(a, "x") | a.amax("x") | a.amax(0, "x") | torch.argmax(a, "x") | a.argmax("x")
a.argmax(0, "x")
torch.maximum(a, 1) | a.maximum(1) | torch.logical_and(m, True) | m.logical_and(True) | a.dot("x")
a.addmm("x", a)
torch.add(a, 1, alpha="x") | a.add(1, alpha="x") | a.add(a, alpha="x") | a.add_(a, alpha="x") | torch.exp(3)
torch.clamp(a, "x") | a.clamp("x") | a.clamp(0, "x") | a.clamp_("x") | a.clamp(a, 0) | torch.clamp_min(a, "x")
a.clamp_min("x") | a.clamp_max_("x") | a.max("x") | torch.max(a, "x") | torch.argmax(a, (0,))
torch.remainder(a, "x") | a.remainder("x") | torch.bitwise_and(a, "x") | a.bitwise_and("x") | torch.rsub("x", a)
a.fill_("x") | torch.exp_(3) | torch.abs_("x")
torch.cat("x") | torch.cat(a) | torch.cat([a, 3]) | torch.cat([3]) | torch.cat([a], "x") | torch.stack([a], "x")
torch.cat([a], out=3) | torch.stack([a], out="x") | torch.exp(a, out=3) | torch.sum(a, 0, out=3)
torch.where(m, m, m, out=3) | torch.max(a, 0, out=(a,)) | torch.max(a, 0, out=(a, 3)) | torch.add(a, 1, foo=1)
a.add(1, out=a) | a.sum(0, out=a)
torch.isclose(a, "x") | a.isclose("x") | torch.allclose("x", a) | a.allclose("x") | torch.equal(a, "x")
a.equal("x")
"""

# One number where torch wants a list of any length; where it takes one (int[2]), it stands for each.
ONE_NUMBER = """
torch.reshape(a, 6) | a.reshape(6) | a.reshape(shape=6) | torch.permute(w, 0) | w.permute(0) | w.permute(dims=0)
w.as_strided(3, 1) | w.unflatten(0, 2) | torch.broadcast_to(z, 3) | z.broadcast_to(3)
z.broadcast_to(2, 3) | w.split_with_sizes(2) | torch.zeros(size=3)
torch.ones(size=3) | z.expand(3) | z.expand(size=3) | w.repeat(2) | w.repeat(repeats=2) | torch.flip(w, 0) | w.flip(0)
torch.constant_pad_nd(w, 2) | torch.layer_norm(a, 3) | torch.rms_norm(a, 3)
torch.nn.functional.layer_norm(a, 3) | torch.sum(a, 0) | torch.amax(a, 0) | torch.all(a, 0) | torch.roll(w, 1)
torch.squeeze(a, 0) | torch.movedim(a, 0, 1) | torch.nn.functional.max_pool1d(a, 2) | torch.full(3, 1.0)
torch.tensordot(a, a, ([True], [True])) | torch.tensordot(a, a, ([0, 1], [0, True])) | torch.tensordot(a, a, (1, [1]))
"""

# None where torch wants a list of ints and has no default for it; where it has one, None stands for that.
NO_LIST = """
torch.flip(w, None) | w.flip(None) | torch.logsumexp(a, None) | torch.constant_pad_nd(w, None)
torch.special.logsumexp(a, None) | a.squeeze(None)
torch.amax(a, None) | torch.sum(a, None) | torch.roll(w, 1, None)
"""

# What else torch's parser finds: methods of no tensor, words, an element of a list, arguments that nothing uses.
PARSED = """
torch.Tensor.sparse_dim(torch.float32) | torch.Tensor.dense_dim(3) | torch.Tensor.coalesce(3) | torch.Tensor.cuda([1])
torch.Tensor.xpu("x") | torch.Tensor.row_indices(2) | a.ipu(()) | a.ipu(1.5) | a.ipu("x", 2)
a.cuda(device=1.5) | torch.row_indices_copy(2) | torch.meshgrid(z, indexing=3) | torch.meshgrid(z, indexing=b"ij")
torch.cartesian_prod([]) | torch.cartesian_prod([w]) | torch.cartesian_prod(w, w) | torch.native_dropout(a, w, True)
torch.native_dropout(a, 0.0, 1) | torch.native_dropout(a, 0.0, True)
torch.moveaxis(a, 0, 1) | torch.linalg.lu(a, out=[0, 0]) | torch.linalg.lu(w, out=[a, 0, a])
F.pad(a, (1.5, 1)) | F.pad(a, [1, 1.5]) | F.pad(a, 1) | F.pad(a, w) | F.pad(a, ("x", 1), "reflect") | F.pad(z, ())
F.pad(a, (z, z - 4))
"""

# Checks in torch's order: the type of the error alone.
ORDER = """
a.norm("mean", "sum") | a.norm("nuc", "sum") | a.norm("fro", "x") | a.norm("mean") | a.norm("mean", 0)
torch.istft(torch.ones(2, dtype=torch.complex64), 10) | torch.istft(torch.ones((), dtype=torch.complex64), 10)
torch.istft(torch.ones(1, 2, 3, 4, dtype=torch.complex64), 10) | torch.histogramdd(a, int, weight=w)
torch.unravel_index(i, i) | torch.unravel_index(i, (2, 3.0)) | torch.unravel_index(i, "x")
z.broadcast_to(size=3) | torch.unravel_index(i, (z,)) | torch.unravel_index(i, None) | torch.unravel_index(i, (2, -3))
"""

# The default of a parameter, given or not.
DEFAULTS = """
a.sum() | a.sum(None) | a.sum(None, False) | a.sum(dim=None, dtype=None) | a.sum(0, False, dtype=None) | a.sum(0, 0)
a.sum((), keepdim=True) | a.add(a, alpha=1) | a.add(a, alpha=1.0) | i.add(i, alpha=True) | i.add(i, alpha=1.0)
a.softmax(None) | a.softmax(0, None) | a.softmax(0, False) | a.argmax(None, False) | a.argmax(-1) | a.clamp(None, 2)
a.clamp(None, None) | torch.addmm(z, a, a.t(), beta=1, alpha=1) | a.cumsum(0, dtype=None) | a.std(None, correction=1)
a.norm(None) | a.roll(1, None) | a.repeat_interleave(2, None)
"""

# Names of parameters of functions that are Python here.
NAMED = """
torch.det(input=q) | torch.inverse(input=q) | torch.matrix_exp(input=q) | torch.matrix_power(input=q, n=2)
torch.cholesky_inverse(input=q) | torch.cholesky_solve(input=q, input2=q) | q.cholesky_solve(input2=q)
torch.orgqr(input=q, input2=q[0]) | torch.ormqr(input=q, input2=q[0], input3=q) | q.ormqr(input2=q[0], input3=q)
torch.unsafe_split(input=a, split_size=1) | a.unsafe_split(split_size=1) | torch.is_nonzero(input=z)
torch.tril_indices(2, 2, requires_grad=False) | torch.triu_indices(row=2, col=2, requires_grad=False)
torch.fft.fftfreq(2, pin_memory=False) | torch.fft.rfftfreq(2, pin_memory=False)
torch.scalar_tensor(s=1.0, layout=torch.strided) | torch.resize_as_(input=a.clone(), the_template=a)
torch.linalg.det(A=q) | torch.linalg.cond(input=q) | torch.linalg.eigvals(input=q) | torch.linalg.matrix_exp(input=q)
torch.linalg.householder_product(input=q, tau=q[0]) | torch.linalg.lstsq(input=q, b=q)[0]
torch.linalg.matrix_norm(input=q) | torch.linalg.matrix_power(input=q, n=2) | torch.linalg.matrix_rank(input=q)
torch.linalg.norm(input=q) | torch.linalg.pinv(input=q) | torch.linalg.solve_triangular(input=q, B=q, upper=True)
torch.linalg.tensorinv(input=q, ind=1) | torch.linalg.tensorsolve(input=q, other=q[0])
torch.tensor_split(a, sections=2) | torch.tensor_split(a, indices=[1], dim=1) | a.tensor_split(sections=2, dim=1)
torch.tensor_split(a, tensor_indices_or_sections=torch.tensor([1])) | torch.hsplit(a, sections=3)
a.vsplit(indices=(1,)) | torch.dsplit(c, indices=[1])
torch.isin(element=1, test_elements=a) | torch.isin(elements=a, test_element=1)
torch.searchsorted(sorted_sequence=w, self=2) | torch.bucketize(self=2, boundaries=w) | torch.detach_(input=q)
torch.float_power(self=2.0, exponent=a)
a.resize_(size=(2, 1)) | a.copy_(other=z) | torch.dequantize(input=a) | torch.is_inference(input=a)
torch.view_copy(input=a, size=(6,)) | torch.view_copy(input=a, dtype=torch.int32) | torch.split_copy(a, split_size=1)[0]
torch.expand_copy(input=z, size=(2,)) | torch.slogdet(q, out=(torch.empty(()), torch.empty(())))[1]
torch.index_put_(input=q, indices=[z.reshape(1) - 5], values=torch.zeros(2))
"""


@pytest.mark.parametrize("expression", expressions(NAMED))
def test_parameters_have_torchs_names(expression):
    """The values alone are compared: strides of decompositions differ."""
    ours, theirs = (eval(expression, {**names(lib, "cpu"), "q": lib.eye(2)}) for lib in (mindtorch, torch))
    for one, other in zip(*(side if isinstance(side, tuple) else (side,) for side in (ours, theirs)), strict=True):
        assert np.allclose(np.asarray(one), np.asarray(other), atol=1e-6)


@pytest.mark.parametrize("expression", expressions(WRONG + DEFAULTS + ONE_NUMBER + NO_LIST + PARSED))
def test_as_torch(expression, device):
    check(expression, device)


@pytest.mark.filterwarnings("ignore:A window was not provided")
@pytest.mark.parametrize("expression", expressions(ORDER))
def test_checks_are_in_torchs_order(expression, device):
    theirs, ours = outcome(torch, expression), outcome(mindtorch, expression, device)
    assert ours[:2] == theirs[:2]
    assert ours[0] == "error"


@pytest.mark.filterwarnings("ignore:This overload of")
def test_older_orders_of_subtract():
    """subtract, another name of sub, has them for numbers alone."""
    for lib in (torch, mindtorch):
        x = lib.ones(2)
        assert x.sub(3, x).tolist() == x.sub(3, 1).tolist() == x.subtract(3, 1).tolist() == [-2, -2]
        for call in (lambda x=x: x.subtract(3, x), lambda x=x, lib=lib: lib.subtract(x, 3, x)):
            with pytest.raises(TypeError, match=r"subtract\(\)"):
                call()


def test_methods_whose_operator_has_self_second():
    """polygamma(int n, Tensor self): a failure for another reason is not told as one of types."""
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        mindtorch.ones(2, dtype=mindtorch.complex64).polygamma(1)
