"""torch.autograd.grad_mode: whether operators are recorded. All are context managers and decorators."""
import functools
import inspect

from mindtorch._core.modes import _set_grad_enabled, _set_inference_mode, is_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


class _Mode:
    """A context manager that also decorates functions, generators and classes; each call enters it anew."""

    def clone(self):
        return type(self)()

    def __call__(self, function):
        if inspect.isclass(function):
            function.__init__ = self(function.__init__)
            return function
        if inspect.isgeneratorfunction(function):
            return self._around_generator(function)

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)
        return inside

    def _around_generator(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            generator = function(*args, **kwargs)
            step, value = generator.send, None
            while True:
                try:
                    with self.clone():
                        given = step(value)
                except StopIteration as finished:
                    return finished.value
                try:
                    step, value = generator.send, (yield given)
                except GeneratorExit:
                    generator.close()
                    raise
                except BaseException as error:      # noqa: BLE001 - handed into the generator
                    step, value = generator.throw, error
        return inside


class no_grad(_Mode):
    """Operators are not recorded inside, in this thread."""

    enabled = False

    def __new__(cls, function=None):
        mode = super().__new__(cls)
        return mode if function is None else mode(function)

    def __enter__(self):
        self.before = _set_grad_enabled(self.enabled)

    def __exit__(self, *exception):
        _set_grad_enabled(self.before)


class enable_grad(no_grad):
    """Operators are recorded inside, also within no_grad."""

    enabled = True


class set_grad_enabled(_Mode):
    """`mode` from now on, and until the end of the block where it is used with `with`."""

    def __init__(self, mode):
        self.mode = bool(mode)
        self.before = _set_grad_enabled(self.mode)

    def clone(self):
        return set_grad_enabled(self.mode)

    def __call__(self, function):
        _set_grad_enabled(self.before)          # as a decorator it changes nothing outside the function
        return super().__call__(function)

    def __enter__(self):
        _set_grad_enabled(self.mode)

    def __exit__(self, *exception):
        _set_grad_enabled(self.before)


class inference_mode(_Mode):
    """As no_grad, and the tensors made inside can never take part in differentiation."""

    def __new__(cls, mode=True):
        instance = super().__new__(cls)
        if isinstance(mode, bool):
            return instance
        instance.mode = True
        return instance(mode)

    def __init__(self, mode=True):
        self.mode = mode

    def clone(self):
        return inference_mode(self.mode)

    def __enter__(self):
        self.before = (_set_inference_mode(self.mode), _set_grad_enabled(not self.mode and is_grad_enabled()))

    def __exit__(self, *exception):
        _set_inference_mode(self.before[0])
        _set_grad_enabled(self.before[1])


# --- switches that change nothing here -------------------------------------------------------------------------------

class _Switch(_Mode):
    """Kept for who asks: a mode from now on, and until the end of the block where it is used with `with`."""

    state = False

    def __init__(self, mode):
        self.mode, self.before = mode, type(self).state
        type(self).state = mode

    def clone(self):
        return type(self)(self.mode)

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        type(self).state = self.before


class set_multithreading_enabled(_Switch):
    """Whether backward may use several threads. It always runs in the thread that asks for it."""

    state = True


class _force_original_view_tracking(_Switch):
    """Whether a view of what was written to gets its history by the views that made it; here it is a strided view."""


def is_multithreading_enabled():
    """What set_multithreading_enabled has set."""
    return set_multithreading_enabled.state


def is_view_replay_enabled():
    """What _force_original_view_tracking has set."""
    return _force_original_view_tracking.state
