"""Everything that a formula may call: `ops`, the functions of the modules derivatives* and compositions* beside this
one, some of which are compiled.
"""
from importlib import import_module
from pkgutil import iter_modules

import mindtorch._ops as _package

for _module in iter_modules(_package.__path__, "mindtorch._ops."):
    if _module.name.rpartition(".")[2].startswith(("derivatives", "compositions")):
        # Without __spec__ and its like: by it a second thread knows that this module is still being imported.
        globals().update({name: value for name, value in vars(import_module(_module.name)).items()
                          if not name.startswith("__")})
