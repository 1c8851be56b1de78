"""Small programs with published packages: models trained for a step, layers, metrics, solvers.

Each is given the device and `tell(name, numbers)`. Parameters and inputs come from NumPy, so that they are the same
whatever generator a library has.
"""
import copy
import tempfile
from pathlib import Path

import numpy as np
import torch

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def numbers(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def filled(model):
    """The model with parameters that are known: small normal numbers, in the order of their names."""
    generator = np.random.default_rng(1)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            values = generator.standard_normal(tuple(parameter.shape)) * 0.1 + (name.endswith("weight")
                                                                                and parameter.dim() == 1)
            parameter.copy_(torch.from_numpy(np.asarray(values, dtype=np.float32)))
    return model


def trained(tell, model, loss, **options):
    """Two steps of SGD; tells the losses, the gradients' sizes and a parameter."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, **options)
    for _ in range(2):
        optimizer.zero_grad()
        found = loss()
        found.backward()
        tell("loss", found)
        optimizer.step()
    with_gradients = [each for each in model.parameters() if each.grad is not None]
    tell("gradients", torch.stack([each.grad.norm() for each in with_gradients]))
    tell("a parameter", with_gradients[0].flatten()[:5])


@program
def einops(tell, device):
    from einops import einsum, pack, rearrange, reduce, repeat
    from einops.layers.torch import EinMix, Rearrange
    x = numbers(2, 3, 8, 8).to(device)
    tell("rearranged", rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=4))
    tell("reduced", reduce(x, "b c (h 2) w -> b c h", "max"))
    tell("repeated", repeat(x[0, 0], "h w -> (2 h) (w 3)"))
    tell("einsum", einsum(x, numbers(3, 5).to(device), "b c h w, c k -> b k h w"))
    tell("packed", pack([x, x[:, 0]], "b *")[0])
    mix = filled(EinMix("b c h w -> b h w k", weight_shape="c k", bias_shape="k", c=3, k=4)).to(device)
    tell("mixed", torch.nn.Sequential(mix, Rearrange("b h w k -> b k (h w)"))(x))


@program
def safetensors(tell, device):
    from safetensors.torch import load_file, load_model, save_file, save_model
    with tempfile.TemporaryDirectory() as folder:
        kinds = {"float": numbers(3, 2).to(device), "half": numbers(4).half().to(device),
                 "long": torch.arange(5, device=device), "bfloat": numbers(2, 2).bfloat16().to(device)}
        save_file(kinds, Path(folder, "kinds"))
        for name, found in load_file(Path(folder, "kinds"), device=device).items():
            tell(name, found.float())
        model = filled(torch.nn.Linear(3, 2)).to(device)
        save_model(model, Path(folder, "model"))
        other = torch.nn.Linear(3, 2).to(device)
        load_model(other, Path(folder, "model"), device=device)
        tell("model", other(numbers(2, 3).to(device)))


@program
def x_transformers(tell, device):
    from x_transformers import Decoder, TransformerWrapper
    layers = Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, attn_flash=True, ff_glu=True, use_rmsnorm=True)
    model = filled(TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=layers)).to(device)
    tokens = torch.arange(32).reshape(2, 16).to(device)
    trained(tell, model, lambda: torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()))


@program
def vit_pytorch(tell, device):
    from vit_pytorch import SimpleViT, ViT
    images, labels = numbers(2, 3, 32, 32).to(device), torch.tensor([1, 3]).to(device)
    sizes = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 32, "depth": 2, "heads": 4, "mlp_dim": 64}
    for kind in (ViT, SimpleViT):
        model = filled(kind(**sizes)).to(device)
        trained(tell, model, lambda model=model: torch.nn.functional.cross_entropy(model(images), labels))


@program
def timm(tell, device):
    import timm
    images, labels = numbers(2, 3, 64, 64).to(device), torch.tensor([1, 3]).to(device)
    for name, options in (("resnet18", {}), ("mobilenetv3_small_100", {}), ("convnext_atto", {}),
                          ("vit_tiny_patch16_224", {"img_size": 64})):
        model = filled(timm.create_model(name, num_classes=5, **options)).eval().to(device)
        trained(tell, model, lambda model=model: torch.nn.functional.cross_entropy(model(images), labels))


def _language_model(tell, device, model, generates=True):
    model = filled(model).to(device)
    tokens = torch.arange(3, 19).reshape(2, 8).to(device)
    trained(tell, model, lambda: model(input_ids=tokens, labels=tokens).loss)
    if generates:
        model.eval()
        made = model.generate(tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=4, do_sample=False,
                              pad_token_id=0)
        tell("generated", made)


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
         "vocab_size": 100, "attention_dropout": 0.0}
ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


@program
def transformers_gpt2(tell, device):
    from transformers import GPT2Config, GPT2LMHeadModel
    _language_model(tell, device, GPT2LMHeadModel(GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        **ENDS)))


@program
def transformers_llama(tell, device):
    from transformers import LlamaConfig, LlamaForCausalLM
    for attention in ("eager", "sdpa", "flex_attention"):
        model = LlamaForCausalLM(LlamaConfig(**SMALL, **ENDS, num_key_value_heads=2, attn_implementation=attention))
        if attention == "flex_attention":       # whose derivatives torch has not on the CPU
            model = filled(model).eval().to(device)
            with torch.no_grad():
                tell("logits", model(input_ids=torch.arange(3, 19).reshape(2, 8).to(device)).logits)
        else:
            _language_model(tell, device, model)


@program
def transformers_bert(tell, device):
    from transformers import BertConfig, BertForMaskedLM
    small = {name: value for name, value in SMALL.items() if name != "attention_dropout"}
    _language_model(tell, device, BertForMaskedLM(BertConfig(
        **small, hidden_dropout_prob=0, attention_probs_dropout_prob=0)), generates=False)


@program
def peft(tell, device):
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(LlamaConfig(**SMALL, **ENDS, num_key_value_heads=2))
    model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], lora_dropout=0.0))
    tell("trainable", torch.tensor(sum(each.numel() for each in model.parameters() if each.requires_grad)))
    _language_model(tell, device, model)
    merged = model.merge_and_unload()
    tell("merged", merged(torch.arange(3, 11).reshape(1, 8).to(device)).logits)


@program
def accelerate(tell, device):
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=device == "cpu")
    model = filled(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(numbers(8, 4), numbers(8, 2, seed=2)), 4)
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    for inputs, targets in data:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tell("loss", loss)
    tell("gathered", accelerator.gather(model(numbers(2, 4).to(accelerator.device))))


@program
def torchmetrics(tell, device):
    from torchmetrics import MeanSquaredError, MetricCollection
    from torchmetrics.classification import MulticlassAccuracy, MulticlassAUROC, MulticlassConfusionMatrix
    from torchmetrics.image import StructuralSimilarityIndexMeasure
    logits, labels = numbers(20, 4).to(device), (torch.arange(20) % 4).to(device)
    found = MetricCollection([MulticlassAccuracy(4), MulticlassAUROC(4), MulticlassConfusionMatrix(4)]).to(device)
    for part in range(2):
        found.update(logits[part * 10:][:10].softmax(-1), labels[part * 10:][:10])
    for name, value in sorted(found.compute().items()):
        tell(name, value)
    error = MeanSquaredError().to(device)
    tell("error", error(numbers(6).to(device), numbers(6, seed=3).to(device)))
    images = numbers(2, 1, 16, 16).sigmoid().to(device)
    tell("similarity", StructuralSimilarityIndexMeasure(data_range=1.0).to(device)(images, images * 0.9))


@program
def torchdiffeq(tell, device):
    from torchdiffeq import odeint, odeint_adjoint
    field = filled(torch.nn.Linear(2, 2)).to(device)

    class Field(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = field

        def forward(self, t, y):
            return torch.tanh(self.inner(y)) * torch.cos(t)
    start, times = numbers(3, 2).to(device), torch.linspace(0, 1, 5).to(device)
    for solve, options in ((odeint, {"method": "rk4"}), (odeint, {"method": "explicit_adams"}),
                           (odeint_adjoint, {"method": "midpoint"})):
        field.zero_grad()
        found = solve(Field(), start, times, **options)
        found.square().sum().backward()
        tell("path", found)
        tell("gradient", field.weight.grad)


@program
def lion(tell, device):
    from lion_pytorch import Lion
    model = filled(torch.nn.Linear(3, 2)).to(device)
    optimizer = Lion(model.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(numbers(4, 3).to(device)).square().sum().backward()
        optimizer.step()
    tell("weight", model.weight)


@program
def ema(tell, device):
    from ema_pytorch import EMA
    model = filled(torch.nn.Linear(3, 2)).to(device)
    average = EMA(model, beta=0.9, update_after_step=1, update_every=1)
    for step in range(4):
        with torch.no_grad():
            model.weight.add_(numbers(2, 3, seed=step).to(device))
        average.update()
    tell("average", average(numbers(2, 3).to(device)))


@program
def rotary(tell, device):
    from rotary_embedding_torch import RotaryEmbedding
    x = numbers(1, 2, 6, 16).to(device)
    tell("rotated", RotaryEmbedding(dim=16).to(device).rotate_queries_or_keys(x))
    tell("with scale", torch.stack(RotaryEmbedding(dim=16, use_xpos=True).to(device).rotate_queries_and_keys(x, x)))


@program
def local_attention(tell, device):
    from local_attention import LocalAttention
    query, key, value = (numbers(2, 4, 32, 16, seed=seed).to(device) for seed in range(3))
    tell("attended", LocalAttention(dim=16, window_size=8, causal=True).to(device)(query, key, value))


@program
def msssim(tell, device):
    from pytorch_msssim import ms_ssim, ssim
    one = numbers(1, 3, 192, 192).sigmoid().to(device)
    other = (one * 0.9).requires_grad_()
    tell("ssim", ssim(one, other, data_range=1))
    found = ms_ssim(one, other, data_range=1)
    found.backward()
    tell("ms_ssim", found)
    tell("gradient", other.grad[0, 0, 50, :8])


@program
def gpytorch(tell, device):
    import gpytorch
    x = numbers(6, 2).to(device)
    for kernel in (gpytorch.kernels.RBFKernel(), gpytorch.kernels.MaternKernel(nu=1.5),
                   gpytorch.kernels.ScaleKernel(gpytorch.kernels.PeriodicKernel())):
        tell("kernel", kernel.to(device)(x).to_dense())


@program
def torchvision(tell, device):
    from torchvision.models import resnet18
    from torchvision.ops import StochasticDepth, sigmoid_focal_loss
    from torchvision.transforms import v2
    images, labels = numbers(2, 3, 64, 64).to(device), torch.tensor([1, 3]).to(device)
    model = filled(copy.deepcopy(resnet18(num_classes=5))).eval().to(device)
    trained(tell, model, lambda: torch.nn.functional.cross_entropy(model(images), labels))
    tell("focal loss", sigmoid_focal_loss(images[0, 0], (images[0, 1] > 0).float(), reduction="mean"))
    tell("kept", StochasticDepth(0.5, "row").eval()(images).mean())
    steps = v2.Compose([v2.Resize((32, 32), antialias=True), v2.CenterCrop(24), v2.Normalize([0.5] * 3, [0.25] * 3)])
    tell("transformed", steps(images)[0, :, ::6, ::6])


@program
def graph_layers(tell, device):
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader
    from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, Sequential, global_mean_pool
    edges = torch.tensor([[0, 1, 1, 2, 3, 4, 0, 5, 2, 3], [1, 0, 2, 1, 4, 3, 5, 0, 3, 2]])
    data = Data(x=numbers(6, 8), edge_index=edges, y=torch.tensor([0, 1, 0, 1, 1, 0])).to(device)
    model = filled(Sequential("x, edges", [
        (GCNConv(8, 16), "x, edges -> x"), torch.nn.ReLU(), (GATConv(16, 4, heads=2), "x, edges -> x"), torch.nn.ELU(),
        (SAGEConv(8, 16), "x, edges -> x"), (GINConv(torch.nn.Linear(16, 2)), "x, edges -> x")])).to(device)
    trained(tell, model, lambda: torch.nn.functional.cross_entropy(model(data.x, data.edge_index), data.y))
    for batch in DataLoader([Data(x=numbers(4, 8, seed=seed), edge_index=edges[:, :3]) for seed in range(4)], 2):
        tell("pooled", global_mean_pool(batch.x.to(device), batch.batch.to(device)))


@program
def image_operations(tell, device):
    import kornia
    images = numbers(2, 3, 16, 16).sigmoid().to(device)
    gray = kornia.color.rgb_to_grayscale(images)
    for name, found in (("blurred", kornia.filters.gaussian_blur2d(images, (3, 3), (1.5, 1.5))),
                        ("edges", kornia.filters.sobel(images)), ("canny", kornia.filters.canny(images)[0]),
                        ("median", kornia.filters.median_blur(images, (3, 3))), ("gray", gray),
                        ("hsv", kornia.color.rgb_to_hsv(images)), ("lab", kornia.color.rgb_to_lab(images)),
                        ("resized", kornia.geometry.resize(images, (8, 8))),
                        ("dilated", kornia.morphology.dilation(images, torch.ones(3, 3, device=device))),
                        ("corners", kornia.feature.harris_response(gray)),
                        ("equalized", kornia.enhance.equalize(images)),
                        ("locally", kornia.enhance.equalize_clahe(images)),
                        ("hue", kornia.enhance.adjust_hue(images, 0.2)),
                        ("similarity", kornia.metrics.ssim(images, images * 0.9, 5)),
                        ("variation", kornia.losses.total_variation(images))):
        tell(name, found[..., ::5])


@program
def lightning(tell, device):
    import logging

    import pytorch_lightning
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

    class Model(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = filled(torch.nn.Linear(4, 1))

        def training_step(self, batch, index):
            loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])
            self.log("loss", loss)
            return loss

        def validation_step(self, batch, index):
            self.log("validation", torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1]))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(numbers(8, 4), numbers(8, 1, seed=2)), 2)
    model = Model()
    trainer = pytorch_lightning.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, max_epochs=1,
                                        enable_progress_bar=False)         # it knows no NPU
    trainer.fit(model, data, data)
    for name in ("loss", "validation"):
        tell(name, trainer.callback_metrics[name])
    tell("weight", model.layer.weight)


@program
def variational_inference(tell, device):
    import pyro
    from pyro import distributions
    data = (numbers(20) + 1).to(device)
    pyro.clear_param_store()

    def model(data):
        where = pyro.sample("where", distributions.Normal(torch.zeros((), device=device), 10.0))
        scale = pyro.param("scale", torch.ones((), device=device), constraint=distributions.constraints.positive)
        with pyro.plate("data", len(data)):
            pyro.sample("observed", distributions.Normal(where, scale), obs=data)

    def guide(data):
        pyro.sample("where", distributions.Delta(pyro.param("at", torch.tensor(0.3, device=device))))
    inference = pyro.infer.SVI(model, guide, pyro.optim.Adam({"lr": 0.1}), pyro.infer.Trace_ELBO())
    for _ in range(5):
        tell("loss", torch.tensor(inference.step(data)))
    for name in ("at", "scale"):
        tell(name, pyro.param(name))


@program
def medical_images(tell, device):
    from monai.inferers import sliding_window_inference
    from monai.losses import DiceCELoss
    from monai.networks.nets import UNet
    model = filled(UNet(2, 1, 2, (4, 8, 16), (2, 2), num_res_units=1)).to(device)
    images = numbers(2, 1, 16, 16).to(device)
    labels, loss = (images > 0.3).long(), DiceCELoss(to_onehot_y=True, softmax=True)
    trained(tell, model, lambda: loss(model(images), labels))
    with torch.no_grad():
        tell("by windows", sliding_window_inference(numbers(1, 1, 24, 24).to(device), (16, 16), 2, model.eval(),
                                                    mode="gaussian"))


@program
def diffusion(tell, device):
    from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel
    model = filled(UNet2DModel(
        sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16),
        norm_num_groups=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"))).to(device)
    images, noise, times = numbers(2, 1, 16, 16).to(device), numbers(2, 1, 16, 16, seed=3).to(device), [3, 70]
    times = torch.tensor(times).to(device)
    noisy = DDPMScheduler(num_train_timesteps=100).add_noise(images, noise, times)
    trained(tell, model, lambda: torch.nn.functional.mse_loss(model(noisy, times).sample, noise))
    scheduler = DDIMScheduler(num_train_timesteps=100)
    scheduler.set_timesteps(4)
    with torch.no_grad():
        for step in scheduler.timesteps:
            images = scheduler.step(model(images, step).sample, step, images).prev_sample
    tell("made", images)


@program
def clip(tell, device):
    from open_clip.loss import ClipLoss
    from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg
    model = filled(CLIP(
        16, CLIPVisionCfg(layers=2, width=32, head_width=8, patch_size=8, image_size=16),
        CLIPTextCfg(context_length=8, vocab_size=50, width=32, heads=4, layers=2))).to(device)
    images, texts = numbers(3, 3, 16, 16).to(device), torch.arange(24).reshape(3, 8).to(device)
    loss = ClipLoss()
    trained(tell, model, lambda: loss(*model(images, texts)))


@program
def attributions(tell, device):
    from captum.attr import DeepLift, FeatureAblation, IntegratedGradients, LayerGradCam, Occlusion, Saliency
    model = filled(torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                       torch.nn.Linear(144, 3))).to(device)
    images = numbers(2, 1, 8, 8).to(device)
    for kind in (DeepLift, FeatureAblation, IntegratedGradients, Saliency):
        tell(kind.__name__, kind(model).attribute(images.clone().requires_grad_(), target=1))
    tell("of a layer", LayerGradCam(model, model[0]).attribute(images, target=1))
    tell("occlusion", Occlusion(model).attribute(images, (1, 4, 4), strides=(1, 4, 4), target=1))


@program
def classifier(tell, device):
    from skorch import NeuralNetClassifier
    model = filled(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2),
                                       torch.nn.Softmax(-1)))
    net = NeuralNetClassifier(model, max_epochs=3, lr=0.1, device=device, verbose=0, train_split=None, batch_size=8)
    net.fit(numbers(32, 4).numpy(), (numbers(32, seed=2) > 0).long().numpy())
    tell("losses", torch.tensor(net.history[:, "train_loss"]))
    tell("probabilities", torch.from_numpy(net.predict_proba(numbers(3, 4).numpy())))


@program
def stochastic_equations(tell, device):
    import torchsde

    class Equation(torch.nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def __init__(self):
            super().__init__()
            self.drift = filled(torch.nn.Linear(2, 2))

        def f(self, t, y):
            return self.drift(y)

        def g(self, t, y):
            return 0 * y                # the noise is each library's own
    equation = Equation().to(device)
    start, times = numbers(3, 2).to(device), torch.linspace(0, 1, 5).to(device)
    for name, method in (("sdeint", "euler"), ("sdeint", "milstein"), ("sdeint_adjoint", "euler")):
        equation.zero_grad()
        path = getattr(torchsde, name)(equation, start, times, method=method, dt=0.1)
        path.square().sum().backward()
        tell("path", path)
        tell("gradient", equation.drift.weight.grad)


@program
def equivariant_layers(tell, device):
    from e3nn import o3
    layer = filled(o3.Linear("4x0e+2x1o", "3x0e+2x1o")).to(device)
    trained(tell, layer, lambda: layer(numbers(5, 10).to(device)).square().sum())
    tell("harmonics", o3.spherical_harmonics("0e+1o+2e", numbers(5, 3).to(device), normalize=True))
    product = filled(o3.FullyConnectedTensorProduct("2x0e+1x1o", "1x0e+1x1o", "2x0e+1x1o")).to(device)
    tell("product", product(numbers(4, 5).to(device), numbers(4, 4, seed=1).to(device)))


@program
def schedule_free(tell, device):
    import schedulefree
    for kind in (schedulefree.AdamWScheduleFree, schedulefree.SGDScheduleFree, schedulefree.RAdamScheduleFree):
        model = filled(torch.nn.Linear(3, 2)).to(device)
        optimizer = kind(model.parameters(), lr=0.01)
        optimizer.train()
        for _ in range(4):
            optimizer.zero_grad()
            model(numbers(4, 3).to(device)).square().sum().backward()
            optimizer.step()
        optimizer.eval()
        tell(kind.__name__, model.weight)


@program
def metric_losses(tell, device):
    from pytorch_metric_learning import losses, miners
    vectors, labels = numbers(12, 8).to(device), (torch.arange(12) % 4).to(device)
    for kind in ("TripletMarginLoss", "NTXentLoss", "ContrastiveLoss", "MultiSimilarityLoss", "SupConLoss"):
        given = vectors.clone().requires_grad_()
        loss = getattr(losses, kind)()(given, labels)
        loss.backward()
        tell(kind, loss)
        tell("gradient", given.grad)
    tell("mined", torch.stack(miners.MultiSimilarityMiner()(vectors, labels)[:2]))
