"""Weights divided by their largest singular value: torch.nn.utils.spectral_norm, done by a hook before forward."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.autograd.grad_mode import no_grad
from mindtorch.nn import functional as F
from mindtorch.nn.modules.conv import _ConvTransposeNd
from mindtorch.nn.parameter import Parameter, UninitializedParameter

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.nn.modules.module import Module

__all__ = ["SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm",
           "spectral_norm"]


class SpectralNorm:
    """The hook that computes the weight before each forward.

    Arguments:
        name: the name of the parameter
        n_power_iterations: how many steps of the power method each forward makes
        dim: the dimension that the matrix has as its rows
        eps: a small number that avoids a division by zero

    Example:
        >>> model = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2))
        >>> [type(hook).__name__ for hook in model._forward_pre_hooks.values()]
        ['SpectralNorm']
    """

    name: str
    dim: int
    n_power_iterations: int
    eps: float

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        self.name = name
        self.dim = dim
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                             f"n_power_iterations={n_power_iterations}")
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """`dim` are the rows, the rest is the columns."""
        return weight.movedim(self.dim, 0).flatten(1) if weight.dim() > 1 else weight.unsqueeze(1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight divided by u^T W v. Iterations change the vectors u and v in place."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()         # backward needs these, and the next forward changes them
        return weight / mindtorch.dot(u, matrix.mv(v))

    def remove(self, module: Module) -> None:
        """Make the weight, as it is now, a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for part in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + part)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix, u, sigma):
        """The v for which u^T W v is sigma, where states do not have it."""
        v = mindtorch.linalg.pinv(matrix.t() @ matrix) @ (matrix.t() @ u.unsqueeze(1))
        v = v.squeeze(1)
        return v * (sigma / mindtorch.dot(u, matrix.mv(v)))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Put the hook on a module; it has `<name>_orig` and the buffers `<name>_u` and `<name>_v` then."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if isinstance(weight, UninitializedParameter):
            raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to "
                             "run the dummy forward before applying spectral normalization")
        with no_grad():
            matrix = made.reshape_weight_to_matrix(weight)
            vectors = [F.normalize(weight.new_empty(length).normal_(0, 1), dim=0, eps=eps) for length in matrix.shape]
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # An attribute, not a buffer: it is computed anew by every forward. `data`, for it could not be copied else.
        setattr(module, name, weight.data)
        for part, vector in zip(("_u", "_v"), vectors, strict=True):
            module.register_buffer(name + part, vector)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(SpectralNormStateDictHook(made))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(made))
        return made


class SpectralNormLoadStateDictPreHook:
    """Completes states from before `<name>_v` was part of them.

    Arguments:
        fn: the SpectralNorm

    Example:
        >>> model = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2))
        >>> model.load_state_dict(model.state_dict())       # calls it
        <All keys matched successfully>
    """

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __call__(self, state_dict: Any, prefix: str, local_metadata: Any, strict: Any, missing_keys: Any,
                 unexpected_keys: Any, error_msgs: Any) -> None:
        name = self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(name + ".version")
        if version is not None and version >= 1:
            return
        key = prefix + name
        if all(key + part in state_dict for part in ("_orig", "_u", "_v")) and key not in state_dict:
            return
        lacking = [key + part for part in ("_orig", "", "_u") if key + part not in state_dict]
        if lacking:
            if strict:
                missing_keys.extend(lacking)
            return
        with no_grad():
            original, computed, u = state_dict[key + "_orig"], state_dict.pop(key), state_dict[key + "_u"]
            sigma = (original / computed).mean()
            matrix = self.fn.reshape_weight_to_matrix(original)
            state_dict[key + "_v"] = self.fn._solve_v_and_rescale(matrix, u, sigma)


class SpectralNormStateDictHook:
    """Writes the version of the state.

    Arguments:
        fn: the SpectralNorm

    Example:
        >>> torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2)).state_dict()._metadata[""]["spectral_norm"]
        {'weight.version': 1}
    """

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Any:
    """Divide a weight, seen as a matrix whose rows are `dim`, by its largest singular value before each forward.

    Example:
        >>> net = nn.utils.spectral_norm(nn.Linear(2, 3), n_power_iterations=50)
        >>> _ = net(torch.ones(1, 2))
        >>> torch.linalg.matrix_norm(net.weight.detach(), 2)
        tensor(1.0000)
    """
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo spectral_norm: the weight, as it is now, is a parameter again.

    Example:
        >>> net = nn.utils.spectral_norm(nn.Linear(2, 3))
        >>> [name for name, _ in nn.utils.remove_spectral_norm(net).named_parameters()]
        ['bias', 'weight']
    """
    hooks = module._forward_pre_hooks
    number = next((number for number, hook in hooks.items() if isinstance(hook, SpectralNorm) and hook.name == name),
                  None)
    if number is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hooks.pop(number).remove(module)
    for registered, kind in ((module._state_dict_hooks, SpectralNormStateDictHook),
                             (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook)):
        for number, held in list(registered.items()):
            hook = getattr(held, "hook", held)
            if isinstance(hook, kind) and hook.fn.name == name:
                del registered[number]
    return module
