from cpython.ref cimport PyObject

cimport mindtorch._core.lists as lists
cimport mindtorch._core.run_operator as run_operator
from mindtorch._core.autograd cimport tracked
from mindtorch._core.dispatch cimport Place, place_of_list
from mindtorch._core.infer cimport output
from mindtorch._core.operator cimport (
    BOOL, DEFAULT, ELEMENT_OF_LIST, MAX_ARGUMENTS, MAX_RESULTS, NUMBER_OF_LIST, SAME, SCALAR_LIST, TENSOR_LIST, Source,
    find_operator, require_kernel, run_kernel)
from mindtorch._core.operator_function cimport default_argument
from mindtorch._core.recording cimport before_write
from mindtorch._core.scalar cimport Scalar, ScalarType, scalar_from
from mindtorch._core.tensor cimport Shape, TensorBase


cdef int load(Operator op, dict row) except -1:
    cdef int i
    op.each = find_operator(row["each"]) if "each" in row else None
    op.uniform = find_operator(row["scalar_variant"]) if "scalar_variant" in row else None
    op.numbers = -1
    for i in range(op.count):
        if op.types[i] == SCALAR_LIST:
            op.numbers = i
    op.written_count = 0
    for i in row.get("written", ()):
        op.written[op.written_count] = i
        op.written_count += 1
    if op.each is None:
        return 0
    op.each_is_method, op.each_has_inplace = row["each_is_method"], row["each_has_inplace"]
    if not op.each_is_method and not op.each.loaded:
        run_operator.load(op.each)
    for i, encoded in enumerate(row["each_arguments"]):
        read_source(&op.each_arguments[i], op, i, encoded)
    op.each_argument_count = len(row["each_arguments"])
    return 0


cdef int read_source(Source *source, Operator op, int index, str encoded) except -1:
    source.kind = {"a": SAME, "l": ELEMENT_OF_LIST, "n": NUMBER_OF_LIST, "d": DEFAULT}[encoded[0]]
    if source.kind != DEFAULT:
        source.place = int(encoded[1:])
    elif op.each_is_method:
        raise ValueError(f"{op.key}: a method gets all its arguments")
    else:
        default_argument(&source.value, op.each.types[index], int(encoded[1:]) if encoded[1:] else None)
    return 0


cdef inline list list_at(Argument *arguments, int index):
    return <list>arguments[index].object


cdef object run_list(Operator op, Argument *arguments, bint inplace):
    cdef list tensors = list_at(arguments, op.first_list)
    cdef Scalar number
    cdef int i
    if op.each is None:
        return run_kernel_for_lists(op, arguments)
    lists.length(tensors)
    for i in range(op.first_list + 1, op.count):
        if op.types[i] == TENSOR_LIST:
            lists.check_length(tensors, list_at(arguments, i))
    if op.numbers >= 0:
        lists.check_count(tensors, <tuple>arguments[op.numbers].object)
    run_operator.check_all(&op.check, arguments, NULL)
    if may_run_together(op, arguments, tensors):
        return run_together(op, arguments, tensors, inplace)
    if op.uniform is not None and lists.uniform(<tuple>arguments[op.numbers].object):
        scalar_from((<tuple>arguments[op.numbers].object)[0], &number)
        arguments[op.numbers].scalar = &number
        return run_operator.run_inplace(op.uniform, arguments) if inplace else run_operator.run(op.uniform, arguments)
    if inplace:
        for i in range(len(tensors)):
            write_one(op, arguments, i)
        return tensors
    return tuple([run_one(op, arguments, i) for i in range(len(tensors))])


# --- the kernel for lists --------------------------------------------------------------------------------------------

cdef bint may_run_together(Operator op, Argument *arguments, list tensors) except -1:
    cdef TensorBase first = <TensorBase>tensors[0]
    cdef Argument of_first[MAX_ARGUMENTS]
    cdef Scalar number
    cdef int i
    if not lists.alike(tensors, op.list_dtypes[first.device_type]):
        return False
    for i in range(op.first_list + 1, op.count):
        if op.types[i] == TENSOR_LIST and not lists.beside(tensors, list_at(arguments, i)):
            return False
    for i in range(op.together.count):
        if not run_operator.evaluate(op.together.rules[i], arguments, NULL, NULL):
            return False
    if op.each_is_method or op.each.writes_self:
        return True
    if op.numbers >= 0:
        lists.widest(<tuple>arguments[op.numbers].object, &number)
    fill_arguments(op, of_first, arguments, 0, &number)
    return run_operator.result_dtype(op.each, of_first) == first.dtype


cdef object run_together(Operator op, Argument *arguments, list tensors, bint inplace):
    cdef TensorBase first = <TensorBase>tensors[0]
    cdef list out = tensors
    if op.results and not inplace:
        if op.each.outputs[0].elementwise:
            out = lists.outputs(tensors)
        else:
            out = [result_for(op, arguments, i) for i in range(len(tensors))]
    arguments[op.count].object = <PyObject *>out
    run_kernel(op, first.device_type, arguments, first.dtype, inplace)
    if not op.results or inplace:
        lists.count_versions(tensors)
        return tensors
    return tuple(out)


cdef TensorBase result_for(Operator op, Argument *arguments, int index):
    """A new tensor for what the operator on one tensor gives."""
    cdef Argument of_one[MAX_ARGUMENTS]
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef TensorBase tensor = <TensorBase>list_at(arguments, op.first_list)[index]
    cdef Shape shape
    fill_arguments(op, of_one, arguments, index, NULL)
    dtypes[0] = <ScalarType>run_operator.evaluate(op.each.outputs[0].dtype, of_one, dtypes, NULL)
    run_operator.evaluate(op.each.outputs[0].shape, of_one, dtypes, &shape)
    return output(None, &shape, dtypes[0], tensor.device_type, tensor.device_index)


cdef object run_kernel_for_lists(Operator op, Argument *arguments):
    """An operator that has a kernel for lists on every device, and writes to some of them: the fused optimizers."""
    cdef list tensors = list_at(arguments, op.first_list)
    cdef ScalarType dtype
    cdef Place place
    cdef int i
    lists.check_any(tensors, op.key)
    place_of_list(&place, tensors)
    dtype = (<TensorBase>tensors[0]).dtype
    require_kernel(op, place.type, dtype)
    run_operator.check_all(&op.check, arguments, NULL)
    for i in range(op.together.count):
        if not run_operator.evaluate(op.together.rules[i], arguments, NULL, NULL):
            return None
    run_kernel(op, place.type, arguments, dtype)
    for i in range(op.written_count):
        lists.count_versions(list_at(arguments, op.written[i]))
    return None


# --- the operator on one tensor --------------------------------------------------------------------------------------

cdef int fill_arguments(Operator op, Argument *target, Argument *arguments, int index, Scalar *number) except -1:
    """The arguments of the operator on one tensor, for tensor `index`; out= is None."""
    cdef Source *source
    cdef int i, count = op.each.count
    for i in range(count):
        source = &op.each_arguments[i]
        if source.kind == SAME:
            target[i] = arguments[source.place]
        elif source.kind == ELEMENT_OF_LIST:
            target[i].object = <PyObject *>list_at(arguments, source.place)[index]
        elif source.kind == NUMBER_OF_LIST:
            target[i].scalar = number
        else:
            target[i] = source.value
    target[count].object = <PyObject *>None
    return 0


cdef int read_number(Operator op, Argument *arguments, int index, Scalar *number) except -1:
    if op.numbers >= 0:
        scalar_from((<tuple>arguments[op.numbers].object)[index], number)
    return 0


cdef object call_method(Operator op, Argument *arguments, int index):
    """An operator that is written in Python has no row to run."""
    cdef list values = []
    cdef Source *source
    cdef int i
    for i in range(op.each_argument_count):
        source = &op.each_arguments[i]
        if source.kind == ELEMENT_OF_LIST:
            values.append(list_at(arguments, source.place)[index])
        elif op.types[source.place] == BOOL:
            values.append(arguments[source.place].integer != 0)
        else:
            values.append(<object>arguments[source.place].object)
    return getattr(values[0], op.each.name)(*values[1:])


cdef object run_one(Operator op, Argument *arguments, int index):
    cdef Argument of_one[MAX_ARGUMENTS]
    cdef Scalar number
    if op.each_is_method:
        return call_method(op, arguments, index)
    read_number(op, arguments, index, &number)
    fill_arguments(op, of_one, arguments, index, &number)
    return run_operator.run(op.each, of_one)


cdef int write_one(Operator op, Argument *arguments, int index) except -1:
    cdef Argument of_one[MAX_ARGUMENTS]
    cdef TensorBase written, kept
    cdef Scalar number
    if op.each_is_method:
        call_method(op, arguments, index)
        return 0
    read_number(op, arguments, index, &number)
    fill_arguments(op, of_one, arguments, index, &number)
    if op.each.writes_self or op.each_has_inplace:
        run_operator.run_inplace(op.each, of_one)
        return 0
    # The operator has no in-place form that would keep what its derivative looks at.
    written = <TensorBase>of_one[0].object
    kept = before_write(written) if tracked(written) else written
    of_one[0].object = <PyObject *>kept
    return lists.write(written, <TensorBase>run_operator.run(op.each, of_one))
