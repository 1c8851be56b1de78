"""torch._subclasses.fake_tensor: tensors that claim a device and have a shape there, but no elements."""
from mindtorch import Tensor
from mindtorch._core.tensor import torch_dispatch
from mindtorch._core.tensor.tensor import device as Device
from mindtorch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from mindtorch.utils._pytree import tree_map_only

__all__ = ["DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorConverter",
           "FakeTensorMode", "UnsupportedFakeTensorException", "is_fake", "unset_fake_temporarily"]


class UnsupportedFakeTensorException(RuntimeError):
    """A fake tensor cannot take the place of that tensor."""


class DynamicOutputShapeException(RuntimeError):
    """The elements, which are not known, decide the shape of the operator's result."""

    def __init__(self, func):
        super().__init__(str(func))
        self.func = func


class DataDependentOutputException(DynamicOutputShapeException):
    """The elements, which are not known, decide the operator's result, which is no tensor."""


class FakeTensor(Tensor, _activates=False):
    """A tensor on the meta device that shows another device. Operators on it are those of its mode."""

    @staticmethod
    def __new__(cls, fake_mode, elem, device, constant=None, real_tensor=None):
        made = Tensor._make_wrapper_subclass(cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, device=device,
                                             storage_offset=elem.storage_offset(), requires_grad=elem.requires_grad)
        made.fake_mode, made._elem, made.fake_device = fake_mode, elem.detach(), Device(device)
        return made

    def __repr__(self, *, tensor_contents=None):
        return f"FakeTensor(..., device='{self.device}', size={tuple(self.shape)}, dtype={self.dtype})".replace(
            "device='cpu', ", "").replace(", dtype=torch.float32", "")

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
        raise DataDependentOutputException("tolist")


def _fakes_in(value):
    if isinstance(value, FakeTensor):
        yield value
    elif isinstance(value, dict):
        yield from _fakes_in(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _fakes_in(item)


class FakeTensorConverter:
    """Makes fake tensors for a mode that is given with each tensor."""

    def from_real_tensor(self, fake_mode, t, make_constant=False, shape_env=None, *, source=None,
                         symbolic_context=None, trace=True):
        """fake_mode.from_tensor(t)."""
        return fake_mode.from_tensor(t)


class FakeTensorMode(TorchDispatchMode):
    """Within it factories make fake tensors, and operators on fake tensors compute shapes alone."""

    def __init__(self, *, allow_fallback_kernels=True, allow_non_fake_inputs=False, shape_env=None,
                 static_shapes=None, export=False):
        super().__init__()
        if shape_env is not None:
            raise NotImplementedError("FakeTensorMode: symbolic shapes (shape_env) are not available")
        self.allow_non_fake_inputs, self.shape_env, self.static_shapes = allow_non_fake_inputs, None, True

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None, trace=True):
        """A fake tensor like `tensor`: shape, strides, dtype, device and requires_grad."""
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        with torch_dispatch.DisableModes():
            elem = tensor.detach().to("meta")
            if elem.stride() != tensor.stride():
                elem = elem.new_empty(0).set_(elem.untyped_storage(), 0, tensor.size(), elem.stride())
            made = FakeTensor(self, elem, tensor.device)
        return made.requires_grad_(tensor.requires_grad)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self._run(func, args, kwargs or {})

    def _meta(self, func, value):
        if isinstance(value, FakeTensor):
            if value.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return value._elem
        if value.is_meta or value.dim() == 0 or self.allow_non_fake_inputs or func._opname == "lift_fresh":
            return value if value.is_meta or func._opname == "lift_fresh" else value.to("meta")
        raise AssertionError("Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                             f"'allow_non_fake_inputs'. Found in {func}({shown(value)})")

    def _run(self, func, args, kwargs):
        fakes = list(_fakes_in((args, kwargs)))
        if func._opname == "_local_scalar_dense":
            raise DataDependentOutputException(func)
        with torch_dispatch.DisableModes():
            return self._run_on_meta(func, args, kwargs, fakes)

    def _run_on_meta(self, func, args, kwargs, fakes):
        device = kwargs.get("device")
        if device is None and func._opname == "lift_fresh":
            return self.from_tensor(args[0])
        if device is None:
            device = _common_device(func, fakes)
        given = tree_map_only(Tensor, lambda value: self._meta(func, value), (tuple(args), dict(kwargs)))
        if "device" in given[1]:
            given[1]["device"] = Device("meta")
        try:
            result = func(*given[0], **given[1])
        except NotImplementedError as error:
            raise DynamicOutputShapeException(func) from error
        result = tree_map_only(Tensor, lambda elem: FakeTensor(self, elem, device), result)
        return return_and_correct_aliasing(func, args, kwargs, result)


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
