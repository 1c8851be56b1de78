"""run and run_inplace run every operator by what its row says (_core/_gen/rows.py): device, dtype and shape of the
results, checks, allocation, the device's kernel, history."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc

from mindtorch._core import hooks, once

from mindtorch._core.autograd.node cimport (
    any_may_require_grad, any_requires_grad, check_inference_write, may_require_grad, may_require_grad_optional,
    requires_grad,
)
from mindtorch._core.autograd.history cimport (
    clone_before_write, record_operator, should_record, should_record_inplace,
)
cimport mindtorch._core.operators.autocast as autocast
from mindtorch._core.operators.operator cimport (
    ARGUMENT, BOOL, BOOL_LIST, CONSTANT, DEFAULT_VALUE, DTYPE, DTYPE_OF, FLOAT, GENERATOR, HAS_VALUE, INT, INT_LIST,
    MAX_ARGUMENTS, MAX_OPERANDS, MAX_RESULTS, ONE, OPTIONAL_FLOAT, OPTIONAL_INT, OPTIONAL_SCALAR, OPTIONAL_TENSOR,
    OPTIONAL_TENSOR_LIST, RESULT_DTYPE, RULE, SAME_ARGUMENT, SCALAR, SCALAR_LIST, SCALAR_OF_LIST, STRING, TENSOR,
    TENSOR_LIST, TENSOR_OF_LIST, ArgumentType, CommonDevice, ForeachArgument, ForeachArgumentKind, Operand, OperandKind,
    Output, Rule, Rules, all_equal, bump_versions, check_not_empty_list, check_same_length, check_scalar_count,
    checked_length, common_device_of_list, empty_like_list, find_operator, find_rule, highest_kind_scalar,
    init_common_device, initialize_inout, is_fast_route_list, matches_fast_route_list, require_kernel, run_kernel,
    set_default_argument, unexpanded_view, update_common_device, write_back_out, write_inplace_result,
)
from mindtorch._core.rules.infer cimport (
    channels_last_output, check_no_partial_overlap, check_output, elementwise_output, inplace_output, is_channels_last,
    output_or_temporary, raise_shape_mismatch, result_or_temporary, same_shape, shrink_to_fit, wrap_dim,
)
from mindtorch._core.tensor.dtype cimport (
    DTYPES, FLOAT_KIND, KIND, NUM_SCALAR_TYPES, Bool, Scalar, ScalarType, Undefined, scalar_from_python,
    scalar_to_python,
)
from mindtorch._core.tensor.generator cimport Generator, generator_for
from mindtorch._core.tensor.tensor cimport (
    CPU, META, Shape, TensorBase, allocate, bump_version, checked_numel, has_internal_overlap, has_same_shape,
    has_shape, make_tensor, version_of,
)
from mindtorch._core.tensor.copy_cast cimport clone_tensor, copy_tensor_
cimport mindtorch._core.tensor.tensor as tensor_module
cimport mindtorch._core.tensor.torch_dispatch as torch_dispatch


cdef dict ARGUMENT_TYPES = {
    "Tensor": TENSOR, "Tensor?": OPTIONAL_TENSOR, "Tensor[]": TENSOR_LIST, "Tensor?[]": OPTIONAL_TENSOR_LIST,
    "Scalar": SCALAR, "Scalar?": OPTIONAL_SCALAR, "Scalar[]": SCALAR_LIST, "int": INT, "int?": OPTIONAL_INT,
    "int[]": INT_LIST, "int[]?": INT_LIST, "int[n]": INT_LIST, "int[n]?": INT_LIST, "bool": BOOL, "bool?": BOOL,
    "bool[]": BOOL_LIST, "float": FLOAT, "float?": OPTIONAL_FLOAT, "ScalarType": DTYPE, "ScalarType?": DTYPE,
    "str": STRING, "str?": STRING,
    "Generator?": GENERATOR}
cdef list RULE_CONSTANTS = []             # keeps alive the constants that rules point to
cdef tuple SHAPES_OF_TENSORS = ("same_shape", "like", "broadcast", "broadcast3")


# --- reading rows ----------------------------------------------------------------------------------------------------
# The first call of an operator reads its row into the fields of Operator. _ops/codegen/emit_table.py writes the rows.

cdef Rule *read_rule(tuple encoded) except NULL:
    """The rule of a tuple. It lives as long as the process."""
    cdef Rule *rule = <Rule *>calloc(1, sizeof(Rule))
    cdef int i
    if rule == NULL:
        raise MemoryError()
    name = encoded[0]
    if name == "ints":
        rule.function = shape_argument
    elif name != "or":
        rule.function = find_rule(name)
    rule.count, rule.promoting_scalar = len(encoded) - 1, -1
    if rule.count > MAX_OPERANDS:
        raise ValueError(f"rule {name} has {rule.count} operands, {MAX_OPERANDS} at most")
    rule.first_argument = -1
    for i in range(rule.count):
        read_operand(&rule.operands[i], encoded[i + 1])
    if rule.function != NULL and rule.count and all(
            [rule.operands[i].kind == ARGUMENT and rule.operands[i].index == rule.operands[0].index + i
             for i in range(rule.count)]):
        rule.first_argument = rule.operands[0].index
    return rule


cdef int read_operand(Operand *operand, object encoded) except -1:
    if isinstance(encoded, str):
        operand.kind = <OperandKind><int>{"a": ARGUMENT, "d": DTYPE_OF, "r": RESULT_DTYPE, "g": HAS_VALUE}[encoded[0]]
        operand.index = int(encoded[1:])
    elif encoded[0] == "=":
        operand.kind = CONSTANT
        value = encoded[1]
        if isinstance(value, float):
            operand.constant.real = value
        elif isinstance(value, int):
            operand.constant.integer = value
        else:
            RULE_CONSTANTS.append(value)
            operand.constant.object = <PyObject *>value
    else:
        operand.kind = RULE
        operand.rule = read_rule(encoded)
    return 0


cdef int read_rules(Operator op, Rules *rules, object encoded) except -1:
    cdef int i
    rules.count = len(encoded)
    if rules.count:
        rules.rules = <Rule **>calloc(rules.count, sizeof(Rule *))
        if rules.rules == NULL:
            raise MemoryError()
        for i in range(rules.count):
            rules.rules[i] = read_check(op, encoded[i])
    return 0


cdef Rule *read_check(Operator op, tuple encoded) except NULL:
    cdef Rule *rule = read_rule(encoded)
    cdef const Operand *operand
    cdef int i
    rule.reads_one_dtype = rule.count > 0 and rule.operands[0].kind in (DTYPE_OF, RESULT_DTYPE)
    rule.scalar_argument = -1
    for i in range(1, rule.count):
        operand = &rule.operands[i]
        if rule.scalar_argument < 0 and operand.kind == ARGUMENT and op.argument_types[operand.index] == SCALAR:
            rule.scalar_argument = operand.index
        elif operand.kind != CONSTANT:
            rule.reads_one_dtype = False
    return rule


cdef bint returns_common_dtype(tuple rule, set tensors) except -1:
    """Whether the rule returns the dtype of the tensors where all have one, and no number has a higher kind."""
    if rule[0] == "promote":
        return set(rule[1:]) <= tensors
    if rule[0] == "promote_scalar":
        return rule[1] in tensors
    return rule[0] == "or" and len(rule) == 2 and isinstance(rule[1], str) and f"a{rule[1][1:]}" in tensors


cdef Rule *read_dtype_rule(tuple encoded, set tensors) except NULL:
    cdef Rule *rule = read_rule(encoded)
    cdef int dtype
    cdef bint floats = encoded[0] == "int_to_float"
    if floats:
        encoded = encoded[1] if isinstance(encoded[1], tuple) else ("or", encoded[1])
    if returns_common_dtype(encoded, tensors):
        if encoded[0] == "promote_scalar":
            rule.promoting_scalar = int(encoded[2][1:])
        for dtype in range(NUM_SCALAR_TYPES):
            if not floats or KIND[dtype] >= FLOAT_KIND:
                rule.common_dtypes |= 1 << dtype
    return rule


cdef int read_output(Output *output, dict column, set tensors) except -1:
    cdef int i
    output.shape, output.dtype = read_rule(column["shape"]), read_dtype_rule(column["dtype"], tensors)
    output.shape.returns_common_shape = (
        column["shape"][0] in SHAPES_OF_TENSORS and set(column["shape"][1:]) <= tensors
        and column.get("strides_rule", ("",))[0] != "by_columns")
    elementwise = column.get("elementwise", ())
    strides = () if "strides_rule" in column else column.get("strides", elementwise)
    operands = column.get("memory_format") or strides or elementwise
    output.elementwise, output.keeps_memory_format = "elementwise" in column, "memory_format" in column
    output.keeps_strides = len(strides) > 0 and not output.keeps_memory_format
    for i in range(3):
        output.operands[i] = operands[i] if i < len(operands) else -1
    output.no_cast = column.get("no_cast", 0)
    output.strides = read_rule(column["strides_rule"]) if "strides_rule" in column else NULL
    output.mask, output.mask_index = column.get("mask", (-1, -1))
    output.dynamic_shape = column.get("dynamic_shape", False)
    return 0


cdef int load_operator(Operator op) except -1:
    with once.first_use_lock:
        if not op.loaded:
            read_row(op)
    return 0


cdef int read_row(Operator op) except -1:
    cdef int i, wanted
    from mindtorch._core._gen import rows, rules        # noqa: F401 - importing rules registers them
    cdef dict row = rows.ROWS[op.key]
    arguments = [one.rsplit(" ", 1) for one in row["arguments"].split(", ")] if row["arguments"] else []
    op.argument_count, op.result_count = len(arguments), row["results"]
    op.tensor_count = 0
    op.tensor_list_argument = op.generator_argument = op.dtype_argument = op.dim_argument = -1
    for i, (kind, name) in enumerate(arguments):
        op.argument_types[i] = <ArgumentType><int>ARGUMENT_TYPES[kind]
        if op.argument_types[i] == GENERATOR:
            op.generator_argument = i
        elif kind == "ScalarType?":
            op.dtype_argument = i
        elif op.argument_types[i] == TENSOR_LIST and op.tensor_list_argument < 0:
            op.tensor_list_argument = i
        elif kind == "int" and name == "dim":
            op.dim_argument = i
    for wanted in (TENSOR, OPTIONAL_TENSOR):
        for i in range(op.argument_count):
            if op.argument_types[i] == wanted:
                op.tensor_arguments[op.tensor_count] = i
                op.tensor_count += 1
    if op.tensor_count == 0:
        op.dim_argument = -1
    op.inplace_only, op.is_foreach = row.get("inplace_only", False), row.get("is_foreach", False)
    tensors = {f"a{i}" for i in range(op.argument_count) if op.argument_types[i] == TENSOR}
    for i, column in enumerate(row.get("outputs", ())):
        read_output(&op.outputs[i], column, tensors)
        if op.outputs[i].dynamic_shape:
            op.kernels[<int>META].call = NULL
    op.inplace_dtype = read_dtype_rule(row["inplace_dtype"], tensors) if "inplace_dtype" in row else NULL
    op.compute_dtype = read_dtype_rule(row["compute_dtype"], tensors) if "compute_dtype" in row else NULL
    read_rules(op, &op.checks, row.get("check", ()))
    read_rules(op, &op.inplace_checks, row.get("inplace_check", ()))
    read_rules(op, &op.out_checks, row.get("out_check", ()))
    read_rules(op, &op.kernel_checks, row.get("kernel_check", ()))
    read_rules(op, &op.cpu_checks, row.get("cpu_check", ()))
    op.autocasts = "autocast" in row
    op.cpu_policy, op.npu_policy = row.get("autocast", (0, 0))
    op.inout = row.get("inout", -1)
    op.differentiable_count = 0
    for i in row.get("differentiable", ()):
        op.differentiable[op.differentiable_count] = i
        op.differentiable_count += 1
    op.saves_self = row.get("saves_self", False)
    op.records_inplace_only = row.get("records_inplace_only", False)
    if op.is_foreach:
        load_foreach(op, row)
        read_rules(op, &op.fused_if, row.get("fused_if", ()))
    op.is_plain = op.result_count == 1 and not (op.inplace_only or op.is_foreach or op.autocasts)
    op.loaded = True
    return 0


# --- rules -----------------------------------------------------------------------------------------------------------

cdef int shape_argument(Argument *values, Shape *shape) except? -1:
    """The shape is an argument of the operator."""
    shape[0] = values[0].ints[0]
    return 0


cdef int evaluate_rule(const Rule *rule, Argument *arguments, const ScalarType *dtypes, Shape *shape) except? -1:
    """Call the rule; `dtypes` are those of the results."""
    cdef Argument values[MAX_OPERANDS]
    cdef const Operand *operand
    cdef int i
    if rule.first_argument >= 0:
        return rule.function(&arguments[rule.first_argument], shape)
    if rule.function == NULL:
        return first_dtype(rule, arguments, dtypes)
    for i in range(rule.count):
        operand = &rule.operands[i]
        if operand.kind == ARGUMENT:
            values[i] = arguments[operand.index]
        elif operand.kind == DTYPE_OF:
            values[i].integer = (<TensorBase>arguments[operand.index].object).dtype
        elif operand.kind == RESULT_DTYPE:
            values[i].integer = dtypes[operand.index]
        elif operand.kind == CONSTANT:
            values[i] = operand.constant
        elif operand.kind == RULE:
            values[i].integer = evaluate_rule(operand.rule, arguments, dtypes, NULL)
        else:
            values[i].integer = arguments[operand.index].object not in (NULL, <PyObject *>None)
    return rule.function(values, shape)


cdef int first_dtype(const Rule *rule, Argument *arguments, const ScalarType *dtypes) except? -1:
    """The first dtype among operands that are dtypes or tensors, and may be Undefined or None."""
    cdef const Operand *operand
    cdef int i
    for i in range(rule.count):
        operand = &rule.operands[i]
        if operand.kind == ARGUMENT:
            if arguments[operand.index].integer != Undefined:
                return <int>arguments[operand.index].integer
        elif operand.kind == DTYPE_OF:
            if arguments[operand.index].object != <PyObject *>None:
                return (<TensorBase>arguments[operand.index].object).dtype
        elif operand.kind == CONSTANT:
            return <int>operand.constant.integer
        elif operand.kind == RULE:
            return evaluate_rule(operand.rule, arguments, dtypes, NULL)
    return Undefined


cdef int run_checks(const Rules *checks, Argument *arguments, const ScalarType *dtypes) except -1:
    """Run the checks. Those that read one dtype alone run once for each dtype that they accept."""
    cdef const Operand *operand
    cdef Rule *rule
    cdef int i, dtype
    for i in range(checks.count):
        rule = checks.rules[i]
        if not rule.reads_one_dtype or (
                rule.scalar_argument >= 0 and arguments[rule.scalar_argument].scalar != &ONE):
            evaluate_rule(rule, arguments, dtypes, NULL)
            continue
        operand = &rule.operands[0]
        dtype = (dtypes[operand.index] if operand.kind == RESULT_DTYPE else
                 (<TensorBase>arguments[operand.index].object).dtype)
        if not (rule.accepted_dtypes >> dtype) & 1:
            evaluate_rule(rule, arguments, dtypes, NULL)
            rule.accepted_dtypes |= 1 << dtype
    return 0


cdef ScalarType result_dtype(Operator op, Argument *arguments) except? Undefined:
    """The dtype that the first result would have, after the operator's checks."""
    cdef ScalarType dtypes[MAX_RESULTS]
    if not op.loaded:
        load_operator(op)
    dtypes[0] = <ScalarType>evaluate_rule(op.outputs[0].dtype, arguments, dtypes, NULL)
    run_checks(&op.checks, arguments, dtypes)
    run_checks(&op.kernel_checks, arguments, dtypes)
    return dtypes[0]


# --- before the kernel: device, dtypes, checks, autocast, whether to record ------------------------------------------

cdef inline TensorBase tensor_argument(Argument *arguments, int index):
    return <TensorBase>arguments[index].object


cdef inline list list_argument(Argument *arguments, int index):
    return <list>arguments[index].object


cdef struct Operands:       # what the tensors among the arguments of a call have in common
    CommonDevice device
    ScalarType dtype            # of the first tensor
    bint one_dtype              # all have that dtype
    bint alike                  # all have one dtype, device and shape, and are contiguous
    bint may_require_grad


cdef int compare_operands(Operator op, Operands *operands, Argument *arguments) except -1:
    """Fill `operands`. RuntimeError where the tensors are on different devices."""
    cdef TensorBase first
    cdef PyObject *other
    cdef int i
    if op.tensor_list_argument >= 0:
        return compare_list(op, operands, list_argument(arguments, op.tensor_list_argument))
    first = tensor_argument(arguments, op.tensor_arguments[0])
    init_common_device(&operands.device, first)
    operands.dtype, operands.one_dtype, operands.alike = first.dtype, True, first.contiguous
    operands.may_require_grad = may_require_grad(first)
    for i in range(1, op.tensor_count):
        other = arguments[op.tensor_arguments[i]].object
        if other != <PyObject *>None:
            compare_operand(operands, first, <TensorBase>other)
    return 0


cdef inline int compare_operand(Operands *operands, TensorBase first, TensorBase other) except -1:
    cdef int i
    if other.device_type != operands.device.type or other.device_index != operands.device.index:
        update_common_device(&operands.device, other)
        operands.alike = False
    if other.dtype != first.dtype:
        operands.one_dtype = operands.alike = False
    if not other.contiguous or other.ndim != first.ndim:
        operands.alike = False
    elif operands.alike:
        for i in range(first.ndim):
            if other.sizes[i] != first.sizes[i]:
                operands.alike = False
    operands.may_require_grad = operands.may_require_grad or may_require_grad(other)
    return 0


cdef int compare_list(Operator op, Operands *operands, list tensors) except -1:
    common_device_of_list(&operands.device, tensors)
    operands.dtype = (<TensorBase>tensors[0]).dtype if tensors else Undefined
    operands.one_dtype = operands.alike = False
    operands.may_require_grad = True                # operands_may_require_grad finds out
    return 0


cdef inline ScalarType evaluate_dtype(const Rule *rule, const Operands *operands, Argument *arguments,
                                      const ScalarType *dtypes) except? Undefined:
    if operands.one_dtype and (rule.common_dtypes >> <int>operands.dtype) & 1 and (
            rule.promoting_scalar < 0 or arguments[rule.promoting_scalar].scalar.kind <= KIND[<int>operands.dtype]):
        return operands.dtype
    return <ScalarType>evaluate_rule(rule, arguments, dtypes, NULL)


cdef inline ScalarType compute_dtype(Operator op, const Operands *operands, Argument *arguments,
                                     const ScalarType *dtypes) except? Undefined:
    return dtypes[0] if op.compute_dtype == NULL else evaluate_dtype(op.compute_dtype, operands, arguments, dtypes)


cdef int prepare_call(Operator op, Operands *operands, Argument *arguments, ScalarType *dtypes,
                      bint inplace) except -1:
    """Find the dtypes of the results and the generator; run the checks. `operands` is filled already."""
    cdef int i
    require_kernel(op, operands.device.type, operands.dtype)
    if not op.inplace_only:
        for i in range(op.result_count):
            dtypes[i] = evaluate_dtype(
                op.inplace_dtype if inplace and op.inplace_dtype != NULL else op.outputs[i].dtype, operands, arguments,
                dtypes)
    if op.generator_argument >= 0:
        set_generator(op, &operands.device, arguments)
    if op.checks.count:
        run_checks(&op.checks, arguments, dtypes)
    if op.dim_argument >= 0:
        arguments[op.dim_argument].integer = wrap_dim(arguments[op.dim_argument].integer,
                                                      tensor_argument(arguments, op.tensor_arguments[0]).ndim)
    return 0


cdef inline int run_kernel_checks(Operator op, int device_type, Argument *arguments,
                                  const ScalarType *dtypes) except -1:
    """Check what the kernel refuses, after all other checks. The kernel of the meta device refuses nothing."""
    if op.kernel_checks.count and device_type != META:
        run_checks(&op.kernel_checks, arguments, dtypes)
    if op.cpu_checks.count and device_type == CPU:
        run_checks(&op.cpu_checks, arguments, dtypes)
    return 0


cdef int set_generator(Operator op, CommonDevice *device, Argument *arguments) except -1:
    """The call's generator, or the device's default one, which lives as long as the process."""
    generator = generator_for(<Generator>arguments[op.generator_argument].object, device.type, device.index)
    arguments[op.generator_argument].object = <PyObject *>generator
    return 0


cdef object autocast_arguments(Operator op, Argument *arguments):
    """Have autocast cast the tensors. The caller keeps the result alive: `arguments` borrow from it."""
    cdef list values = []
    cdef int i, index = 0, cpu = op.cpu_policy, npu = op.npu_policy
    if op.dtype_argument >= 0 and arguments[op.dtype_argument].integer != Undefined:        # the call names the dtype
        cpu = autocast.NOT_LISTED if cpu == autocast.FP32_SET_OPT_DTYPE else cpu
        npu = autocast.NOT_LISTED if npu == autocast.FP32_SET_OPT_DTYPE else npu
    for i in range(op.argument_count):
        if op.argument_types[i] <= TENSOR_LIST:
            values.append(<object>arguments[i].object)
    casts = autocast.cast_arguments(cpu, npu, tuple(values))
    for i in range(op.argument_count):
        if op.argument_types[i] <= TENSOR_LIST:
            arguments[i].object = <PyObject *>(<tuple>casts)[index]
            index += 1
    return casts


cdef bint operands_may_require_grad(Operator op, Argument *arguments) except -1:
    cdef int i, argument
    for i in range(op.differentiable_count):
        argument = op.differentiable[i]
        if op.argument_types[argument] == TENSOR_LIST:
            if any_may_require_grad(<list>arguments[argument].object):
                return True
        elif may_require_grad_optional(tensor_argument(arguments, argument)):
            return True
    return False


cdef bint compute_requires_grad(Operator op, Argument *arguments) except -1:
    cdef int i, argument
    for i in range(op.differentiable_count):
        argument = op.differentiable[i]
        if op.argument_types[argument] == TENSOR_LIST:
            if any_requires_grad(<list>arguments[argument].object):
                return True
        elif requires_grad(tensor_argument(arguments, argument)):
            return True
    return False


cdef TensorBase temporary_if_overlapping(Operator op, Argument *arguments, TensorBase result, int written):
    """`result`, or a temporary where it shares memory with an operand other than argument `written`."""
    cdef int i
    for i in range(op.argument_count):
        if op.argument_types[i] <= OPTIONAL_TENSOR:
            if i != written:
                result = result_or_temporary(result, tensor_argument(arguments, i))
        elif op.argument_types[i] == TENSOR_LIST:
            for operand in <list>arguments[i].object:
                result = result_or_temporary(result, <TensorBase>operand)
    return result


# --- plain forms, and those with out= --------------------------------------------------------------------------------

cdef bint is_output_needed(const Output *output, Argument *arguments) noexcept:
    if output.mask < 0:
        return True
    if output.mask_index < 0:
        return arguments[output.mask].integer != 0
    return arguments[output.mask].ints.sizes[output.mask_index] != 0


cdef inline TensorBase output_operand(Operator op, const Output *output, Argument *arguments, int index):
    """An operand that decides the strides of the result; of a list that is channels_last throughout, the first."""
    cdef int argument = output.operands[index]
    if argument < 0:
        return None
    if op.argument_types[argument] != TENSOR_LIST:
        return tensor_argument(arguments, argument)
    for tensor in <list>arguments[argument].object:
        if not is_channels_last(<TensorBase>tensor):
            return None
    return <TensorBase>(<list>arguments[argument].object)[0]


cdef int check_out(Operator op, Argument *arguments, const ScalarType *dtypes) except -1:
    """The row's checks of out=, which come after what the shape rule refuses."""
    cdef Shape shape
    evaluate_rule(op.outputs[0].shape, arguments, dtypes, &shape)
    return run_checks(&op.out_checks, arguments, dtypes)


cdef TensorBase allocate_result(Operator op, int index, Argument *arguments, const Operands *operands,
                                const ScalarType *dtypes):
    """A new tensor for the result, or output= or a temporary for it."""
    cdef Output *output = &op.outputs[index]
    cdef TensorBase out = tensor_argument(arguments, op.argument_count + index)
    cdef int device_type = operands.device.type, device_index = operands.device.index
    cdef ScalarType dtype = dtypes[index]
    cdef TensorBase first, result
    cdef Shape shape, strides
    if output.shape.returns_common_shape and operands.alike and out is None:
        first = tensor_argument(arguments, op.tensor_arguments[0])
        return make_tensor(allocate(first.numel, dtype, device_type, device_index), dtype, first.ndim, first.sizes,
                           NULL, 0)
    evaluate_rule(output.shape, arguments, dtypes, &shape)
    if out is not None and output.keeps_strides and not output.elementwise and not has_shape(out, &shape):
        check_output(out, dtype, device_type, device_index)
        out = None                          # write_back will resize it and give it the strides of a new tensor
    if output.keeps_strides if out is None else output.elementwise and not output.keeps_memory_format:
        return elementwise_output(
            out, &shape, dtype, device_type, device_index, output_operand(op, output, arguments, 0),
            output_operand(op, output, arguments, 1), output_operand(op, output, arguments, 2), output.no_cast)
    if output.keeps_memory_format:
        result = channels_last_output(
            out, &shape, dtype, device_type, device_index, output_operand(op, output, arguments, 0),
            output_operand(op, output, arguments, 1))
    elif output.strides != NULL and not output.dynamic_shape and (out is None or not has_shape(out, &shape)):
        if out is not None:                 # write_back will resize it
            check_output(out, dtype, device_type, device_index)
        strides = shape                     # a rule may read them there
        evaluate_rule(output.strides, arguments, dtypes, &strides)
        result = make_tensor(allocate(checked_numel(&shape), dtype, device_type, device_index), dtype, shape.ndim,
                             shape.sizes, strides.sizes if strides.ndim else NULL, 0)
    else:
        result = output_or_temporary(out, &shape, dtype, device_type, device_index)
    return result if out is None or output.elementwise else temporary_if_overlapping(op, arguments, result, -1)


cdef TensorBase result_of_dynamic_shape(const Output *output, Argument *arguments, TensorBase result, TensorBase out):
    """The result in the shape that the kernel has reported; on the CPU with the strides of the row.

    Elsewhere those would take one more launch.
    """
    cdef Shape shape, strides
    cdef TensorBase made
    result = shrink_to_fit(result, out)
    if output.strides == NULL or result is out or result.device_type != CPU:
        return result
    same_shape(&shape, result)
    strides = shape
    evaluate_rule(output.strides, arguments, NULL, &strides)
    made = make_tensor(allocate(result.numel, result.dtype, result.device_type, result.device_index), result.dtype,
                       shape.ndim, shape.sizes, strides.sizes if strides.ndim else NULL, 0)
    if made.numel:
        initialize_inout(made, result)
    return made


cdef object run(Operator op, Argument *arguments):
    if op.is_plain and not torch_dispatch.active and not tensor_module.bits_seen:
        return run_single_result(op, arguments)
    if not op.loaded:
        load_operator(op)
    if tensor_module.bits_seen and any_tensor(op, arguments, True, has_bits):
        return run_without_bits(op, arguments, op.inplace_only)
    if torch_dispatch.active and is_dispatched(op, arguments, True):
        return run_dispatched(op, arguments, op.inplace_only)
    if op.is_foreach:
        return run_foreach(op, arguments, op.inplace_only)
    if op.inplace_only:
        return run_inplace_only(op, arguments)
    if op.autocasts and autocast.enabled_threads and arguments[op.argument_count].object == <PyObject *>None:
        return run_autocast(op, arguments)
    return run_single_result(op, arguments) if op.result_count == 1 else run_multiple_results(op, arguments)


cdef bint is_dispatched(Operator op, Argument *arguments, bint with_outs) except -1:
    """Whether a mode, or the class of a tensor among the arguments, has a handler of __torch_dispatch__."""
    return torch_dispatch.has_modes() or any_tensor(op, arguments, with_outs, torch_dispatch.dispatches)


cdef bint any_tensor(Operator op, Argument *arguments, bint with_outs, bint (*test)(TensorBase) noexcept) except -1:
    """Whether the test, for which None is no tensor, holds for an argument, or for one of the tensors of a list."""
    cdef int i
    for i in range(op.argument_count):
        if op.argument_types[i] <= OPTIONAL_TENSOR:
            if test(tensor_argument(arguments, i)):
                return True
        elif op.argument_types[i] <= OPTIONAL_TENSOR_LIST:
            for tensor in list_argument(arguments, i):
                if test(<TensorBase>tensor):
                    return True
    if with_outs and not op.inplace_only and not op.is_foreach:
        for i in range(op.argument_count, op.argument_count + op.result_count):
            if test(tensor_argument(arguments, i)):
                return True
    return False


cdef bint has_bits(TensorBase tensor) noexcept:
    return tensor is not None and tensor.bits != 0


cdef object run_without_bits(Operator op, Argument *arguments, bint inplace):
    """`run` or `run_inplace` where tensors have bits: with copies in their place. What is written to is copied back."""
    cdef Argument copies[MAX_ARGUMENTS]
    cdef list kept = [], written = []
    cdef int i, count = op.argument_count
    if op.is_foreach and op.single is not None:
        return run_foreach(op, arguments, inplace)
    if not (inplace or op.is_foreach):
        count += op.result_count
    for i in range(count):
        copies[i] = arguments[i]
        if i >= op.argument_count or op.argument_types[i] <= OPTIONAL_TENSOR:
            tensor = tensor_argument(arguments, i)
            if not has_bits(<TensorBase>tensor):
                continue
            copy = clone_tensor(<TensorBase>tensor)
            if i >= op.argument_count or (inplace and i == 0):
                written.append((tensor, copy))
        elif op.argument_types[i] <= OPTIONAL_TENSOR_LIST:
            copy = [clone_tensor(<TensorBase>each) if has_bits(<TensorBase>each) else each
                    for each in list_argument(arguments, i)]
            if op.is_foreach:
                written += [(a, b) for a, b in zip(list_argument(arguments, i), copy) if a is not b]
        else:
            continue
        kept.append(copy)                                   # the array borrows
        copies[i].object = <PyObject *>copy
    result = run_inplace(op, copies) if inplace and not op.inplace_only else run(op, copies)
    for tensor, copy in written:
        if not has_same_shape(<TensorBase>tensor, <TensorBase>copy):            # an out= that was resized
            tensor.resize_(copy.shape)
        copy_tensor_(<TensorBase>tensor, <TensorBase>copy, False)
    shown = {id(copy): tensor for tensor, copy in written}
    if type(result) is tuple:
        return tuple([shown.get(id(each), each) for each in <tuple>result])
    return shown.get(id(result), result)


cdef object run_autocast(Operator op, Argument *arguments):
    """`run` after autocast has cast the tensors."""
    _casts = autocast_arguments(op, arguments)          # keeps alive what the arguments borrow
    return run_single_result(op, arguments) if op.result_count == 1 else run_multiple_results(op, arguments)


cdef bint should_record_call(Operator op, Argument *arguments, TensorBase out) except -1:
    """Whether to record a call that may have to be recorded."""
    if not operands_may_require_grad(op, arguments) and not may_require_grad_optional(out):
        return False
    return (compute_requires_grad(op, arguments) or requires_grad(out)) and should_record(out, op.name)


cdef object run_single_result(Operator op, Argument *arguments):
    cdef TensorBase out = tensor_argument(arguments, op.argument_count)
    cdef TensorBase result
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef bint record = False
    cdef Operands operands
    compare_operands(op, &operands, arguments)
    if (operands.may_require_grad or out is not None) and op.differentiable_count and not op.records_inplace_only:
        record = should_record_call(op, arguments, out)
    prepare_call(op, &operands, arguments, dtypes, False)
    if out is not None and op.out_checks.count:
        check_out(op, arguments, dtypes)
    result = allocate_result(op, 0, arguments, &operands, dtypes)
    arguments[op.argument_count].object = <PyObject *>result
    if op.dtype_argument >= 0:
        arguments[op.dtype_argument].integer = dtypes[0]
    run_kernel_checks(op, operands.device.type, arguments, dtypes)
    if result.numel:
        if op.inout >= 0:
            initialize_inout(result, tensor_argument(arguments, op.inout))
        run_kernel(op, operands.device.type, arguments, compute_dtype(op, &operands, arguments, dtypes))
    if op.outputs[0].dynamic_shape:
        result = result_of_dynamic_shape(&op.outputs[0], arguments, result, out)
        arguments[op.argument_count].object = <PyObject *>result
    if record:
        record_operator(op, arguments, None, False)
    return write_back_out(result, out)


cdef object run_multiple_results(Operator op, Argument *arguments):
    """`run` of an operator with several results. Returns a tuple."""
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef TensorBase first_out = tensor_argument(arguments, op.argument_count)
    cdef PyObject *outs[MAX_RESULTS]
    cdef list results = []
    cdef TensorBase result
    cdef bint record = False, anything = False
    cdef Operands operands
    cdef int i
    compare_operands(op, &operands, arguments)
    if (operands.may_require_grad or first_out is not None) and op.differentiable_count:
        record = should_record_call(op, arguments, first_out)
    prepare_call(op, &operands, arguments, dtypes, False)
    if first_out is not None and op.out_checks.count:
        check_out(op, arguments, dtypes)
    for i in range(op.result_count):
        outs[i] = arguments[op.argument_count + i].object
        result = None
        if is_output_needed(&op.outputs[i], arguments):
            result = allocate_result(op, i, arguments, &operands, dtypes)
            anything = anything or result.numel
        results.append(result)
    set_results(op, arguments, results)
    if op.dtype_argument >= 0:
        arguments[op.dtype_argument].integer = dtypes[0]
    run_kernel_checks(op, operands.device.type, arguments, dtypes)
    if anything:
        if op.inout >= 0:
            initialize_inout(results[0], tensor_argument(arguments, op.inout))
        run_kernel(op, operands.device.type, arguments, compute_dtype(op, &operands, arguments, dtypes))
    for i in range(op.result_count):
        if op.outputs[i].dynamic_shape:
            results[i] = result_of_dynamic_shape(&op.outputs[i], arguments, results[i], <TensorBase>outs[i])
    if record:
        set_results(op, arguments, results)
        record_operator(op, arguments, None, False)
    for i in range(op.result_count):
        if outs[i] != <PyObject *>None:
            results[i] = write_back_out(results[i], <TensorBase>outs[i])
    return tuple(results)


cdef int set_results(Operator op, Argument *arguments, list results) except -1:
    cdef int i
    for i in range(op.result_count):
        arguments[op.argument_count + i].object = <PyObject *>results[i]
    return 0


# --- in-place forms --------------------------------------------------------------------------------------------------

cdef bint should_record_write(Operator op, TensorBase self, Argument *arguments) except -1:
    """Whether to record an in-place form. Raises where `self` must not be written to, though nothing is recorded."""
    cdef ScalarType dtypes[MAX_RESULTS]
    dtypes[0] = Undefined
    if op.differentiable_count == 0:
        check_inference_write(self)
        # torch's autograd knows nothing of the logical operators, which give bools.
        if may_require_grad(self) and (op.inplace_only or
                                       evaluate_rule(op.outputs[0].dtype, arguments, dtypes, NULL) != Bool):
            should_record_inplace(self, requires_grad(self))
        return False
    return operands_may_require_grad(op, arguments) and should_record_inplace(self,
                                                                              compute_requires_grad(op, arguments))


cdef TensorBase allocate_inplace_result(Operator op, Argument *arguments, const Operands *operands,
                                        const ScalarType *dtypes):
    """`self`, or a temporary where its dtype is not that of the result."""
    cdef TensorBase self = tensor_argument(arguments, 0)
    cdef Shape shape
    if op.outputs[0].shape.returns_common_shape and operands.alike and self.dtype == dtypes[0]:
        return self
    evaluate_rule(op.outputs[0].shape, arguments, dtypes, &shape)
    return inplace_output(self, &shape, dtypes[0])


cdef object run_inplace(Operator op, Argument *arguments):
    cdef TensorBase self = tensor_argument(arguments, 0)
    cdef TensorBase saved_self = self, result
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef bint record = False
    cdef Operands operands
    cdef int i, other
    if not op.loaded:
        load_operator(op)
    if tensor_module.bits_seen and any_tensor(op, arguments, False, has_bits):
        return run_without_bits(op, arguments, True)
    if torch_dispatch.active and is_dispatched(op, arguments, False):
        return run_dispatched(op, arguments, True)
    if op.is_foreach:
        return run_foreach(op, arguments, True)
    if op.inplace_only:
        return run_inplace_only(op, arguments)
    arguments[op.argument_count].object = <PyObject *>None
    compare_operands(op, &operands, arguments)
    if operands.may_require_grad:
        record = should_record_write(op, self, arguments)
    prepare_call(op, &operands, arguments, dtypes, True)
    if op.inplace_checks.count:
        run_checks(&op.inplace_checks, arguments, dtypes)
    if has_internal_overlap(self) and op.key in hooks.expanded_writes:
        return write_expanded(op, arguments, dtypes, record)
    result = allocate_inplace_result(op, arguments, &operands, dtypes)
    if op.outputs[0].elementwise:
        for i in range(3):
            other = op.outputs[0].operands[i]
            if other > 0:
                check_no_partial_overlap(self, tensor_argument(arguments, other))
    else:
        result = temporary_if_overlapping(op, arguments, result, 0)
    if op.dtype_argument >= 0:
        arguments[op.dtype_argument].integer = dtypes[0]
    run_kernel_checks(op, operands.device.type, arguments, dtypes)
    if record and op.saves_self:                    # of no elements, too: their versions count
        saved_self = clone_before_write(self)
    if result.numel:
        if op.inout >= 0:
            initialize_inout(result, tensor_argument(arguments, op.inout))
        arguments[op.argument_count].object = <PyObject *>result
        run_kernel(op, operands.device.type, arguments, compute_dtype(op, &operands, arguments, dtypes), True)
    write_back_out(result, self)
    if record:
        arguments[op.argument_count].object = <PyObject *>self
        record_operator(op, arguments, saved_self, True)
    return self


cdef object write_expanded(Operator op, Argument *arguments, const ScalarType *dtypes, bint record):
    """A write by a mask or an index to an expanded tensor, which torch has deprecated: of the values for one place in
    memory the last stays, or all are added up.
    """
    cdef TensorBase self = tensor_argument(arguments, 0)
    cdef Shape shape
    evaluate_rule(op.outputs[0].shape, arguments, dtypes, &shape)
    if not has_shape(self, &shape):
        raise_shape_mismatch(self, &shape)
    hooks.expanded_writes[op.key](op.name, unexpanded_view(self), *argument_values(op, arguments))
    if record:
        arguments[op.argument_count].object = <PyObject *>self
        record_operator(op, arguments, self, True)
    return self


cdef object run_inplace_only(Operator op, Argument *arguments):
    """An operator that has the in-place form alone, as fill_. It writes one value, so overlap does no harm."""
    cdef TensorBase self = tensor_argument(arguments, 0)
    cdef TensorBase saved_self = self, written
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef bint record = False
    cdef Operands operands
    dtypes[0] = self.dtype
    compare_operands(op, &operands, arguments)
    if operands.may_require_grad:
        record = should_record_write(op, self, arguments)
    prepare_call(op, &operands, arguments, dtypes, True)
    run_kernel_checks(op, operands.device.type, arguments, dtypes)
    if record and op.saves_self:
        saved_self = clone_before_write(self)
    if self.numel:
        written = unexpanded_view(self)
        arguments[0].object = <PyObject *>written
        run_kernel(op, operands.device.type, arguments, compute_dtype(op, &operands, arguments, dtypes), True)
        arguments[0].object = <PyObject *>self
    bump_version(self)
    if record:
        record_operator(op, arguments, saved_self, True)
    return self


# --- operators on lists of tensors -----------------------------------------------------------------------------------
# _foreach_* and _fused_*.

cdef int load_foreach(Operator op, dict row) except -1:
    """Read the columns that only rows of operators on lists have."""
    cdef int i
    op.single = find_operator(row["single"]) if "single" in row else None
    op.scalar_variant = find_operator(row["scalar_variant"]) if "scalar_variant" in row else None
    op.scalars_argument = -1
    for i in range(op.argument_count):
        if op.argument_types[i] == SCALAR_LIST:
            op.scalars_argument = i
    op.written_list_count = 0
    for i in row.get("written_lists", ()):
        op.written_lists[op.written_list_count] = i
        op.written_list_count += 1
    if op.single is None:
        return 0
    op.single_is_method, op.single_has_inplace = row["single_is_method"], row["single_has_inplace"]
    if not op.single_is_method and not op.single.loaded:
        load_operator(op.single)
    for i, encoded in enumerate(row["single_arguments"]):
        read_foreach_argument(&op.single_arguments[i], op, i, encoded)
    op.single_argument_count = len(row["single_arguments"])
    return 0


cdef int read_foreach_argument(ForeachArgument *source, Operator op, int index, str encoded) except -1:
    kinds = {"a": SAME_ARGUMENT, "l": TENSOR_OF_LIST, "n": SCALAR_OF_LIST, "d": DEFAULT_VALUE}
    source.kind = <ForeachArgumentKind><int>kinds[encoded[0]]
    if source.kind != DEFAULT_VALUE:
        source.index = int(encoded[1:])
    elif op.single_is_method:
        raise ValueError(f"{op.key}: a method gets all its arguments")
    else:
        set_default_argument(&source.value, op.single.argument_types[index], int(encoded[1:]) if encoded[1:] else None)
    return 0


cdef object run_foreach(Operator op, Argument *arguments, bint inplace):
    """Run an operator on lists: by one kernel on the whole lists where their tensors are alike, the operator on one
    tensor would give their dtype, and nothing is to be recorded; otherwise tensor by tensor."""
    cdef list tensors = list_argument(arguments, op.tensor_list_argument)
    cdef Scalar number
    cdef int i
    if op.single is None:
        return run_fused(op, arguments)
    checked_length(tensors)
    for i in range(op.tensor_list_argument + 1, op.argument_count):
        if op.argument_types[i] == TENSOR_LIST:
            check_same_length(tensors, list_argument(arguments, i))
    if op.scalars_argument >= 0:
        check_scalar_count(tensors, <tuple>arguments[op.scalars_argument].object)
    run_checks(&op.checks, arguments, NULL)
    if can_use_fast_route(op, arguments, tensors):
        return run_fast_route(op, arguments, tensors, inplace)
    if op.scalar_variant is not None and all_equal(<tuple>arguments[op.scalars_argument].object):
        scalar_from_python((<tuple>arguments[op.scalars_argument].object)[0], &number)
        arguments[op.scalars_argument].scalar = &number
        return run_inplace(op.scalar_variant, arguments) if inplace else run(op.scalar_variant, arguments)
    if inplace:
        for i in range(len(tensors)):
            run_single_inplace(op, arguments, i)
        return tensors
    return tuple([run_single(op, arguments, i) for i in range(len(tensors))])


# --- the kernel for lists --------------------------------------------------------------------------------------------

cdef bint can_use_fast_route(Operator op, Argument *arguments, list tensors) except -1:
    cdef TensorBase first = <TensorBase>tensors[0]
    cdef Argument single_arguments[MAX_ARGUMENTS]
    cdef Scalar number
    cdef int i
    if torch_dispatch.active and is_dispatched(op, arguments, False):
        return False
    if tensor_module.bits_seen and any_tensor(op, arguments, False, has_bits):
        return False
    if not is_fast_route_list(tensors, op.foreach_dtypes[first.device_type]):
        return False
    for i in range(op.tensor_list_argument + 1, op.argument_count):
        if op.argument_types[i] == TENSOR_LIST and not matches_fast_route_list(tensors, list_argument(arguments, i)):
            return False
    for i in range(op.fused_if.count):
        if not evaluate_rule(op.fused_if.rules[i], arguments, NULL, NULL):
            return False
    if op.single_is_method or op.single.inplace_only:
        return True
    if op.scalars_argument >= 0:
        highest_kind_scalar(<tuple>arguments[op.scalars_argument].object, &number)
    fill_single_arguments(op, single_arguments, arguments, 0, &number)
    return result_dtype(op.single, single_arguments) == first.dtype


cdef object run_fast_route(Operator op, Argument *arguments, list tensors, bint inplace):
    cdef TensorBase first = <TensorBase>tensors[0]
    cdef list out = tensors
    if op.result_count and not inplace:
        if op.single.outputs[0].elementwise:
            out = empty_like_list(tensors)
        else:
            out = [allocate_foreach_result(op, arguments, i) for i in range(len(tensors))]
    arguments[op.argument_count].object = <PyObject *>out
    run_kernel(op, first.device_type, arguments, first.dtype, inplace)
    if not op.result_count or inplace:
        bump_versions(tensors)
        return tensors
    return tuple(out)


cdef TensorBase allocate_foreach_result(Operator op, Argument *arguments, int index):
    """A new tensor for the result at `index`."""
    cdef Argument single_arguments[MAX_ARGUMENTS]
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef TensorBase tensor = <TensorBase>list_argument(arguments, op.tensor_list_argument)[index]
    cdef Shape shape
    fill_single_arguments(op, single_arguments, arguments, index, NULL)
    dtypes[0] = <ScalarType>evaluate_rule(op.single.outputs[0].dtype, single_arguments, dtypes, NULL)
    evaluate_rule(op.single.outputs[0].shape, single_arguments, dtypes, &shape)
    return output_or_temporary(None, &shape, dtypes[0], tensor.device_type, tensor.device_index)


cdef object run_fused(Operator op, Argument *arguments):
    """Run a fused optimizer: there is no such operator on one tensor, and it writes to some of its lists."""
    cdef list tensors = list_argument(arguments, op.tensor_list_argument)
    cdef ScalarType dtype
    cdef CommonDevice device
    cdef int i
    check_not_empty_list(tensors, op.key)
    common_device_of_list(&device, tensors)
    dtype = (<TensorBase>tensors[0]).dtype
    require_kernel(op, device.type, dtype)
    run_checks(&op.checks, arguments, NULL)
    for i in range(op.fused_if.count):
        if not evaluate_rule(op.fused_if.rules[i], arguments, NULL, NULL):
            return None
    run_kernel(op, device.type, arguments, dtype)
    for i in range(op.written_list_count):
        bump_versions(list_argument(arguments, op.written_lists[i]))
    return None


# --- the operator on one tensor --------------------------------------------------------------------------------------

cdef int fill_single_arguments(Operator op, Argument *target, Argument *arguments, int index, Scalar *number) except -1:
    """The arguments of the operator on one tensor, for the tensors at `index`; out= is None."""
    cdef ForeachArgument *source
    cdef int i, count = op.single.argument_count
    for i in range(count):
        source = &op.single_arguments[i]
        if source.kind == SAME_ARGUMENT:
            target[i] = arguments[source.index]
        elif source.kind == TENSOR_OF_LIST:
            target[i].object = <PyObject *>list_argument(arguments, source.index)[index]
        elif source.kind == SCALAR_OF_LIST:
            target[i].scalar = number
        else:
            target[i] = source.value
    target[count].object = <PyObject *>None
    return 0


cdef int read_scalar_of_list(Operator op, Argument *arguments, int index, Scalar *number) except -1:
    if op.scalars_argument >= 0:
        scalar_from_python((<tuple>arguments[op.scalars_argument].object)[index], number)
    return 0


cdef object call_python_method(Operator op, Argument *arguments, int index):
    """Call the operator on one tensor as a method, where it is written in Python and has no row."""
    cdef list values = []
    cdef ForeachArgument *source
    cdef int i
    for i in range(op.single_argument_count):
        source = &op.single_arguments[i]
        if source.kind == TENSOR_OF_LIST:
            values.append(list_argument(arguments, source.index)[index])
        elif op.argument_types[source.index] == BOOL:
            values.append(arguments[source.index].integer != 0)
        else:
            values.append(<object>arguments[source.index].object)
    return getattr(values[0], op.single.name)(*values[1:])


cdef object run_single(Operator op, Argument *arguments, int index):
    cdef Argument single_arguments[MAX_ARGUMENTS]
    cdef Scalar number
    if op.single_is_method:
        return call_python_method(op, arguments, index)
    read_scalar_of_list(op, arguments, index, &number)
    fill_single_arguments(op, single_arguments, arguments, index, &number)
    return run(op.single, single_arguments)


cdef int run_single_inplace(Operator op, Argument *arguments, int index) except -1:
    cdef Argument single_arguments[MAX_ARGUMENTS]
    cdef TensorBase written, old
    cdef Scalar number
    if op.single_is_method:
        call_python_method(op, arguments, index)
        return 0
    read_scalar_of_list(op, arguments, index, &number)
    fill_single_arguments(op, single_arguments, arguments, index, &number)
    if op.single.inplace_only or op.single_has_inplace:
        run_inplace(op.single, single_arguments)
        return 0
    # The operator has no in-place form. Its derivative may need the old elements of `written`: it saves the clone.
    written = <TensorBase>single_arguments[0].object
    old = clone_before_write(written) if may_require_grad(written) else written
    single_arguments[0].object = <PyObject *>old
    return write_inplace_result(written, <TensorBase>run(op.single, single_arguments))


# --- operators that handlers of __torch_dispatch__ compute -----------------------------------------------------------
# Autocast casts the arguments, the handler computes the results, and the history is recorded around them.

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
        return run_dispatched_decomposition(op, arguments, outs)
    return run_dispatched_plain(op, arguments, outs)


cdef object run_dispatched_decomposition(Operator op, Argument *arguments, list outs):
    """Run the Python function that takes the place of a row, which is several operators in torch."""
    result = hooks.decompositions_for_dispatch[op.key](*argument_values(op, arguments))
    return outs[0].copy_(result) if outs else result


cdef object run_dispatched_plain(Operator op, Argument *arguments, list outs):
    cdef TensorBase out = <TensorBase>outs[0] if outs else None
    cdef bint record = False
    cdef list results
    cdef int i
    if op.differentiable_count and not op.records_inplace_only:
        record = should_record_call(op, arguments, out)
    versions = [version_of(<TensorBase>each) for each in outs]
    found = hooks.call_torch_dispatch_of_row(op.key, argument_values(op, arguments), outs, False)
    for each, version in zip(outs, versions):
        torch_dispatch.bump_version_unless(<TensorBase>each, <int64_t>version)
    if outs:
        return outs[0] if op.result_count == 1 else tuple(outs)
    results = [found] if op.result_count == 1 else list(found)
    for i in range(op.result_count):
        arguments[op.argument_count + i].object = <PyObject *>results[i]
    if record:
        record_operator(op, arguments, None, False)
    return found if op.result_count == 1 else tuple(results)


cdef object run_dispatched_inplace(Operator op, Argument *arguments, bint inplace):
    cdef TensorBase self, saved_self
    cdef bint record = False
    if op.is_foreach:                       # a fused optimizer
        hooks.call_torch_dispatch_of_row(op.key, argument_values(op, arguments), [], False)
        return None
    self = saved_self = <TensorBase>arguments[0].object
    if op.differentiable_count and operands_may_require_grad(op, arguments):
        record = should_record_inplace(self, compute_requires_grad(op, arguments))
    if record and op.saves_self:
        saved_self = clone_before_write(self)
    version = version_of(self)
    hooks.call_torch_dispatch_of_row(op.key, argument_values(op, arguments), [], True)
    torch_dispatch.bump_version_unless(self, version)
    if record:
        arguments[op.argument_count].object = <PyObject *>self
        record_operator(op, arguments, saved_self, True)
    return self
