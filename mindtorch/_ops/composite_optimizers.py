"""Fused optimizers that ACLNN has no operator for, made of operators on lists."""
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.grad_mode import no_grad


def _expect(condition, text):
    if not condition:
        raise RuntimeError(f"Expected {text} to be true, but got false.  (Could this error message be improved?  If "
                           "so, please report an enhancement request to PyTorch.)")


def _check(self, lists):
    if not self:
        raise NotImplementedError(
            "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no "
            "fallback function is registered for schema aten::_fused_adagrad_.")
    for name, tensors in lists.items():
        _expect(len(tensors) == len(self), f"{name}.size() == n_tensors")
    for tensor in self:
        if not tensor.is_floating_point() or tensor.dtype.itemsize == 1:
            raise NotImplementedError("\"fused_adagrad_kernel\" not implemented for "
                                      f"'{tensor.type().rpartition('.')[2].removesuffix('Tensor')}'")


@no_grad()
def _fused_adagrad_(self, grads, state_sums, state_steps, *, lr, lr_decay, weight_decay, eps, maximize,
                    grad_scale=None, found_inf=None):
    """One step of Adagrad for all parameters of a list; `lr` may be a tensor. The steps are counted by the caller."""
    _check(self, {"grads": grads, "state_sums": state_sums, "state_steps": state_steps})
    if found_inf is not None and found_inf.item():
        return
    if grad_scale is not None:
        for grad in grads:
            grad.div_(grad_scale)
    change = _OPS["_foreach_neg"](grads) if maximize else grads
    if weight_decay:
        change = _OPS["_foreach_add"](change, self, alpha=weight_decay)
    _OPS["_foreach_addcmul_"](state_sums, change, change)
    spread = _OPS["_foreach_add_"](list(_OPS["_foreach_sqrt"](state_sums)), eps)
    if lr_decay:
        # The steps lie on the device, and what the rate has decayed to stays there too.
        rates = list(_OPS["_foreach_sub"](state_steps, 1))
        _OPS["_foreach_add_"](_OPS["_foreach_mul_"](rates, lr_decay), 1)
        change = _OPS["_foreach_div"](change, rates)
    _OPS["_foreach_addcdiv_"](self, change, spread, -float(lr))


FUNCTIONS, METHODS = {"_fused_adagrad_": _fused_adagrad_}, {}
