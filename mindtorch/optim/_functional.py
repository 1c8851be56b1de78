"""torch.optim._functional: a step of each optimizer as a function of lists, in one place."""
from mindtorch.optim.adadelta import adadelta
from mindtorch.optim.adagrad import adagrad
from mindtorch.optim.adam import adam
from mindtorch.optim.adamax import adamax
from mindtorch.optim.adamw import adamw
from mindtorch.optim.asgd import asgd
from mindtorch.optim.nadam import nadam
from mindtorch.optim.radam import radam
from mindtorch.optim.rmsprop import rmsprop
from mindtorch.optim.rprop import rprop
from mindtorch.optim.sgd import sgd

__all__ = ["adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd"]
