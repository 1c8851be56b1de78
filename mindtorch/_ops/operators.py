"""`ops`: every operator by its name, for derivatives, decompositions and functions that are written with them."""
from types import SimpleNamespace

from mindtorch._core._gen import namespace as _generated
from mindtorch._core.operators import composites as _core_composites
from mindtorch._core.tensor import copy_cast as _copy_cast
from mindtorch._core.tensor import factories as _factories
from mindtorch._core.tensor import views as _views
from mindtorch._ops.composite import namespace as _composites

ops = SimpleNamespace(**{**_views.FUNCTIONS, **_copy_cast.FUNCTIONS, **_generated.FUNCTIONS, **_generated.ATEN,
                         **_generated.NPU, **_core_composites.FUNCTIONS, **_composites.FUNCTIONS,
                         **_factories.FUNCTIONS})
