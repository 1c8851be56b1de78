"""Printing of tensors, in torch's format."""
import math

import numpy

from mindtorch._core import hooks
from mindtorch._core.formats import sparse_bsr, sparse_coo, sparse_csr, strided
from mindtorch._core.tensor.dtype import get_default_dtype
from mindtorch._core.tensor.tensor import sparse_storage

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80, "sci_mode": None},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80, "sci_mode": None},
}


class _Options:
    def __init__(self):
        vars(self).update(_PROFILES["default"])


PRINT_OPTS = _Options()


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Set how tensors print; `profile` ("default", "short", "full") first, then what else is given.

    precision: digits after the point. threshold: elements beyond which only edges are shown. edgeitems: how many at
    each edge. linewidth: characters a line. sci_mode: True or False forces the notation, None chooses.

    Arguments:
        precision: the digits behind the point
        threshold: the number of elements from which on the middle is left out
        edgeitems: how many elements are shown at each end of a dimension
        linewidth: the characters in a line
        profile: "default", "short" or "full"
        sci_mode: whether powers of ten are shown; None chooses by the numbers

    Example:
        >>> torch.set_printoptions(precision=2)
        >>> torch.tensor([1 / 3, 2 / 3])
        tensor([0.33, 0.67])
        >>> torch.set_printoptions(profile="default")
    """
    if profile is not None:
        vars(PRINT_OPTS).update(_PROFILES[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    vars(PRINT_OPTS).update({name: value for name, value in given.items() if value is not None})
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions():
    """The options as a dictionary."""
    return dict(vars(PRINT_OPTS))


class _NumberFormat:
    """One notation for all the numbers of a tensor: integers, integers with a point, fixed or scientific."""

    def __init__(self, values):
        self.floating = values.dtype.kind == "f"
        self.scientific = False
        self.whole = True
        self.width = 1
        if not self.floating:
            self.width = max((len(str(value)) for value in values.ravel().tolist()), default=1)
            return
        values = values.ravel()
        counted = values[numpy.isfinite(values) & (values != 0)].astype(numpy.float64)
        if counted.size == 0:
            return
        magnitudes = numpy.abs(counted)
        low, high = float(magnitudes.min()), float(magnitudes.max())
        self.whole = bool((counted == numpy.ceil(counted)).all())
        self.scientific = high / low > 1000.0 or high > 1.0e8 or (not self.whole and low < 1.0e-4)
        if PRINT_OPTS.sci_mode is not None:
            self.scientific = PRINT_OPTS.sci_mode
        self.width = max(len(self._digits(value)) for value in counted.tolist())

    def _digits(self, value):
        if self.scientific:
            return f"{value:.{PRINT_OPTS.precision}e}"
        if self.whole:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{PRINT_OPTS.precision}f}"

    def __call__(self, value):
        return (self._digits(value) if self.floating else str(value)).rjust(self.width)


class _ComplexFormat:
    def __init__(self, values):
        self.real, self.imag = _NumberFormat(values.real), _NumberFormat(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value):
        imag = (self.imag(value.imag) + "j").lstrip()
        return self.real(value.real) + ("" if imag[0] in "+-" else "+") + imag


def _edge_items(array):
    """Only the elements that a summary shows."""
    for axis, size in enumerate(array.shape):
        if size > 2 * PRINT_OPTS.edgeitems:
            shown = [*range(PRINT_OPTS.edgeitems), *range(size - PRINT_OPTS.edgeitems, size)]
            array = numpy.take(array, shown, axis=axis)
    return array


def _format_row(values, indent, summarize, numbers):
    edge = PRINT_OPTS.edgeitems
    per_line = max(1, (PRINT_OPTS.linewidth - indent) // (numbers.width + 2))
    if summarize and len(values) > 2 * edge:
        cells = [numbers(v) for v in values[:edge]] + [" ..."] + [numbers(v) for v in values[-edge:]]
    else:
        cells = [numbers(v) for v in values]
    lines = [", ".join(cells[i:i + per_line]) for i in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _format_array(array, indent, summarize, numbers):
    edge = PRINT_OPTS.edgeitems
    if array.ndim == 0:
        return numbers(array.item())
    if array.ndim == 1:
        return _format_row(array, indent, summarize, numbers)
    if summarize and len(array) > 2 * edge:
        rows = [_format_array(row, indent + 1, summarize, numbers) for row in array[:edge]]
        rows.append("...")
        rows += [_format_array(row, indent + 1, summarize, numbers) for row in array[-edge:]]
    else:
        rows = [_format_array(row, indent + 1, summarize, numbers) for row in array]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def _host_array(tensor):
    array = tensor.detach().cpu().resolve_conj().resolve_neg()
    return (array.float() if tensor.dtype.is_floating_point and tensor.dtype.itemsize < 4 else array).numpy()


def _add_suffixes(tensor_str, suffixes, indent, force_newline):
    """The text with what a repr says behind the elements, and the bracket that closes it."""
    line = PRINT_OPTS.linewidth if force_newline else len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        if line + len(suffix) + 2 > PRINT_OPTS.linewidth:
            tensor_str += ",\n" + " " * indent + suffix
            line = indent + len(suffix)
        else:
            tensor_str += ", " + suffix
            line += len(suffix) + 2
    return tensor_str + ")"


def _tensor_str(tensor, indent):
    """The elements of a tensor in brackets; lines after the first are indented so far."""
    array = _host_array(tensor)
    summarize = array.size > PRINT_OPTS.threshold
    shown = _edge_items(array) if summarize else array
    numbers = _ComplexFormat(shown) if tensor.dtype.is_complex else _NumberFormat(shown)
    return _format_array(array, indent, summarize, numbers)


def _sparse_str(tensor, indent):
    """The tensors that a sparse tensor holds, each on lines of its own."""
    names = {sparse_coo: ("indices",), sparse_csr: ("crow_indices", "col_indices"),
             sparse_bsr: ("crow_indices", "col_indices")}.get(tensor.layout, ("ccol_indices", "row_indices"))
    parts = []
    for name, part in zip((*names, "values"), (*sparse_storage(tensor).indices, tensor._values()), strict=True):
        text = _tensor_str(part, indent + len(name) + 8) if part.numel() else f"[], size={tuple(part.shape)}"
        parts.append(f"{name}=tensor({text})")
    return (",\n" + " " * indent).join(parts)


_OWN_MODULES = {f"{root}{place}" for root in ("mindtorch", "torch") for place in ("", ".nn.parameter")}    # _alias.py


def _name(kind):
    """The text before the elements: the class name if the class is derived from Tensor."""
    if kind.__module__ in _OWN_MODULES:      # Parameters say themselves what they are
        return "tensor"
    return kind.__name__


def tensor_str(tensor, default_dtype, contents=None, hides_elements=False):
    """The repr of a tensor; dtypes other than `default_dtype`, int64 and bool are named, and so are other devices.

    `contents` takes the place of the elements. They are not looked at where hides_elements says so.
    """
    prefix = f"{_name(type(tensor))}("
    suffixes = [] if tensor.is_cpu else [f"device='{tensor.device}'"]
    dtype = tensor.dtype
    hides_elements = hides_elements or tensor.is_meta
    implied = {"int64", "bool", default_dtype.name}
    if default_dtype.name in ("float32", "float64"):
        implied.add(default_dtype.to_complex().name)
    if contents is not None:
        body = contents
    elif tensor.layout is not strided:
        body = _sparse_str(tensor, len(prefix))
        suffixes += [f"size={tuple(tensor.shape)}", f"nnz={tensor._nnz()}"]
        if dtype.name not in implied:
            suffixes.append(f"dtype={dtype}")
        suffixes.append(f"layout={tensor.layout}")
    elif tensor.numel() == 0 or hides_elements:
        body = "..." if hides_elements else "[]"
        if tensor.dim() != 1 or hides_elements:
            suffixes.append(f"size={tuple(tensor.shape)}")
        if dtype is not default_dtype:
            suffixes.append(f"dtype={dtype}")
    else:
        if dtype.name not in implied:
            suffixes.append(f"dtype={dtype}")
        body = _tensor_str(tensor, len(prefix))
    tangent = hooks.tangent_of(tensor)
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name().split('::')[-1]}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    text = _add_suffixes(prefix + body, suffixes, len(prefix), tensor.is_sparse)
    return f"Parameter({text})" if getattr(tensor, "_is_param", False) else text


def _str_intern(inp, *, tensor_contents=None):
    """The repr of a tensor, whatever its class says; `tensor_contents` takes the place of the elements."""
    return tensor_str(inp, get_default_dtype(), tensor_contents)
