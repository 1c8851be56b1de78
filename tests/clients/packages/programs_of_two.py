"""Small programs with published packages that train in two processes of torchrun, in the style of programs.py.

Rank 0 tells. Losses are those of both ranks together.
"""
import logging
import tempfile

import torch
from programs import filled, numbers

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def accelerate_in_two(tell, device):
    """A loop of one's own: sharded batches, accumulation, clipping, what all ranks have computed."""
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=device == "cpu", gradient_accumulation_steps=2)
    model = filled(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.5, 4)
    labels = torch.arange(22) % 2
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(numbers(22, 4), labels), 3)
    model, optimizer, data, schedule = accelerator.prepare(model, optimizer, data, schedule)
    for _ in range(2):
        for inputs, targets in data:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(inputs), targets)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            tell("loss", accelerator.reduce(loss.detach(), "mean"))
    model.eval()
    with torch.no_grad():
        found = [accelerator.gather_for_metrics((model(inputs).argmax(-1), targets)) for inputs, targets in data]
    for part, name in enumerate(("found", "labels")):
        tell(name, torch.cat([each[part] for each in found]))
    tell("a parameter", accelerator.unwrap_model(model)[0].weight)
    accelerator.wait_for_everyone()
    accelerator.end_training()


@program
def lightning_in_two(tell, device):
    """A module of lightning that Trainer trains and validates by DistributedDataParallel."""
    import pytorch_lightning
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    losses = []

    class Model(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layers = filled(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 1)))

        def training_step(self, batch, index):
            loss = torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])
            self.log("loss", loss, sync_dist=True)
            losses.append(loss.detach())
            return loss

        def validation_step(self, batch, index):
            loss = torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])
            self.log("validation", loss, sync_dist=True, on_epoch=True)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)

    class NPU(pytorch_lightning.accelerators.Accelerator):      # lightning knows none, and takes one of a program's
        def setup_device(self, device):
            torch.npu.set_device(device)

        def teardown(self):
            torch.npu.empty_cache()

        @staticmethod
        def parse_devices(devices):
            return list(range(devices))

        @staticmethod
        def get_parallel_devices(devices):
            return [torch.device("npu", number) for number in devices]

        @staticmethod
        def auto_device_count():
            return torch.npu.device_count()

        @staticmethod
        def is_available():
            return torch.npu.is_available()

        @staticmethod
        def name():
            return "npu"

        def get_device_stats(self, device):
            return {}

    class Strategy(pytorch_lightning.strategies.DDPStrategy):
        def determine_ddp_device_ids(self):
            return None         # with them, it makes a stream of CUDA

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(numbers(16, 4), numbers(16, 1, seed=2)), 2)
    model = Model()
    backend = torch.distributed.get_default_backend_for_device(device)
    trainer = pytorch_lightning.Trainer(
        accelerator="cpu" if device == "cpu" else NPU(), devices=2, logger=False, max_epochs=2,
        strategy=Strategy(process_group_backend=backend), enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(model, data, data)
    tell("losses", torch.stack(losses))
    for name in ("loss", "validation"):
        tell(name, trainer.callback_metrics[name])
    tell("a parameter", model.layers[0].weight)


@program
def transformers_in_two(tell, device):
    """A small Llama that Trainer trains and evaluates."""
    import transformers
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=32)
    model = filled(transformers.LlamaForCausalLM(config))
    tokens = (numbers(24, 12).abs() * 1000).long() % 50
    data = [{"input_ids": row, "labels": row} for row in tokens]
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, use_cpu=device == "cpu", per_device_train_batch_size=2, per_device_eval_batch_size=3, max_steps=5,
            learning_rate=1e-2, logging_steps=1, report_to=[], save_strategy="no", seed=0, data_seed=0,
            disable_tqdm=True, ddp_find_unused_parameters=False)
        trainer = transformers.Trainer(model, arguments, train_dataset=data, eval_dataset=data[:7])
        trainer.train()
        tell("evaluated", torch.tensor(trainer.evaluate()["eval_loss"]))
    tell("losses", torch.tensor([entry["loss"] for entry in trainer.state.log_history if "loss" in entry]))
    tell("a parameter", model.model.layers[0].mlp.up_proj.weight)
