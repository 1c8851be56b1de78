"""Everything that a derivative or a formula may call: `ops`, the functions of the modules derivatives* and
compositions* beside this one, some of which are compiled.
"""
from importlib import import_module
from pkgutil import iter_modules

import mindtorch._ops as _package

for _module in iter_modules(_package.__path__, "mindtorch._ops."):
    if _module.name.rpartition(".")[2].startswith(("derivatives", "compositions")):
        globals().update(vars(import_module(_module.name)))
