"""torch.utils.deterministic: whether deterministic operators fill memory that nothing was written to."""
import sys
from types import ModuleType

from mindtorch._compat import settings


class _Deterministic(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """NaN, the largest integer or True fill what torch.empty gives, while deterministic operators are asked for."""
        return settings.get_fill_uninitialized_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        settings.set_fill_uninitialized_memory(mode)


sys.modules[__name__].__class__ = _Deterministic
