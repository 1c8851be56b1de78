"""torch._subclasses.fake_tensor: tensors that claim a device and have a shape there, but no elements."""
import weakref

import mindtorch
from mindtorch import Tensor, get_default_dtype, no_grad, strided
from mindtorch._compat.prims_common import MetadataMismatchError
from mindtorch._core.tensor import torch_dispatch
from mindtorch._core.tensor.tensor import device as Device
from mindtorch._core.tensor.views import set_bits_of
from mindtorch._library import fake as fake_kernels
from mindtorch._subclasses.meta_utils import MetaConverter
from mindtorch._tensor.printing import tensor_str
from mindtorch.nn import Parameter
from mindtorch.overrides import TorchFunctionMode
from mindtorch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from mindtorch.utils._pytree import tree_leaves, tree_map_only
from mindtorch.utils.weak import WeakTensorKeyDictionary

__all__ = ["DataDependentOutputException", "DynamicOutputShapeException", "FakeCopyMode", "FakeTensor",
           "FakeTensorConverter", "FakeTensorMode", "MetadataMismatchError", "UnsupportedFakeTensorException",
           "UnsupportedOperatorException", "is_fake", "unset_fake_temporarily"]


class UnsupportedFakeTensorException(RuntimeError):
    """A fake tensor cannot take the place of that tensor."""


class DynamicOutputShapeException(RuntimeError):
    """The elements, which are not known, decide the shape of the operator's result."""

    def __init__(self, func):
        super().__init__(str(func))
        self.func = func


class DataDependentOutputException(DynamicOutputShapeException):
    """The elements, which are not known, decide the operator's result, which is no tensor."""


class UnsupportedOperatorException(RuntimeError):
    """The operator has no kernel for the meta device, nor a fake kernel (torch.library.register_fake)."""

    def __init__(self, func):
        super().__init__(str(func))
        self.func = func


class FakeTensor(Tensor, _activates=False):
    """A tensor on the meta device that shows another device. Operators on it are those of its mode.

    `constant` is a tensor with the elements where a program has written one number, as `torch.tensor(4.0)`, and what
    it has computed of such tensors alone. Else it is None.
    """

    @staticmethod
    def __new__(cls, fake_mode, elem, device, constant=None, real_tensor=None):
        made = Tensor._make_wrapper_subclass(cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, device=device,
                                             storage_offset=elem.storage_offset(), requires_grad=elem.requires_grad)
        set_bits_of(made, elem.is_conj(), elem.is_neg())
        made.fake_mode, made._elem, made.fake_device = fake_mode, elem.detach(), Device(device)
        made.constant, made.real_tensor = constant, real_tensor
        if constant is not None:
            fake_mode._note_constant(made)
        return made

    def __repr__(self, *, tensor_contents=None):
        return tensor_str(self, get_default_dtype(), tensor_contents, hides_elements=True)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            with no_grad():
                copied = self.fake_mode._like(self._elem.clone(), self, _copy_of(self.constant))
            memo[id(self)] = copied.requires_grad_(self.requires_grad)
        return memo[id(self)]

    def untyped_storage(self):
        """The storage, of the meta device, of which two fake tensors have one where real ones would share memory."""
        return self._elem.untyped_storage()

    @classmethod
    def from_tensor(cls, t, fake_mode):
        """fake_mode.from_tensor(t)."""
        return fake_mode.from_tensor(t)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        modes = {id(value.fake_mode): value.fake_mode for value in _fakes_in((args, kwargs))}
        if len(modes) > 1:
            raise AssertionError(f"Mixing fake modes NYI: {list(modes.values())}")
        return next(iter(modes.values()))._run(func, args, kwargs or {})

    def tolist(self):
        """The elements, which are known only where there are none."""
        if self.numel() == 0:
            return self._elem.new_empty(self.shape, device="cpu").tolist()
        if self.constant is not None:
            return self.constant.tolist()
        raise DataDependentOutputException("aten._local_scalar_dense.default")


def _fakes_in(value):
    if isinstance(value, FakeTensor):
        yield value
    elif isinstance(value, dict):
        yield from _fakes_in(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _fakes_in(item)


def _copy_of(constant):
    if constant is None:
        return None
    with torch_dispatch.DisableModes():
        return constant.clone()


class FakeTensorConverter:
    """Makes fake tensors like given ones: the same one again as long as tensor and fake tensor live.

    Those of views and of tensors that share memory have one storage, too.
    """

    def __init__(self, *, copy_data=False, export=False):
        self.meta_converter = MetaConverter()
        self._known = WeakTensorKeyDictionary()         # tensor -> a weak reference to its fake tensor

    @property
    def tensor_memo(self):
        """{id of a tensor: the fake tensor that it was converted to}."""
        made = {id(tensor): reference() for tensor, reference in self._known.items()}
        return {key: fake for key, fake in made.items() if fake is not None}

    def from_real_tensor(self, fake_mode, t, make_constant=False, shape_env=None, *, source=None,
                         symbolic_context=None, trace=True):
        """fake_mode.from_tensor(t); with make_constant a new fake tensor, whose constant is `t`."""
        known = self._known.get(t)
        if known is not None and known() is not None and not make_constant:
            return known()
        if t.layout is not strided:
            raise UnsupportedFakeTensorException(f"FakeTensorMode: tensors with layout {t.layout} are not available")
        with torch_dispatch.DisableModes(), no_grad():
            elem = self.meta_converter(t) if type(t) in (Tensor, Parameter) else t.detach().to("meta")
            made = FakeTensor(fake_mode, elem.detach(), t.device, constant=t if make_constant else None)
        made.requires_grad_(t.requires_grad)
        if isinstance(t, Parameter):
            made._is_param = True
        if t.is_leaf and t.grad is not None:
            made.grad = self.from_real_tensor(fake_mode, t.grad)
        if not make_constant:
            self._known[t] = weakref.ref(made)
        return made

    def from_meta_and_device(self, fake_mode, t, device, pytype=None, dispatch_keys=None):
        """A fake tensor of `device` with the shape of the meta tensor `t`."""
        known = self._known.get(t)
        made = None if known is None else known()
        if made is None:
            made = FakeTensor(fake_mode, t, device)
            self._known[t] = weakref.ref(made)
        return made


class FakeTensorMode(TorchDispatchMode):
    """Within it factories make fake tensors, and operators on fake tensors compute shapes alone."""

    def __init__(self, *, allow_fallback_kernels=True, allow_non_fake_inputs=False, shape_env=None,
                 static_shapes=None, export=False):
        super().__init__()
        self.allow_non_fake_inputs, self.shape_env = allow_non_fake_inputs, shape_env
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.allow_fallback_kernels, self.fake_tensor_converter = allow_fallback_kernels, FakeTensorConverter()
        self._constants = {}            # storage of a constant -> weak references to the fake tensors that have one

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None, trace=True):
        """A fake tensor like `tensor`: shape, strides, dtype, device, requires_grad, and whether it is a parameter."""
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        if not (self.static_shapes if static_shapes is None else static_shapes) and self.shape_env is not None:
            raise NotImplementedError("FakeTensorMode: sizes that are symbols (shape_env) are not available: call "
                                      "from_tensor(tensor, static_shapes=True)")
        return self.fake_tensor_converter.from_real_tensor(self, tensor)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self._run(func, args, kwargs or {})

    def _meta(self, func, value):
        if isinstance(value, FakeTensor):
            if value.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return value._elem
        if value.is_meta or value.dim() == 0:
            return value if value.is_meta else value.to("meta")
        raise AssertionError("Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                             f"'allow_non_fake_inputs'. Found in {func}({shown(value)})")

    def _run(self, func, args, kwargs):
        with torch_dispatch.DisableModes():
            if self.allow_non_fake_inputs and func._opname != "lift_fresh":
                args, kwargs = tree_map_only(Tensor, self.from_tensor, (tuple(args), dict(kwargs)))
            fakes = list(_fakes_in((args, kwargs)))
            constants = self._constants and all(fake.constant is not None for fake in fakes)
            if func._opname == "_local_scalar_dense":
                if not constants:
                    raise DataDependentOutputException(func)
                return func(fakes[0].constant)
            if fakes and constants and not kwargs.get("out"):
                result = self._run_on_constants(func, args, kwargs)
                if result is not None:
                    return result
            if self._constants:
                self._forget_written(func, args, kwargs)
            return self._run_on_meta(func, args, kwargs, fakes)

    # --- constants ----------------------------------------------------------------------------------------------------

    def _note_constant(self, fake):
        users = self._constants.setdefault(fake.constant.untyped_storage()._cdata, [])
        users.append(weakref.ref(fake))

    def _forget(self, constant):
        """Those whose constants share the memory of `constant` have none any more."""
        for user in self._constants.pop(constant.untyped_storage()._cdata, ()):
            if user() is not None:
                user().constant = None

    def _forget_written(self, func, args, kwargs):
        """What shares memory with a tensor to which `func` writes what is not known is no constant any more."""
        for argument, value in zip(func._schema.arguments, args, strict=False):
            self._forget_if_written(argument, value)
        for argument in func._schema.arguments:
            self._forget_if_written(argument, kwargs.get(argument.name))

    def _forget_if_written(self, argument, value):
        if argument.alias_info is None or not argument.alias_info.is_write:
            return
        for fake in _fakes_in(value):
            if fake.constant is not None:
                self._forget(fake.constant)

    def _run_on_constants(self, func, args, kwargs):
        """The result, of one element, as a constant; None where it is none, or chance decides it."""
        if mindtorch.Tag.nondeterministic_seeded in func.tags or mindtorch.Tag.inplace_view in func.tags:
            return None
        given = tree_map_only(FakeTensor, lambda fake: fake.constant, (tuple(args), dict(kwargs)))
        if len(func._schema.returns) != 1 or func._schema.returns[0].type.kind == "list":
            return None
        result = func(*given[0], **given[1])
        if not isinstance(result, Tensor) or not _may_be_constant(result):
            for each in tree_leaves(result):        # a view, which may be written to
                if isinstance(each, Tensor):
                    self._forget(each)
            return None
        if any(each.alias_info is not None and each.alias_info.is_write for each in func._schema.arguments):
            return return_and_correct_aliasing(func, args, kwargs, result)
        source = next(_fakes_in((args, kwargs)))
        made = FakeTensor(self, result.to("meta"), result.device, constant=result)
        if result.untyped_storage()._cdata == source.constant.untyped_storage()._cdata:
            made._elem = source._elem.as_strided(result.size(), result.stride(), result.storage_offset())
        return return_and_correct_aliasing(func, args, kwargs, made)

    # --- shapes -------------------------------------------------------------------------------------------------------

    def _like(self, elem, fake, constant=None):
        """A fake tensor with the shape of `elem`, and else what `fake` is."""
        made = FakeTensor(self, elem, fake.fake_device, constant=constant)
        if getattr(fake, "_is_param", False):
            made._is_param = True
        return made

    def _run_on_meta(self, func, args, kwargs, fakes):
        device = kwargs.get("device")
        if device is None and func._opname == "lift_fresh":
            return self.fake_tensor_converter.from_real_tensor(self, args[0], make_constant=_may_be_constant(args[0]))
        if device is None:
            device = _common_device(func, fakes)
        given = tree_map_only(Tensor, lambda value: self._meta(func, value), (tuple(args), dict(kwargs)))
        if "device" in given[1]:
            given[1]["device"] = Device("meta")
        try:
            with fake_kernels.unknown_sizes(DynamicOutputShapeException(func)):
                result = func(*given[0], **given[1])
        except NotImplementedError as error:
            kind = DynamicOutputShapeException if func.namespace == "aten" else UnsupportedOperatorException
            raise kind(func) from error
        result = tree_map_only(Tensor, lambda elem: FakeTensor(self, elem, device), result)
        return return_and_correct_aliasing(func, args, kwargs, result)


def _may_be_constant(tensor):
    return tensor.numel() <= 1 and tensor.layout is strided and not tensor.is_meta


class FakeCopyMode(TorchFunctionMode):
    """Within it copy.deepcopy makes fake tensors of `fake_mode` in place of copies."""

    def __init__(self, fake_mode):
        self.fake_mode = fake_mode

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is Tensor.clone:
            return func(self.fake_mode.from_tensor(args[0]), **kwargs)
        if func is Tensor.__deepcopy__:
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor)
            return memo[id(tensor)]
        return func(*args, **kwargs)


def shown(value):
    """A tensor in a message."""
    return f"{type(value).__name__} of shape {tuple(value.shape)}"


def _common_device(func, fakes):
    """The device of fake operands; those without dimensions on the CPU go anywhere. RuntimeError where they differ."""
    found = None
    for fake in fakes:
        if fake.dim() == 0 and fake.device.type == "cpu" and found is not None:
            continue
        if found is None or (found.dim() == 0 and found.device.type == "cpu"):
            found = fake
        elif found.device != fake.device:
            raise RuntimeError(f"Unhandled FakeTensor Device Propagation for {func}, found two different devices "
                               f"{found.device}, {fake.device}")
    return Device("cpu") if found is None else found.device


def is_fake(x):
    """Whether a tensor, or what a wrapper holds, is a FakeTensor."""
    from mindtorch.utils._python_dispatch import is_traceable_wrapper_subclass
    if is_traceable_wrapper_subclass(x):
        return any(is_fake(getattr(x, name)) for name in x.__tensor_flatten__()[0])
    return isinstance(x, FakeTensor)


class unset_fake_temporarily:
    """A context in which no FakeTensorMode is in force, nor another mode."""

    def __enter__(self):
        self._without = torch_dispatch.DisableModes()
        self._without.__enter__()

    def __exit__(self, *exception):
        self._without.__exit__(*exception)
