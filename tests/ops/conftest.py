"""Sets the objects of imported modules aside: each test ends with a garbage collection, which must be cheap."""
import gc

import pytest


@pytest.fixture(scope="session", autouse=True)
def _imports_are_no_garbage():
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
