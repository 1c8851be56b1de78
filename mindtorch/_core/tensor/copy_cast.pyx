"""Copies, casts and moves between devices: copy_, clone, contiguous, to and its short forms."""
import warnings

from libc.stdint cimport int64_t

from mindtorch._core.formats import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format

from mindtorch._core.autograd.node cimport (
    AutogradMeta, check_inference_write, inference_enabled, is_below_autograd, is_differentiable_dtype,
    may_require_grad, requires_grad,
)
cimport mindtorch._core.autograd.history as history
from mindtorch._core.autograd.history cimport (
    record__to_copy, record_clone, record_copy_, should_record, should_record_inplace,
)
from mindtorch._core.python.conversion cimport (
    parse_varargs, raise_no_overload, raise_wrong_type, require_bool, require_device, require_dtype, require_tensor,
    scalar_tensor,
)
cimport mindtorch._core.rules.infer as infer
from mindtorch._core.rules.infer cimport (
    broadcast, check_no_internal_overlap, check_no_partial_overlap, is_same_memory, resize,
)
from mindtorch._core.tensor.attributes cimport is_contiguous_in_order
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, DTYPES, FLOAT_KIND, ITEMSIZE, KIND, BFloat16, Bool, Byte, Char, ComplexDouble,
    ComplexFloat, Double, Float, Half, Int, Long, Scalar, Short, dtype, dtype_name, is_scalar,
)
from mindtorch._core.tensor.tensor cimport (
    CPU, NPU, TENSOR_SLOTS, Shape, Storage, bump_version, copy_data, device, device_of, empty_like_tensor,
    empty_pinned_like, empty_tensor, has_shape, is_sparse, make_device, make_variable_data, make_view, resolve_device,
    set_geometry, set_storage, shape_text, reported_device_index, reported_device_type, version_of,
)
cimport mindtorch._core.tensor.torch_dispatch as torch_dispatch


cdef TensorBase contiguous_copy(TensorBase self):
    cdef Shape shape
    cdef TensorBase result
    cdef int i
    if torch_dispatch.active and torch_dispatch.dispatches(self):
        return torch_dispatch.call("clone", (self,), {"memory_format": contiguous_format})
    shape.ndim = self.ndim
    for i in range(self.ndim):
        shape.sizes[i] = self.sizes[i]
    result = empty_tensor(&shape, self.dtype, self.device_type, self.device_index)
    copy_data(result, self, False)
    return result


cdef inline TensorBase with_clone_history(TensorBase self, TensorBase result):
    if may_require_grad(self) and requires_grad(self) and should_record(None, "clone"):
        record_clone(self, result)
    return result


cdef TensorBase contiguous(TensorBase self):
    return self if self.contiguous else with_clone_history(self, contiguous_copy(self))


cdef TensorBase clone_tensor(TensorBase self):
    cdef TensorBase result
    if torch_dispatch.active and torch_dispatch.dispatches(self):
        return with_clone_history(self, torch_dispatch.call("clone", (self,), None))
    result = empty_like_tensor(self, self.dtype, self.device_type, self.device_index)
    copy_data(result, self, False)
    return with_clone_history(self, result)


history.clone_before_write = clone_tensor


cdef int warn_discards_imaginary(ScalarType source, ScalarType target) except -1:
    if KIND[<int>source] == COMPLEX_KIND and KIND[<int>target] != COMPLEX_KIND and target != Bool:
        warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=2)
    return 0


cdef TensorBase to_copy(TensorBase self, ScalarType dtype, int device_type, int device_index, bint non_blocking,
                        bint copy):
    cdef TensorBase result
    if torch_dispatch.active and torch_dispatch.dispatches(self):
        return dispatched_to_copy(self, dtype, device_type, device_index, non_blocking, copy)
    if not copy and dtype == self.dtype and device_type == self.device_type and device_index == self.device_index:
        return self
    warn_discards_imaginary(self.dtype, dtype)
    result = empty_like_tensor(self, dtype, device_type, device_index)
    if non_blocking and device_type == CPU and self.device_type == NPU:
        result = empty_pinned_like(result)                 # else the host would wait for the copy
    copy_data(result, self, non_blocking)
    if may_require_grad(self) and requires_grad(self) and should_record(None, "to"):
        record__to_copy(self, dtype, non_blocking, result)
    return result


cdef TensorBase dispatched_to_copy(TensorBase self, ScalarType dtype, int device_type, int device_index,
                                   bint non_blocking, bint copy):
    """`to_copy` by handlers. A wrapper stays where the device is its own, meta, or the one that it reports."""
    cdef TensorBase result
    cdef dict kwargs = {"dtype": DTYPES[<int>dtype]} if dtype != self.dtype else {}
    if ((device_type != self.device_type or device_index != self.device_index) and
            (device_type != reported_device_type(self) or device_index != reported_device_index(self))):
        kwargs["device"] = make_device(device_type, device_index)
    if not kwargs and not copy:
        return self
    if non_blocking:
        kwargs["non_blocking"] = True
    result = torch_dispatch.call("_to_copy", (self,), kwargs)
    if may_require_grad(self) and requires_grad(self) and should_record(None, "to"):
        record__to_copy(self, dtype, non_blocking, result)
    return result


cdef TensorBase copy_tensor_(TensorBase self, TensorBase source, bint non_blocking):
    cdef Shape shape
    cdef int i
    cdef bint record = False
    if may_require_grad(self) or may_require_grad(source):
        record = should_record_inplace(self, requires_grad(self) or (
            is_differentiable_dtype(self.dtype) and requires_grad(source)))
    cdef bint same_memory = is_same_memory(self, source)
    if not same_memory:
        check_no_internal_overlap(self)
    broadcast(&shape, self, source)
    for i in range(shape.ndim):
        if shape.ndim != self.ndim or shape.sizes[i] != self.sizes[i]:
            raise RuntimeError(f"output with shape {shape_text(self.ndim, self.sizes)} doesn't match the broadcast "
                               f"shape {shape_text(shape.ndim, shape.sizes)}")
    check_no_partial_overlap(self, source)
    warn_discards_imaginary(source.dtype, self.dtype)
    if torch_dispatch.active and (torch_dispatch.dispatches(self) or torch_dispatch.dispatches(source)):
        version = version_of(self)
        torch_dispatch.call("copy_", (self, source, True) if non_blocking else (self, source), None)
        torch_dispatch.bump_version_unless(self, version)
    else:
        if not same_memory:
            copy_data(self, source, non_blocking)
        bump_version(self)
    if record:
        record_copy_(self, source, non_blocking)
    return self


cdef int fill_by_copy(TensorBase self, const Scalar *value) except -1:
    """Serves `a[i] = 3` until a backend's fill kernel takes the slot."""
    copy_data(self, scalar_tensor(value, self.dtype), False)
    return 0


TENSOR_SLOTS.fill = fill_by_copy


cdef str legacy_type_name(TensorBase self):
    device_type = device_of(self).type
    prefix = "" if device_type == "cpu" else f"{device_type}."
    return f"torch.{prefix}{'sparse.' * is_sparse(self)}{dtype_name(self.dtype)}Tensor"


# --- memory formats --------------------------------------------------------------------------------------------------

cdef bint is_contiguous_format(object format, const char *function) except -1:
    """Whether the format asks for contiguous memory. None and preserve_format keep the order of strides."""
    if format is None or format is preserve_format:
        return False
    if format is contiguous_format:
        return True
    if not isinstance(format, memory_format):
        raise_wrong_type(format, function, b"memory_format", 0, "torch.memory_format")
    raise NotImplementedError(f"{function.decode()}(): memory_format {format} is not supported")


cdef bint is_channels_last(object format) noexcept:
    return format is channels_last or format is channels_last_3d


cdef tuple channels_last_permutation(TensorBase self, object format):
    """The permutation that puts the channels last, and the one back."""
    cdef int rank = 4 if format is channels_last else 5
    if self.ndim != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {str(format).removeprefix('torch.')} format")
    return (0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))


cdef int set_memory_format(TensorBase self, object format, const char *function) except -1:
    """Set the strides of a new tensor by a format; None and preserve_format change nothing."""
    cdef int64_t strides[5]
    cdef int64_t step = 1
    cdef int i
    if is_channels_last(format):
        for i in reversed(<tuple>channels_last_permutation(self, format)[0]):
            strides[i] = step
            step *= self.sizes[i]
        set_geometry(self, self.ndim, self.sizes, strides, self.offset)
    elif is_contiguous_format(format, function):
        set_geometry(self, self.ndim, self.sizes, NULL, self.offset)
    return 0


cdef TensorBase to_channels_last(TensorBase self, object format):
    """The tensor itself where its channels come last in memory, else a copy in which they do."""
    if is_contiguous_in_order(self, channels_last_permutation(self, format)[0][::-1]):
        return self
    return channels_last_copy(self, format)


cdef TensorBase channels_last_copy(TensorBase self, object format):
    cdef TensorBase result
    if torch_dispatch.active and torch_dispatch.dispatches(self):
        return with_clone_history(self, torch_dispatch.call("clone", (self,), {"memory_format": format}))
    result = empty_like_tensor(self, self.dtype, self.device_type, self.device_index)
    set_memory_format(result, format, b"clone")
    copy_data(result, self, False)
    return with_clone_history(self, result)


def contiguous_method(TensorBase self, memory_format=contiguous_format):
    """The tensor itself when its elements lie in order, else a copy in which they do."""
    if memory_format is preserve_format and not self.contiguous:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if is_channels_last(memory_format):
        return to_channels_last(self, memory_format)
    is_contiguous_format(memory_format, b"contiguous")      # refuses what is no format
    return contiguous(self)


def clone(input, *, memory_format=None):
    """A copy; the order of strides is kept, unless contiguous_format is asked for."""
    cdef TensorBase self = require_tensor(input, b"clone", b"input", 1)
    if is_channels_last(memory_format):
        return channels_last_copy(self, memory_format)
    if is_contiguous_format(memory_format, b"clone"):
        return with_clone_history(self, contiguous_copy(self))
    return clone_tensor(self)


# --- copy_ and to ----------------------------------------------------------------------------------------------------

def copy_(TensorBase self, other, non_blocking=False):
    """Write the elements of `other` here, broadcast, cast and moved as needed."""
    if is_scalar(other):
        return self.fill_(other)
    return copy_tensor_(self, require_tensor(other, b"copy_", b"other", 1),
                        require_bool(non_blocking, b"copy_", b"non_blocking", 2))


TO_SIGNATURES = (
    " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n"
    " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n"
    " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n")

cdef dict TO_PARAMETERS = {
    "dtype": ("dtype", "non_blocking", "copy"),
    "other": ("other", "non_blocking", "copy"),
    "device": ("device", "dtype", "non_blocking", "copy"),
}


cdef dict parse_to_arguments(tuple args, dict kwargs):
    """The arguments of `to` by name, whichever of its forms was used."""
    cdef str form = "device"
    cdef dict options
    if args and isinstance(args[0], TensorBase):
        form = "other"
    elif args and (isinstance(args[0], dtype) or args[0] in (float, int, bool, complex)):
        form = "dtype"
    names = TO_PARAMETERS[form]
    if len(args) > len(names):
        raise_no_overload(b"to", args, kwargs, TO_SIGNATURES)
    options = dict(zip(names, args))
    for name, value in kwargs.items():
        if name in options or name not in ("device", "dtype", "non_blocking", "copy", "memory_format"):
            raise_no_overload(b"to", args, kwargs, TO_SIGNATURES)
        options[name] = value
    for name in ("non_blocking", "copy"):
        if not isinstance(options.get(name, False), bool):
            raise_no_overload(b"to", args, kwargs, TO_SIGNATURES)
    return options


cdef TensorBase to_from_options(TensorBase self, dict options):
    cdef int device_type = self.device_type, device_index = self.device_index
    cdef ScalarType code = self.dtype
    cdef bint non_blocking = options.get("non_blocking", False), copy = options.get("copy", False)
    cdef TensorBase other = options.get("other")
    if other is not None:
        code = other.dtype
        device_type = reported_device_type(other)
        device_index = reported_device_index(other)
    else:
        code = require_dtype(options.get("dtype"), code, b"to", b"dtype")
        if options.get("device") is not None:
            require_device(options["device"], &device_type, &device_index, b"to")
    cdef bint asynchronous = non_blocking and device_type != CPU      # the CPU waits: it reorders the elements
    format = options.get("memory_format")
    if is_channels_last(format):
        return in_channels_last(to_copy(self, code, device_type, device_index, asynchronous, copy), format)
    if is_contiguous_format(format, b"to"):
        return in_contiguous_format(to_copy(self, code, device_type, device_index, asynchronous, copy), self)
    return to_copy(self, code, device_type, device_index, non_blocking, copy)


def to(TensorBase self, *args, **kwargs):
    """The tensor with another dtype, on another device, or both; itself when nothing changes (unless copy=True).

    `to(dtype)`, `to(device, dtype)`, `to(other)`, each with non_blocking, copy and memory_format.
    """
    cdef int device_type, device_index
    if len(args) == 1 and not kwargs:           # the two common forms
        value = args[0]
        if isinstance(value, dtype):
            return to_copy(self, (<dtype>value).code, self.device_type, self.device_index, False, False)
        if isinstance(value, (device, str)):
            resolve_device(value, &device_type, &device_index)
            return to_copy(self, self.dtype, device_type, device_index, False, False)
    return to_from_options(self, parse_to_arguments(args, kwargs))


def cpu(TensorBase self, memory_format=None):
    """The tensor in host memory; itself when it is there. Waits for the device."""
    return to_from_options(self, {"device": "cpu", "memory_format": memory_format})


def npu(TensorBase self, device=None, non_blocking=False, memory_format=None):
    """The tensor on an NPU: the current one, or the one given by index, string or torch.device."""
    cdef int device_type = NPU, device_index
    require_device("npu" if device is None else device, &device_type, &device_index, b"npu")
    if device_type != NPU:
        raise RuntimeError("Invalid device, must be npu device")
    if is_contiguous_format(memory_format, b"npu"):
        self = contiguous(self)
    return to_copy(self, self.dtype, device_type, device_index,
                   require_bool(non_blocking, b"npu", b"non_blocking"), False)


cdef inline TensorBase cast(TensorBase self, ScalarType code, object format, const char *function):
    cdef TensorBase result = to_copy(self, code, self.device_type, self.device_index, False, False)
    if is_channels_last(format):
        return in_channels_last(result, format)
    return in_contiguous_format(result, self) if is_contiguous_format(format, function) else result


# torch asks which format a tensor has, and not whether its elements lie in it already: where sizes of 1 leave that
# open, it is contiguous. What is not cast, and has the format, stays as it is, whatever its strides are.

cdef TensorBase in_channels_last(TensorBase result, object format):
    """The result of a cast, or what was not cast, in channels_last."""
    channels_last_permutation(result, format)       # refuses other ranks
    return result if infer.is_channels_last(result) else channels_last_copy(result, format)


cdef TensorBase in_contiguous_format(TensorBase result, TensorBase self):
    """The result of a cast of `self`, or that itself, in contiguous_format."""
    if infer.is_channels_last(result) or not (result is self or result.contiguous):
        return with_clone_history(result, contiguous_copy(result))
    return result


def float_(TensorBase self, memory_format=None):
    return cast(self, Float, memory_format, b"float")


def double(TensorBase self, memory_format=None):
    return cast(self, Double, memory_format, b"double")


def half(TensorBase self, memory_format=None):
    return cast(self, Half, memory_format, b"half")


def bfloat16(TensorBase self, memory_format=None):
    return cast(self, BFloat16, memory_format, b"bfloat16")


def byte(TensorBase self, memory_format=None):
    return cast(self, Byte, memory_format, b"byte")


def char_(TensorBase self, memory_format=None):
    return cast(self, Char, memory_format, b"char")


def short_(TensorBase self, memory_format=None):
    return cast(self, Short, memory_format, b"short")


def int_(TensorBase self, memory_format=None):
    return cast(self, Int, memory_format, b"int")


def long_(TensorBase self, memory_format=None):
    return cast(self, Long, memory_format, b"long")


def bool_(TensorBase self, memory_format=None):
    return cast(self, Bool, memory_format, b"bool")


def cfloat(TensorBase self, memory_format=None):
    return cast(self, ComplexFloat, memory_format, b"cfloat")


def cdouble(TensorBase self, memory_format=None):
    return cast(self, ComplexDouble, memory_format, b"cdouble")


def type_as(TensorBase self, other):
    """Cast and moved to the dtype and device of `other`."""
    cdef TensorBase like = require_tensor(other, b"type_as", b"other", 1)
    return to_copy(self, like.dtype, reported_device_type(like), reported_device_index(like), False, False)


# --- the same storage under another tensor ---------------------------------------------------------------------------

def detach(input):
    """A tensor over the same elements that takes no part in differentiation."""
    return torch_dispatch.alias_of(require_tensor(input, b"detach", b"input", 1))


def data(TensorBase self):
    """The tensor without its history; autograd does not notice writes to it."""
    if torch_dispatch.active and torch_dispatch.dispatches(self):
        return with_own_version(torch_dispatch.alias_of(self), self)
    return make_variable_data(self)


cdef TensorBase with_own_version(TensorBase made, TensorBase source):
    if made is not source:
        made.version_counter = Storage.__new__(Storage)
    return made


def set_data(TensorBase self, new_data):
    """`self.data = new_data`: self takes over storage and geometry, and keeps its identity."""
    cdef TensorBase source = require_tensor(new_data, b"data", b"new_data")
    if is_sparse(self) != is_sparse(source):
        raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                           "incompatible tensor type.")
    if requires_grad(self) and KIND[<int>source.dtype] < FLOAT_KIND:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    take_over(self, source)


cdef int take_over(TensorBase self, TensorBase source) except -1:
    self.bits = source.bits
    set_storage(self, source.storage, source.dtype)
    set_geometry(self, source.ndim, source.sizes, source.strides, source.offset)
    if self.autograd is not None:
        (<AutogradMeta>self.autograd).grad_accumulator = NULL        # it is the node of the old tensor
    return 0


def set_tensor(TensorBase self, TensorBase view not None):
    """Take over storage and geometry of another tensor of the same dtype and device. Counts as a write."""
    take_over(self, view)
    if not is_below_autograd():
        bump_version(self)


cdef object fill_new_memory = None


def set_fill_new_memory(function):
    """Have empty, empty_like and resize_ call the function with the tensor that they make; None: nothing."""
    global fill_new_memory
    fill_new_memory = function


def resize_(TensorBase self, *sizes, size=None, memory_format=None):
    """Another shape in place. The storage grows when it must, and keeps its elements; new ones are uninitialised."""
    cdef Shape shape
    cdef int64_t old_count = <int64_t>self.storage.nbytes // ITEMSIZE[<int>self.dtype], added
    parse_varargs(sizes if size is None else (size,), &shape, b"resize_", b"size")
    if requires_grad(self) and not inference_enabled():
        raise RuntimeError("cannot resize variables that require grad")
    if memory_format is None and has_shape(self, &shape):
        return self                     # with its strides
    check_inference_write(self)
    bump_version(self)
    resize(self, &shape)
    set_memory_format(self, memory_format, b"resize_")
    added = <int64_t>self.storage.nbytes // ITEMSIZE[<int>self.dtype] - old_count
    if fill_new_memory is not None and added > 0:
        fill_new_memory(make_view(self, 1, &added, NULL, old_count))
    return self


def detach_(TensorBase input):
    """The tensor itself, without its history."""
    cdef AutogradMeta meta
    if inference_enabled():
        return input                    # autograd takes no part there
    if input.base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
            "detach_() cannot be called on these gradients. To fix this error, please refer to the "
            "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.")
    if input.autograd is not None:
        meta = <AutogradMeta>input.autograd
        meta.grad_fn = None
        meta.requires_grad = meta.retains_grad = False
        meta.output_nr = 0
    return input


FUNCTIONS = {"clone": clone, "detach": detach, "detach_": detach_}

METHODS = dict(
    FUNCTIONS, contiguous=contiguous_method, copy_=copy_, resize_=resize_, to=to, cpu=cpu, npu=npu, type_as=type_as,
    float=float_, double=double, half=half, bfloat16=bfloat16, byte=byte, char=char_, short=short_, int=int_,
    long=long_, bool=bool_, cfloat=cfloat, cdouble=cdouble)

for name, method in METHODS.items():          # `float` is a type of C, so its method is float_ here
    method.__name__ = name
