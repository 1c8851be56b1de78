"""Names of torch.npu that need what mindtorch, or any CPU, does not have. Calling one is an error that says why."""

_UPDATES = "it is for operators that take lengths from the host, which mindtorch has not; see graph_task_group_begin"
_SUPER = "CANN's graph compiler joins the kernels of such a scope, and mindtorch's operators are ACLNN's"
_COMPILER = "it sets up CANN's graph compiler, and mindtorch's operators are ACLNN's, compiled beforehand"
_SECRET = "it runs in the chip's trusted environment, which has the keys"

REASONS = {
    "NpuGraphOpHandler": _UPDATES, "register_npu_graph_handler": _UPDATES,
    "super_kernel_scope_begin": _SUPER, "super_kernel_scope_end": _SUPER,
    "set_aoe": _COMPILER,
    "get_npu_overflow_flag": "only the first Ascend 910 keeps such a flag; later chips give inf and nan, which "
                             "torch.isfinite finds",
    "stress_detect": "it tests the cores of a chip",
    "obfuscation_calculate": _SECRET, "obfuscation_finalize": _SECRET, "obfuscation_initialize": _SECRET,
}


class _Unavailable:
    """Stands for a function, a class or a namespace."""

    def __init__(self, name):
        self.__name__ = self.__qualname__ = name
        self.__doc__ = f"Not available: {REASONS[name]}."

    def _refuse(self, *arguments, **options):
        raise RuntimeError(f"torch.npu.{self.__name__} is not available: {REASONS[self.__name__]}")

    __call__ = __enter__ = __exit__ = _refuse

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self):
        return f"<torch.npu.{self.__name__}: not available>"


globals().update({name: _Unavailable(name) for name in REASONS})
