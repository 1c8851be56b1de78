"""torch.fx.experimental.rewriter: tracing that keeps assertions and the types of variables."""
from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

from mindtorch.fx._symbolic_trace import Tracer
from mindtorch.fx.annotate import annotate  # noqa: F401 - rewritten functions reach it here
from mindtorch.fx.graph import Graph
from mindtorch.nn import Module

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites the source of functions: `assert` becomes torch._assert, `x: int = y` notes the type.

    Example:
        >>> issubclass(torch.fx.experimental.rewriter.RewritingTracer, torch.fx.Tracer)
        True
    """

    def rewrite(self, fn: FunctionType) -> FunctionType:
        """The function with its statements rewritten. Only what stands in it is; functions that it calls are not."""
        tree = ast.parse(textwrap.dedent("".join(inspect.getsourcelines(fn)[0])))
        tree = ast.fix_missing_locations(self.visit(tree))
        definition = tree.body[0]
        definition.decorator_list = []
        names = dict(fn.__globals__)
        inner = fn.__closure__ or ()
        made = compile(_within_function(definition, fn.__code__.co_freevars), "<rewritten>", "exec")
        exec(made, names)
        plain = names[_FACTORY]() if inner else names[definition.name]
        # With the globals themselves: in them tracing replaces the functions that are to be recorded.
        result = FunctionType(plain.__code__, fn.__globals__, fn.__name__, fn.__defaults__, inner and tuple(
            inner[fn.__code__.co_freevars.index(name)] for name in plain.__code__.co_freevars))
        result.__kwdefaults__, result.__annotations__ = copy.copy(fn.__kwdefaults__), dict(fn.__annotations__)
        return result

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        """An assertion as a call, which tracing records."""
        call = ast.Call(_attribute("mindtorch", "_assert"), [node.test, node.msg or ast.Constant("")], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """An assignment that notes the type of what is assigned."""
        if node.value is None:
            return node
        call = ast.Call(_attribute(__name__, *__name__.split(".")[1:], "annotate"), [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


_FACTORY = "_mindtorch_factory"


def _attribute(module, *names):
    """An expression for an attribute of a module, whatever the globals are."""
    found = ast.Call(ast.Name("__import__", ast.Load()), [ast.Constant(module)], [])
    for name in names:
        found = ast.Attribute(found, name, ast.Load())
    return found


def _within_function(definition, free):
    """The definition; where the function has free variables, within a function that has them as locals."""
    if not free:
        return ast.Module([definition], [])
    arguments = ast.arguments(posonlyargs=[], args=[ast.arg(name) for name in free], kwonlyargs=[], kw_defaults=[],
                              defaults=[ast.Constant(None) for _ in free])
    body = [definition, ast.Return(ast.Name(definition.name, ast.Load()))]
    factory = ast.FunctionDef(name=_FACTORY, args=arguments, body=body, decorator_list=[], type_params=[])
    return ast.fix_missing_locations(ast.Module([factory], []))


class RewritingTracer(Tracer):
    """A Tracer of the rewritten source of what it is given: a function, or the forward of a module.

    Arguments:
        autowrap_modules: modules whose functions are recorded as calls
        autowrap_functions: functions that are recorded as calls
        param_shapes_constant: whether the shapes of parameters are constants of the graph

    Example:
        >>> graph = torch.fx.experimental.rewriter.RewritingTracer().trace(torch.nn.Sequential(torch.nn.ReLU()))
        >>> [node.op for node in graph.nodes]
        ['placeholder', 'call_module', 'output']
    """

    def trace(self, root: Module | Callable, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The Graph of a module's forward, or of a function."""
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(root):
    """A function rewritten, or a shallow copy of a module with its forward rewritten, whose children are the same."""
    if not isinstance(root, Module):
        return AST_Rewriter().rewrite(cast(FunctionType, root))
    kind = type(root)
    made = Module.__new__(type(kind.__name__, (kind,), {
        "__module__": kind.__module__, "__qualname__": kind.__qualname__,
        "forward": AST_Rewriter().rewrite(kind.forward)}))
    made.__dict__ = dict(root.__dict__)
    return made
