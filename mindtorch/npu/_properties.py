"""The result of torch.npu.get_device_properties."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, repr=False)
class _NPUuuid:
    """The 16 bytes that tell a device from all others."""

    raw: bytes

    @property
    def bytes(self) -> Any:
        """The bytes as a list of ints."""
        return list(self.raw)

    def __str__(self) -> str:
        digits = self.raw.hex()
        return "-".join(digits[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class _NPUDeviceProperties:
    """Sizes in bytes. What CUDA alone has is None."""

    name: str
    total_memory: int
    cube_core_num: int
    vector_core_num: int
    L2_cache_size: int
    uuid: _NPUuuid | None

    major = minor = is_multi_gpu_board = is_integrated = max_threads_per_multi_processor = None
    warp_size = regs_per_multiprocessor = gcnArchName = None

    @property
    def multi_processor_count(self) -> Any:
        """The vector cores, or where there are none the cube cores."""
        return self.vector_core_num or self.cube_core_num

    def __repr__(self) -> str:
        return (f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory >> 20}MB, "
                f"cube_core_num={self.cube_core_num}, vector_core_num={self.vector_core_num}, uuid={self.uuid}, "
                f"L2_cache_size={self.L2_cache_size >> 20}MB)")
