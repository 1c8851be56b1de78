"""Derivative expressions of op rows: which names they use, and that they may use them.

An expression is a Python expression over
- `grad` (or grad0, grad1 for several results): the gradient of the result,
- the arguments of the schema, by name,
- `result` (or result0, result1): what the op returned,
- the functions in FUNCTIONS, and methods of tensors.
The names an expression uses are what the forward saves. "none" says that there is no derivative.
"""
import ast
import builtins

# Written by hand beside the autograd engine: what is no plain expression.
FUNCTIONS = frozenset((
    "where", "zeros_like", "full_like", "sum_to", "expand_reduced", "scale_grad_by_count", "mm_grad", "bmm_grad",
    "matmul_grad_self", "matmul_grad_other", "pow_grad_self", "pow_grad_exponent", "select_grad", "index_grad",
    "cat_grad", "stack_grad", "softmax_grad", "log_softmax_grad", "threshold_grad", "clamp_grad",
    "clamp_grad_bound", "extremum_grad", "reduced_extremum_grad", "scatter_dim", "linear_grad_input",
    "linear_grad_weight", "linear_grad_bias", "slice_grad", "true_mask", "sigmoid_grad", "tanh_grad",
))


class DerivativeError(ValueError):
    """A derivative that cannot be built."""


def names_used(expression) -> set:
    """The free names of an expression: functions called, and values."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise DerivativeError(f"derivative {expression!r} is no expression: {error.msg}") from None
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def saved(schema, expression) -> list:
    """Arguments and results that the forward must keep for this derivative, in the schema's order."""
    used = names_used(expression)
    keep = [a.name for a in schema.arguments if a.name in used]
    return keep + [name for name in _results(schema, "result") if name in used]


def _results(schema, stem) -> list:
    return [stem] if len(schema.returns) == 1 else [f"{stem}{i}" for i in range(len(schema.returns))]


def check(schema, grads):
    """DerivativeError unless every derivative is of a tensor argument and uses known names only."""
    if grads == "none":
        return
    known = {a.name for a in schema.arguments} | FUNCTIONS | {"True", "False", "None"}
    known |= set(_results(schema, "grad")) | set(_results(schema, "result"))
    for argument, expression in grads.items():
        if schema.argument(argument) is None:
            raise DerivativeError(f"derivative of {argument!r}, which is no argument")
        if expression == "none":
            continue
        unknown = names_used(expression) - known
        if unknown:
            kind = "builtin" if unknown <= set(dir(builtins)) else "name"
            raise DerivativeError(f"the derivative of {argument!r} uses the unknown {kind} {sorted(unknown)[0]!r}")
