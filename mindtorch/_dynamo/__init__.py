"""torch._dynamo: mindtorch has no compiler, so its decorators and marks change nothing, as those of torch.compiler."""
from mindtorch import Tensor
from mindtorch._dynamo import eval_frame
from mindtorch._dynamo.eval_frame import OptimizeContext, OptimizedModule
from mindtorch._submodules import module_getattr
from mindtorch.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    set_stance,
)

__all__ = ["OptimizedModule", "allow_in_graph", "assume_constant_result", "disable", "eval_frame", "forbid_in_graph",
           "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static", "mark_static_address",
           "maybe_mark_dynamic", "optimize", "reset", "reset_code_caches", "set_stance"]


def forbid_in_graph(fn):
    """`fn` unchanged."""
    return fn


def graph_break(msg=""):
    """Ends a graph of which there is none."""


def mark_static_address(t, guard=False):
    """Says that a tensor will stay where it is. TypeError for what is no tensor."""
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """Does nothing: no graph is specialised for a size."""


def mark_static(t, index=None):
    """Does nothing: every size is what it is."""


maybe_mark_dynamic = mark_unbacked = mark_dynamic


def optimize(*args, **kwargs):
    """A decorator that does what torch.compile does: no argument changes anything."""
    return OptimizeContext()


def reset_code_caches():
    """Does nothing: nothing is compiled."""


__getattr__ = module_getattr(__name__)
