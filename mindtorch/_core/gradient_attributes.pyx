"""What tensors tell about their gradients, and how users change that. mindtorch._tensor publishes these."""
from mindtorch._core.autograd cimport AutogradMeta, Node, differentiable, meta_of, removable_handle, requires_grad
from mindtorch._core.dtype cimport code_name
from mindtorch._core.modes cimport inference_enabled
from mindtorch._core.recording cimport current_grad_fn, gradient_edge, retain
from mindtorch._core.tensor cimport TensorBase, count_version, make_size, shape_text


def get_requires_grad(TensorBase self):
    """Whether gradients are computed for the tensor."""
    return bool(requires_grad(self))


def set_requires_grad(TensorBase self, value):
    """Make a leaf take part in differentiation, or no longer."""
    cdef AutogradMeta meta
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if value and not differentiable(self.dtype):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if not value and self.autograd is None:
        return
    if current_grad_fn(self) is not None:
        if not value:
            raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a "
                               "computed variable in a subgraph that doesn't require differentiation use "
                               "var_no_grad = var.detach().")
        return
    meta = meta_of(self)
    if value and meta.is_inference and not inference_enabled():
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    meta.requires_grad = value


def increment_version(tensor):
    """Count a write to a tensor, or to each of several, that no operator has made."""
    if isinstance(tensor, TensorBase):
        tensor = (tensor,)
    for written in tensor:
        count_version(<TensorBase?>written)


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


# The types of C++ that messages call dtypes by.
CPP_NAMES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long", "float16": "c10::Half",
             "bfloat16": "c10::BFloat16", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
             "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


cdef str type_in_words(object dtype):
    name = str(dtype).removeprefix("torch.")
    return CPP_NAMES.get(name, name)


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
    if grad.dtype != self.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{type_in_words(value.dtype)}' to a tensor with grad_dtype "
            f"'{code_name(self.dtype)}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
            "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. "
            "Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
            "systems that assume they match.")
    if grad.device_type != self.device_type or grad.device_index != self.device_index:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type "
            f"'{('cpu', 'npu')[self.device_type]}'. Please ensure that the gradient and the tensor are on the same "
            "device")
    if value.shape != make_size(self.ndim, self.sizes):
        raise RuntimeError(
            f"attempting to assign a gradient of size '{shape_text(grad.ndim, grad.sizes)}' to a tensor of size "
            f"'{shape_text(self.ndim, self.sizes)}'. Please ensure that the gradient and the tensor are the same size")
    meta_of(self).grad = grad


def retain_grad(TensorBase self):
    """Keep the gradient of a tensor that is no leaf in its `.grad`."""
    if not requires_grad(self):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if current_grad_fn(self) is not None:
        retain(<AutogradMeta>self.autograd)


def retains_grad(TensorBase self):
    """Whether retain_grad was called on a tensor that is no leaf."""
    return self.autograd is not None and bool((<AutogradMeta>self.autograd).retains_grad)


def register_hook(TensorBase self, hook):
    """Call hook(grad) when the tensor's gradient is known; it may give another. The handle's remove() ends that."""
    cdef AutogradMeta meta
    cdef Node node
    cdef int output_nr
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = gradient_edge(self, &output_nr)
    meta = meta_of(self)
    if meta.hooks is None:
        meta.hooks = {}
    if node.tensor_hooks is None:
        node.tensor_hooks = {}
    node.tensor_hooks[output_nr] = meta.hooks
    return removable_handle(meta.hooks, hook)


def register_post_accumulate_grad_hook(TensorBase self, hook):
    """Call hook(tensor) after a gradient was added to the leaf's .grad."""
    cdef AutogradMeta meta
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if current_grad_fn(self) is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    meta = meta_of(self)
    if meta.accumulated_hooks is None:
        meta.accumulated_hooks = {}
    return removable_handle(meta.accumulated_hooks, hook)


def get_base(TensorBase self):
    """What the tensor is a view of, or None."""
    return self.base


def is_view(TensorBase self):
    """Whether the tensor is a view of another that differentiation knows."""
    return self.base is not None


def is_inference(TensorBase self):
    """Whether the tensor was made in inference_mode."""
    return self.autograd is not None and bool((<AutogradMeta>self.autograd).is_inference)


PROPERTIES = {
    "requires_grad": (get_requires_grad, set_requires_grad), "grad": (get_grad, set_grad), "is_leaf": (is_leaf, None),
    "grad_fn": (grad_fn, None), "output_nr": (output_nr, None), "retains_grad": (retains_grad, None),
    "_base": (get_base, None)}

METHODS = {f.__name__: f for f in (
    requires_grad_, retain_grad, register_hook, register_post_accumulate_grad_hook, is_inference)}
METHODS["_is_view"] = is_view
