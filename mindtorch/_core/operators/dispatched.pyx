"""What `run` does with operators that handlers of __torch_dispatch__ compute: history around their results.

Importing it enters it in run_operator; torch_dispatch.activate has that done.
"""
from cpython.ref cimport PyObject

from mindtorch._core import hooks

from mindtorch._core.autograd.node cimport may_require_grad_optional, requires_grad
from mindtorch._core.autograd.recording cimport (
    clone_before_write, record_operator, should_record, should_record_inplace,
)
cimport mindtorch._core.operators.autocast as autocast
from mindtorch._core.operators.operator cimport (
    BOOL, BOOL_LIST, DTYPE, FLOAT, INT, INT_LIST, OPTIONAL_FLOAT, OPTIONAL_INT, OPTIONAL_SCALAR, SCALAR, Argument,
    ArgumentType, Operator,
)
cimport mindtorch._core.operators.run_operator as run_operator
from mindtorch._core.operators.run_operator cimport (
    autocast_arguments, compute_requires_grad, operands_may_require_grad, run_foreach,
)
from mindtorch._core.tensor.dtype cimport DTYPES, Undefined, scalar_to_python
from mindtorch._core.tensor.tensor cimport TensorBase, version_of
cimport mindtorch._core.tensor.torch_dispatch as torch_dispatch


cdef object argument_value(ArgumentType type, Argument *argument):
    """An argument as handlers get it."""
    if type == SCALAR or type == OPTIONAL_SCALAR:
        return None if argument.scalar == NULL else scalar_to_python(argument.scalar)
    if type == INT:
        return argument.integer
    if type == OPTIONAL_INT:
        return argument.ints.sizes[0] if argument.ints.ndim else None
    if type == INT_LIST:
        return [argument.ints.sizes[i] for i in range(argument.ints.ndim)]
    if type == BOOL:
        return argument.integer != 0
    if type == BOOL_LIST:
        return [argument.ints.sizes[i] != 0 for i in range(argument.ints.ndim)]
    if type == FLOAT:
        return argument.real
    if type == OPTIONAL_FLOAT:
        return None if argument.optional_real == NULL else argument.optional_real[0]
    if type == DTYPE:
        return None if argument.integer == Undefined else DTYPES[<int>argument.integer]
    return <object>argument.object


cdef list argument_values(Operator op, Argument *arguments):
    return [argument_value(op.argument_types[i], &arguments[i]) for i in range(op.argument_count)]


cdef object run_dispatched(Operator op, Argument *arguments, bint inplace):
    cdef list outs = []
    cdef int i
    cdef object _casts
    if op.is_foreach and op.single is not None:
        return run_foreach(op, arguments, inplace)
    if inplace or op.inplace_only or op.is_foreach:
        return run_dispatched_inplace(op, arguments, inplace)
    for i in range(op.result_count):
        if arguments[op.argument_count + i].object != <PyObject *>None:
            outs.append(<object>arguments[op.argument_count + i].object)
    if not outs and op.autocasts and autocast.enabled_threads:
        _casts = autocast_arguments(op, arguments)          # keeps alive what the arguments borrow
    if op.key in hooks.decompositions_for_dispatch:
        return run_decomposition(op, arguments, outs)
    return run_dispatched_plain(op, arguments, outs)


cdef object run_decomposition(Operator op, Argument *arguments, list outs):
    """A row that is several operators in torch."""
    result = hooks.decompositions_for_dispatch[op.key](*argument_values(op, arguments))
    return outs[0].copy_(result) if outs else result


cdef object run_dispatched_plain(Operator op, Argument *arguments, list outs):
    cdef TensorBase out = <TensorBase>outs[0] if outs else None
    cdef bint record = False
    cdef list results
    cdef int i
    if op.differentiable_count and not op.records_inplace_only and (
            operands_may_require_grad(op, arguments) or may_require_grad_optional(out)):
        record = (compute_requires_grad(op, arguments) or requires_grad(out)) and should_record(out, op.name)
    versions = [version_of(<TensorBase>each) for each in outs]
    found = hooks.call_torch_dispatch_of_row(op.key, argument_values(op, arguments), outs, False)
    for each, version in zip(outs, versions):
        torch_dispatch.bump_version_unless(<TensorBase>each, version)
    if outs:
        return outs[0] if op.result_count == 1 else tuple(outs)
    results = [found] if op.result_count == 1 else list(found)
    for i in range(op.result_count):
        arguments[op.argument_count + i].object = <PyObject *>results[i]
    if record:
        record_operator(op, arguments, None, False)
    return found if op.result_count == 1 else tuple(results)


cdef object run_dispatched_inplace(Operator op, Argument *arguments, bint inplace):
    cdef TensorBase self, kept_self
    cdef bint record = False
    if op.is_foreach:                       # a fused optimizer
        hooks.call_torch_dispatch_of_row(op.key, argument_values(op, arguments), [], False)
        return None
    self = kept_self = <TensorBase>arguments[0].object
    if op.differentiable_count and operands_may_require_grad(op, arguments):
        record = should_record_inplace(self, compute_requires_grad(op, arguments))
    if record and op.saves_self:
        kept_self = clone_before_write(self)
    version = version_of(self)
    hooks.call_torch_dispatch_of_row(op.key, argument_values(op, arguments), [], True)
    torch_dispatch.bump_version_unless(self, version)
    if record:
        arguments[op.argument_count].object = <PyObject *>self
        record_operator(op, arguments, kept_self, True)
    return self


run_operator.run_dispatched = run_dispatched
