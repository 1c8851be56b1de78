"""Gradients through sparse tensors, sparse gradients, and the optimizers that take them, beside torch's."""
import copy
import io
import pickle

import pytest
import torch
from sparse_cases import agree, plain, same

import mindtorch

pytestmark = pytest.mark.filterwarnings("ignore:Sparse (CSR|invariant)", "ignore:.*sparse")


def counted(lib, device, *shape):
    return lib.arange(1.0, 1 + torch.Size(shape).numel(), device=device).reshape(shape)


def leaf(lib, d, factor=1):
    indices = lib.tensor([[0, 1, 1], [2, 0, 2]], device=d.device)
    return lib.sparse_coo_tensor(indices, factor * counted(lib, d.device, 3), (2, 3), requires_grad=True)


def squares(value):
    return value.pow(2).sum()


def through(function):
    """The gradients of two sparse tensors, a matrix and a vector of values in `function`.

    That of a sparse tensor counts where the tensor has elements: some of torch's derivatives have numbers elsewhere.
    """
    def case(lib, d, **names):
        s, t = leaf(lib, d), leaf(lib, d, 2)
        w, v = counted(lib, d.device, 3, 2).requires_grad_(), counted(lib, d.device, 3).requires_grad_()
        result = function(lib, s, t, w, v)
        (result.to_dense() if result.layout is not lib.strided else result).pow(2).sum().backward()
        held = s.detach().to_dense() != 0
        return [None if x.grad is None else x.grad.to_dense() * held if x.is_sparse else x.grad for x in (s, t, w, v)]
    return case


def rows(lib, d, v):
    return lib.tensor([0, 1, 3], device=d.device), lib.tensor([2, 0, 2], device=d.device), v


GRADIENTS = {
    "to_dense": lambda lib, s, t, w, v: s.to_dense(),
    "mm": lambda lib, s, t, w, v: lib.sparse.mm(s, w),
    "mm of a dense and a sparse one": lambda lib, s, t, w, v: w @ s,
    "mm of two": lambda lib, s, t, w, v: lib.sparse.mm(s, t.t()),
    "addmm": lambda lib, s, t, w, v: lib.sparse.addmm(w[:2], s, w, beta=2, alpha=3),
    "mv": lambda lib, s, t, w, v: s @ v,
    "of values": lambda lib, s, t, w, v: lib.sparse_coo_tensor(s._indices(), v, (2, 3)),
    "of values, twice in one place": lambda lib, s, t, w, v: lib.sparse_coo_tensor(
        lib.tensor([[1, 0, 1], [2, 0, 2]], device=v.device), v, (2, 3)).coalesce().values(),
    "of the values of CSR": lambda lib, s, t, w, v: lib.sparse_csr_tensor(*rows(lib, v, v), (2, 3)) @ w,
    "to_sparse": lambda lib, s, t, w, v: w.to_sparse(),
    "to_sparse and back by CSR": lambda lib, s, t, w, v: w.to_sparse_csr().to_dense(),
    "to_sparse and back by BSR": lambda lib, s, t, w, v: w.to_sparse_bsr((1, 2)).to_dense(),
    "add": lambda lib, s, t, w, v: s + 2 * t,
    "dense and sparse": lambda lib, s, t, w, v: w.t() + s,
    "sub": lambda lib, s, t, w, v: s - t,
    "mul by a number": lambda lib, s, t, w, v: -s * 3,
    "mul": lambda lib, s, t, w, v: s * t,
    "functions of values": lambda lib, s, t, w, v: s.coalesce().abs(),
    "sum": lambda lib, s, t, w, v: lib.sparse.sum(s),
    "sum of rows": lambda lib, s, t, w, v: lib.sparse.sum(s, 0),
    "softmax": lambda lib, s, t, w, v: lib.sparse.softmax(s, 1),
    "log_softmax": lambda lib, s, t, w, v: lib.sparse.log_softmax(s, 0),
    "transpose": lambda lib, s, t, w, v: s.t(),
    "to": lambda lib, s, t, w, v: s.to(lib.float64),
    "sparse_mask": lambda lib, s, t, w, v: w.t().sparse_mask(s.detach()),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient(name, device):
    agree(through(GRADIENTS[name]), device)


def test_gradient_of_a_sparse_leaf_is_sparse(device):
    def case(lib, d, **names):
        s = leaf(lib, d)
        squares(lib.sparse.mm(s, d.t())).backward()
        first = s.grad.clone()
        squares(lib.sparse.mm(s, d.t())).backward()
        return first, s.grad
    agree(case, device)


def test_second_derivative(device):
    def case(lib, d, **names):
        w = d.t().clone().requires_grad_()
        gradient, = lib.autograd.grad(squares(lib.sparse.mm(leaf(lib, d).detach(), w)), w, create_graph=True)
        squares(gradient).backward()
        return w.grad
    agree(case, device)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradcheck(dtype):
    s = mindtorch.arange(1.0, 7.0).reshape(2, 3).to(getattr(mindtorch, dtype)).to_sparse().requires_grad_()
    w = mindtorch.ones(3, 2, dtype=s.dtype).requires_grad_()
    assert mindtorch.autograd.gradcheck(mindtorch.sparse.mm, (s, w), masked=True)
    for function in (lambda a: a * 2, lambda a: a.select(0, 1), lambda a: mindtorch.cat([a, a], 1), lambda a: a.t(),
                     lambda a: a.index_select(1, mindtorch.tensor([2, 0, 2])), lambda a: a.unsqueeze(0),
                     lambda a: a.to_sparse_csr() @ w.detach(), lambda a: a.to_sparse_bsr((1, 3)), lambda a: a.sin()):
        assert mindtorch.autograd.gradcheck(function, (s,), masked=True)


def embedding(lib, d, **options):
    table = lib.nn.Embedding(5, 2, sparse=True, device=d.device, **options)
    table.weight.data.copy_(counted(lib, d.device, 5, 2))
    return table


@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}])
def test_embedding(options, device):
    def case(lib, d, tensor, **names):
        table, seen = embedding(lib, d, **options), []
        table.weight.register_hook(lambda grad: seen.append(grad.is_sparse))
        squares(table(tensor([[0, 1], [3, 0]]))).backward()
        first = table.weight.grad.clone()
        table(tensor([4, 0])).sum().backward()
        return first, table.weight.grad.to_dense(), seen
    agree(case, device)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embedding_bag(mode, device):
    def case(lib, d, tensor, **names):
        bag = lib.nn.EmbeddingBag(5, 2, sparse=True, mode=mode, device=d.device)
        bag.weight.data.copy_(counted(lib, d.device, 5, 2))
        squares(bag(tensor([0, 1, 3, 0]), tensor([0, 2]))).backward()
        return bag.weight.grad.is_sparse, bag.weight.grad.to_dense()
    agree(case, device)


def test_embedding_without_indices(device):
    def case(lib, d, **names):
        table = embedding(lib, d)
        table(lib.zeros(0, dtype=lib.int64, device=d.device)).sum().backward()
        return table.weight.grad
    agree(case, device)


OPTIMIZERS = {
    "SGD": lambda lib, p: lib.optim.SGD(p, lr=.1),
    "SGD with momentum": lambda lib, p: lib.optim.SGD(p, lr=.1, momentum=.9),
    "SGD with decay": lambda lib, p: lib.optim.SGD(p, lr=.1, weight_decay=.9),
    "SGD to the maximum": lambda lib, p: lib.optim.SGD(p, lr=.01, maximize=True),
    "SGD foreach": lambda lib, p: lib.optim.SGD(p, lr=.1, foreach=True),
    "Adagrad": lambda lib, p: lib.optim.Adagrad(p, lr=.1, lr_decay=.1),
    "Adagrad with decay": lambda lib, p: lib.optim.Adagrad(p, lr=.1, weight_decay=.1),
    "SparseAdam": lambda lib, p: lib.optim.SparseAdam(p, lr=.1),
    "SparseAdam to the maximum": lambda lib, p: lib.optim.SparseAdam(p, lr=.1, maximize=True),
    "Adam": lambda lib, p: lib.optim.Adam(p, lr=.1),
    "RMSprop": lambda lib, p: lib.optim.RMSprop(p, lr=.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer(name, device):
    def case(lib, d, tensor, **names):
        table = embedding(lib, d)
        optimizer = OPTIMIZERS[name](lib, table.parameters())
        for step in range(3):
            optimizer.zero_grad(set_to_none=step != 1)
            squares(table(tensor([0, 3, 0]))).backward()
            optimizer.step()
        return table.weight.data
    agree(case, device)


def test_sparse_adam_refuses_dense_gradients_and_parameters():
    def dense(lib, d, **names):
        d.requires_grad_().sum().backward()
        lib.optim.SparseAdam([d]).step()
    agree(dense, "cpu")
    agree(lambda lib, d, **names: lib.optim.SparseAdam([leaf(lib, d)]), "cpu")


def test_dense_and_sparse_gradients_of_one_parameter_add_up(device):
    def case(lib, d, tensor, **names):
        found = []
        for order in (1, -1):
            table = embedding(lib, d)
            for part in (table(tensor([0, 3])).sum(), squares(table.weight))[::order]:
                part.backward()
            (table(tensor([0, 1])).sum() + squares(table.weight)).backward()
            found.append(table.weight.grad)
        return found
    agree(case, device)


def test_files_copies_and_pickles(device):
    def case(lib, d, s, c, r, **names):
        file = io.BytesIO()
        lib.save({"s": s, "c": c, "r": r, "p": lib.nn.Parameter(c)}, file)
        file.seek(0)
        loaded = lib.load(file)
        copied = copy.deepcopy(leaf(lib, d))
        copied.data._values().mul_(2)
        return loaded, type(loaded["p"]).__name__, copied, copied.is_leaf, copied.requires_grad, pickle.loads(
            pickle.dumps(c))
    agree(case, device)


def test_files_of_torch_and_of_mindtorch_are_each_others():
    for writer, reader in ((torch, mindtorch), (mindtorch, torch)):
        file = io.BytesIO()
        tensors = [writer.eye(3).to_sparse(), writer.eye(3).to_sparse_csr(), writer.eye(4).to_sparse_bsr((2, 2))]
        writer.save(tensors, file)
        file.seek(0)
        same(plain(reader.load(file)), plain(tensors))


@pytest.mark.parametrize(("size", "message"), [
    ((3,), "size is inconsistent with indices: for dim 0, size is 3 but found index 7"), ((9, 9), "len.size. =="),
    ((-9,), "negative|inconsistent")])
def test_what_a_file_says_of_a_sparse_tensor_is_checked(size, message):
    parts = mindtorch.tensor([[7]]), mindtorch.tensor([1.0]), size, True
    with pytest.raises(RuntimeError, match=message):
        mindtorch._utils._rebuild_sparse_tensor(mindtorch.sparse_coo, parts)


def test_module_with_a_sparse_buffer(device):
    class Graph:
        """Built for each library: a layer of a graph network."""
        def __new__(cls, lib, adjacency):
            class Layer(lib.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.register_buffer("adjacency", adjacency)
                    self.linear = lib.nn.Linear(2, 2)

                def forward(self, x):
                    return lib.spmm(self.adjacency, self.linear(x))
            return Layer()

    def case(lib, d, c, **names):
        layer = Graph(lib, c).to(d.device)
        for parameter in layer.parameters():
            parameter.data.fill_(0.5)
        layer.load_state_dict(layer.state_dict())
        squares(layer(d.t())).backward()
        return layer.adjacency, layer.linear.weight.grad
    agree(case, device)


def test_gradients_are_unscaled(device):
    def case(lib, d, tensor, **names):
        table = embedding(lib, d)
        scaler = lib.amp.GradScaler(str(d.device).partition(":")[0], init_scale=8.0)
        optimizer = lib.optim.SGD(table.parameters(), lr=.1)
        scaler.scale(squares(table(tensor([0, 3])))).backward()
        scaler.step(optimizer)
        return table.weight.data
    agree(case, device)


def test_data_of_another_layout_is_refused():
    def case(lib, d, s, **names):
        d.data = s
    agree(case, "cpu")


def test_assert_close():
    def case(lib, d, s, c, r, **names):
        lib.testing.assert_close(c, c.clone())
        lib.testing.assert_close(r, r.clone())
        with pytest.raises(AssertionError, match="not close"):
            lib.testing.assert_close(c, c * 2)
    agree(case, "cpu")


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_bsc"])
@pytest.mark.parametrize("expression", ["x.sum()", "x.sum(dtype=lib.float64)"])
def test_the_gradient_of_a_sum_is_dense(layout, expression, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        blocks = {"blocksize": (1, 1)} if layout == "sparse_bsc" else {}
        x = lib.eye(3, device=place).to_sparse(layout=getattr(lib, layout), **blocks).requires_grad_()
        eval(expression, {"x": x, "lib": lib}).backward()
        found.append(plain(x.grad))
    same(*found)


@pytest.mark.parametrize("target", ["sparse_csr", "sparse_csc"])
def test_indices_of_a_batch_keep_their_dtype(target):
    x = mindtorch.eye(3).expand(2, 3, 3).to_sparse_csr()
    x = mindtorch.sparse_csr_tensor(x.crow_indices().int(), x.col_indices().int(), x.values(), x.shape)
    made = x.to_sparse(layout=getattr(mindtorch, target))
    indices = made.ccol_indices() if target == "sparse_csc" else made.crow_indices()
    assert indices.dtype is mindtorch.int32
