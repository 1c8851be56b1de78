"""torch.special: functions of mathematical physics and statistics. Names only; see mindtorch/_ops/rows/special.toml."""
# ruff: noqa: F401 - what is imported here is what the module consists of
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core.python.torch_function import publish as _publish
from mindtorch._ops.composite.math import multigammaln, ndtr
from mindtorch._ops.composite.math import round_ as round

_PREFIX = "special_"
globals().update({name.removeprefix(_PREFIX): function for name, function in _ATEN.items() if name.startswith(_PREFIX)})

_publish(globals(), module="torch._C._special", prefix="special_")
