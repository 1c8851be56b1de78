"""torch.utils.module_tracker: which modules a program is in."""
from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from mindtorch import Tensor
from mindtorch._core.autograd.engine import current_graph_task_id
from mindtorch.autograd import Variable
from mindtorch.autograd.graph import register_multi_grad_hook
from mindtorch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from mindtorch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from mindtorch.nn.modules.module import Module

__all__ = ["ModuleTracker"]

_logger = logging.getLogger(__name__)


class ModuleTracker:
    """`with ModuleTracker() as tracker:` knows which modules are computing their forward, or their backward.

    `parents` is the set of their names: "Global", which is always there, the class of the outermost module, and those
    inside it by their attributes ("Net.layers.0"). `is_bw` tells whether a backward runs. A module counts as being in
    its backward from the gradient of its output to those of its inputs.

    Example:
        >>> from mindtorch.utils.module_tracker import ModuleTracker
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2))
        >>> with ModuleTracker() as tracker:
        ...     handle = net[0].register_forward_pre_hook(lambda *args: print(sorted(tracker.parents)))
        ...     y = net(torch.ones(1, 2))
        ['Global', 'Sequential', 'Sequential.0']
    """

    parents: set[str]
    """The names of the modules."""

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: WeakKeyDictionary = WeakKeyDictionary()
        self._handles: list[Any] = []
        self._ends_backward = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward runs in this thread."""
        return current_graph_task_id() != -1

    def __enter__(self) -> Self:
        self._handles = [register_module_forward_pre_hook(self._before),
                         register_module_forward_hook(self._after, always_call=True)]
        return self

    def __exit__(self, *error: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _name(self, module: Module, name: str) -> str:
        """The module's name; it and what it contains get theirs when it is first met."""
        if module not in self._names:
            self._names[module] = name
            for child, inner in module.named_children():
                self._name(inner, f"{name}.{child}")
        return self._names[module]

    def _enter(self, name: str) -> None:
        if name in self.parents:
            _logger.info("%s is entered again before it was left: its calls are not told apart", name)
        self.parents.add(name)

    def _leave(self, name: str) -> None:
        if name not in self.parents:
            _logger.info("%s is left, but was not entered", name)
        self.parents.discard(name)

    def _before(self, module: Module, args: Any) -> None:
        name = self._name(module, type(module).__name__)
        self._enter(name)
        self._on_gradients(args, self._leave, name)

    def _after(self, module: Module, args: Any, result: Any) -> None:
        name = self._name(module, type(module).__name__)
        self._leave(name)
        self._on_gradients(result, self._enter_backward, name)

    def _on_gradients(self, values: Any, function: Any, name: str) -> None:
        tensors = [each for each in tree_leaves(values) if isinstance(each, Tensor) and each.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, lambda gradients: function(name)))

    def _enter_backward(self, name: str) -> None:
        if not self._ends_backward:             # a module whose inputs need no gradient is never left
            self._ends_backward = True
            Variable._execution_engine.queue_callback(self._end_backward)
        self._enter(name)

    def _end_backward(self) -> None:
        self.parents = {"Global"}
        self._ends_backward = False
