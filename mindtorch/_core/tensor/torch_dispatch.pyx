# cython: always_allow_keywords=False
"""__torch_dispatch__: classes of tensors, and modes, may compute operators in place of a device.

The first class or mode with a handler sets `active` for good. While it is not set, an operator pays the test of that
flag. With it, `run` and the functions that make views look whether a mode is in force or the class of an operand has a
handler. The handler gets what torch calls the operator, below autograd: see mindtorch/_library/torch_dispatch.py.

A wrapper (Tensor._make_wrapper_subclass) has shape, dtype and device, and no elements. It lies on the meta device,
where nothing reads or writes memory; its storage knows the device that it shows.
"""
import threading

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t

from mindtorch._core import hooks

from mindtorch._core.tensor.dtype cimport ITEMSIZE, ScalarType, dtype as dtype_class
cimport mindtorch._core.tensor.tensor as tensor_module
from mindtorch._core.tensor.tensor cimport (
    META, Shape, Storage, TensorBase, WrapperStorage, bump_version, checked_numel, make_alias, resolve_device,
    set_base, set_geometry, set_storage, version_of,
)


cdef extern from *:
    """
    static _Thread_local unsigned int mindtorch_dispatch_modes;
    static _Thread_local unsigned int mindtorch_dispatch_disabled;
    """
    unsigned int mindtorch_dispatch_modes           # the number of modes on the stack
    unsigned int mindtorch_dispatch_disabled        # the number of disable() that enable() has not undone

cdef extern from "Python.h":
    PyObject *_PyType_Lookup(PyTypeObject *kind, object name) noexcept
    PyTypeObject *Py_TYPE(PyObject *value) noexcept
    PyObject *Py_None

active = False
cdef object TORCH_DISPATCH = "__torch_dispatch__"
cdef object THREAD = threading.local()          # .modes: the stack of modes
cdef tuple NO_ARGUMENTS = ()


def _disabled_torch_dispatch_impl(function, types, args=(), kwargs=None):
    """The __torch_dispatch__ of classes without a handler, Tensor among them: calls the function without handlers."""
    with DisableTorchDispatch():
        return function(*args, **(kwargs or {}))


cdef object DISABLED = _disabled_torch_dispatch_impl


# --- tests for handlers ----------------------------------------------------------------------------------------------

cdef inline bint type_has_handler(PyTypeObject *kind) noexcept:
    cdef PyObject *found
    if kind == <PyTypeObject *>tensor_module.TENSOR_CLASS:
        return False
    found = _PyType_Lookup(kind, TORCH_DISPATCH)
    return found != NULL and found != <PyObject *>DISABLED and found != Py_None


def class_has_handler(kind):
    """Whether the class has a handler."""
    return bool(type_has_handler(<PyTypeObject *>kind))


cdef bint has_modes() noexcept:
    return mindtorch_dispatch_modes != 0 and not mindtorch_dispatch_disabled


cdef bint dispatches(TensorBase tensor) noexcept:
    if mindtorch_dispatch_disabled or tensor is None:
        return False
    return mindtorch_dispatch_modes != 0 or type_has_handler(Py_TYPE(<PyObject *>tensor))


def is_dispatched(TensorBase tensor=None):
    """Whether handlers are called for a tensor; for None, whether modes are active."""
    return active and bool(has_modes() if tensor is None else dispatches(tensor))


# --- calls -----------------------------------------------------------------------------------------------------------

cdef object call(str overload, tuple args, dict kwargs):
    return hooks.call_torch_dispatch(overload, args, kwargs)


cdef TensorBase view_of(TensorBase view, TensorBase self, str overload, tuple args):
    if not dispatches(self):
        return view
    return as_view(call(overload, (self, *args), None), self)


cdef list views_of(list views, TensorBase self, str overload, tuple args):
    if not dispatches(self):
        return views
    return [as_view(view, self) for view in call(overload, (self, *args), None)]


cdef TensorBase as_view(object result, TensorBase self):
    """A handler's result as a view of self for autograd: a write to one counts for the other."""
    cdef TensorBase view = <TensorBase?>result
    if view is self or view.base is not None:
        return view
    with_versions_of(view, self)
    set_base(view, self)
    return view


cdef TensorBase with_versions_of(TensorBase view, TensorBase self):
    view.version_counter = self.storage if self.version_counter is None else self.version_counter
    return view


cdef TensorBase alias_of(TensorBase tensor):
    cdef TensorBase alias
    if not active or not dispatches(tensor):
        return make_alias(tensor)
    alias = <TensorBase?>call("detach", (tensor,), None)
    return alias if alias is tensor or alias.storage is tensor.storage else with_versions_of(alias, tensor)


cdef int bump_version_unless(TensorBase tensor, unsigned int before) except -1:
    if version_of(tensor) == before:
        bump_version(tensor)
    return 0


# --- wrappers --------------------------------------------------------------------------------------------------------

def require_tensor_class(kind):
    """TypeError unless `kind` is a class derived from Tensor; its metaclass may be any."""
    if not isinstance(kind, type):
        raise TypeError(f"cls must be a type (got {type(kind).__name__})")
    if not issubclass(kind, TensorBase):
        raise TypeError("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
                        "Make sure your class inherits from Tensor.")


cdef TensorBase new_of_class(object kind, Storage storage, ScalarType dtype, int ndim, const int64_t *sizes,
                             const int64_t *strides, int64_t offset):
    """A tensor of a class derived from Tensor, which may have slots."""
    cdef TensorBase made = <TensorBase>(<PyTypeObject *>TensorBase).tp_new(kind, <PyObject *>NO_ARGUMENTS, NULL)
    made.sizes = made.inline_dims
    set_storage(made, storage, dtype)
    set_geometry(made, ndim, sizes, strides, offset)
    if tensor_module.inference_threads:
        tensor_module.mark_inference(made, None)
    return made


def alias_of_class(kind, TensorBase data not None):
    """A leaf of the class over the elements of `data`, whose writes it counts too."""
    cdef TensorBase made = new_of_class(kind, data.storage, data.dtype, data.ndim, data.sizes, data.strides,
                                        data.offset)
    made.version_counter, made.bits = data.version_counter, data.bits
    return made


def make_wrapper(kind, tuple size, strides, storage_offset, dtype, device):
    """A tensor without elements of the class, which shows these attributes. `strides` None: contiguous."""
    cdef ScalarType code = (<dtype_class?>dtype).code
    activate()
    cdef Shape shape, steps
    cdef WrapperStorage storage = WrapperStorage.__new__(WrapperStorage)
    cdef TensorBase made
    cdef int i
    fill_shape(&shape, size)
    checked_numel(&shape)
    storage.device_type = META
    resolve_device(device, &storage.reported_type, &storage.reported_index)
    if strides is None:
        made = new_of_class(kind, storage, code, shape.ndim, shape.sizes, NULL, storage_offset)
        storage.nbytes = made.numel
    else:
        fill_shape(&steps, strides)
        if steps.ndim != shape.ndim:
            raise RuntimeError("mismatch in length of strides and shape")
        made = new_of_class(kind, storage, code, shape.ndim, shape.sizes, steps.sizes, storage_offset)
        if made.numel:
            storage.nbytes = 1
            for i in range(shape.ndim):
                storage.nbytes += (shape.sizes[i] - 1) * steps.sizes[i]
    storage.nbytes = (storage.nbytes + made.offset) * ITEMSIZE[<int>made.dtype]
    return made


cdef int fill_shape(Shape *shape, object values) except -1:
    shape.ndim = 0
    if len(values) > tensor_module.MAX_DIMS:
        raise RuntimeError(f"tensors of more than {tensor_module.MAX_DIMS} dimensions are not supported")
    for value in values:
        shape.sizes[shape.ndim] = value
        shape.ndim += 1
    return 0


def is_wrapper(TensorBase tensor):
    """Whether the tensor was made by make_wrapper."""
    return type(tensor.storage) is WrapperStorage


def share_storage(TensorBase tensor, TensorBase other):
    """Has a tensor that a handler returned show the storage of another."""
    tensor.storage = other.storage
    tensor.version_counter = other.version_counter


# --- activation, modes -----------------------------------------------------------------------------------------------

def activate():
    """Have every operator look for handlers, for the rest of the process."""
    global active
    if not active:
        hooks.load_torch_dispatch()
        active = True


def is_active():
    """Whether operators of this process look for handlers."""
    return bool(active)


cdef list modes():
    if not hasattr(THREAD, "modes"):
        THREAD.modes = []
    return THREAD.modes


def push_mode(mode):
    """Push a mode on the stack of this thread."""
    global mindtorch_dispatch_modes
    activate()
    modes().append(mode)
    mindtorch_dispatch_modes = len(modes())


def pop_mode():
    """Pop the innermost mode off the stack of this thread."""
    global mindtorch_dispatch_modes
    if not modes():
        raise RuntimeError("trying to pop from empty mode stack")
    mode = modes().pop()
    mindtorch_dispatch_modes = len(modes())
    return mode


def current_modes():
    """The modes on the stack of this thread, the innermost last."""
    return list(modes())


def new_like(str overload, TensorBase self, list size, tuple more, **options):
    """The handlers' result for self.new_zeros(size) and similar methods."""
    cdef bint wanted = options.pop("requires_grad", False)
    kwargs = {"pin_memory": False} | {name: value for name, value in options.items() if value is not None}
    made = call(overload, (self, size, *more), kwargs)
    return made.requires_grad_() if wanted else made


def lift_fresh(TensorBase made):
    """The modes' result for a tensor that was made of numbers without them."""
    return call("lift_fresh", (made,), None)


class DisableModes:
    """A context in which no mode of this thread is in force; handlers of classes are."""

    def __enter__(self):
        global mindtorch_dispatch_modes
        self._modes, THREAD.modes = modes(), []
        mindtorch_dispatch_modes = 0

    def __exit__(self, *exception):
        global mindtorch_dispatch_modes
        THREAD.modes = self._modes
        mindtorch_dispatch_modes = len(self._modes)


class DisableTorchDispatch:
    """A context without handlers in this thread, be it of classes or of modes."""

    def __enter__(self):
        global mindtorch_dispatch_disabled
        mindtorch_dispatch_disabled += 1

    def __exit__(self, *exception):
        global mindtorch_dispatch_disabled
        mindtorch_dispatch_disabled -= 1
