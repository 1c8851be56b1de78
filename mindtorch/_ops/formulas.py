"""Everything that a derivative or a decomposition of a row may call: `ops`, the functions of the modules derivatives*
beside this one, and those of the package decompositions.
"""
from importlib import import_module
from pkgutil import iter_modules

import mindtorch._ops as _package
from mindtorch._ops import decompositions as _decompositions

for _module in [*iter_modules(_package.__path__, "mindtorch._ops."),
                *iter_modules(_decompositions.__path__, "mindtorch._ops.decompositions.")]:
    if _module.name.startswith(("mindtorch._ops.derivatives", "mindtorch._ops.decompositions.")):
        # Without __spec__ and its like: by it a second thread knows that this module is still being imported.
        globals().update({name: value for name, value in vars(import_module(_module.name)).items()
                          if not name.startswith("__")})
