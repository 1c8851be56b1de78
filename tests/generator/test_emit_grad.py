"""What rows with derivatives become: nodes as data, and Python functions that compute gradients."""
import ast

import pytest

from mindtorch._ops.codegen import derivatives, emit_grad
from mindtorch._ops.codegen.rows import Table, read_row

TABLE = Table()

NODES = {
    "add.Tensor": {"name": "AddBackward0", "backward": "pointwise.add_Tensor", "edges": [0, 1],
                   "saved": [("alpha", "scalar", 2)], "first_result": 3},
    # Each factor is kept for the gradient of the other; in place, `self` is the copy of what was overwritten.
    "mul.Tensor": {"name": "MulBackward0", "backward": "pointwise.mul_Tensor", "edges": [0, 1],
                   "saved": [("other", "tensor", 1, [0]), ("self", "self", 0, [1])], "first_result": 2},
    # The indices have no history.
    "max.dim": {"name": "MaxBackward0", "backward": "reduce.max_dim", "edges": [0],
                "saved": [("dim", "int", 1), ("keepdim", "bool", 2), ("self_shape", "shape", 0),
                          ("result1", "constant", 4)],
                "first_result": 3, "result_count": 2, "grad_arguments": [0]},
    "exp": {"name": "ExpBackward0", "backward": "pointwise.exp", "edges": [0], "saved": [("result", "result", 1)],
            "first_result": 1},
    "linalg_qr": {"name": "LinalgQrBackward0", "backward": "linalg.linalg_qr", "edges": [0],
                  "saved": [("mode", "object", 1), ("result0", "result", 2), ("result1", "result", 3)],
                  "first_result": 2, "result_count": 2, "grad_arguments": [], "takes_all_grads": True},
    # The number of edges is that of the tensors.
    "cat": {"name": "CatBackward0", "backward": "indexing.cat", "edges": [0], "has_list_edge": True,
            "saved": [("dim", "int", 1), ("tensors_shape", "shapes", 0)], "first_result": 2},
    "split.Tensor": {"name": "SplitBackward0", "backward": "view.split_Tensor", "edges": [0],
                     "saved": [("dim", "int", 2)], "first_result": 3, "returns_views": True},
    # The result is `self`.
    "copy_": {"name": "CopyBackwards", "backward": "creation.copy_", "edges": [0, 1],
              "saved": [("src_device", "device", 1), ("src_dtype", "dtype_of", 1)], "first_result": 0},
}

FUNCTIONS = {
    "add.Tensor": """
def add_Tensor(grad_input_mask, grad, alpha):
    return [
        grad if grad_input_mask[0] else None,
        derivatives_reduce.scaled(grad, alpha.conjugate()) if grad_input_mask[1] else None,
    ]
""",
    "exp": """
def exp(grad_input_mask, grad, result):
    return [grad * result.conj()]
""",
    "native_group_norm": """
def native_group_norm(grad_input_mask, grads, C, HxW, N, group, input, weight, result1, result2):
    return list(derivatives_norm.group_norm_backward(grads, input, weight, """,
    "_prelu_kernel_backward": """
def _prelu_kernel_backward(grad_input_mask, grad0, grad1, grad_output, self, weight):
""",
    "cat": """
def cat(grad_input_mask, grad, dim, tensors_shape):
""",
    "split.Tensor": """
def split_Tensor(grad_input_mask, grads, dim):
""",
}


@pytest.mark.parametrize("key", NODES)
def test_node(key):
    assert emit_grad.node(TABLE.by_key[key]) == NODES[key]


@pytest.mark.parametrize("key", FUNCTIONS)
def test_function(key):
    assert emit_grad.backward(TABLE.by_key[key]).startswith(FUNCTIONS[key].lstrip("\n"))


def test_every_node_has_its_function():
    """With the parameters that apply_function gives it: the mask, gradients of results, what was saved."""
    for family in {row.family for row in TABLE.rows if emit_grad.recorded(row)}:
        tree = ast.parse(emit_grad.backward_py(TABLE, family))
        found = {one.name: [a.arg for a in one.args.args] for one in tree.body if isinstance(one, ast.FunctionDef)}
        for row in TABLE.family(family):
            if emit_grad.recorded(row):
                node = emit_grad.node(row)
                results = node.get("result_count", 1)
                grads = len(node["grad_arguments"]) + node.get("takes_all_grads", False) if results > 1 else 1
                names = found[node["backward"].removeprefix(f"{family}.")]
                assert names[0] == "grad_input_mask"
                assert names[1 + grads:] == [value[0] for value in node.get("saved", ())]


def test_a_condition_in_an_expression_does_not_take_the_mask():
    text = emit_grad.backward(changed("grad if other else -grad", "grad"))
    assert "(grad if other else -grad) if grad_input_mask[0] else None" in text


def test_several_lists_or_part_of_the_arguments_are_refused():
    with pytest.raises(derivatives.DerivativeError, match="only one list"):
        emit_grad.differentiable(changed("grad", "grad", schema="gizmo(Tensor[] self, Tensor[] other) -> Tensor"))
    row = changed("grad", "grad", schema="gizmo(Tensor self, Tensor other, Tensor third) -> Tensor")
    row.grad["third"], joint = "grad", (("self", "other"),)
    with pytest.raises(derivatives.DerivativeError, match="must be for all"):
        emit_grad.backward(type(row)(**{**vars(row), "joint": joint}))


def changed(of_self, of_other, schema="gizmo(Tensor self, Tensor other) -> Tensor"):
    return read_row("pointwise", {
        "schema": schema, "npu": "aclnnAdd(self, other, out)", "samples": "binary", "cpu": "np.add(self, other)",
        "out": {"shape": "broadcast(self, other)", "dtype": "promote(self, other)"},
        "grad": {"self": of_self, "other": of_other}})
