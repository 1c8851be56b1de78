"""torch.fx.passes.shape_prop: runs a graph and describes the result of each node in `node.meta`."""
import copy
from typing import Any, NamedTuple

from mindtorch import Tensor, channels_last, channels_last_3d, contiguous_format
from mindtorch.fx.interpreter import Interpreter
from mindtorch.fx.node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """The properties of a tensor without its elements.

    Arguments:
        shape: the shape
        dtype: the dtype
        requires_grad: whether it requires a gradient
        stride: the strides
        memory_format: the order of the elements in memory
        is_quantized: False: there are no quantized tensors
        qparams: an empty dict

    Example:
        >>> from mindtorch.fx.passes.shape_prop import ShapeProp
        >>> module = torch.fx.symbolic_trace(lambda x: x + 1)
        >>> _ = ShapeProp(module).propagate(torch.ones(2, 3))
        >>> next(iter(module.graph.nodes)).meta["tensor_meta"].dtype
        torch.float32
    """

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple
    memory_format: Any
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity=True):
    """The TensorMetadata of a tensor; memory_format is None where it is in no format."""
    formats = (contiguous_format, channels_last, channels_last_3d) if include_contiguity else ()
    fitting = next((each for each in formats if result.is_contiguous(memory_format=each)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), fitting, False, {})


class ShapeProp(Interpreter):
    """ShapeProp(module).propagate(*args) runs the module and gives each node `meta["tensor_meta"]` and `meta["type"]`.

    With a fake_mode, or the module and the arguments on the meta device, nothing is computed.

    Arguments:
        gm: the GraphModule
        fake_mode: a FakeTensorMode; None runs on real tensors

    Example:
        >>> from mindtorch.fx.passes.shape_prop import ShapeProp
        >>> module = torch.fx.symbolic_trace(lambda x: x.reshape(-1))
        >>> _ = ShapeProp(module).propagate(torch.ones(2, 3))
        >>> [tuple(node.meta["tensor_meta"].shape) for node in module.graph.nodes]
        [(2, 3), (6,), (6,)]
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm if fake_mode is None else _faked(gm, fake_mode), graph=gm.graph)
        self._mode = fake_mode

    def run_node(self, n):
        """The value of a node, which is described in its `meta`."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def described(value):
            nonlocal found
            if not isinstance(value, Tensor):
                return value
            found = True
            return _extract_tensor_metadata(value)

        described_result = map_aggregate(result, described)
        if found:
            n.meta["tensor_meta"] = described_result
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """The value of the graph for these arguments."""
        if self._mode is None:
            return self.run(*args)
        with self._mode:
            return self.run(*(self._mode.from_tensor(each) if isinstance(each, Tensor) else each for each in args))


def _faked(module, mode):
    """A copy of a module, with fake tensors in place of its parameters and buffers."""
    tensors = [*module.parameters(), *module.buffers()]
    return copy.deepcopy(module, {id(tensor): mode.from_tensor(tensor) for tensor in tensors})
