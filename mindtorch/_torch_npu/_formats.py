"""Memory formats of the chip. Tensors of mindtorch always have plain strided memory."""
from enum import IntEnum

from mindtorch._torch_npu._checks import on_npu

__all__ = ["Format", "get_npu_format", "npu_format_cast", "npu_format_cast_"]


class Format(IntEnum):
    """CANN's numbers of formats, as torch_npu names them."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33
    NC = 35
    NCL = 47
    FRACTAL_NZ_C0_16 = 50
    FRACTAL_NZ_C0_32 = 51
    FRACTAL_NZ_C0_2 = 52
    FRACTAL_NZ_C0_4 = 53
    FRACTAL_NZ_C0_8 = 54

    def __str__(self):
        return self.name


_PLAIN = (Format.ND, Format.NCHW, Format.NHWC, Format.HWCN, Format.NCDHW, Format.NDHWC, Format.NC, Format.NCL)


def get_npu_format(input):
    """The Format of a tensor's memory: ND, or NCHW and NCDHW for images and volumes."""
    on_npu("get_npu_format", input)
    return {4: Format.NCHW, 5: Format.NCDHW}.get(input.dim(), Format.ND)


def npu_format_cast(input, acl_format, *, customize_dtype=None, input_dtype=None):
    """A view of `input` in the given format, or in that of another tensor.

    RuntimeError for the chip's internal formats: mindtorch's tensors always have plain strided memory.
    """
    on_npu("npu_format_cast", input)
    if customize_dtype is not None or input_dtype is not None:
        raise NotImplementedError("npu_format_cast: customize_dtype and input_dtype are for quantized weights, which "
                                  "mindtorch does not have")
    wanted = acl_format if isinstance(acl_format, int) else get_npu_format(acl_format)
    if wanted not in Format.__members__.values():
        raise RuntimeError(f"unknown format type:{wanted}")
    if wanted not in _PLAIN:
        raise RuntimeError(f"npu_format_cast: {Format(wanted)} is a format of the chip's own, and mindtorch's tensors "
                           "are in plain strided memory (ND)")
    return input.view_as(input)


def npu_format_cast_(input, acl_format, *, customize_dtype=None, input_dtype=None):
    """In-place npu_format_cast: returns `input`."""
    npu_format_cast(input, acl_format, customize_dtype=customize_dtype, input_dtype=input_dtype)
    return input
