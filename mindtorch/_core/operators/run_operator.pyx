"""One function runs every operator: what differs between them is in their rows (_core/_gen/rows.py)."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc
from libc.string cimport memcmp

from mindtorch._core.autograd.node cimport operands_require_grad, requires_grad, tracked, tracked_list, tracked_optional
from mindtorch._core.autograd.recording cimport before_write, record_operator, recording, recording_inplace
cimport mindtorch._core.operators.autocast as autocast
from mindtorch._core.operators.operator cimport (
    ARGUMENT, BOOL, BOOL_LIST, CONSTANT, DEFAULT, DTYPE, DTYPE_OF, ELEMENT_OF_LIST, FLOAT, GENERATOR, INT, INT_LIST,
    IS_GIVEN, MAX_ARGUMENTS, MAX_OPERANDS, MAX_RESULTS, NUMBER_OF_LIST, OPTIONAL_FLOAT, OPTIONAL_INT, OPTIONAL_SCALAR,
    OPTIONAL_TENSOR, OPTIONAL_TENSOR_LIST, RESULT_DTYPE, RULE, SAME, SCALAR, SCALAR_LIST, STRING, TENSOR, TENSOR_LIST,
    ArgumentType, Operand, Output, Place, Rule, Rules, Source, begin, default_argument, distinct, find_operator,
    find_rule, finish, join, place_of, place_of_list, require_kernel, run_kernel,
)
cimport mindtorch._core.rules.array as array_rules
from mindtorch._core.rules.infer cimport (
    apart, check_partial_overlap, elementwise_output, fitted, inplace_output, output, output_in_format, wrap_dim,
)
from mindtorch._core.tensor.dtype cimport Scalar, ScalarType, scalar_from
from mindtorch._core.tensor.generator cimport Generator, generator_for
from mindtorch._core.tensor.tensor cimport CPU, META, Shape, TensorBase, allocate, count_version, make_tensor


# --- operators -------------------------------------------------------------------------------------------------------
# One function runs every operator: what differs between them is in their rows (_core/_gen/rows.py).


cdef dict TYPES = {
    "Tensor": TENSOR, "Tensor?": OPTIONAL_TENSOR, "Tensor[]": TENSOR_LIST, "Tensor?[]": OPTIONAL_TENSOR_LIST,
    "Scalar": SCALAR, "Scalar?": OPTIONAL_SCALAR, "Scalar[]": SCALAR_LIST, "int": INT, "int?": OPTIONAL_INT,
    "int[]": INT_LIST, "int[]?": INT_LIST, "bool": BOOL, "bool?": BOOL, "bool[]": BOOL_LIST, "float": FLOAT,
    "float?": OPTIONAL_FLOAT, "ScalarType": DTYPE, "ScalarType?": DTYPE, "str": STRING, "str?": STRING,
    "Generator?": GENERATOR}
cdef list KEPT = []             # constants that rules point to


# --- reading rows ----------------------------------------------------------------------------------------------------

cdef Rule *read_rule(tuple encoded) except NULL:
    """The rule that emit_rules.py has encoded. It lives as long as the process."""
    cdef Rule *rule = <Rule *>calloc(1, sizeof(Rule))
    cdef int i
    if rule == NULL:
        raise MemoryError()
    name = encoded[0]
    if name == "ints":
        rule.function = copy_ints
    elif name != "or":
        rule.function = find_rule(name)
    rule.count = len(encoded) - 1
    if rule.count > MAX_OPERANDS:
        raise ValueError(f"rule {name} has {rule.count} operands, {MAX_OPERANDS} at most")
    for i in range(rule.count):
        read_operand(&rule.operands[i], encoded[i + 1])
    return rule


cdef int read_operand(Operand *operand, object encoded) except -1:
    if isinstance(encoded, str):
        operand.kind = {"a": ARGUMENT, "d": DTYPE_OF, "r": RESULT_DTYPE, "g": IS_GIVEN}[encoded[0]]
        operand.index = int(encoded[1:])
    elif encoded[0] == "=":
        operand.kind = CONSTANT
        value = encoded[1]
        if isinstance(value, float):
            operand.constant.real = value
        elif isinstance(value, int):
            operand.constant.integer = value
        else:
            KEPT.append(value)
            operand.constant.object = <PyObject *>value
    else:
        operand.kind = RULE
        operand.rule = read_rule(encoded)
    return 0


cdef int read_rules(Rules *rules, object encoded) except -1:
    cdef int i
    rules.count = len(encoded)
    if rules.count:
        rules.rules = <Rule **>calloc(rules.count, sizeof(Rule *))
        if rules.rules == NULL:
            raise MemoryError()
        for i in range(rules.count):
            rules.rules[i] = read_rule(encoded[i])
    return 0


cdef int read_output(Output *out, dict column) except -1:
    cdef int i
    out.shape, out.dtype = read_rule(column["shape"]), read_rule(column["dtype"])
    operands = column.get("memory_format") or column.get("elementwise", ())
    out.elementwise, out.keeps_format = "elementwise" in column, "memory_format" in column
    for i in range(3):
        out.operands[i] = operands[i] if i < len(operands) else -1
    out.mask, out.mask_place = column.get("mask", (-1, -1))
    out.reported = column.get("dynamic_shape", False)
    return 0


cdef int load_operator(Operator op) except -1:
    cdef int i
    from mindtorch._core._gen import rows, rules        # noqa: F401 - importing rules registers them
    cdef dict row = rows.ROWS[op.key]
    arguments = [one.rsplit(" ", 1) for one in row["arguments"].split(", ")] if row["arguments"] else []
    op.count, op.results = len(arguments), row["results"]
    op.tensor_count, op.first_list, op.generator, op.dtype, op.dim = 0, -1, -1, -1, -1
    for i, (kind, name) in enumerate(arguments):
        op.types[i] = <ArgumentType><int>TYPES[kind]
        if op.types[i] == GENERATOR:
            op.generator = i
        elif kind == "ScalarType?":
            op.dtype = i
        elif op.types[i] == TENSOR_LIST and op.first_list < 0:
            op.first_list = i
        elif kind == "int" and name == "dim":
            op.dim = i
    for wanted in (TENSOR, OPTIONAL_TENSOR):
        for i in range(op.count):
            if op.types[i] == wanted:
                op.tensors[op.tensor_count] = i
                op.tensor_count += 1
    if op.tensor_count == 0:
        op.dim = -1
    op.writes_self, op.of_lists = row.get("writes_self", False), row.get("of_lists", False)
    for i, column in enumerate(row.get("outputs", ())):
        read_output(&op.outputs[i], column)
        if op.outputs[i].reported:
            op.kernels[<int>META].call = NULL
    op.inplace_dtype = read_rule(row["inplace_dtype"]) if "inplace_dtype" in row else NULL
    op.compute = read_rule(row["compute"]) if "compute" in row else NULL
    read_rules(&op.check, row.get("check", ()))
    read_rules(&op.inplace_check, row.get("inplace_check", ()))
    read_rules(&op.out_check, row.get("out_check", ()))
    read_rules(&op.cpu_check, row.get("cpu_check", ()))
    op.casts = "autocast" in row
    op.cpu_policy, op.npu_policy = row.get("autocast", (0, 0))
    op.onto = row.get("inout", -1)
    read_pointwise(op, row)
    op.differentiable_count = 0
    for i in row.get("differentiable", ()):
        op.differentiable[op.differentiable_count] = i
        op.differentiable_count += 1
    op.keeps_self = row.get("keeps_self", False)
    op.recorded_in_place_only = row.get("recorded_in_place_only", False)
    if op.of_lists:
        load_list_operator(op, row)
        read_rules(&op.together, row.get("fused_if", ()))
    op.loaded = True
    return 0


cdef bint is_of_operands(object rule, set operands) except -1:
    """Whether a rule gives the dtype of tensors that have the same."""
    if rule[0] == "promote":
        return set(rule[1:]) <= operands
    return rule[0] == "or" and len(rule) == 2 and isinstance(rule[1], str) and f"a{rule[1][1:]}" in operands


cdef int read_pointwise(Operator op, dict row) except -1:
    cdef int i
    op.is_pointwise = False
    if len(row.get("outputs", ())) != 1:
        return 0
    out = row["outputs"][0]
    operands = {f"a{i}" for i in out.get("elementwise", ())}
    op.is_pointwise = (
        out["shape"][0] in ("same", "broadcast", "broadcast3") and
        operands == {f"a{op.tensors[i]}" for i in range(op.tensor_count) if op.types[op.tensors[i]] == TENSOR} and
        len(operands) == op.tensor_count > 0 and not out.keys() - {"shape", "dtype", "elementwise"} and
        op.first_list < 0 and op.generator < 0 and op.dim < 0 and op.dtype < 0 and op.onto < 0)
    op.keeps_dtype = is_of_operands(out["dtype"], operands)
    op.computes_in_dtype = is_of_operands(row["compute"], operands) if "compute" in row else op.keeps_dtype
    return 0


# --- rules -----------------------------------------------------------------------------------------------------------

cdef int copy_ints(Argument *values, Shape *shape) except? -1:
    """The shape is an argument of the operator."""
    shape[0] = values[0].ints[0]
    return 0


cdef int evaluate(const Rule *rule, Argument *arguments, const ScalarType *dtypes, Shape *shape) except? -1:
    cdef Argument values[MAX_OPERANDS]
    cdef const Operand *operand
    cdef int i
    if rule.function == NULL:
        return first_given(rule, arguments, dtypes)
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
            values[i].integer = evaluate(operand.rule, arguments, dtypes, NULL)
        else:
            values[i].integer = arguments[operand.index].object not in (NULL, <PyObject *>None)
    return rule.function(values, shape)


cdef int first_given(const Rule *rule, Argument *arguments, const ScalarType *dtypes) except? -1:
    """Of dtypes, and tensors that have one, the first that is there; the last operand always is."""
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
            return evaluate(operand.rule, arguments, dtypes, NULL)
    return Undefined


cdef int check_all(const Rules *checks, Argument *arguments, const ScalarType *dtypes) except -1:
    cdef int i
    for i in range(checks.count):
        evaluate(checks.rules[i], arguments, dtypes, NULL)
    return 0


cdef ScalarType result_dtype(Operator op, Argument *arguments) except? Undefined:
    cdef ScalarType dtypes[MAX_RESULTS]
    if not op.loaded:
        load_operator(op)
    dtypes[0] = <ScalarType>evaluate(op.outputs[0].dtype, arguments, dtypes, NULL)
    check_all(&op.check, arguments, dtypes)
    return dtypes[0]


# --- what every form of an operator begins with ----------------------------------------------------------------------

cdef inline TensorBase tensor_at(Argument *arguments, int index):
    return <TensorBase>arguments[index].object


cdef int find_place(Operator op, Place *place, Argument *arguments, ScalarType *dtype) except -1:
    """The device of the operands, which must be one; and a dtype for messages."""
    cdef TensorBase tensor
    cdef int i
    if op.first_list >= 0:
        place_of_list(place, <list>arguments[op.first_list].object)
        if <list>arguments[op.first_list].object:
            dtype[0] = (<TensorBase>(<list>arguments[op.first_list].object)[0]).dtype
        return 0
    tensor = tensor_at(arguments, op.tensors[0])
    dtype[0] = tensor.dtype
    place_of(place, tensor)
    for i in range(1, op.tensor_count):
        join(place, tensor_at(arguments, op.tensors[i]))
    return 0


cdef int open_call(Operator op, Place *place, Argument *arguments, ScalarType *dtypes, bint inplace) except -1:
    """Device, kernel, result dtypes, generator, checks."""
    cdef ScalarType dtype = Undefined
    cdef int i
    find_place(op, place, arguments, &dtype)
    require_kernel(op, place.type, dtype)
    if op.results and not op.writes_self:
        dtypes[0] = <ScalarType>evaluate(
            op.inplace_dtype if inplace and op.inplace_dtype != NULL else op.outputs[0].dtype, arguments, dtypes, NULL)
        for i in range(1, op.results):
            dtypes[i] = <ScalarType>evaluate(op.outputs[i].dtype, arguments, dtypes, NULL)
    if op.generator >= 0:
        find_generator(op, place, arguments)
    if op.cpu_check.count and place.type == CPU:
        check_all(&op.cpu_check, arguments, dtypes)
    if op.check.count:
        check_all(&op.check, arguments, dtypes)
    if op.dim >= 0:
        arguments[op.dim].integer = wrap_dim(arguments[op.dim].integer, tensor_at(arguments, op.tensors[0]).ndim)
    return 0


cdef int find_generator(Operator op, Place *place, Argument *arguments) except -1:
    """The generator given, or the device's own, which lives as long as the process."""
    generator = generator_for(<Generator>arguments[op.generator].object, place.type, place.index)
    arguments[op.generator].object = <PyObject *>generator
    return 0


cdef object cast_arguments(Operator op, Argument *arguments):
    """Have autocast cast the tensors. Gives what `arguments` borrow from now on."""
    cdef list values = []
    cdef int i, cpu = op.cpu_policy, npu = op.npu_policy
    if op.dtype >= 0 and arguments[op.dtype].integer != Undefined:        # the call says which
        cpu = autocast.NOT_LISTED if cpu == autocast.FP32_SET_OPT_DTYPE else cpu
        npu = autocast.NOT_LISTED if npu == autocast.FP32_SET_OPT_DTYPE else npu
    for i in range(op.count):
        if op.types[i] <= TENSOR_LIST:
            values.append(<object>arguments[i].object)
    casts = autocast.cast(cpu, npu, tuple(values))
    place = 0
    for i in range(op.count):
        if op.types[i] <= TENSOR_LIST:
            arguments[i].object = <PyObject *>(<tuple>casts)[place]
            place += 1
    return casts


cdef bint is_tracked(Operator op, Argument *arguments) except -1:
    cdef int i, place
    for i in range(op.differentiable_count):
        place = op.differentiable[i]
        if op.types[place] == TENSOR_LIST:
            if tracked_list(<list>arguments[place].object):
                return True
        elif tracked_optional(tensor_at(arguments, place)):
            return True
    return False


cdef bint wants_gradient(Operator op, Argument *arguments) except -1:
    cdef int i, place
    for i in range(op.differentiable_count):
        place = op.differentiable[i]
        if op.types[place] == TENSOR_LIST:
            if operands_require_grad(<list>arguments[place].object):
                return True
        elif requires_grad(tensor_at(arguments, place)):
            return True
    return False


cdef ScalarType computed_in(Operator op, Argument *arguments, const ScalarType *dtypes) except? Undefined:
    return dtypes[0] if op.compute == NULL else <ScalarType>evaluate(op.compute, arguments, dtypes, NULL)


cdef TensorBase keep_apart(Operator op, Argument *arguments, TensorBase result, int written):
    """`result`, or a temporary where it shares memory with an operand other than the one that is written."""
    cdef int i
    for i in range(op.count):
        if op.types[i] <= OPTIONAL_TENSOR:
            if i != written:
                result = apart(result, tensor_at(arguments, i))
        elif op.types[i] == TENSOR_LIST:
            for operand in <list>arguments[i].object:
                result = apart(result, <TensorBase>operand)
    return result


# --- plain forms, and those with out= --------------------------------------------------------------------------------

cdef bint is_wanted(const Output *out, Argument *arguments) noexcept:
    if out.mask < 0:
        return True
    if out.mask_place < 0:
        return arguments[out.mask].integer != 0
    return arguments[out.mask].ints.sizes[out.mask_place] != 0


cdef inline TensorBase operand_at(const Output *out, Argument *arguments, int index):
    return None if out.operands[index] < 0 else tensor_at(arguments, out.operands[index])


cdef TensorBase make_result(Operator op, int index, Argument *arguments, const Shape *shape, ScalarType dtype,
                            Place *place):
    cdef Output *out = &op.outputs[index]
    cdef TensorBase given = tensor_at(arguments, op.count + index)
    cdef TensorBase result
    if out.elementwise and not out.keeps_format:
        return elementwise_output(given, shape, dtype, place.type, place.index, operand_at(out, arguments, 0),
                                  operand_at(out, arguments, 1), operand_at(out, arguments, 2))
    if out.keeps_format:
        result = output_in_format(given, shape, dtype, place.type, place.index, operand_at(out, arguments, 0),
                                  operand_at(out, arguments, 1))
    else:
        result = output(given, shape, dtype, place.type, place.index)
    return result if given is None or out.elementwise else keep_apart(op, arguments, result, -1)


cdef object run(Operator op, Argument *arguments):
    cdef TensorBase given
    if not op.loaded:
        load_operator(op)
    if op.of_lists:
        return run_list(op, arguments, op.writes_self)
    if op.writes_self:
        return write_self(op, arguments)
    given = tensor_at(arguments, op.count)
    if given is None:
        if op.casts and autocast.threads:
            return run_cast(op, arguments)
        if op.is_pointwise and is_uniform(op, arguments):
            return run_uniform(op, arguments)
    return run_one(op, arguments, given) if op.results == 1 else run_several(op, arguments)


cdef bint is_uniform(Operator op, Argument *arguments) noexcept:
    """Whether the operands are alike: one dtype, device and shape, contiguous, without history."""
    cdef TensorBase first = tensor_at(arguments, op.tensors[0])
    cdef TensorBase other
    cdef int i
    if not first.contiguous or tracked(first):
        return False
    for i in range(1, op.tensor_count):
        other = tensor_at(arguments, op.tensors[i])
        if (other.dtype != first.dtype or other.ndim != first.ndim or not other.contiguous or
                other.device_type != first.device_type or other.device_index != first.device_index or
                memcmp(other.sizes, first.sizes, first.ndim * sizeof(int64_t)) != 0 or tracked(other)):
            return False
    return True


cdef object run_uniform(Operator op, Argument *arguments):
    """`run` of a pointwise operator on operands that are alike: the common case, in which most rules say nothing."""
    cdef TensorBase first = tensor_at(arguments, op.tensors[0])
    cdef TensorBase result
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef ScalarType compute
    require_kernel(op, first.device_type, first.dtype)
    dtypes[0] = first.dtype if op.keeps_dtype else <ScalarType>evaluate(op.outputs[0].dtype, arguments, dtypes, NULL)
    if op.cpu_check.count and first.device_type == CPU:
        check_all(&op.cpu_check, arguments, dtypes)
    if op.check.count:
        check_all(&op.check, arguments, dtypes)
    result = make_tensor(allocate(first.numel, dtypes[0], first.device_type, first.device_index), dtypes[0], first.ndim,
                         first.sizes, NULL, 0)
    arguments[op.count].object = <PyObject *>result
    if result.numel:
        compute = first.dtype if op.computes_in_dtype else computed_in(op, arguments, dtypes)
        run_kernel(op, first.device_type, arguments, compute)
    return result


cdef object run_cast(Operator op, Argument *arguments):
    """`run` after autocast has cast the tensors."""
    _casts = cast_arguments(op, arguments)          # which the arguments borrow
    return run_one(op, arguments, None) if op.results == 1 else run_several(op, arguments)


cdef object run_one(Operator op, Argument *arguments, TensorBase given):
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef TensorBase result
    cdef bint record = False
    cdef Place place
    cdef Shape shape
    open_call(op, &place, arguments, dtypes, False)
    if op.differentiable_count and not op.recorded_in_place_only and (
            is_tracked(op, arguments) or tracked_optional(given)):
        record = (wants_gradient(op, arguments) or requires_grad(given)) and recording(given, op.name)
    if given is not None and op.out_check.count:
        check_all(&op.out_check, arguments, dtypes)
    evaluate(op.outputs[0].shape, arguments, dtypes, &shape)
    result = make_result(op, 0, arguments, &shape, dtypes[0], &place)
    arguments[op.count].object = <PyObject *>result
    if op.dtype >= 0:
        arguments[op.dtype].integer = dtypes[0]
    if result.numel:
        if op.onto >= 0:
            begin(result, tensor_at(arguments, op.onto))
        run_kernel(op, place.type, arguments, computed_in(op, arguments, dtypes))
    if op.outputs[0].reported:
        result = fitted(result, given)
        arguments[op.count].object = <PyObject *>result
    if record:
        record_operator(op, arguments, None, False)
    return finish(result, given)


cdef object run_several(Operator op, Argument *arguments):
    """`run` of an operator with several results, in a tuple."""
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef TensorBase first = tensor_at(arguments, op.count)
    cdef list given = [<object>arguments[op.count + i].object for i in range(op.results)]
    cdef list results = []
    cdef bint record = False, anything = False
    cdef Place place
    cdef Shape shape
    cdef int i
    open_call(op, &place, arguments, dtypes, False)
    if op.differentiable_count and (is_tracked(op, arguments) or tracked_optional(first)):
        record = (wants_gradient(op, arguments) or requires_grad(first)) and recording(first, op.name)
    if first is not None and op.out_check.count:
        check_all(&op.out_check, arguments, dtypes)
    for i in range(op.results):
        result = None
        if is_wanted(&op.outputs[i], arguments):
            evaluate(op.outputs[i].shape, arguments, dtypes, &shape)
            result = make_result(op, i, arguments, &shape, dtypes[i], &place)
            anything = anything or (<TensorBase>result).numel
        results.append(result)
    point_to(op, arguments, results)
    if op.dtype >= 0:
        arguments[op.dtype].integer = dtypes[0]
    if anything:
        if op.onto >= 0:
            begin(results[0], tensor_at(arguments, op.onto))
        run_kernel(op, place.type, arguments, computed_in(op, arguments, dtypes))
    for i in range(op.results):
        if op.outputs[i].reported:
            results[i] = fitted(results[i], given[i])
    point_to(op, arguments, results)
    if record:
        record_operator(op, arguments, None, False)
    return tuple([finish(result, out) for result, out in zip(results, given)])


cdef int point_to(Operator op, Argument *arguments, list results) except -1:
    cdef int i
    for i in range(op.results):
        arguments[op.count + i].object = <PyObject *>results[i]
    return 0


# --- in-place forms --------------------------------------------------------------------------------------------------

cdef object run_inplace(Operator op, Argument *arguments):
    cdef TensorBase self = tensor_at(arguments, 0)
    cdef TensorBase kept_self = self, result
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef bint record = False
    cdef Place place
    cdef Shape shape
    cdef int i, other
    if not op.loaded:
        load_operator(op)
    if op.of_lists:
        return run_list(op, arguments, True)
    if op.writes_self:
        return write_self(op, arguments)
    arguments[op.count].object = <PyObject *>None
    open_call(op, &place, arguments, dtypes, True)
    check_all(&op.inplace_check, arguments, dtypes)
    if op.differentiable_count and is_tracked(op, arguments):
        record = recording_inplace(self, wants_gradient(op, arguments))
    evaluate(op.outputs[0].shape, arguments, dtypes, &shape)
    result = inplace_output(self, &shape, dtypes[0])
    if op.outputs[0].elementwise:
        for i in range(3):
            other = op.outputs[0].operands[i]
            if other > 0:
                check_partial_overlap(self, tensor_at(arguments, other))
    else:
        result = keep_apart(op, arguments, result, 0)
    if op.dtype >= 0:
        arguments[op.dtype].integer = dtypes[0]
    if result.numel:
        if record and op.keeps_self:
            kept_self = before_write(self)
        if op.onto >= 0:
            begin(result, tensor_at(arguments, op.onto))
        arguments[op.count].object = <PyObject *>result
        run_kernel(op, place.type, arguments, computed_in(op, arguments, dtypes), True)
    finish(result, self)
    if record:
        arguments[op.count].object = <PyObject *>self
        record_operator(op, arguments, kept_self, True)
    return self


cdef object write_self(Operator op, Argument *arguments):
    """An operator that has the in-place form alone, as fill_. All elements get one value, so overlap does no harm."""
    cdef TensorBase self = tensor_at(arguments, 0)
    cdef TensorBase kept_self = self, written
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef bint record = False
    cdef Place place
    dtypes[0] = self.dtype
    open_call(op, &place, arguments, dtypes, True)
    if op.differentiable_count and is_tracked(op, arguments):
        record = recording_inplace(self, wants_gradient(op, arguments))
    if self.numel:
        if record and op.keeps_self:
            kept_self = before_write(self)
        written = distinct(self)
        arguments[0].object = <PyObject *>written
        run_kernel(op, place.type, arguments, computed_in(op, arguments, dtypes), True)
        arguments[0].object = <PyObject *>self
    count_version(self)
    if record:
        record_operator(op, arguments, kept_self, True)
    return self


# --- operators on lists of tensors -----------------------------------------------------------------------------------


cdef int load_list_operator(Operator op, dict row) except -1:
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
        load_operator(op.each)
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
    array_rules.length(tensors)
    for i in range(op.first_list + 1, op.count):
        if op.types[i] == TENSOR_LIST:
            array_rules.check_length(tensors, list_at(arguments, i))
    if op.numbers >= 0:
        array_rules.check_count(tensors, <tuple>arguments[op.numbers].object)
    check_all(&op.check, arguments, NULL)
    if may_run_together(op, arguments, tensors):
        return run_together(op, arguments, tensors, inplace)
    if op.uniform is not None and array_rules.uniform(<tuple>arguments[op.numbers].object):
        scalar_from((<tuple>arguments[op.numbers].object)[0], &number)
        arguments[op.numbers].scalar = &number
        return run_inplace(op.uniform, arguments) if inplace else run(op.uniform, arguments)
    if inplace:
        for i in range(len(tensors)):
            write_one(op, arguments, i)
        return tensors
    return tuple([run_one_of_list(op, arguments, i) for i in range(len(tensors))])


# --- the kernel for lists --------------------------------------------------------------------------------------------

cdef bint may_run_together(Operator op, Argument *arguments, list tensors) except -1:
    cdef TensorBase first = <TensorBase>tensors[0]
    cdef Argument of_first[MAX_ARGUMENTS]
    cdef Scalar number
    cdef int i
    if not array_rules.alike(tensors, op.list_dtypes[first.device_type]):
        return False
    for i in range(op.first_list + 1, op.count):
        if op.types[i] == TENSOR_LIST and not array_rules.beside(tensors, list_at(arguments, i)):
            return False
    for i in range(op.together.count):
        if not evaluate(op.together.rules[i], arguments, NULL, NULL):
            return False
    if op.each_is_method or op.each.writes_self:
        return True
    if op.numbers >= 0:
        array_rules.widest(<tuple>arguments[op.numbers].object, &number)
    fill_arguments(op, of_first, arguments, 0, &number)
    return result_dtype(op.each, of_first) == first.dtype


cdef object run_together(Operator op, Argument *arguments, list tensors, bint inplace):
    cdef TensorBase first = <TensorBase>tensors[0]
    cdef list out = tensors
    if op.results and not inplace:
        if op.each.outputs[0].elementwise:
            out = array_rules.outputs(tensors)
        else:
            out = [result_for(op, arguments, i) for i in range(len(tensors))]
    arguments[op.count].object = <PyObject *>out
    run_kernel(op, first.device_type, arguments, first.dtype, inplace)
    if not op.results or inplace:
        array_rules.count_versions(tensors)
        return tensors
    return tuple(out)


cdef TensorBase result_for(Operator op, Argument *arguments, int index):
    """A new tensor for what the operator on one tensor gives."""
    cdef Argument of_one[MAX_ARGUMENTS]
    cdef ScalarType dtypes[MAX_RESULTS]
    cdef TensorBase tensor = <TensorBase>list_at(arguments, op.first_list)[index]
    cdef Shape shape
    fill_arguments(op, of_one, arguments, index, NULL)
    dtypes[0] = <ScalarType>evaluate(op.each.outputs[0].dtype, of_one, dtypes, NULL)
    evaluate(op.each.outputs[0].shape, of_one, dtypes, &shape)
    return output(None, &shape, dtypes[0], tensor.device_type, tensor.device_index)


cdef object run_kernel_for_lists(Operator op, Argument *arguments):
    """An operator that has a kernel for lists on every device, and writes to some of them: the fused optimizers."""
    cdef list tensors = list_at(arguments, op.first_list)
    cdef ScalarType dtype
    cdef Place place
    cdef int i
    array_rules.check_any(tensors, op.key)
    place_of_list(&place, tensors)
    dtype = (<TensorBase>tensors[0]).dtype
    require_kernel(op, place.type, dtype)
    check_all(&op.check, arguments, NULL)
    for i in range(op.together.count):
        if not evaluate(op.together.rules[i], arguments, NULL, NULL):
            return None
    run_kernel(op, place.type, arguments, dtype)
    for i in range(op.written_count):
        array_rules.count_versions(list_at(arguments, op.written[i]))
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


cdef object run_one_of_list(Operator op, Argument *arguments, int index):
    cdef Argument of_one[MAX_ARGUMENTS]
    cdef Scalar number
    if op.each_is_method:
        return call_method(op, arguments, index)
    read_number(op, arguments, index, &number)
    fill_arguments(op, of_one, arguments, index, &number)
    return run(op.each, of_one)


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
        run_inplace(op.each, of_one)
        return 0
    # The operator has no in-place form that would keep what its derivative looks at.
    written = <TensorBase>of_one[0].object
    kept = before_write(written) if tracked(written) else written
    of_one[0].object = <PyObject *>kept
    return array_rules.write(written, <TensorBase>run(op.each, of_one))
