"""torch.special: functions of mathematical physics and statistics. Names only; see mindtorch/_ops/rows/special.toml."""
# ruff: noqa: F401 - what is imported here is what the module consists of
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.python.torch_function import publish as _publish
from mindtorch._ops.composite.math import FUNCTIONS as _COMPOSITES
from mindtorch._ops.composite.math import ndtr
from mindtorch.nn.functional import log_softmax, softmax

_PREFIX = "special_"
globals().update({name.removeprefix(_PREFIX): function for name, function in _ATEN.items() if name.startswith(_PREFIX)})
# Functions of the torch namespace, under the names that they have here.
globals().update({name: _OPS[original] for name, original in {
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid",
    "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma", "i0": "i0", "log1p": "log1p",
    "logit": "logit", "logsumexp": "logsumexp", "polygamma": "polygamma", "psi": "digamma", "round": "round",
    "sinc": "sinc", "xlogy": "xlogy",
}.items()})
multigammaln = _COMPOSITES["mvlgamma"]

_publish(globals(), module="torch._C._special", prefix="special_")
