"""Names of torch.npu that are not available. Calling one raises RuntimeError with the reason."""

from __future__ import annotations

_HOST_LENGTHS = "mindtorch has no operators with sequence lengths on the host; see graph_task_group_begin"
_GRAPH_COMPILER = "it needs CANN's graph compiler; mindtorch calls ACLNN operators, which are precompiled"
_TRUSTED = "it needs the chip's trusted execution environment, which holds the keys"

REASONS = {
    "NpuGraphOpHandler": _HOST_LENGTHS, "register_npu_graph_handler": _HOST_LENGTHS,
    "super_kernel_scope_begin": _GRAPH_COMPILER, "super_kernel_scope_end": _GRAPH_COMPILER,
    "set_aoe": _GRAPH_COMPILER,
    "get_npu_overflow_flag": "only the first Ascend 910 has this flag; on later chips use torch.isfinite",
    "stress_detect": "it is a hardware test",
    "obfuscation_calculate": _TRUSTED, "obfuscation_finalize": _TRUSTED, "obfuscation_initialize": _TRUSTED,
}


class _Unavailable:
    """Stands for a function, a class or a namespace."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = f"Not available: {REASONS[name]}."

    def _refuse(self, *arguments, **options):
        raise RuntimeError(f"torch.npu.{self.__name__} is not available: {REASONS[self.__name__]}")

    __call__ = __enter__ = __exit__ = _refuse

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self) -> str:
        return f"<torch.npu.{self.__name__}: not available>"


globals().update({name: _Unavailable(name) for name in REASONS})
