"""A model cut into the stages of a pipeline, by its graph.

A module within which no cut lies stays whole, one node of the graph: what it decides by values, its hooks and its modes
are as before. A value that a later stage needs goes through all stages between, since stages send to the next one only.
"""
from __future__ import annotations

import inspect
import logging
import operator
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import nn
from mindtorch.distributed.pipelining.stage import PipelineStage
from mindtorch.func import functional_call
from mindtorch.fx import Graph, GraphModule, Tracer, symbolic_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch.distributed import ProcessGroup

__all__ = ["Pipe", "PipeInfo", "SplitPoint", "build_stage", "pipe_split", "pipeline"]

_log = logging.getLogger(__name__)
_on_split: Callable[[], Any] | None = None      # what pipe_split() does while `pipeline` looks at a module


class SplitPoint(Enum):
    """Where `pipeline` cuts: before a module, or after it.

    Example:
        >>> torch.distributed.pipelining.SplitPoint.BEGINNING.name
        'BEGINNING'
    """

    BEGINNING = 1
    END = 2


@dataclass
class PipeInfo:
    """What a stage knows of its pipeline."""

    graph: Graph
    num_stages: int
    has_loss_and_backward: bool


def pipe_split() -> None:
    """Mark, in the forward of a module, where one stage ends and the next begins. It does nothing else.

    Example:
        >>> class Model(torch.nn.Module):
        ...     def forward(self, x):
        ...         x = x * 2
        ...         torch.distributed.pipelining.pipe_split()
        ...         return x + 1
        >>> torch.distributed.pipelining.pipeline(Model(), (torch.ones(2),)).num_stages
        2
    """
    if _on_split is not None:
        _on_split()


class _SplitsSeen:
    """A context in which pipe_split() calls a function."""

    def __init__(self, function):
        self._function = function

    def __enter__(self):
        global _on_split
        self._before, _on_split = _on_split, self._function

    def __exit__(self, *_):
        global _on_split
        _on_split = self._before


def _with_parents(paths):
    """Paths of modules, and of those that they lie in."""
    return {path.rsplit(".", count)[0] if count else path for path in paths for count in range(path.count(".") + 1)}


def _modules_that_split(module, args, kwargs):
    """The paths of modules in whose forward pipe_split() is called. The module runs once, on copies of its buffers."""
    running, found = [], set()
    handles = []
    for name, each in module.named_modules():
        handles += [each.register_forward_pre_hook(lambda *_, name=name: running.append(name)),
                    each.register_forward_hook(lambda *_: running.pop() and None)]
    buffers = {name: each.clone() for name, each in module.named_buffers()}
    try:
        with mindtorch.no_grad(), mindtorch.random.fork_rng(), _SplitsSeen(lambda: found.update(running)):
            functional_call(module, buffers, args, kwargs)
    finally:
        for handle in handles:
            handle.remove()
    return found


class _StageTracer(Tracer):
    """Traces through the modules in which a cut lies alone."""

    def __init__(self, split_spec, through):
        super().__init__()
        self._split_spec, self._through = split_spec, through

    def is_leaf_module(self, m, module_qualified_name):
        return module_qualified_name not in self._through

    def call_module(self, m, forward, args, kwargs):
        point = self._split_spec.get(self.path_of_module(m))
        if point is SplitPoint.BEGINNING:
            pipe_split()
        result = super().call_module(m, forward, args, kwargs)
        if point is SplitPoint.END:
            pipe_split()
        return result

    def _input_(self, name, function, concrete_args):
        if name in concrete_args:
            return self._constant_(name, concrete_args[name])
        return self.create_proxy("placeholder", name, (), {})       # it is given, so its default does not count

    def _constant_(self, name, value):
        """An argument that is no tensor: the graph is for this value."""
        if name in self.given:
            self.create_proxy("placeholder", name, (), {})
        return value

    def trace_split(self, module, args, kwargs):
        """The graph, in which cuts are calls of pipe_split. Arguments that are not given have their defaults."""
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        self.given = dict(bound.arguments)
        bound.apply_defaults()
        kinds = inspect.signature(module.forward).parameters
        constants = {name: value for name, value in bound.arguments.items()
                     if (name not in self.given or value is None or isinstance(value, (bool, int, float, str)))
                     and kinds[name].kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)}
        with _SplitsSeen(lambda: self.create_proxy("call_function", pipe_split, (), {})):
            return self.trace(module, constants)


def _stage_of_each_node(graph):
    """Node -> stage, of the nodes that compute; two cuts with nothing between are one."""
    stages, stage, empty, cut = {}, 0, True, False
    for node in graph.nodes:
        if node.op == "call_function" and node.target is pipe_split:
            cut = True
        elif node.op.startswith("call"):
            stage += cut and not empty
            cut, empty = False, False
            stages[node] = stage
    return stages, stage + 1


class _Cut:
    """The graphs of the stages."""

    def __init__(self, module, graph):
        self.module, self.graph = module, graph
        self.stages, self.count = _stage_of_each_node(graph)
        self.placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        for node in self.placeholders:
            self.stages[node] = 0
        self.stages[graph.output_node()] = self.count - 1
        last_use = {node: max((self.stages[user] for user in node.users), default=0) for node in self.stages}
        # What goes from each stage to the next, in the order of the graph.
        ordered = [node for node in graph.nodes if node in self.stages]
        self.sent = [[node for node in ordered if self.stages[node] <= stage < last_use[node]]
                     for stage in range(self.count - 1)]

    def stage_module(self, stage):
        """A GraphModule of one stage."""
        made, copies = Graph(), {}
        for node in self.placeholders if stage == 0 else self.sent[stage - 1]:
            copies[node] = made.node_copy(node) if stage == 0 else made.placeholder(node.name)

        def copied(node):
            if node not in copies:      # a parameter or buffer, in each stage that uses it
                copies[node] = made.node_copy(node)
            return copies[node]

        for node in self.graph.nodes:
            if self.stages.get(node) == stage and node.op.startswith("call"):
                copies[node] = made.node_copy(node, copied)
        if stage == self.count - 1:
            made.node_copy(self.graph.output_node(), copied)
        else:
            sent = tuple(copied(node) for node in self.sent[stage])
            made.output(sent[0] if len(sent) == 1 else sent)
        return GraphModule(self.module, made)

    def whole(self, modules):
        """A GraphModule that calls the stages one after the other, and returns a tuple."""
        made = Graph()
        values = [made.node_copy(node) for node in self.placeholders]
        for stage, sent in enumerate([*self.sent, None]):
            result = made.call_module(f"submod_pp_{stage}", tuple(values))
            if sent is None:
                returns = self.graph.output_node().args[0]
                made.output(result if isinstance(returns, tuple) else (result,))
            else:
                values = [result] if len(sent) == 1 else [
                    made.call_function(operator.getitem, (result, place)) for place in range(len(sent))]
        return GraphModule({f"submod_pp_{stage}": module for stage, module in enumerate(modules)}, made)


def _warn_of_shared(modules):
    """Parameters of several stages have a gradient in each."""
    stages, names = defaultdict(list), {}
    for stage, module in enumerate(modules):
        for name, parameter in module.named_parameters():
            names[id(parameter)] = name
            stages[id(parameter)].append(stage)
    for key, found in stages.items():
        if len(found) > 1:
            _log.warning("Parameter %s is used in the stages %s: on different ranks each has its own copy and its own "
                         "gradient, which the program must add up", names[key], found)


class Pipe(nn.Module):
    """A module cut into stages, which `pipeline` makes. Called, it runs them all and returns a tuple.

    Arguments:
        split_gm: the module, cut into stages
        has_loss_and_backward: whether the loss is part of the pipeline
        loss_spec: which result is the loss

    Example:
        >>> from mindtorch.distributed.pipelining import SplitPoint, pipeline
        >>> model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sigmoid())
        >>> pipe = pipeline(model, (torch.zeros(2),), split_spec={"1": SplitPoint.BEGINNING})
        >>> pipe(torch.zeros(2))
        (tensor([0.5000, 0.5000]),)
    """

    def __init__(self, split_gm: GraphModule, num_stages: int, has_loss_and_backward: bool = False,
                 loss_spec: Any = None) -> None:
        super().__init__()
        self.split_gm, self.num_stages = split_gm, num_stages
        self.has_loss_and_backward, self.loss_spec = has_loss_and_backward, loss_spec

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.split_gm(*args, **kwargs)

    def get_stage_module(self, stage_idx: int) -> nn.Module:
        """The module of a stage. Its parameters have the names that they have in the whole."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return getattr(self.split_gm, f"submod_pp_{stage_idx}")

    def info(self) -> PipeInfo:
        """What `build_stage` needs beside a stage's module."""
        return PipeInfo(self.split_gm.graph, self.num_stages, self.has_loss_and_backward)

    def build_stage(self, stage_index: int, device: Any, group: ProcessGroup | None = None) -> PipelineStage:
        """The PipelineStage of a stage, with its module moved to a device."""
        return build_stage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)

    def print_readable(self) -> None:
        """Print the code of all stages."""
        self.split_gm.print_readable()

    def __str__(self) -> str:
        return str(self.split_gm)

    __repr__ = __str__


def build_stage(stage_module: nn.Module, stage_index: int, pipe_info: PipeInfo, device: Any,
                group: ProcessGroup | None = None) -> PipelineStage:
    """A PipelineStage of a module that a Pipe gave, which may have been changed since; it is moved to the device.

    Arguments:
        stage_module: the module of the stage
        pipe_info: the description of the whole pipeline, Pipe.info()

    Example:
        >>> from mindtorch.distributed.pipelining import build_stage, pipeline
        >>> pipe = pipeline(torch.nn.Linear(2, 1), (torch.zeros(4, 2),))
        >>> stage = build_stage(pipe.get_stage_module(0), 0, pipe.info(), "cpu")
        >>> stage.is_first, stage.is_last
        (True, True)
    """
    return PipelineStage(stage_module.to(device), stage_index, pipe_info.num_stages, device, group=group)


def pipeline(module: nn.Module, mb_args: tuple[Any, ...], mb_kwargs: dict[str, Any] | None = None,
             split_spec: dict[str, SplitPoint] | None = None,
             split_policy: Callable[[GraphModule], GraphModule] | None = None) -> Pipe:
    """Cut a module into stages: at its calls of pipe_split(), and before or after the modules that `split_spec` names.

    mb_args and mb_kwargs are those of one microbatch. `split_policy` gets the graph of the whole and inserts calls of
    pipe_split.

    Arguments:
        module: the model
        mb_args: the arguments of one part of a batch
        mb_kwargs: the arguments by name of one part of a batch
        split_spec: where to cut: submodule -> SplitPoint
        split_policy: a function that cuts, in place of split_spec

    Example:
        >>> from mindtorch.distributed.pipelining import SplitPoint, pipeline
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
        >>> pipe = pipeline(model, (torch.zeros(4, 2),), split_spec={"0": SplitPoint.END})
        >>> pipe.num_stages
        2
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError("Cannot specify both `split_spec` and `split_policy`. Please use only one of them.")
    for name, point in (split_spec or {}).items():
        if not isinstance(point, SplitPoint):
            raise ValueError("Unknown split point type.")
        try:
            module.get_submodule(name)
        except AttributeError as error:
            raise AttributeError(f"split_spec names a module that is not there: {error}") from None
    if split_policy is None:
        parents = {name.rpartition(".")[0] for name in split_spec or ()}
        through = _with_parents(parents | _modules_that_split(module, mb_args, mb_kwargs or {})) | {""}
        graph = _StageTracer(split_spec or {}, through).trace_split(module, mb_args, mb_kwargs or {})
    else:
        module = split_policy(symbolic_trace(module))
        graph = module.graph
    cut = _Cut(module, graph)
    modules = [cut.stage_module(stage) for stage in range(cut.count)]
    _warn_of_shared(modules)
    return Pipe(cut.whole(modules), cut.count)
