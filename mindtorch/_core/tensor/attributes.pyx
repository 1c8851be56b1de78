"""Attributes of tensors and of their gradients. mindtorch._tensor publishes them as properties and methods."""
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from mindtorch._core.formats import channels_last, channels_last_3d, contiguous_format, preserve_format, strided

from mindtorch._core.autograd.node cimport (
    ANY_DTYPE, AutogradMeta, Node, inference_enabled, is_differentiable_dtype, materialize_autograd_meta,
    removable_handle, requires_grad,
)
from mindtorch._core.autograd.history cimport current_grad_fn, gradient_edge, set_retains_grad
from mindtorch._core.python.conversion cimport require_int, require_scalar, require_tensor
from mindtorch._core.rules.infer cimport promote, promote_scalar, resize_storage, scalar_dtype, wrap_dim
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, DTYPES, FLOAT_KIND, ITEMSIZE, KIND, Byte, Scalar, ScalarType, dtype as Dtype, dtype_name,
    promote_types,
)
from mindtorch._core.tensor.tensor cimport (
    CPU, META, NPU, SparseStorage, Storage, TensorBase, WrapperStorage, bump_version, device_of, has_same_shape,
    is_sparse, make_size, make_tensor, shape_text, reported_device_index, reported_device_type, version_of,
)


# --- attributes ------------------------------------------------------------------------------------------------------


cdef class StorageBase:
    """The storage of a tensor; those of views of one tensor are equal. The storage classes of torch derive from it.

    Example:
        >>> isinstance(torch.ones(2).untyped_storage(), torch.StorageBase)
        True
    """
    cdef Storage storage
    cdef object device_

    def __cinit__(self, source):
        """The storage of a tensor, or a copy of a storage."""
        if isinstance(source, StorageBase):
            source = source._as_tensor().clone()
        self.storage = (<TensorBase?>source).storage
        self.device_ = device_of(<TensorBase>source)

    def __init__(self, *args, **kwargs):
        pass                            # all is done by __cinit__, which a subclass calls with a tensor

    @property
    def device(self):
        return self.device_

    def nbytes(self):
        """Size in bytes."""
        return self.storage.nbytes

    def __len__(self):
        return self.storage.nbytes

    def _part(self, Py_ssize_t start, Py_ssize_t stop):
        """The bytes from `start` to `stop`, in a storage of their own."""
        cdef Storage part = Storage.__new__(Storage)
        cdef int64_t size = stop - start, stride = 1
        part.owner, part.lent = self._whole(), True
        part.device_type, part.device_index = self.storage.device_type, self.storage.device_index
        part.data, part.nbytes = self.storage.data + start, size
        return make_tensor(part, Byte, 1, &size, &stride, 0)

    def resizable(self):
        """Whether the storage may be resized; the memory of a NumPy array may not."""
        return self.storage.resizable()

    def resize_(self, nbytes):
        """Resize the storage for all tensors on it; 0 frees the memory. New bytes are uninitialised."""
        if not isinstance(nbytes, int):
            raise RuntimeError(f"resize_ expects an int, but got {type(nbytes).__name__}")
        if nbytes < 0:
            raise RuntimeError(f"a storage cannot have {nbytes} bytes")
        resize_storage(self.storage, nbytes)
        return self

    def data_ptr(self):
        """Address of the first byte, on its device."""
        if type(self.storage) is WrapperStorage:
            raise RuntimeError("Attempted to access the data pointer on an invalid python storage.")
        return <size_t>self.storage.data

    @property
    def _cdata(self):
        return <size_t><void *>self.storage

    def _as_tensor(self):
        """The bytes as a tensor of uint8 that shares them."""
        cdef int64_t size = <int64_t>self.storage.nbytes
        cdef int64_t step = 1
        # Operators of an NPU want an address that is a multiple of 32.
        cdef Storage whole = self._whole() if self.storage.device_type == NPU else self.storage
        return make_tensor(whole, Byte, 1, &size, &step, self.storage.data - whole.data)

    cdef Storage _whole(self):
        """The storage of which this is a part, or this one."""
        return self.storage.owner if self.storage.lent and self.storage.owner is not None else self.storage

    def __eq__(self, other):
        if not isinstance(other, StorageBase):
            return NotImplemented
        return self.storage is (<StorageBase>other).storage

    def __hash__(self):
        return <Py_hash_t><size_t><void *>self.storage


# --- geometry --------------------------------------------------------------------------------------------------------

def shape(TensorBase self):
    """The size of each dimension."""
    return make_size(self.ndim, self.sizes)


def ndim(TensorBase self):
    """The number of dimensions."""
    return self.ndim


def dim(TensorBase self):
    """The number of dimensions."""
    return self.ndim


def size(TensorBase self, dim=None):
    """The shape, or the size of one dimension."""
    if dim is None:
        return make_size(self.ndim, self.sizes)
    return self.sizes[wrap_own_dim(self, dim, b"size")]


def stride(TensorBase self, dim=None):
    """The steps between neighbours, in elements: of all dimensions, or of one."""
    if dim is None:
        return tuple([self.strides[i] for i in range(self.ndim)])
    return self.strides[wrap_own_dim(self, dim, b"stride")]


cdef int wrap_own_dim(TensorBase self, object dim, const char *function) except -1:
    cdef int64_t wanted = require_int(dim, function, b"dim", 1)
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {wanted} but tensor has no dimensions")
    return wrap_dim(wanted, self.ndim)


def storage_offset(TensorBase self):
    """The offset of the first element in the storage, in elements."""
    return self.offset


def numel(input):
    """The number of elements."""
    return require_tensor(input, b"numel", b"input", 1).numel


def is_contiguous(TensorBase self, memory_format=contiguous_format):
    """Whether the elements lie in memory one after the other, the last dimension fastest."""
    if memory_format is contiguous_format or memory_format is preserve_format:
        return bool(self.contiguous)
    if memory_format is channels_last:
        return self.ndim == 4 and is_contiguous_in_order(self, (1, 3, 2, 0))
    if memory_format is channels_last_3d:
        return self.ndim == 5 and is_contiguous_in_order(self, (1, 4, 3, 2, 0))
    raise TypeError("is_contiguous(): argument 'memory_format' must be torch.memory_format, not "
                    f"{type(memory_format).__name__}")


cdef bint is_contiguous_in_order(TensorBase self, tuple dims) except -1:
    """Whether the elements lie one after the other in memory, with `dims` from the smallest stride to the largest."""
    cdef int64_t expected = 1
    cdef int dim
    for dim in dims:
        if self.sizes[dim] != 1:
            if self.strides[dim] != expected:
                return False
            expected *= self.sizes[dim]
    return True


# --- elements and memory ---------------------------------------------------------------------------------------------

def dtype(TensorBase self):
    """The type of the elements."""
    return DTYPES[<int>self.dtype]


def itemsize(TensorBase self):
    """Bytes of one element."""
    return ITEMSIZE[<int>self.dtype]


def element_size(TensorBase self):
    """Bytes of one element."""
    return ITEMSIZE[<int>self.dtype]


def nbytes(TensorBase self):
    """Bytes of all elements, counting those of an expanded dimension as often as they appear."""
    return self.numel * ITEMSIZE[<int>self.dtype]


def data_ptr(TensorBase self):
    """Address of the first element, on its device; 0 for a tensor without elements."""
    return <size_t>self.data_ptr() if self.numel else 0


def version(TensorBase self):
    """How often the storage has been written to in place; RuntimeError for a tensor of inference mode."""
    check_version_counted(self)
    return version_of(self)


cdef int check_version_counted(TensorBase self) except -1:
    if is_inference(self):
        raise RuntimeError("Inference tensors do not track version counter.")
    return 0


def is_floating_point(input):
    """Whether the dtype is a floating-point one."""
    return KIND[<int>require_tensor(input, b"is_floating_point", b"input", 1).dtype] == FLOAT_KIND


def is_complex(input):
    """Whether the dtype is a complex one."""
    return KIND[<int>require_tensor(input, b"is_complex", b"input", 1).dtype] == COMPLEX_KIND


def is_signed(input):
    """Whether the dtype has negative values."""
    cdef TensorBase self = require_tensor(input, b"is_signed", b"input", 1)
    return DTYPES[<int>self.dtype].is_signed


def result_type(tensor, other):
    """The dtype in which an operator on the two computes; each is a tensor or a number."""
    cdef Scalar number, second
    if isinstance(tensor, TensorBase) and isinstance(other, TensorBase):
        return DTYPES[<int>promote(<TensorBase>tensor, <TensorBase>other)]
    if isinstance(other, TensorBase):
        tensor, other = other, tensor
    if not isinstance(tensor, TensorBase):
        require_scalar(tensor, &number, b"result_type", b"scalar1", 1)
        require_scalar(other, &second, b"result_type", b"scalar2", 2)
        return DTYPES[<int>promote_types(scalar_dtype(&number), scalar_dtype(&second))]
    require_scalar(other, &number, b"result_type", b"other", 2)
    return DTYPES[<int>promote_scalar(<TensorBase>tensor, &number)]


def is_set_to(TensorBase self, tensor):
    """Whether two tensors are the same view of the same storage."""
    cdef TensorBase other = require_tensor(tensor, b"is_set_to", b"tensor", 1)
    return (self.storage is other.storage and self.offset == other.offset and self.bits == other.bits
            and has_same_shape(self, other)
            and memcmp(self.strides, other.strides, self.ndim * sizeof(int64_t)) == 0)


# --- device ----------------------------------------------------------------------------------------------------------

def device(TensorBase self):
    """The device of the elements."""
    return device_of(self)


def layout(TensorBase self):
    """torch.strided, or how a sparse tensor holds its elements."""
    return (<SparseStorage>self.storage).layout if is_sparse(self) else strided


def is_cpu(TensorBase self):
    """Whether the elements are in host memory."""
    return device_of(self).type_code == CPU


def is_npu(TensorBase self):
    """Whether the elements are on an NPU."""
    return device_of(self).type_code == NPU


def is_meta(TensorBase self):
    """Whether the tensor has a shape and no elements."""
    return reported_device_type(self) == META


def get_device(input):
    """The index of the NPU; -1 for other devices."""
    cdef TensorBase self = require_tensor(input, b"get_device", b"input", 1)
    return reported_device_index(self) if is_npu(self) else -1


PROPERTIES = {
    "shape": shape, "ndim": ndim, "dtype": dtype, "itemsize": itemsize, "nbytes": nbytes, "_version": version,
    "device": device, "layout": layout, "is_cpu": is_cpu, "is_npu": is_npu,
    "is_meta": is_meta}

FUNCTIONS = {f.__name__: f for f in (numel, is_floating_point, is_complex, is_signed, get_device)}

METHODS = dict(
    FUNCTIONS, dim=dim, ndimension=dim, size=size, stride=stride, storage_offset=storage_offset, nelement=numel,
    is_contiguous=is_contiguous, element_size=element_size, data_ptr=data_ptr, is_set_to=is_set_to)

FUNCTIONS["result_type"] = result_type


# --- gradients -------------------------------------------------------------------------------------------------------


def get_requires_grad(TensorBase self):
    """Whether gradients are computed for the tensor."""
    return bool(requires_grad(self))


def set_requires_grad(TensorBase self, value):
    """Set whether gradients are computed for a leaf."""
    cdef AutogradMeta meta
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if value and not is_differentiable_dtype(self.dtype):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if not value and self.autograd is None:
        return
    if current_grad_fn(self) is not None:
        if not value:
            raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a "
                               "computed variable in a subgraph that doesn't require differentiation use "
                               "var_no_grad = var.detach().")
        return
    meta = materialize_autograd_meta(self)
    if value and meta.is_inference and not inference_enabled():
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    meta.requires_grad = value


def increment_version(tensor):
    """Increase the version of a tensor, or of several, for a write that no operator has made.

    Arguments:
        tensor: a tensor, or several

    Example:
        >>> x = torch.ones(1)
        >>> torch.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    if isinstance(tensor, TensorBase):
        tensor = (tensor,)
    for written in tensor:
        bump_version(<TensorBase?>written)


def requires_grad_(TensorBase self, requires_grad=True):
    """Set `requires_grad` in place; gives the tensor."""
    set_requires_grad(self, requires_grad)
    return self


def is_leaf(TensorBase self):
    """Whether the tensor was made by the user, not by an operator that was recorded."""
    return self.autograd is None and self.base is None or current_grad_fn(self) is None


def grad_fn(TensorBase self):
    """The node of the operator that made the tensor; None for a leaf."""
    return current_grad_fn(self)


def output_nr(TensorBase self):
    """Which output of grad_fn the tensor is."""
    return 0 if current_grad_fn(self) is None else (<AutogradMeta>self.autograd).output_nr


def get_grad(TensorBase self):
    """The gradient that backward added up here, or None."""
    cdef AutogradMeta meta = <AutogradMeta>self.autograd
    if meta is None:
        return None
    if meta.grad is None and meta.grad_fn is not None and not meta.retains_grad:
        import warnings
        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
            "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
            "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make "
            "sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more "
            "informations.", UserWarning, stacklevel=2)
    return meta.grad


# The C++ types by which messages name dtypes.
CPP_NAMES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long", "float16": "c10::Half",
             "bfloat16": "c10::BFloat16", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
             "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


cdef str cpp_name(object dtype):
    name = str(dtype).removeprefix("torch.")
    return CPP_NAMES.get(name, name)


cdef int grad_dtype_of(TensorBase self):
    """The ScalarType of a tensor's gradients, or ANY_DTYPE."""
    cdef AutogradMeta meta = <AutogradMeta>self.autograd
    return self.dtype if meta is None or meta.grad_dtype is None else <int>meta.grad_dtype


def get_grad_dtype(TensorBase self):
    """The dtype that backward casts the gradients of a leaf to: at first the leaf's own. None: they are not cast.

    RuntimeError for a tensor that is no leaf, and for a .grad of another dtype than one that is set.

    Example:
        >>> weight = torch.ones(2, dtype=torch.float16, requires_grad=True)
        >>> weight.grad_dtype = torch.float32
        >>> (weight * 2).sum().backward()
        >>> weight.grad
        tensor([2., 2.])
    """
    if not is_leaf(self):
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    wanted = grad_dtype_of(self)
    return None if wanted == ANY_DTYPE else DTYPES[wanted]


def set_grad_dtype(TensorBase self, value):
    """Sets what get_grad_dtype returns."""
    cdef AutogradMeta meta
    if value is not None and not isinstance(value, Dtype):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
    if not is_leaf(self):
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    meta = materialize_autograd_meta(self)
    chosen = ANY_DTYPE if value is None else <int>(<Dtype>value).code
    if meta.grad is not None and chosen not in (ANY_DTYPE, meta.grad.dtype):
        raise RuntimeError(
            f"Cannot set grad_dtype to '{dtype_name(<ScalarType>chosen)}' because there is already a gradient "
            f"with dtype '{cpp_name(DTYPES[<int>meta.grad.dtype])}'. Please clear the gradient (.grad = None) before "
            "changing grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype.")
    meta.grad_dtype = chosen
    if meta.grad_accumulator != NULL:
        (<Node>meta.grad_accumulator).metadata.dtype = <ScalarType><int>chosen


def delete_grad(TensorBase self):
    """`del tensor.grad`: the tensor has none."""
    set_grad(self, None)


def set_grad(TensorBase self, value):
    """Replace the gradient; it must fit the tensor."""
    cdef TensorBase grad
    if value is None:
        if self.autograd is not None:
            (<AutogradMeta>self.autograd).grad = None
        return
    if not isinstance(value, TensorBase):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    grad = <TensorBase>value
    if grad is self:
        raise RuntimeError("can't assign Variable as its own grad")
    wanted = grad_dtype_of(self)
    if wanted != ANY_DTYPE and grad.dtype != wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{cpp_name(value.dtype)}' to a tensor with grad_dtype "
            f"'{dtype_name(<ScalarType>wanted)}'. The gradient must match the tensor's grad_dtype (defaults to the "
            "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow "
            "any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
            "downstream systems that assume they match.")
    if device_of(grad) != device_of(self):
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type "
            f"'{device_of(self).type}'. Please ensure that the gradient and the tensor are on the same "
            "device")
    if not has_same_shape(self, grad):
        raise RuntimeError(
            f"attempting to assign a gradient of size '{shape_text(grad.ndim, grad.sizes)}' to a tensor of size "
            f"'{shape_text(self.ndim, self.sizes)}'. Please ensure that the gradient and the tensor are the same size")
    materialize_autograd_meta(self).grad = grad


def retain_grad(TensorBase self):
    """Keep the gradient of a tensor that is no leaf in its `.grad`."""
    if not requires_grad(self):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if current_grad_fn(self) is not None:
        set_retains_grad(<AutogradMeta>self.autograd)


def retains_grad(TensorBase self):
    """Whether retain_grad was called on a tensor that is no leaf."""
    return self.autograd is not None and bool((<AutogradMeta>self.autograd).retains_grad)


def register_hook(TensorBase self, hook):
    """Call hook(grad) with the tensor's gradient; the hook may return another one. remove() of the handle ends that."""
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    set_backward_hooks(self, backward_hooks(self) or {})
    return removable_handle((<AutogradMeta>self.autograd).hooks, hook)


def backward_hooks(TensorBase self):
    """The functions of register_hook by their keys; None before the first."""
    return None if self.autograd is None else (<AutogradMeta>self.autograd).hooks


def set_backward_hooks(TensorBase self, hooks):
    """Set the gradient hooks to the functions in a dictionary; None removes all."""
    cdef AutogradMeta meta = materialize_autograd_meta(self)
    cdef Node node
    cdef int output_nr
    meta.hooks = hooks if hooks is None or type(hooks) is dict else dict(hooks)
    node = gradient_edge(self, &output_nr)
    if node is not None and meta.hooks is None and node.tensor_hooks is not None:
        node.tensor_hooks.pop(output_nr, None)
    elif node is not None and meta.hooks is not None:
        if node.tensor_hooks is None:
            node.tensor_hooks = {}
        node.tensor_hooks[output_nr] = meta.hooks


def register_post_accumulate_grad_hook(TensorBase self, hook):
    """Call hook(tensor) after a gradient was added to the leaf's .grad."""
    cdef AutogradMeta meta
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if current_grad_fn(self) is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    meta = materialize_autograd_meta(self)
    if meta.post_accumulate_hooks is None:
        meta.post_accumulate_hooks = {}
    return removable_handle(meta.post_accumulate_hooks, hook)


def post_accumulate_hooks(TensorBase self):
    """The functions of register_post_accumulate_grad_hook by their keys; None before the first."""
    return None if self.autograd is None else (<AutogradMeta>self.autograd).post_accumulate_hooks


def get_base(TensorBase self):
    """The base of a view; None for other tensors."""
    return self.base


def drop_base(TensorBase view not None, bint shares_memory=False):
    """Make a view a tensor of its own, which torch does not call a view; gives it.

    shares_memory: others have the memory too, and count their writes apart
    """
    view.base = None
    if shares_memory:
        view.version_counter = Storage.__new__(Storage)
    return view


def cdata(TensorBase self):
    """An address that is the tensor's alone while it lives; swap_tensors exchanges it. torch has its TensorImpl's."""
    cdef AutogradMeta meta = materialize_autograd_meta(self)
    return <size_t><void *>meta


def swap_autograd(TensorBase t1 not None, TensorBase t2 not None):
    """Exchange what differentiation knows of two leaves: requires_grad, gradients, hooks."""
    for tensor in (t1, t2):             # graphs that know one as it was go on adding to its gradient
        materialize_autograd_meta(<TensorBase>tensor).grad_accumulator = NULL
    t1.autograd, t2.autograd = t2.autograd, t1.autograd


def is_view(TensorBase self):
    """Whether the tensor is a view for autograd."""
    return self.base is not None and not is_inference(self)


def is_inference(TensorBase input):
    """Whether the tensor was made in inference_mode."""
    return input.autograd is not None and bool((<AutogradMeta>input.autograd).is_inference)


GRADIENT_PROPERTIES = {
    "requires_grad": (get_requires_grad, set_requires_grad), "grad": (get_grad, set_grad, delete_grad),
    "grad_dtype": (get_grad_dtype, set_grad_dtype),
    "_backward_hooks": (backward_hooks, set_backward_hooks), "_post_accumulate_grad_hooks": (post_accumulate_hooks,),
    "is_leaf": (is_leaf,), "grad_fn": (grad_fn,), "output_nr": (output_nr,), "retains_grad": (retains_grad,),
    "_base": (get_base,), "_cdata": (cdata,)}

GRADIENT_METHODS = {f.__name__: f for f in (
    requires_grad_, retain_grad, register_hook, register_post_accumulate_grad_hook, is_inference)}
GRADIENT_METHODS["_is_view"] = is_view
