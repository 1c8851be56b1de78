"""torch.fx.passes.infra.pass_manager: runs passes in an order that constraints allow."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.passes.infra.pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]


def pass_result_wrapper(fn: Callable | None) -> Callable | None:
    """A pass that may return nothing, as one that returns a PassResult: it then counts as having changed the module.

    Arguments:
        fn: the pass

    Example:
        >>> wrapped = torch.fx.passes.infra.pass_manager.pass_result_wrapper(lambda module: None)
        >>> wrapped(torch.fx.symbolic_trace(torch.nn.ReLU())).modified
        True
    """
    if fn is None:
        return None

    @functools.wraps(fn, updated=())
    def wrapped(gm):
        result = fn(gm)
        if isinstance(result, PassResult):
            return result
        return PassResult(result if isinstance(result, GraphModule) else gm, True)
    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this: Callable, that: Callable) -> Callable[[Callable, Callable], bool]:
    """A constraint: `this` runs before `that`. A constraint says of two passes whether they may run in that order.

    Arguments:
        this: the pass that comes first
        that: the pass that comes later

    Example:
        >>> constraint = torch.fx.passes.infra.pass_manager.this_before_that_pass_constraint(min, max)
        >>> constraint(min, max), constraint(max, min)
        (True, False)
    """
    def holds(first, second):
        return first != that or second != this
    return holds


def _name(each):
    return each.__name__ if inspect.isfunction(each) else type(each).__name__


def _topological_sort_passes(passes, constraints):
    """The passes in an order that the constraints allow; the given one where there are none."""
    if not constraints:
        return passes
    # those that must run before others
    before = {each: [other for other in passes if other is not each and any(
        not holds(each, other) for holds in constraints)] for each in passes}
    ready = [each for each in passes if not before[each]]
    done = []
    while ready:
        done.append(ready.pop(0))
        for each in passes:
            if done[-1] in before[each]:
                before[each].remove(done[-1])
                if not before[each]:
                    ready.append(each)
    if len(done) < len(passes):
        raise RuntimeError(f"Circular dependency detected within the following passes: "
                           f"{[each for each in passes if before[each]]}")
    return done


class PassManager:
    """PassManager(passes)(module) runs the passes, in an order that the constraints allow, up to `steps` times.

    It ends earlier when no pass changes the module any more. run_checks_after_each_pass: the checks that add_checks
    added run after each pass, not only at the end of a step.

    Arguments:
        passes: the passes
        constraints: what has to hold of the order of two passes
        steps: how often the passes run at most
        run_checks_after_each_pass: whether `check` runs after each pass
        suppress_check_failures: whether an error of `check` is ignored

    Example:
        >>> def stop_dropout(module):
        ...     module.eval()
        >>> manager = torch.fx.passes.infra.pass_manager
        >>> passes = manager.PassManager([manager.pass_result_wrapper(stop_dropout)])
        >>> passes(torch.fx.symbolic_trace(torch.nn.ReLU())).graph_module.training
        False
    """

    def __init__(self, passes: list[Callable] | None = None, constraints: list[Callable] | None = None,
                 steps: int | None = None, run_checks_after_each_pass: bool = False,
                 suppress_check_failures: bool = False) -> None:
        self.passes, self.constraints = list(passes or ()), list(constraints or ())
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Callable) -> None:
        """Add a pass behind the others."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[[Callable, Callable], bool]) -> None:
        """Add a constraint; the order is found anew."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """RuntimeError where the order of the passes contradicts a constraint."""
        if self._validated:
            return
        for place, first in enumerate(self.passes):
            for second in self.passes[place + 1:]:
                if not all(holds(first, second) for holds in self.constraints):
                    raise RuntimeError(f"pass schedule constraint violated. Expected {first} before {second} but found "
                                       f"{first} at index {place} and {second} at index {self.passes.index(second)} "
                                       "in pass list.")
        self._validated = True

    def solve_constraints(self) -> None:
        """Put the passes in an order that the constraints allow. RuntimeError where there is none."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[[GraphModule], Any]) -> None:
        """Add a function of the module that raises where the module is wrong. TypeError where it takes more."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check

    def check(self, module: GraphModule) -> None:
        """Runs the check that was added."""

    def __call__(self, module: GraphModule) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            changed_now = False
            for number, each in enumerate(self.passes):
                try:
                    result = each(module)
                    if not isinstance(result, PassResult):
                        raise TypeError(f"The result of the pass {_name(each)} should be type PassResult. Please wrap "
                                        "it with pass_result_wrapper()")
                except Exception as error:
                    raise Exception(f"An error occurred when running the '{_name(each)}' pass after the following "
                                    f"passes: {list(map(_name, self.passes[:number]))}") from error
                module = result.graph_module
                changed_now |= result.modified
                if isinstance(module, GraphModule):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            self.check(module)
            changed |= changed_now
            if not changed_now:
                break
        return PassResult(module, changed)
