"""torch.optim: optimizers and schedules of learning rates."""
from mindtorch.optim import lr_scheduler
from mindtorch.optim._adafactor import Adafactor
from mindtorch.optim._muon import Muon
from mindtorch.optim.adadelta import Adadelta
from mindtorch.optim.adagrad import Adagrad
from mindtorch.optim.adam import Adam
from mindtorch.optim.adamax import Adamax
from mindtorch.optim.adamw import AdamW
from mindtorch.optim.asgd import ASGD
from mindtorch.optim.nadam import NAdam
from mindtorch.optim.optimizer import Optimizer
from mindtorch.optim.radam import RAdam
from mindtorch.optim.rmsprop import RMSprop
from mindtorch.optim.rprop import Rprop
from mindtorch.optim.sgd import SGD

__all__ = ["ASGD", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
           "RAdam", "RMSprop", "Rprop", "lr_scheduler"]
