"""torch._dynamo.eval_frame: what torch.compile returns for a module."""
from collections.abc import Sized

from mindtorch.nn import Module

__all__ = ["OptimizeContext", "OptimizedModule"]


class OptimizeContext:
    """What `torch._dynamo.optimize` returns: makes a module an OptimizedModule and leaves a function as it is."""

    def __call__(self, fn):
        return OptimizedModule(fn, self) if isinstance(fn, Module) and not isinstance(fn, OptimizedModule) else fn


class OptimizedModule(Module):
    """What torch.compile returns for a module `mod`, which runs as it is: mindtorch has no compiler.

    `_orig_mod` is the module, so the names in a state dict begin with `_orig_mod.`. Attributes are those of the module,
    its mode (`training`) too. Hooks that are registered here are called around the call of the module.

    Arguments:
        mod: the module
        dynamo_ctx: an OptimizeContext
    """

    def __init__(self, mod, dynamo_ctx):
        super().__init__()
        del self.__dict__["training"]           # a property of this class
        self.__dict__["dynamo_ctx"] = dynamo_ctx
        super().__setattr__("_orig_mod", mod)

    def forward(self, *args, **kwargs):
        return self._modules["_orig_mod"](*args, **kwargs)

    @property
    def training(self):
        return self._orig_mod.training

    @training.setter
    def training(self, value):
        self._orig_mod.training = value

    def __len__(self):
        if not isinstance(self._orig_mod, Sized):
            raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")
        return len(self._orig_mod)

    def _is_own_attribute(self, name):
        """Whether an attribute that is set or deleted is this module's, and not that of the module inside."""
        return name in ("_orig_mod", "forward") or name in self.__dict__ or hasattr(type(self), name)

    def __getattr__(self, name):
        module = self.__dict__["_modules"]["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name, value):
        if self._is_own_attribute(name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        if self._is_own_attribute(name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self):
        return type(self), (self._orig_mod, self.dynamo_ctx)


def is_dynamo_supported():
    """False: there is no compiler."""
    return False
