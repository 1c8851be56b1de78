"""torch.utils.tensorboard: SummaryWriter, on the package tensorboard."""
from mindtorch.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
