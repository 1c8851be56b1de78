"""torch.fx: a module or function as a graph of its operations, which can be read, changed and run."""
from mindtorch._submodules import module_getattr as _module_getattr
from mindtorch.fx import immutable_collections
from mindtorch.fx._symbolic_trace import ProxyableClassMeta, Tracer, symbolic_trace, wrap
from mindtorch.fx.graph import CodeGen, Graph
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.interpreter import Interpreter, Transformer
from mindtorch.fx.node import Node, has_side_effect, map_arg
from mindtorch.fx.proxy import Proxy
from mindtorch.fx.subgraph_rewriter import replace_pattern

__all__ = ["CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer",
           "Transformer", "has_side_effect", "immutable_collections", "map_arg", "replace_pattern", "symbolic_trace",
           "wrap"]

__getattr__ = _module_getattr(__name__)
