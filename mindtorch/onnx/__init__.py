"""torch.onnx: there is no exporter. What packages tell one is checked and kept."""
from __future__ import annotations

import enum
import re
from collections.abc import Callable

from mindtorch._submodules import module_getattr
from mindtorch.onnx import symbolic_helper, symbolic_opset11  # noqa: F401 - modules that torch.onnx has

__all__ = ["OnnxExporterError", "OperatorExportTypes", "TrainingMode", "is_in_onnx_export",
           "register_custom_op_symbolic", "unregister_custom_op_symbolic"]

_NAME = re.compile(r"[\w-]+::[a-zA-Z_-][\w-]*", re.ASCII)
_symbolics = {}             # (operator, opset) -> function


OperatorExportTypes = enum.IntEnum("OperatorExportTypes", ["ONNX", "ONNX_ATEN", "ONNX_ATEN_FALLBACK",
                                                           "ONNX_FALLTHROUGH"], start=0, module=__name__)
TrainingMode = enum.IntEnum("TrainingMode", ["EVAL", "PRESERVE", "TRAINING"], start=0, module=__name__)


class OnnxExporterError(RuntimeError):
    """What is told to an exporter is wrong."""


def is_in_onnx_export() -> bool:
    """False: nothing is ever exported.

    Example:
        >>> torch.onnx.is_in_onnx_export()
        False
    """
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable, opset_version: int) -> None:
    """Keeps the function that says what an operator, "domain::name", is in ONNX from an opset on.

    Arguments:
        symbolic_name: the operator, as "namespace::name"
        symbolic_fn: the function that would write it
        opset_version: the version of the operator set

    Example:
        >>> torch.onnx.register_custom_op_symbolic("mine::double", lambda g, x: g.op("Add", x, x), 17)
        >>> torch.onnx.unregister_custom_op_symbolic("mine::double", 17)
    """
    if not _NAME.fullmatch(symbolic_name):
        raise OnnxExporterError(
            f"Failed to register operator {symbolic_name}. The symbolic name must match the format domain::name, and "
            "should start with a letter and contain only alphanumeric characters")
    _symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forgets what register_custom_op_symbolic has kept.

    Arguments:
        symbolic_name: the operator, as "namespace::name"
        opset_version: the version of the operator set

    Example:
        >>> torch.onnx.register_custom_op_symbolic("mine::double", lambda g, x: g.op("Add", x, x), 17)
        >>> torch.onnx.unregister_custom_op_symbolic("mine::double", 17)
    """
    _symbolics.pop((symbolic_name, opset_version), None)


__getattr__ = module_getattr(__name__)
