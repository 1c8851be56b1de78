"""Parameters and buffers of layers, results of pooling, distributions and Functions: nothing of them is unknown."""
from __future__ import annotations

import mindtorch as torch
from mindtorch import Tensor, nn
from mindtorch.nn import functional as F


def parameters() -> list[Tensor]:
    linear, bilinear, attention = nn.Linear(2, 2), nn.Bilinear(2, 2, 2), nn.MultiheadAttention(2, 1)
    cell, norm, groups, embedding = nn.LSTMCell(2, 2), nn.LayerNorm(2), nn.GroupNorm(1, 2), nn.Embedding(2, 2)
    return [linear.weight, linear.bias, bilinear.weight, bilinear.bias, attention.in_proj_weight,
            attention.in_proj_bias, attention.out_proj.weight, attention.out_proj.bias, cell.weight_ih, cell.bias_hh,
            norm.weight, norm.bias, groups.weight, groups.bias, embedding.weight, nn.RMSNorm(2).weight,
            nn.PReLU().weight, nn.Conv2d(1, 1, 1).weight, nn.BatchNorm1d(2).weight, nn.InstanceNorm1d(2).bias]


def buffers(layer: nn.BatchNorm2d, loss: nn.BCEWithLogitsLoss, weighted: nn.CrossEntropyLoss) -> list[Tensor | None]:
    return [layer.running_mean, layer.running_var, layer.num_batches_tracked, loss.pos_weight, weighted.weight]


def initialise(layer: nn.Module) -> None:
    if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
        nn.init.normal_(layer.weight, 0.0, 0.02)
    elif isinstance(layer, nn.BatchNorm2d | nn.Linear):
        nn.init.zeros_(layer.bias)


def pooled(x: Tensor) -> Tensor:
    x = F.max_pool2d(x, 2)
    x = F.adaptive_avg_pool2d(F.lp_pool2d(x, 2, 2), 1)
    values, indices = F.max_pool2d_with_indices(x, 1)
    found: Tensor = values + indices
    return found


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor, factor: float) -> Tensor:
        ctx.save_for_backward(x)
        return x * factor


def surprise(mean: Tensor, value: Tensor) -> Tensor:
    normal = torch.distributions.Normal(mean, torch.ones_like(mean))
    return normal.entropy().sum(-1) - normal.log_prob(value).sum(-1) + normal.sample().mean()


def chosen(logits: Tensor) -> int:
    picked = torch.distributions.Categorical(logits=logits).sample()
    return int(picked.item())
