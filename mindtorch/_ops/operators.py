"""`ops`: every operator by its name, for derivatives, decompositions and functions that are written with them."""
from types import SimpleNamespace

from mindtorch._core import composites as _core_composites
from mindtorch._core import factories as _factories
from mindtorch._core import moves as _moves
from mindtorch._core import view_functions as _views
from mindtorch._core._gen import namespace as _generated
from mindtorch._ops.composite import namespace as _composites

ops = SimpleNamespace(**{**_views.FUNCTIONS, **_moves.FUNCTIONS, **_generated.FUNCTIONS, **_generated.ATEN,
                         **_generated.NPU, **_core_composites.FUNCTIONS, **_composites.FUNCTIONS,
                         **_factories.FUNCTIONS})
