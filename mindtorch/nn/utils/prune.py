"""Parameters of which some elements are held at zero: `<name>` is `<name>_orig` times the buffer `<name>_mask`."""
from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch._tensor.docstrings import complete as _complete_docstrings

if TYPE_CHECKING:
    from mindtorch.nn.modules.module import Module

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity",
           "is_pruned", "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]


class BasePruningMethod(ABC):
    """A way to choose the elements that are zero, and the hook that makes them so before each forward.

    A subclass defines `compute_mask(t, default_mask)`, a mask of 0 and 1, and PRUNING_TYPE: "unstructured",
    "structured" or "global".

    Example:
        >>> class Negative(torch.nn.utils.prune.BasePruningMethod):
        ...     PRUNING_TYPE = "unstructured"
        ...     def compute_mask(self, t, default_mask):
        ...         return default_mask * (t >= 0)
        >>> model = torch.nn.Linear(2, 1)
        >>> _ = Negative.apply(model, "weight")
        >>> bool((model.weight >= 0).all())
        True
    """

    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for elements of importance `t`; where `default_mask` is 0 it is 0 too."""

    def apply_mask(self, module: Module) -> Any:
        """The parameter with its zeros."""
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter; what was pruned before stays so. The importance is the parameter's value by default."""
        hooks = module._forward_pre_hooks
        before = next((number for number, hook in hooks.items()
                       if isinstance(hook, BasePruningMethod) and hook._tensor_name == name), None)
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if before is not None:
            container = PruningContainer()
            container._tensor_name = name
            old = hooks[before]
            for each in (*(old if isinstance(old, PruningContainer) else (old,)), method):
                container.add_pruning_method(each)
            method = container
        value = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != value.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}, got "
                                 f"{importance_scores.shape} vs {value.shape}")
        default = mindtorch.ones_like(value) if before is None else getattr(module, name + "_mask").detach().clone()
        mask = method.compute_mask(value if importance_scores is None else importance_scores, default)
        if before is None:
            original = module._parameters.pop(name)
            module.register_parameter(name + "_orig", original)
        else:
            del hooks[before]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """`t` with its zeros; nothing is registered."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t, got "
                                 f"{importance_scores.shape} vs {t.shape}")
        scores = t if importance_scores is None else importance_scores
        default_mask = mindtorch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask)

    def remove(self, module: Module) -> None:
        """Make the parameter one again, with its zeros as values; the hook stays."""
        name = self._tensor_name
        value = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = value.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """The methods that were applied to one parameter, one after the other.

    Arguments:
        *args: the methods, in order

    Example:
        >>> prune = torch.nn.utils.prune
        >>> model = torch.nn.Linear(4, 1)
        >>> for _ in range(2):
        ...     _ = prune.random_unstructured(model, "weight", amount=1)
        >>> int(model.weight_mask.sum())
        2
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add one that is applied to what the others leave."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                             f"PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask of the last method, which sees only what is not pruned: elements, or slices along its `dim`."""
        method = self._pruning_methods[-1]
        if method.PRUNING_TYPE == "unstructured":
            left = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            kept = default_mask.sum([d for d in range(t.dim()) if d != dim]) != 0
            left = (slice(None),) * dim + (kept,)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = default_mask.to(dtype=t.dtype, copy=True)
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing.

    Example:
        >>> torch.nn.utils.prune.Identity().prune(torch.tensor([3.0, 4.0]))
        tensor([3., 4.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Any:
        """Have the parameter's mask in place."""
        return super().apply(module, name)


# --- methods that prune an amount: a fraction of the elements or slices that there are, or a number -----------------

def _validate_pruning_amount_init(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (amount > 1 and not isinstance(amount, numbers.Integral)):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount, tensor_size):
    """ValueError where more elements, or slices, shall be pruned than there are."""
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount, tensor_size):
    """How many of `tensor_size` elements, or slices, are pruned."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


class _Unstructured(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _importance_(self, t):
        """The lowest are pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        _validate_pruning_amount(self.amount, t.nelement())
        count = _compute_nparams_toprune(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=mindtorch.contiguous_format)
        if count:
            pruned = mindtorch.topk(self._importance_(t).reshape(-1), k=count, largest=False).indices
            mask.view(-1)[pruned] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements that are drawn.

    Example:
        >>> torch.nn.utils.prune.RandomUnstructured(amount=0.5).prune(torch.ones(4)).sum()
        tensor(2.)
    """

    def _importance_(self, t):
        return -mindtorch.rand_like(t)

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any) -> Any:
        """Prune `amount` elements."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prunes the elements of the least magnitude.

    Example:
        >>> torch.nn.utils.prune.L1Unstructured(amount=1).prune(torch.tensor([3.0, -1.0, 2.0]))
        tensor([3., -0., 2.])
    """

    def _importance_(self, t):
        return t.abs()

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, importance_scores: Any = None) -> Any:
        """Prune `amount` elements."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(BasePruningMethod):
    """Prunes slices along `dim`."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: Any = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def _kept_(self, t, count):
        """Indices of all slices but `count`."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if t.dim() <= 1:
            raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of "
                             f"shape {t.shape} with {t.dim()} dims")
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        _validate_pruning_amount(self.amount, t.shape[self.dim])
        count = _compute_nparams_toprune(self.amount, t.shape[self.dim])
        if not count:
            return default_mask
        mask = mindtorch.zeros_like(t)
        mask.index_fill_(self.dim, self._kept_(t, count), 1)
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes slices that are drawn.

    Arguments:
        dim: the dimension along which units are pruned

    Example:
        >>> torch.nn.utils.prune.RandomStructured(amount=1, dim=0).prune(torch.ones(2, 3)).sum()
        tensor(3.)
    """

    def _kept_(self, t, count):
        drawn = mindtorch.rand(t.shape[self.dim])
        return (drawn > drawn.kthvalue(count).values).nonzero().squeeze(1).to(t.device)

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, dim: Any = -1) -> Any:
        """Prune `amount` slices along `dim`."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the slices of the least norm of order `n`.

    Arguments:
        n: the exponent of the norm
        dim: the dimension along which units are pruned

    Example:
        >>> torch.nn.utils.prune.LnStructured(amount=1, n=2, dim=0).prune(torch.tensor([[3.0, 4.0], [1.0, 1.0]]))
        tensor([[3., 4.],
                [0., 0.]])
    """

    def __init__(self, amount: Any, n: Any, dim: Any = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept_(self, t, count):
        rest = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = mindtorch.norm(t, p=self.n, dim=rest)
        return mindtorch.topk(norms, k=norms.numel() - count).indices

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, n: Any, dim: Any, importance_scores: Any = None) -> Any:
        """Prune `amount` slices along `dim`."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes where a mask is 0.

    Example:
        >>> method = torch.nn.utils.prune.CustomFromMask(torch.tensor([1, 0]))
        >>> method.prune(torch.tensor([3.0, 4.0]))
        tensor([3., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape "
                                 f"{self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Any) -> Any:
        """Prune by `mask`."""
        return super().apply(module, name, mask=mask)


# --- functions -------------------------------------------------------------------------------------------------------

def identity(module: Module, name: str) -> Any:
    """Give a parameter a mask of ones. Returns the module, as the functions below do.

    Example:
        >>> model = torch.nn.utils.prune.identity(torch.nn.Linear(2, 1), "weight")
        >>> model.weight_mask
        tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Any:
    """Prune elements of a parameter that are drawn.

    Example:
        >>> model = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(2, 4), "weight", amount=3)
        >>> int(model.weight_mask.sum())
        5
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the elements of a parameter that have the least magnitude.

    Example:
        >>> model = torch.nn.Linear(4, 4)
        >>> _ = torch.nn.utils.prune.l1_unstructured(model, "weight", amount=0.25)
        >>> int((model.weight == 0).sum())
        4
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: Any) -> Any:
    """Prune slices of a parameter along `dim` that are drawn.

    Arguments:
        dim: the dimension along which units are pruned

    Example:
        >>> model = torch.nn.utils.prune.random_structured(torch.nn.Linear(2, 4), "weight", amount=1, dim=0)
        >>> int(model.weight_mask.sum())
        6
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: Any, n: Any, dim: Any, importance_scores: Any = None) -> Any:
    """Prune the slices of a parameter along `dim` that have the least norm of order `n`.

    Arguments:
        n: the exponent of the norm
        dim: the dimension along which units are pruned

    Example:
        >>> model = torch.nn.utils.prune.ln_structured(torch.nn.Linear(2, 4), "weight", amount=0.5, n=2, dim=0)
        >>> model.weight_mask.sum(dim=1).sort().values
        tensor([0., 0., 2., 2.])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Any) -> Any:
    """Prune a parameter where `mask` is 0.

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> _ = torch.nn.utils.prune.custom_from_mask(model, "weight", torch.tensor([[0.0, 1.0]]))
        >>> model.weight[0, 0] == 0
        tensor(True)
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune several parameters, pairs of a module and a name, as if they were one; kwargs are the method's.

    Arguments:
        parameters: pairs of module and name
        pruning_method: the class of the method, such as L1Unstructured
        importance_scores: (module, name) -> what decides, in place of the parameter
        **kwargs: the arguments of the method

    Example:
        >>> layers = [torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)]
        >>> prune = torch.nn.utils.prune
        >>> prune.global_unstructured([(layer, "weight") for layer in layers], prune.L1Unstructured, amount=10)
        >>> int(sum((layer.weight == 0).sum() for layer in layers))
        10
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    values = [getattr(module, name) for module, name in parameters]
    scores = mindtorch.cat([importance_scores.get(pair, value).reshape(-1)
                            for pair, value in zip(parameters, values, strict=True)])
    masks = mindtorch.cat([getattr(module, name + "_mask", mindtorch.ones_like(value)).reshape(-1)
                           for (module, name), value in zip(parameters, values, strict=True)])
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
                        f"{pruning_method} of type {method.PRUNING_TYPE}")
    mask = PruningContainer(method).compute_mask(scores, masks)
    parts = mask.split([value.numel() for value in values])
    for (module, name), value, part in zip(parameters, values, parts, strict=True):
        custom_from_mask(module, name, part.view_as(value))


def remove(module: Module, name: str) -> Any:
    """Make a pruned parameter one again, with its zeros as values.

    Example:
        >>> model = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(2, 4), "weight", amount=3)
        >>> _ = torch.nn.utils.prune.remove(model, "weight")
        >>> [name for name, _ in model.named_parameters()]
        ['bias', 'weight']
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module or of one below is pruned.

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> torch.nn.utils.prune.is_pruned(model)
        False
    """
    return any(isinstance(hook, BasePruningMethod)
               for each in module.modules() for hook in each._forward_pre_hooks.values())


_complete_docstrings(globals(), "nn.utils")
