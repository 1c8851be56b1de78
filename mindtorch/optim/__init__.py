"""torch.optim: optimizers and schedules of learning rates."""
from mindtorch.optim.adam import Adam
from mindtorch.optim.adamw import AdamW
from mindtorch.optim.optimizer import Optimizer
from mindtorch.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
