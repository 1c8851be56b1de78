"""torch.optim: optimizers and schedules of learning rates."""
from mindtorch._submodules import module_getattr as _module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.optim import (
    adadelta,
    adagrad,
    adam,
    adamax,
    adamw,
    asgd,
    lr_scheduler,
    nadam,
    optimizer,
    radam,
    rmsprop,
    rprop,
    sgd,
    swa_utils,
)
from mindtorch.optim._adafactor import Adafactor
from mindtorch.optim._muon import Muon
from mindtorch.optim._stateless import swap_in_optimizer_params_and_state
from mindtorch.optim.adadelta import Adadelta
from mindtorch.optim.adagrad import Adagrad
from mindtorch.optim.adam import Adam
from mindtorch.optim.adamax import Adamax
from mindtorch.optim.adamw import AdamW
from mindtorch.optim.asgd import ASGD
from mindtorch.optim.lbfgs import LBFGS
from mindtorch.optim.nadam import NAdam
from mindtorch.optim.optimizer import Optimizer
from mindtorch.optim.radam import RAdam
from mindtorch.optim.rmsprop import RMSprop
from mindtorch.optim.rprop import Rprop
from mindtorch.optim.sgd import SGD
from mindtorch.optim.sparse_adam import SparseAdam

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam",
           "Optimizer", "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils",
           "swap_in_optimizer_params_and_state"]

_complete_docstrings(globals(), "optimizers")
for _module in (lr_scheduler, optimizer, swa_utils):
    _complete_docstrings(vars(_module), "optimizers")
for _module in (adadelta, adagrad, adam, adamax, adamw, asgd, nadam, radam, rmsprop, rprop, sgd):
    _complete_docstrings(vars(_module), "optimizers.functional")

__getattr__ = _module_getattr(__name__)
