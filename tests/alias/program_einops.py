"""What einops is used for, on the device of the command line. Prints results, the same under torch and mindtorch."""
import sys

import torch
from einops import asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

DEVICE = sys.argv[1]


def numbers(*shape):
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float32).reshape(shape) % 7 - 3).to(DEVICE)


def show(name, *tensors):
    for tensor in tensors:
        values = tensor.detach().cpu().double().flatten()
        weighted = (values * torch.arange(values.numel())).sum()
        print(name, tuple(tensor.shape), tensor.stride(), f"{values.sum().item():.5g} {weighted.item():.5g}")


images = numbers(2, 3, 4, 6)
for pattern, sizes in (("b c h w -> b h w c", {}), ("b c h w -> (b h) (w c)", {}), ("b c h w -> b (c h w)", {}),
                       ("b c (h h2) (w w2) -> b (c h2 w2) h w", {"h2": 2, "w2": 3}), ("... h w -> ... w h", {}),
                       ("b c h w -> b c 1 h w 1", {}), ("(b1 b2) c h w -> b2 b1 c h w", {"b1": 2})):
    show(pattern, rearrange(images, pattern, **sizes))
show("list", rearrange([images, images + 1], "n b c h w -> b (n c) h w"))
for operation in ("mean", "min", "max", "sum", "prod", torch.amax, torch.logsumexp):
    show("reduce", reduce(images, "b c (h h2) (w w2) -> b c h w", operation, h2=2, w2=2),
         reduce(images, "b c h w -> c", operation))
show("any", reduce(images > 2, "b c h w -> b c", "any"), reduce(images > 2, "b c h w -> ", "all"))
show("repeat", repeat(images, "b c h w -> b c (h 2) (w w2)", w2=3), repeat(images[0, 0], "h w -> n h w", n=2))
show("einsum", einsum(images, numbers(5, 6), "b c h w, d w -> b c h d"), einsum(images, images, "b ..., b ... -> b"))
packed, shapes = pack([images, numbers(2, 5), numbers(2, 3, 2)], "b *")
show("pack", packed, *unpack(packed, shapes, "b *"))
print(parse_shape(images, "b c _ w"), type(asnumpy(images.cpu())).__name__, shapes)

leaf = numbers(2, 3, 4, 4).requires_grad_()
loss = (rearrange(leaf, "b c h w -> b (h w) c") ** 2).sum() + reduce(leaf, "b c h w -> b c", "max").sum()
(loss + repeat(leaf, "b c h w -> b c h w 2").mean()).backward()
show("gradient", leaf.grad)

model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 4, 3), Rearrange("b c h w -> b (h w) c"), EinMix("b t c -> b t d", "c d", "d", c=4, d=2),
    Reduce("b t d -> b d", "mean"), EinMix("b d -> b e", weight_shape="d e", d=2, e=3)).to(DEVICE)
with torch.no_grad():
    for parameter in model.parameters():
        parameter.copy_(numbers(*parameter.shape) / 8)
model(images).pow(2).sum().backward()
show("layers", model(images), *(parameter.grad for parameter in model.parameters()))
print(model[1], model[2], model[3], sorted(model.state_dict()))
for bad in (lambda: rearrange(images, "a b -> b a"), lambda: reduce(numbers(2, 2).int(), "a b -> a", "mean"),
            lambda: rearrange(images, "b c h (w w2) -> b", w2=4)):
    try:
        bad()
    except Exception as error:      # noqa: BLE001
        print(type(error).__name__, str(error).partition("\n")[0])
