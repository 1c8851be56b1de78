"""Boxes of object detection."""
from mindtorch._core._gen.namespace import NPU as _OPERATORS
from mindtorch._torch_npu._checks import on_npu

__all__ = ["npu_iou"]

_iou = _OPERATORS["_npu_iou"]


def npu_iou(bboxes, gtboxes, mode=0):
    """(n, m): how much each of n ground-truth boxes overlaps with each of m boxes; all are (x0, y0, x1, y1).

    mode 0: the overlap divided by the union; 1: by the area of the ground-truth box. A box counts as 0.01 wider and
    higher than it is.
    """
    on_npu("npu_iou", bboxes, gtboxes)
    return _iou(bboxes, gtboxes, mode).t().contiguous()
