"""torch_npu.optim: optimizers that step all parameters by few launches, which those of torch.optim do here, too."""
from mindtorch import optim
from mindtorch.nn.utils import clip_grad_norm_

__all__ = ["NpuFusedAdadelta", "NpuFusedAdam", "NpuFusedAdamW", "NpuFusedRMSprop", "NpuFusedSGD"]


class _Fused:
    """What torch_npu's optimizers have beside those of torch."""

    def clip_grad_norm_fused_(self, max_norm, norm_type=2):
        """clip_grad_norm_ over the parameters of all groups."""
        return clip_grad_norm_([each for group in self.param_groups for each in group["params"]], max_norm, norm_type)


class NpuFusedAdam(_Fused, optim.Adam):
    """torch.optim.Adam with fused=True."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, fused=True)


class NpuFusedAdamW(_Fused, optim.AdamW):
    """torch.optim.AdamW with fused=True."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, fused=True)


class NpuFusedSGD(_Fused, optim.SGD):
    """torch.optim.SGD with fused=True."""

    def __init__(self, params, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False):
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov, fused=True)


class NpuFusedAdadelta(_Fused, optim.Adadelta):
    """torch.optim.Adadelta with foreach=True."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0):
        super().__init__(params, lr, rho, eps, weight_decay, foreach=True)


class NpuFusedRMSprop(_Fused, optim.RMSprop):
    """torch.optim.RMSprop with foreach=True."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False):
        super().__init__(params, lr, alpha, eps, weight_decay, momentum, centered, foreach=True)


def __getattr__(name):
    raise AttributeError(f"module 'torch_npu.optim' has no attribute '{name}': mindtorch has {', '.join(__all__)}, and "
                         "torch.optim")
