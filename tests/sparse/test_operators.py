"""Sparse tensors beside torch's: what functions give, and what they refuse."""
import pytest
from sparse_cases import agree

import mindtorch

pytestmark = [pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC|BSR|BSC|invariant)"), pytest.mark.filterwarnings(
    "ignore:.*sparse")]

EXPRESSIONS = """
s  c  r  h  b  s.coalesce()  s.is_coalesced()  c.is_coalesced()  s.values()  s.indices()  c.values()  c.indices()
s._nnz()  s._values()  s._indices()  s.sparse_dim(),s.dense_dim(),h.dense_dim(),r.sparse_dim(),r.dense_dim()
s.layout,r.layout,s.is_sparse,r.is_sparse,r.is_sparse_csr,d.is_sparse  s.size(),s.numel(),s.dim(),len(s),s.shape,r.shape
s.dtype,s.is_floating_point(),s.is_leaf,s.requires_grad,s.grad  r.crow_indices(),r.col_indices(),r.values()
s.to_dense()  h.to_dense()  r.to_dense()  b.to_dense()  s.crow_indices()  r.indices()  r.coalesce()  d.coalesce()
d.to_sparse()  d.to_sparse(1)  d.to_sparse(0)  d.to_sparse_csr()  d.to_sparse_csc()  d.to_sparse_bsr((1,3))
d.to_sparse_bsc((2,1))  d.to_sparse(layout=lib.sparse_csr)  s.to_sparse_csr()  s.to_sparse_csc()  r.to_sparse()
r.to_sparse_csc()  d.to_sparse_csc().to_dense()  d.to_sparse_bsr((1,3)).to_dense()  d.to_sparse_bsc((2,1)).to_dense()
lib.stack([d,d*2]).to_sparse_csr()  lib.stack([d,d*2]).to_sparse_csr().to_dense()  d.to_sparse_bsr((2,2))
d.reshape(2,3,1).to_sparse_csr(dense_dim=1)  d.reshape(2,3,1).to_sparse_csr(dense_dim=1).to_dense()
s+s  c+c  c+2*c  c-c  s-2*s  c+d.to_sparse()  d+s  d-s  s+d  s+1  1+s  s-1  lib.add(d,s,alpha=2)  lib.add(c,c,alpha=-3)
r+r  r+d  d+r  c+h  d.clone().add_(s)  d.clone().sub_(s,alpha=2)  h+h  lib.zeros(3,4,device=d.device)+h
s*lib.stack([d,d*2])  lib.stack([d,d])[:,:1]*c  c*lib.ones(0,2,3,device=d.device)  d*d[0].to_sparse()
s*2  2*s  s*tensor(2.0)  c*d  d*c  c*d[0]  c*c  c*d.to_sparse()  r*2  r*d  s/2  s/tensor(4.0)  s/d  c/c  s//2
s*tensor(2.0).to_sparse()  tensor(2.0).to_sparse()*h  c*d[:1].to_sparse()  c*d[0].to_sparse()  h*h[:,:1]  r*r
d.to_sparse_bsr((1,3)).to_sparse_csr()  d.to_sparse_bsc((2,1)).to_sparse(layout=lib.sparse_csc)
lib.empty_like(r,layout=lib.sparse_csc)  lib.empty_like(r,layout=lib.strided)  lib.zeros_like(r,layout=lib.sparse_csc)
lib.zeros_like(r,layout=lib.strided)  lib.empty(3,layout=lib.sparse_csr)  lib.empty(2,3,layout=lib.sparse_bsr)
lib.randn_like(r)*0  lib.randn_like(c)  lib.randn_like(r,device=d.device,dtype=lib.float64)*0
c.to_sparse(2)  c.to_sparse(1)  h.to_sparse(2)  h.to_sparse(sparse_dim=1)
lib.sparse_coo_tensor(tensor([[0,0],[1,0]]),tensor([1.,2.]),(2,2),check_invariants=True,is_coalesced=True)
lib.sparse_coo_tensor(tensor([[0,1],[1,0]]),tensor([1.,2.]),(2,2),check_invariants=True,is_coalesced=True)
r.transpose(0,0)  r.transpose(-1,1)  d.expand(4,5,2,3).to_sparse_csr().transpose(0,1)
d.expand(4,2,3).to_sparse_csr().transpose(0,1)  d.expand(4,2,3).to_sparse_csr().transpose(1,2)
lib.masked.prod(c,dim=(),mask=d>9)  lib.masked.amax(c,dim=(),mask=d>9)  lib.masked.sum(c,dim=(),mask=d>9)
lib.randn_like(r,layout=lib.strided)*0  lib.randn_like(c,layout=lib.strided)*0
lib.sparse_csr_tensor(tensor([0,1,2]).int(),tensor([0,1]).int(),tensor([1.,2.])).to_sparse_csc().row_indices()
lib.sparse_csr_tensor(tensor([0,1,2]).int(),tensor([0,1]).int(),tensor([1.,2.])).to_sparse_bsr((1,1)).crow_indices()
s**2  c.pow(3)  -s  abs(c)  c.neg()  c.abs()  c.sin()  c.tanh()  c.sqrt()  c.square()  c.relu()  c.sign()  c.floor()
r.abs()  r.relu()  r.sin()  -r  c.isnan()  c.exp()  c.cos()  c.sigmoid()  c==c  c!=0  c.max()  c.clamp(0)  lib.mean(c)
lib.nn.functional.relu(c)  lib.softmax(c,1)  c.fill_(1)  c.uniform_()  c.cumsum(0)  c.nonzero()  c.sort()  lib.var(c)
s.sum()  s.sum(0)  s.sum(1)  s.sum((0,1))  s.sum(dtype=lib.float64)  lib.sparse.sum(s)  lib.sparse.sum(s,0)
lib.sparse.sum(s,[0,1])  lib.sparse.sum(h,0)  lib.sparse.sum(h,1)  lib.sparse.sum(b,(0,2))  r.sum()  r.sum(0)
r.sum(1,keepdim=True)  c.norm()  lib.sparse.softmax(c,0)  lib.sparse.softmax(s,1)  lib.sparse.log_softmax(s,1)
lib.sparse.softmax(h,0)  lib.sparse.softmax(h,1)  lib.sparse.log_softmax(b,2)
lib.sparse.softmax(s,1,dtype=lib.float64)
s@d.t()  d.t()@s  s@s.t()  lib.sparse.mm(s,d.t())  lib.sparse.mm(s,s.t())  lib.sparse.mm(d.t(),s)  lib.mm(s,d.t())
lib.spmm(s,d.t())  s.mv(d[0])  s@d[0]  lib.mm(s,d)  s@d[0,:2]  r@d.t()  r@d[0]  r.t()@d  lib.mm(s,d.t().double())
lib.sparse.addmm(d@d.t(),s,d.t())  lib.addmm(d@d.t(),s,d.t(),beta=2,alpha=3)  lib.addmm(d@d.t(),d,s.t())
lib.hspmm(s,d.t())  lib.smm(s,d.t())  lib.sspaddmm(s@s.t(),s,d.t())  lib.sspaddmm(s@s.t(),s,d.t(),beta=2,alpha=3)
lib.bmm(b,lib.ones(2,3,2,device=d.device))  b.bmm(d)  lib.nn.functional.linear(d,s)
lib.sparse.sampled_addmm(r,d@d.t(),d)  lib.sparse.sampled_addmm(r,d@d.t(),d,beta=2.,alpha=3.)
lib.sparse.mm(r,d.t(),'mean')  lib.sparse.mm(r,d.t(),reduce='amax')  lib.sparse.mm(r,d.t(),reduce='amin')
s.t()  s.T  s.mT  s.H  s.transpose(0,1)  c.transpose(0,0).is_coalesced()  h.transpose(0,1)  b.permute(2,0,1)
b.permute(0,1)  r.t()  r.transpose(0,1).to_dense()  h.t()  s.unsqueeze(0)  s.unsqueeze(-1)  h.unsqueeze(1)
lib.empty_like(s,memory_format=lib.preserve_format)  lib.zeros_like(s,memory_format=lib.preserve_format)
s.reshape(3,2)  s.view(6)  s.flatten()  s.expand(2,3)  s.squeeze()  s.narrow(0,0,1)
c[0]  s[1]  c[1,2]  c[-1]  s[:,1]  c[...,2]  c[None]  c[0:1]  c[2]  c[tensor([1,0])]  b[1]  b[1,:,2]  h[2]  h[0,1]
c.select(1,2)  h.select(1,1)  r[1]  r[0,2]  c.index_select(0,tensor([1,0,1]))  c.index_select(1,tensor([2]))
h.index_select(1,tensor([3,1]))  c.narrow_copy(1,1,2)  h.narrow_copy(1,1,2)  c.narrow_copy(5,0,1)  c.unbind(0)  list(s)
s.split(1)
lib.cat([s,c])  lib.cat([c,c],1)  lib.cat([h,h],1)  lib.cat([s,d])  lib.cat([c,b])  lib.stack([c,c])  lib.stack([c,c],1)
s.double()  s.to(lib.float64)  s.int()  s.half()  s.float()is(s)  s.clone()  s.detach()  s.type()  r.double()  r.clone()
s.new_zeros(2)  lib.zeros_like(s)  lib.empty_like(c)  lib.zeros_like(r)  lib.ones_like(s)
lib.zeros_like(s,layout=lib.strided)
s.zero_()  s.mul_(2)  c.neg_()  r.neg_()  s.div_(2)  c.add_(c)  s.copy_(c)  s.copy_(d)  d.copy_(s)  c.add_(d)  c.relu_()
s.sparse_resize_((4,4),2,0)  s.sparse_resize_and_clear_((4,4),1,1)  c.resize_as_sparse_(s)
d.sparse_mask(c)  d.sparse_mask(r)  h.to_dense().sparse_mask(h)  c.sparse_mask(s.t())
s.numpy()  s.tolist()  s.stride()  r.stride()  s.is_contiguous()  s.contiguous()  s.data_ptr()  s.item()
s.untyped_storage()  s.storage_offset()  s.nbytes  bool(s)  float(s)  s.register_hook(print)  d._nnz()  d._values()
lib.equal(s,s)  lib.where(d>0,s,s)  s.masked_select(d>0)  s.real  s.conj()  s.is_same_size(c)  s.is_complex()
lib.sparse.spdiags(d,tensor([0,-1]),(3,3))  lib.sparse.spdiags(d,tensor([0,0]),(3,3))
lib.empty(2,3,layout=lib.sparse_coo)  lib.zeros(2,3,layout=lib.sparse_coo)  lib.zeros(2,3,layout=lib.sparse_csr)
lib.sparse_coo_tensor((2,3))  lib.sparse_coo_tensor([[0,1]],[1,2])  lib.sparse_coo_tensor([[0,1]],[1,2],(3,))
lib.sparse_coo_tensor([[0,1]],[1,2,3],(3,))  lib.sparse_coo_tensor([[0,-1]],[1,2])  lib.sparse_coo_tensor([0,1],[1,2])
lib.sparse_coo_tensor([[0,1]],[1,2],(3,),dtype=lib.float64)  lib.sparse_coo_tensor([[0,1]],[1,2],(3,),is_coalesced=True)
lib.sparse_coo_tensor([[0,5]],[1,2],(3,),check_invariants=True)  lib.sparse_coo_tensor([[0,1]],[[1],[2]],(3,1))
lib.sparse_csr_tensor([0,1,2],[0,1],[1.,2.])  lib.sparse_csr_tensor([0,1,2],[0,1],[1.,2.],(2,3),dtype=lib.float64)
lib.sparse_csr_tensor([0,1,2],[0,5],[1.,2.],(2,3),check_invariants=True)
lib.sparse_csr_tensor([1,1,2],[0,1],[1.,2.],(2,3),check_invariants=True)  lib.sparse_csc_tensor([0,1,2],[0,1],[1.,2.])
lib.sparse_bsr_tensor([0,1,2],[0,1],[[[1,2],[3,4]],[[5,6],[7,8]]])
lib.sparse_bsc_tensor([0,1,2],[0,1],[[[1,2],[3,4]],[[5,6],[7,8]]]).to_dense()
lib.sparse_compressed_tensor([0,1,2],[0,1],[1.,2.],layout=lib.sparse_csr)
lib.sparse_compressed_tensor([0,1,2],[0,1],[1.,2.],layout=lib.strided)
lib.addmv(d[:,0],s,d[0])  lib.addmv(d[:,0],r,d[0],beta=2,alpha=3)  lib.addmv(d[:,0],r,d[0],beta=0)
lib.sparse.sampled_addmm(lib.stack([d,d*2]).to_sparse_csr(),lib.stack([d@d.t()]*2),lib.stack([d]*2)).to_dense()
lib.sparse.sampled_addmm(r,lib.stack([d@d.t()]*2),lib.stack([d]*2)).to_dense()
lib.sparse.sampled_addmm(r,d@d.t(),d,out=r.clone())
d.to_sparse(layout=lib.strided)  s.to_sparse(layout=lib.strided)  b.to_sparse_csr()  b.to_sparse_bsc((1,1))
lib.stack([d,d*2]).to_sparse_csr().to_sparse(layout=lib.sparse_bsr,blocksize=(2,1))
lib.stack([d,d*2]).to_sparse_csr().to_sparse_csc()
lib.stack([d,d*2]).to_sparse_csr()[1]  lib.stack([d,d*2]).to_sparse_csr().select(1,0)  r.select(0,5)
lib.select_copy(r,0,1)  lib.select_copy(c,1,2)  lib.zeros_like(r,layout=lib.sparse_csc).to_dense()
lib.zeros_like(d.to_sparse_bsr((1,3)),layout=lib.sparse_bsc).values()
lib.zeros_like(lib.stack([d,d*2]).to_sparse_csr(),layout=lib.sparse_coo).sparse_dim()
lib._validate_sparse_coo_tensor_args(s._indices(),s._values(),s.shape)
lib._validate_sparse_coo_tensor_args(s._indices(),s._values(),(2,2))
lib._validate_sparse_csr_tensor_args(r.crow_indices(),r.col_indices(),r.values(),r.shape)
lib._validate_sparse_csr_tensor_args(r.crow_indices()[:0],r.col_indices()[:0],r.values()[:0],(0,3))
lib._validate_sparse_csr_tensor_args(tensor([0,1,1]),tensor([5]),d[0,:1],(2,3))
lib._validate_sparse_csc_tensor_args(tensor([1,1,1,1]),tensor([0]),d[0,:1],(2,3))
lib._validate_sparse_compressed_tensor_args(tensor([0,1,1]),tensor([3]),d[0,:1],(2,3),lib.sparse_csr)
lib._validate_compressed_sparse_indices(True,tensor([0,1]),tensor([4]),1,3,1)
lib._convert_indices_from_coo_to_csr(tensor([0,0,2]),4)
lib._convert_indices_from_coo_to_csr(tensor([0,0,2]).int(),4)  lib._convert_indices_from_coo_to_csr(tensor([0])[:0],3)
lib._convert_indices_from_coo_to_csr(tensor([0,0,2]),4,out_int32=True)
lib._convert_indices_from_coo_to_csr(tensor([0,0,2]),4,out=tensor([0])) lib._convert_indices_from_coo_to_csr(d,3)
lib._convert_indices_from_coo_to_csr(d[0],3)  lib.ops.aten._convert_indices_from_coo_to_csr(tensor([1]),2)
lib._convert_indices_from_csr_to_coo(tensor([0,2,2,3]),tensor([1,0,2]))
lib._convert_indices_from_csr_to_coo(tensor([0,2,2,3]),tensor([1,0,2]),transpose=True,out_int32=True)
lib._convert_indices_from_csr_to_coo(tensor([[0,1,2],[0,2,2]]),tensor([[0,1],[1,2]]))
lib._convert_indices_from_csr_to_coo(tensor([0,1]),d)  lib._convert_indices_from_csr_to_coo(d[0],d[0])
lib.ops.aten._sparse_compressed_tensor_with_dims(0,0,(2,4),(2,1),lib.int32,layout=lib.sparse_bsr,device=d.device).shape
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.split())
def test_expression(expression, device):
    code = compile(expression.replace(")is(", ") is ("), "<case>", "eval")
    agree(lambda lib, **names: eval(code, {"lib": lib, **names}), device)


PRINTED = ["s", "c", "r", "h", "b", "s.requires_grad_()", "s.double()", "c.int()", "d.to_sparse_csc()",
           "lib.sparse_coo_tensor((2, 3))", "d.to_sparse_bsr((1, 3))", "lib.arange(200.0).reshape(100, 2).to_sparse()"]


@pytest.mark.parametrize("expression", PRINTED)
def test_printed_as_torch_prints_it(expression):
    agree(lambda lib, **names: repr(eval(expression, {"lib": lib, **names})), "cpu")


def test_invariants_are_checked_where_asked():
    def case(lib, tensor, **names):
        found = [lib.sparse.check_sparse_tensor_invariants.is_enabled()]
        with lib.sparse.check_sparse_tensor_invariants():
            found.append(lib.sparse.check_sparse_tensor_invariants.is_enabled())
            lib.sparse_coo_tensor([[0, 3]], [1, 2], (3,))
        return found
    agree(case, "cpu")


def test_a_product_is_written_to_out(device):
    out = mindtorch.empty(0, device=device)
    ones = mindtorch.ones(2, 1, device=device)
    assert mindtorch.sparse.mm(mindtorch.eye(2, device=device).to_sparse(), ones, out=out) is out
    assert out.tolist() == [[1], [1]]
