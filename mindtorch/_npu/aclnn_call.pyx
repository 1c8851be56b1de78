"""The kernels of the NPU: the ACLNN call of a row, or its decomposition; the NPU as a backend."""
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
cimport cython
from libc.float cimport FLT_EPSILON, FLT_MAX
from libc.stdint cimport INT64_MAX, intptr_t, uint32_t, uint64_t
from libc.string cimport memcpy

from mindtorch._core import once
from mindtorch._npu.acl_loader import ensure_acl
from mindtorch._npu.launch import enable_executor_cache

from mindtorch._core._gen.calls cimport op__foreach_add_List, op__foreach_sub_Scalar, op_fill__Scalar, op_sub_Scalar
from mindtorch._core.autograd.node cimport set_grad_enabled
from mindtorch._core.autograd.history cimport ints_of
from mindtorch._core.operators.autocast cimport disable, set_enabled_devices
cimport mindtorch._core.operators.operator as operators
from mindtorch._core.operators.operator cimport (
    MAX_ARGUMENTS, ONE, Kernel, Operator, common_base, find_operator, opmath,
)
from mindtorch._core.operators.run_operator cimport load_operator
from mindtorch._core.rules.infer cimport same_shape
from mindtorch._core.tensor.dtype cimport (
    FLOAT_KIND, INT_KIND, NUM_SCALAR_TYPES, BFloat16, Bool, Byte, Char, Double, Float, Half, Int,
    Long, Short, cast_scalar, scalar_from_python, scalar_to_python,
)
from mindtorch._core.tensor.generator cimport Generator
from mindtorch._core.tensor.tensor cimport (
    BACKENDS, NPU, TensorBase, copy_data, empty_tensor, make_view, set_version, version_of,
)
from mindtorch._npu.acl cimport (
    NO_QUEUE, QUEUE_ALL, AclnnFunction, QueuedLaunch, TensorLocation, find_function, queue_mode,
)
from mindtorch._npu.allocator cimport allocate
from mindtorch._npu.cann cimport ACL_ERROR_BAD_ALLOC, AclnnValue, aclOpExecutor, aclTensor, aclnnStatus
from mindtorch._npu.host_memory cimport allocate_pinned
from mindtorch._npu.launch cimport (
    FOUND, KEY_HEAD, MAX_KEY_TENSORS, MAX_LIST_TENSORS, MAX_RANK, MISSED, NOT_KEPT, Call, Key, LookUp, Phase2,
    acl_dtype, add_known, add_real, add_scalar, add_shape, add_tensor, add_tensors, add_word, bool_array_argument,
    bool_array_from_key, cache_enabled, cast_to_supported, copy, end_look_up, find_executor, free_call, init_call,
    init_key, int_array_argument, int_array_from_key, is_known, keep_call_executor, keep_queued_executor,
    keeps_executors, launch,
    make_contiguous, merge_dims, optional_tensor_argument, raise_missing_symbol, raise_not_capturable,
    raise_not_supported, read, scalar_argument, scalar_list_argument, scalar_list_from_key, scalar_from_key,
    set_copy_calls, set_output_shape, set_queue_phase1, tensor_argument, tensor_list_argument,
    tensor_list_from_key, tensor_from_key, view_as_int, wait_for_shapes,
)
from mindtorch._npu.streams cimport current_capture, thread_state


# --- calls -----------------------------------------------------------------------------------------------------------
# The ACLNN calls of rows are data, in mindtorch/_npu/_gen/calls.py. `read_call` makes an AclnnCall of an entry when its
# operator runs for the first time, and `run_call` runs it. (Where a Call of launch.pxd is under way, that is `call`,
# and the AclnnCall is `aclnn`.)
#
# 1. Tensors are cast to a dtype that the function takes, and made contiguous if it takes no strides.
# 2. Adapters compute arguments that the function needs in another form.
# 3. A call with a kept executor, or whose phase 1 a queue's thread runs, goes on with 5.
# 4. Each argument is converted to C, by the conversion of the table. Phase 1 is called, through its C signature.
# 5. `launch` does the rest.


cdef enum:
    MAX_PARAMETERS = 32     # of a function of ACLNN
    MAX_ADAPTERS = 6        # of one call
    MAX_OPERANDS = 4        # of an adapter
    MAX_CONDITIONS = 2      # of a row

cdef enum Conversion:       # of a value to an argument of ACLNN
    TENSOR
    CONSTANT
    SCALAR                  # rounded to the dtype of the computation
    INTEGER                 # bool, ints, enums
    OPTIONAL_TENSOR
    INT_ARRAY
    REAL
    PLAIN_SCALAR            # not rounded
    OPMATH_SCALAR           # rounded to the opmath dtype
    TENSOR_LIST
    BOOL_ARRAY
    SCALAR_LIST
    OPMATH_SCALAR_LIST
    TEXT

cdef dict CONVERSIONS = {
    "tensor": TENSOR, "constant": CONSTANT, "absent_tensor": CONSTANT, "scalar": SCALAR, "integer": INTEGER,
    "optional_tensor": OPTIONAL_TENSOR, "int_array": INT_ARRAY, "real": REAL, "plain_scalar": PLAIN_SCALAR,
    "opmath_scalar": OPMATH_SCALAR,
    "tensor_list": TENSOR_LIST, "bool_array": BOOL_ARRAY, "scalar_list": SCALAR_LIST,
    "opmath_scalar_list": OPMATH_SCALAR_LIST, "text": TEXT}

cdef struct Parameter:
    Conversion conversion
    int argument            # index among the arguments, behind which the results of adapters come
    bint dynamic_shape      # an output whose shape the function determines
    bint has_tensors        # it is a tensor or a list, perhaps an absent one
    AclnnValue constant

cdef struct Preparation:    # what to do with the tensor of an argument before the call
    int argument
    unsigned int mask       # the dtypes that the function takes
    bint written            # an output, which is not cast
    bint promoted           # a 0-d tensor is cast to the dtype of the computation
    bint view_as_int        # the function only copies elements: other dtypes may go as integers of their size
    bint contiguous         # the function takes no strides
    const char *name        # of the parameter in the prototype

cdef struct Adapter:
    AdapterFunction function
    int count
    int arguments[MAX_OPERANDS]         # indices; -1: a constant
    Argument constants[MAX_OPERANDS]

cdef struct QueuedCall:
    AclnnPhase1 signature
    void *phase1
    int count
    const Parameter *parameters

cdef AclnnPhase1 *SIGNATURES = NULL
cdef AdapterFunction *ADAPTERS = NULL
cdef ConditionFunction *CONDITIONS = NULL
cdef dict ADAPTERS_BY_NAME = None
cdef dict CONDITIONS_BY_NAME = None
cdef list KEEP_ALIVE = []                     # objects that operators and structs have C pointers to


cdef int register_thunks(AclnnPhase1 *signatures, dict adapters_by_name, AdapterFunction *adapters,
                         dict conditions_by_name, ConditionFunction *conditions) except -1:
    global SIGNATURES, ADAPTERS, CONDITIONS, ADAPTERS_BY_NAME, CONDITIONS_BY_NAME
    SIGNATURES, ADAPTERS, CONDITIONS = signatures, adapters, conditions
    ADAPTERS_BY_NAME, CONDITIONS_BY_NAME = adapters_by_name, conditions_by_name
    return 0


# Reading an entry of the table

@cython.final
cdef class AclnnCall:
    cdef AclnnFunction function
    cdef AclnnPhase1 signature
    cdef const char *name
    cdef const char *since              # the first release of CANN that has the function
    cdef int arguments                  # number of the operator's arguments and results
    cdef int device_argument            # index of a tensor, or list of tensors, on the device of the call
    cdef int count
    cdef Parameter parameters[MAX_PARAMETERS]
    cdef int prepared
    cdef Preparation preparations[MAX_PARAMETERS]
    cdef int adapted
    cdef Adapter adapters[MAX_ADAPTERS]
    cdef bint is_foreach                  # the operator takes lists of tensors
    cdef bint per_tensor  # the function takes single tensors: one call for each element of the lists
    cdef bint dynamic_shapes                   # the function determines the shapes of results
    cdef bint may_be_kept               # the executors of the call
    cdef bint elementwise               # dimensions of the tensors may be merged, ...
    cdef bint has_one_operand           # ... also where the result of one operand is 0-d
    cdef int dims_argument              # the argument that is a list of ints, or -1
    cdef QueuedCall queued              # what the thread of a queue reads; its address stands in keys


cdef const char *keep_bytes(object text):
    encoded = text if isinstance(text, bytes) else text.encode()
    KEEP_ALIVE.append(encoded)
    return encoded


cdef AclnnCall read_call(Operator op, tuple encoded):
    """The AclnnCall of an entry of the table."""
    cdef AclnnCall call = AclnnCall.__new__(AclnnCall)
    cdef int i
    name, since, signature, call.device_argument, call.per_tensor, parameters = encoded
    call.is_foreach = op.is_foreach
    call.elementwise = op.tensor_count == 0 or (op.inplace_only and op.tensor_count == 1) or (
        op.outputs[0].elementwise and op.tensor_count <= sum([operand >= 0 for operand in op.outputs[0].operands]))
    call.has_one_operand = op.tensor_count == 1 and op.tensor_list_argument < 0
    call.dims_argument = -1
    for i in reversed(range(op.argument_count)):
        if op.argument_types[i] == operators.INT_LIST:
            call.dims_argument = i
    call.arguments = op.argument_count + op.result_count
    read_function(call, name, since, SIGNATURES[<int>signature], parameters)
    return call


cdef int read_function(AclnnCall call, str name, str since, AclnnPhase1 signature, tuple parameters) except -1:
    cdef Parameter *parameter
    call.name, call.since, call.signature = keep_bytes(name), keep_bytes(since), signature
    find_function(&call.function, name)
    call.may_be_kept = True
    if len(parameters) > MAX_PARAMETERS:
        raise ValueError(f"{name} has {len(parameters)} parameters, {MAX_PARAMETERS} at most")
    for word, found, *preparation in parameters:
        parameter = &call.parameters[call.count]
        parameter.conversion = <Conversion><int>CONVERSIONS[word]
        parameter.has_tensors = word in ("tensor", "optional_tensor", "absent_tensor", "tensor_list")
        if parameter.conversion == CONSTANT:
            read_constant(&parameter.constant, found)
        elif isinstance(found, tuple):
            parameter.argument = read_adapter(call, found)
        else:
            parameter.argument = found
        if preparation:
            read_preparation(call, parameter, preparation)
        call.count += 1
    call.may_be_kept = call.may_be_kept and not call.dynamic_shapes
    call.queued.signature, call.queued.phase1 = call.signature, call.function.phase1
    call.queued.count, call.queued.parameters = call.count, &call.parameters[0]
    return 0


cdef int read_constant(AclnnValue *constant, object value) except -1:
    if value is None:
        constant.pointer = NULL
    elif isinstance(value, bytes):
        constant.pointer = <void *>keep_bytes(value)
    elif isinstance(value, float):
        constant.real = value
    else:
        constant.integer = value
    return 0


cdef int read_adapter(AclnnCall call, tuple encoded) except -1:
    """Add an adapter to the call; returns the index of its result."""
    cdef Adapter *adapter = &call.adapters[call.adapted]
    cdef int i
    adapter.count = len(encoded) - 1
    if call.adapted == MAX_ADAPTERS or adapter.count > MAX_OPERANDS:
        raise ValueError(f"too many adapters, or operands of {encoded[0]}")
    adapter.function = ADAPTERS[<int>ADAPTERS_BY_NAME[encoded[0]]]
    for i in range(adapter.count):
        operand = encoded[i + 1]
        adapter.arguments[i] = -1 if isinstance(operand, tuple) else operand
        if adapter.arguments[i] >= 0:
            continue
        if isinstance(operand[1], float):
            adapter.constants[i].real = operand[1]
        else:
            adapter.constants[i].integer = operand[1]
    if encoded[0] == "next_offset":     # no two calls are equal
        call.may_be_kept = False
    call.adapted += 1
    return call.arguments + call.adapted - 1


cdef int read_preparation(AclnnCall call, Parameter *parameter, list encoded) except -1:
    cdef Preparation *preparation = &call.preparations[call.prepared]
    name, mask, steps = encoded
    words = steps.split()
    parameter.dynamic_shape = "dynamic_shape" in words
    call.dynamic_shapes = call.dynamic_shapes or parameter.dynamic_shape
    preparation.argument, preparation.mask, preparation.name = parameter.argument, <int64_t>mask, keep_bytes(name)
    preparation.written, preparation.promoted = "written" in words, "promoted" in words
    preparation.view_as_int, preparation.contiguous = "view_as_int" in words, "contiguous" in words
    call.prepared += 1
    return 0


# Running a call

cdef inline bint needs_preparation(const Preparation *preparation, PyObject *tensor, ScalarType dtype) noexcept:
    if tensor == <PyObject *>None:
        return False
    return (not (preparation.mask >> <int>(<TensorBase>tensor).dtype) & 1
            or (preparation.promoted and (<TensorBase>tensor).ndim == 0 and (<TensorBase>tensor).dtype != dtype)
            or (preparation.contiguous and not (<TensorBase>tensor).contiguous)
            or (<TensorBase>tensor).ndim > MAX_RANK)


cdef int run_call(AclnnCall call, Argument *given, ScalarType dtype) except -1:
    """Prepare the arguments and launch. `given` does not change."""
    cdef Preparation *preparation
    cdef int i
    if call.is_foreach or call.function.phase1 == NULL:
        return prepare_and_run(call, given, dtype)
    for i in range(call.prepared):
        preparation = &call.preparations[i]
        if needs_preparation(preparation, given[preparation.argument].object, dtype):
            return prepare_and_run(call, given, dtype)
    return adapt_and_marshal(call, given, given, dtype, <TensorBase>given[call.device_argument].object)


cdef inline int adapt_and_marshal(AclnnCall call, Argument *arguments, Argument *given, ScalarType dtype,
                                  TensorBase on_device) except -1:
    cdef Argument adapted[MAX_ADAPTERS]
    cdef Storage storage[MAX_ADAPTERS]
    cdef list _temporaries = None       # live until the launch
    if call.adapted != 0:
        _temporaries = run_adapters(call, arguments, adapted, storage)
    return marshal(call, arguments, adapted, given, dtype, on_device)


cdef int prepare_and_run(AclnnCall call, Argument *given, ScalarType dtype) except -1:
    cdef Argument changed[MAX_ARGUMENTS]
    cdef Argument *arguments = given
    cdef Preparation *preparation
    cdef TensorBase tensor
    cdef PyObject *found
    cdef list temporaries = None        # tensors in `arguments`, which live until the launch
    cdef list copies = None             # [(output, the temporary tensor that the function writes)]
    cdef int i
    if call.function.phase1 == NULL:
        raise_missing_symbol(call.name, call.since)
    for i in range(call.prepared):
        preparation = &call.preparations[i]
        found = arguments[preparation.argument].object
        if not needs_preparation(preparation, found, dtype):
            continue
        if temporaries is None:
            temporaries = []
            memcpy(changed, given, call.arguments * sizeof(Argument))
            arguments = changed
        tensor = prepare(call, preparation, <TensorBase>found, dtype)
        if preparation.contiguous:
            temporaries.append(tensor)
            tensor = make_contiguous(tensor)
        temporaries.append(tensor)
        if preparation.written and tensor.storage is not (<TensorBase>found).storage:
            if call.dynamic_shapes:
                raise_not_supported(<TensorBase>found, call.name, preparation.name)
            copies = copies or []
            copies.append((<object>found, tensor))
        arguments[preparation.argument].object = <PyObject *>tensor
    if temporaries is not None and may_merge_dims(call, arguments):
        merge_dims_of_arguments(call, arguments, temporaries)
    adapt_and_marshal(call, arguments, given, dtype,
                      <TensorBase>(<list>given[call.device_argument].object)[0] if call.is_foreach else
                      <TensorBase>arguments[call.device_argument].object)
    if copies is not None:
        for output, written in copies:
            BACKENDS[<int>NPU].copy(<TensorBase>output, <TensorBase>written, True)
    return 0


cdef bint may_merge_dims(AclnnCall call, const Argument *arguments) noexcept:
    """Whether the call is elementwise, or reduces all dimensions of its operand."""
    return call.elementwise or (
        call.has_one_operand and (<TensorBase>arguments[call.device_argument].object).ndim == 0
        and (call.dims_argument < 0 or arguments[call.dims_argument].ints.ndim == 0))


cdef int merge_dims_of_arguments(AclnnCall call, Argument *arguments, list temporaries) except -1:
    """Where a tensor has more dimensions than ACLNN takes, merge those of all tensors."""
    cdef list tensors = []
    cdef int i, rank = 0
    for i in range(call.prepared):
        tensor = <object>arguments[call.preparations[i].argument].object
        if tensor is not None:
            tensors.append(tensor)
            rank = max(rank, (<TensorBase>tensor).ndim)
    if rank <= MAX_RANK:
        return 0
    temporaries += (merged := merge_dims(tensors))
    for i in reversed(range(call.prepared)):
        if arguments[call.preparations[i].argument].object != <PyObject *>None:
            tensor = merged.pop()
            arguments[call.preparations[i].argument].object = <PyObject *>tensor
    return 0


cdef TensorBase prepare(AclnnCall call, const Preparation *preparation, TensorBase tensor, ScalarType dtype):
    """The tensor in a dtype that the function takes: its own, that of the computation or a wider one.

    NotImplementedError if there is none.
    """
    if preparation.promoted and tensor.ndim == 0 and tensor.dtype != dtype:
        tensor = cast_to(tensor, dtype)
    if (preparation.mask >> <int>tensor.dtype) & 1:
        return tensor
    if preparation.view_as_int:
        return view_as_int(tensor, preparation.mask, call.name, preparation.name)
    return cast_to_supported(tensor, tensor.dtype if preparation.written else dtype, preparation.mask, call.name,
                             preparation.name)


cdef list run_adapters(AclnnCall call, Argument *arguments, Argument *adapted, Storage *storage):
    """Run the adapters. Returns the objects they have made, which must live until the launch, or None."""
    cdef list temporaries = None
    cdef Argument values[MAX_OPERANDS]
    cdef Adapter *adapter
    cdef int i, j
    for i in range(call.adapted):
        adapter = &call.adapters[i]
        for j in range(adapter.count):
            values[j] = adapter.constants[j] if adapter.arguments[j] < 0 else arguments[adapter.arguments[j]]
        made = adapter.function(values, &adapted[i], &storage[i])
        if made is not None and (adapter.count == 0 or <PyObject *>made != values[0].object):
            if temporaries is None:
                temporaries = []
            temporaries.append(made)
    return temporaries


cdef inline const Argument *find_argument(AclnnCall aclnn, int i, Argument *arguments, Argument *adapted) noexcept:
    cdef int index = aclnn.parameters[i].argument
    return &arguments[index] if index < aclnn.arguments else &adapted[index - aclnn.arguments]


cdef inline int run_phase1(AclnnCall aclnn, Call *call, AclnnValue *values, Argument *arguments, Argument *adapted,
                           ScalarType dtype, int *status) except -1:
    """Convert the arguments to C and call phase 1."""
    cdef Argument argument
    cdef Conversion conversion
    cdef Scalar element
    cdef int i
    for i in range(aclnn.count):
        conversion = aclnn.parameters[i].conversion
        if conversion == CONSTANT:
            values[i] = aclnn.parameters[i].constant
            continue
        argument = find_argument(aclnn, i, arguments, adapted)[0]
        if conversion == TENSOR:
            values[i].pointer = tensor_argument(call, <TensorBase>argument.object)
        elif conversion == SCALAR or conversion == OPMATH_SCALAR:
            values[i].pointer = NULL
            if argument.scalar != NULL:
                element = cast_scalar(argument.scalar, dtype if conversion == SCALAR else opmath(dtype))
                values[i].pointer = scalar_argument(call, &element)
        elif conversion == INTEGER:
            values[i].integer = argument.integer
        elif conversion == OPTIONAL_TENSOR:
            values[i].pointer = optional_tensor_argument(call, <TensorBase>argument.object)
        elif conversion == INT_ARRAY:
            values[i].pointer = int_array_argument(call, argument.ints)
        elif conversion == REAL:
            values[i].real = argument.real
        elif conversion == PLAIN_SCALAR:
            values[i].pointer = scalar_argument(call, argument.scalar)
        elif conversion == TENSOR_LIST:
            values[i].pointer = tensor_list_argument(call, <list>argument.object)
        elif conversion == BOOL_ARRAY:
            values[i].pointer = bool_array_argument(call, argument.ints)
        elif conversion == TEXT:
            values[i].pointer = argument.object
        else:
            values[i].pointer = scalar_list_argument(
                call, <tuple>argument.object, dtype if conversion == SCALAR_LIST else opmath(dtype))
    status[0] = aclnn.signature(aclnn.function.phase1, values, &call.workspace_size, &call.executor)
    return 0


cdef inline int marshal(AclnnCall aclnn, Argument *arguments, Argument *adapted, Argument *given, ScalarType dtype,
                        TensorBase on_device) except -1:
    """Convert the arguments to C, run phase 1 and launch, on the device of `on_device`."""
    cdef AclnnValue values[MAX_PARAMETERS]
    cdef Call call
    cdef int status
    init_call(&call, on_device)
    if aclnn.may_be_kept and cache_enabled or queue_mode != NO_QUEUE and not aclnn.dynamic_shapes:
        return run_keyed_call(aclnn, &call, arguments, adapted, dtype)
    call.dynamic_shapes = aclnn.dynamic_shapes
    run_phase1(aclnn, &call, values, arguments, adapted, dtype, &status)
    launch(&call, status, aclnn.name, <Phase2>aclnn.function.phase2)
    if aclnn.dynamic_shapes:
        set_output_shapes(aclnn, &call, values, given)
    return 0


cdef int run_keyed_call(AclnnCall aclnn, Call *call, Argument *arguments, Argument *adapted,
                        ScalarType dtype) except -1:
    """Leave a known call to a queue's thread, or launch the kept executor of an equal call; else run both phases."""
    cdef AclnnValue values[MAX_PARAMETERS]
    cdef Key key
    cdef LookUp found = NOT_KEPT
    cdef bint has_key, queued
    cdef int status = 0
    init_key(&key, &aclnn.queued, call.device, thread_state().limits)
    call.key = &key                              # also where no executor is kept: errors name the tensors by it
    has_key = write_key(aclnn, &key, arguments, adapted, dtype) and aclnn.may_be_kept
    queued = has_key and queue_mode == QUEUE_ALL
    if queued and is_known(call):
        return launch(call, 0, aclnn.name, <Phase2>aclnn.function.phase2)
    if has_key and cache_enabled:
        found = find_executor(call, aclnn.name)
    if found != FOUND:
        try:
            run_phase1(aclnn, call, values, arguments, adapted, dtype, &status)
        finally:
            if found == MISSED:
                end_look_up()
    if status == 0 and found == MISSED and keeps_executors:
        keep_call(aclnn, call, values, arguments, adapted)
    if queued and status == 0:
        add_known(call)
    return launch(call, status, aclnn.name, <Phase2>aclnn.function.phase2)


cdef int keep_call(AclnnCall aclnn, Call *call, const AclnnValue *values, Argument *arguments,
                   Argument *adapted) except -1:
    cdef TensorLocation locations[MAX_KEY_TENSORS]
    cdef int lengths[MAX_PARAMETERS]
    cdef int i
    for i in range(aclnn.count):
        lengths[i] = -1
        if aclnn.parameters[i].conversion == TENSOR_LIST:
            lengths[i] = <int>len(<list>find_argument(aclnn, i, arguments, adapted).object)
    list_locations(&aclnn.queued, values, lengths, locations)
    return keep_call_executor(call, locations)


cdef void list_locations(const QueuedCall *aclnn, const AclnnValue *values, const int *lengths,
                         TensorLocation *locations) noexcept nogil:
    """List the tensors among the arguments, in the order of the key. `lengths`: of lists; -1 of other parameters."""
    cdef int i, element
    cdef int index = 0
    for i in range(aclnn.count):
        if not aclnn.parameters[i].has_tensors:
            continue
        if lengths[i] < 0:
            if values[i].pointer != NULL:
                locations[0] = TensorLocation(values[i].pointer, index, -1)
                locations += 1
        else:
            for element in range(lengths[i]):
                locations[0] = TensorLocation(values[i].pointer, index, element)
                locations += 1
        index += 1


cdef int phase1_by_key(QueuedLaunch *queued) noexcept nogil:
    """On the thread of a queue: make the arguments that `write_key` has written, and run phase 1."""
    cdef const QueuedCall *aclnn = <const QueuedCall *><void *>queued.text[0]
    cdef const uint64_t *text = &queued.text[KEY_HEAD]
    cdef AclnnValue values[MAX_PARAMETERS]
    cdef TensorLocation locations[MAX_KEY_TENSORS]
    cdef int lengths[MAX_PARAMETERS]
    cdef Conversion conversion
    cdef bint created = True
    cdef int tensors = 0
    cdef int i, status
    for i in range(aclnn.count):
        conversion = aclnn.parameters[i].conversion
        lengths[i] = -1
        if conversion == CONSTANT:
            values[i] = aclnn.parameters[i].constant
        elif conversion == TENSOR or conversion == OPTIONAL_TENSOR:
            created = tensor_from_key(queued, &text, &tensors, &values[i].pointer)
        elif conversion == SCALAR or conversion == OPMATH_SCALAR or conversion == PLAIN_SCALAR:
            created = scalar_from_key(queued, &text, &values[i].pointer)
        elif conversion == INT_ARRAY:
            created = int_array_from_key(queued, &text, &values[i].pointer)
        elif conversion == TENSOR_LIST:
            lengths[i] = <int>text[0]
            created = tensor_list_from_key(queued, &text, &tensors, &values[i].pointer)
        elif conversion == SCALAR_LIST or conversion == OPMATH_SCALAR_LIST:
            created = scalar_list_from_key(queued, &text, &values[i].pointer)
        elif conversion == BOOL_ARRAY:
            created = bool_array_from_key(queued, &text, &values[i].pointer)
        else:                                    # INTEGER, REAL, TEXT
            values[i].integer = <int64_t>text[0]
            text += 1
        if not created:
            return ACL_ERROR_BAD_ALLOC           # CANN's message says more
    status = aclnn.signature(aclnn.phase1, values, &queued.workspace_size, &queued.executor)
    if status == 0 and queued.may_be_kept and keeps_executors:
        list_locations(aclnn, values, lengths, locations)
        keep_queued_executor(queued, locations)
    return status


cdef bint write_key(AclnnCall aclnn, Key *key, Argument *arguments, Argument *adapted, ScalarType dtype) except -1:
    """Add the arguments, as `run_phase1` converts them. False: an argument has no key, and the executor is not kept."""
    cdef const Argument *argument
    cdef Conversion conversion
    cdef ScalarType number_dtype
    cdef Scalar element
    cdef bint complete = True
    cdef int i
    for i in range(aclnn.count):
        conversion = aclnn.parameters[i].conversion
        if conversion == CONSTANT:
            continue
        argument = find_argument(aclnn, i, arguments, adapted)
        if conversion == TENSOR:
            complete = add_tensor(key, <TensorBase>argument.object)
        elif conversion == SCALAR or conversion == OPMATH_SCALAR:
            if argument.scalar == NULL:
                complete = add_word(key, 0)
            else:
                element = cast_scalar(argument.scalar, dtype if conversion == SCALAR else opmath(dtype))
                complete = add_scalar(key, &element)
        elif conversion == INTEGER:
            complete = add_word(key, <uint64_t>argument.integer)
        elif conversion == OPTIONAL_TENSOR:
            complete = (add_word(key, 0) if argument.object == <PyObject *>None else
                        add_tensor(key, <TensorBase>argument.object))
        elif conversion == INT_ARRAY or conversion == BOOL_ARRAY:
            complete = add_shape(key, argument.ints)
        elif conversion == REAL:
            complete = add_real(key, argument.real)
        elif conversion == PLAIN_SCALAR:
            complete = add_scalar(key, argument.scalar)
        elif conversion == TENSOR_LIST:
            complete = add_tensors(key, <list>argument.object)
        elif conversion == TEXT:
            complete = add_word(key, <uint64_t>argument.object)      # adapters give constant strings
        else:
            number_dtype = dtype if conversion == SCALAR_LIST else opmath(dtype)
            complete = add_word(key, <uint64_t>len(<tuple>argument.object))
            for number in <tuple>argument.object:
                scalar_from_python(number, &element)
                element = cast_scalar(&element, number_dtype)
                complete = complete and add_scalar(key, &element)
        if not complete:
            return False
    return True


cdef int set_output_shapes(AclnnCall aclnn, Call *call, const AclnnValue *values, Argument *given) except -1:
    """Give the results the shapes that the function has determined."""
    cdef int i
    wait_for_shapes(call)
    for i in range(aclnn.count):
        if aclnn.parameters[i].dynamic_shape:
            set_output_shape(call, <const aclTensor *>values[i].pointer,
                             <TensorBase>given[aclnn.parameters[i].argument].object)
    free_call(call)
    return 0


# Operators on lists

cdef int call_in_chunks(AclnnKernel kernel, Argument *arguments, ScalarType dtype) except -1:
    """One call for as many tensors of the lists as MAX_LIST_TENSORS allows, as in torch_npu."""
    cdef Argument part[MAX_ARGUMENTS]
    cdef AclnnCall call = kernel.call
    cdef list tensors = <list>arguments[call.device_argument].object
    cdef list slices                            # keeps the lists in `part` alive
    cdef Py_ssize_t count = len(tensors), most, at
    cdef bint has_result = call.arguments > kernel.count
    cdef bint has_own_result = has_result and arguments[kernel.count].object != <PyObject *>tensors
    cdef int argument
    most = MAX_LIST_TENSORS // (kernel.lists + has_own_result)
    if count <= most:
        return run_call(call, arguments, dtype)
    for at in range(0, count, most):
        memcpy(part, arguments, call.arguments * sizeof(Argument))
        slices = []
        for argument in kernel.chunked_lists + (kernel.count,) * has_own_result:
            piece = (<object>arguments[argument].object)[at:at + most]
            slices.append(piece)
            part[argument].object = <PyObject *>piece
        if has_result and not has_own_result:
            part[kernel.count] = part[call.device_argument]
        run_call(call, part, dtype)
    return 0


cdef int call_per_tensor(AclnnCall call, Argument *given, ScalarType dtype) except -1:
    """One call for each tensor of the lists. Adapters run once, on the whole lists."""
    cdef Argument arguments[MAX_ARGUMENTS + MAX_ADAPTERS]
    cdef Argument one[MAX_ARGUMENTS + MAX_ADAPTERS]
    cdef Storage storage[MAX_ADAPTERS]
    cdef list tensors = <list>given[call.device_argument].object
    cdef list elements
    cdef Parameter *parameter
    cdef Py_ssize_t at
    cdef int i
    if call.function.phase1 == NULL:
        raise_missing_symbol(call.name, call.since)
    for tensor in tensors:
        for i in range(call.prepared):
            prepare(call, &call.preparations[i], <TensorBase>tensor, dtype)
    memcpy(arguments, given, call.arguments * sizeof(Argument))
    _temporaries = run_adapters(call, arguments, &arguments[call.arguments], storage)
    for at in range(len(tensors)):
        memcpy(one, arguments, (call.arguments + call.adapted) * sizeof(Argument))
        for i in range(call.count):
            parameter = &call.parameters[i]
            if parameter.conversion == OPTIONAL_TENSOR:
                elements = <list>arguments[parameter.argument].object
                element = elements[at] if elements else None
                one[parameter.argument].object = <PyObject *>element
        marshal(call, one, &one[call.arguments], given, dtype, <TensorBase>tensors[at])
    return 0


# Copies and casts within a device, which have no row

cdef aclnnStatus phase1_of_copy(void *function, const AclnnValue *values, uint64_t *workspace_size,
                                aclOpExecutor **executor) noexcept nogil:
    return (<aclnnStatus (*)(void *, void *, uint64_t *, aclOpExecutor **) noexcept nogil>function)(
        values[0].pointer, values[1].pointer, workspace_size, executor)


cdef aclnnStatus phase1_of_cast(void *function, const AclnnValue *values, uint64_t *workspace_size,
                                aclOpExecutor **executor) noexcept nogil:
    return (<aclnnStatus (*)(void *, aclDataType, void *, uint64_t *, aclOpExecutor **) noexcept nogil>function)(
        values[0].pointer, <aclDataType>values[1].integer, values[2].pointer, workspace_size, executor)


cdef AclnnCall COPY, CAST


cdef int call_copy(TensorBase dst, TensorBase src) except -1:
    cdef Argument arguments[2]
    arguments[0].object, arguments[1].object = <PyObject *>dst, <PyObject *>src
    return run_call(COPY, arguments, dst.dtype)


cdef int call_cast(TensorBase dst, TensorBase src) except -1:
    cdef Argument arguments[3]
    arguments[0].object, arguments[2].object = <PyObject *>src, <PyObject *>dst
    arguments[1].integer = acl_dtype(dst.dtype)
    return run_call(CAST, arguments, dst.dtype)


def register_copies():
    global COPY, CAST
    COPY, CAST = AclnnCall.__new__(AclnnCall), AclnnCall.__new__(AclnnCall)
    COPY.arguments, CAST.arguments = 2, 3
    read_function(COPY, "aclnnInplaceCopy", "8.0", phase1_of_copy, (("tensor", 0), ("tensor", 1)))
    read_function(CAST, "aclnnCast", "8.0", phase1_of_cast, (("tensor", 0), ("integer", 1), ("tensor", 2)))
    set_copy_calls(call_copy, call_cast)


# --- kernels ---------------------------------------------------------------------------------------------------------
# `run_aclnn` is the kernel of all rows with an ACLNN call. At the first call it reads the row's entry and replaces
# itself by `run_only_call`, `run_call_or_inplace` or `run_selected_call`.


@cython.final
cdef class AclnnKernel:
    """The `data` of an NPU kernel: the calls of a row."""
    cdef str key
    cdef dict entry                     # of the table
    cdef AclnnCall call
    cdef AclnnCall inplace              # the call if the result is `self`
    cdef int count                      # number of the operator's arguments; the results follow
    cdef int generator                  # index of the generator, or -1
    cdef AclnnCall graph_capture             # the call while a graph is captured
    cdef Decomposition graph_capture_decomposition
    cdef int conditions
    cdef ConditionFunction condition[MAX_CONDITIONS]
    cdef list conditional               # the call for each condition
    cdef Decomposition fallback
    cdef unsigned int documented        # dtypes of the call, as bits; the fallback runs for others
    cdef int lists                      # number of arguments that are lists of tensors
    cdef tuple chunked_lists                    # indices of the lists that are split


cdef int read_kernel(AclnnKernel kernel) except -1:
    cdef Operator op = find_operator(kernel.key)
    cdef dict entry = kernel.entry
    cdef int i
    from mindtorch._npu._gen import decompositions
    if not op.loaded:
        load_operator(op)
    kernel.count = op.argument_count
    kernel.call = read_call(op, entry["call"])
    if "inplace" in entry:
        kernel.inplace = read_call(op, entry["inplace"])
    kernel.generator = -1
    if "in_graph" in entry:
        kernel.generator = op.generator_argument
        if entry["in_graph"] is not None:
            kernel.graph_capture = read_call(op, entry["in_graph"])
        elif kernel.key in decompositions.IN_GRAPHS:
            kernel.graph_capture_decomposition = Decomposition(*decompositions.IN_GRAPHS[kernel.key])
    conditional = []
    for i, (name, call) in enumerate(entry.get("conditions", ())):
        kernel.condition[i] = CONDITIONS[<int>CONDITIONS_BY_NAME[name]]
        conditional.append(read_call(op, call))
    kernel.conditional, kernel.conditions = conditional, len(conditional)
    if "fallback" in entry:
        kernel.fallback = Decomposition(*decompositions.FALLBACKS[kernel.key])
        kernel.documented = <int64_t>entry["fallback"]
    kernel.chunked_lists = entry.get("parts")
    kernel.lists = len([i for i in range(op.argument_count) if op.argument_types[i] == operators.TENSOR_LIST])
    if kernel.generator >= 0 or kernel.conditions or kernel.fallback is not None or kernel.call.is_foreach:
        op.kernels[<int>NPU].call = run_selected_call
    elif kernel.inplace is not None:
        op.kernels[<int>NPU].call = run_call_or_inplace
    else:
        op.kernels[<int>NPU].data, op.kernels[<int>NPU].call = <void *>kernel.call, run_only_call
    return 0


cdef int run_aclnn(const Kernel *entry, Argument *arguments, ScalarType dtype, bint inplace) except -1:
    """The first call of a row's kernel, which reads the calls of the row. Of several threads one reads."""
    with once.first_use_lock:
        if entry.call == run_aclnn:
            read_kernel(<AclnnKernel>entry.data)
    return entry.call(entry, arguments, dtype, inplace)


cdef int run_only_call(const Kernel *entry, Argument *arguments, ScalarType dtype, bint inplace) except -1:
    return run_call(<AclnnCall>entry.data, arguments, dtype)


cdef inline bint takes_inplace(AclnnKernel kernel, const Argument *arguments) noexcept:
    """Whether the result is `self`, unless CANN documents its dtype for the plain call alone."""
    cdef TensorBase self
    if arguments[0].object != arguments[kernel.count].object:
        return False
    self = <TensorBase>arguments[0].object
    return ((kernel.inplace.preparations[0].mask >> <int>self.dtype) & 1
            or not (kernel.call.preparations[0].mask >> <int>self.dtype) & 1)


cdef int run_call_or_inplace(const Kernel *entry, Argument *arguments, ScalarType dtype, bint inplace) except -1:
    cdef AclnnKernel kernel = <AclnnKernel>entry.data
    return run_call(kernel.inplace if takes_inplace(kernel, arguments) else kernel.call, arguments, dtype)


cdef int run_selected_call(const Kernel *entry, Argument *arguments, ScalarType dtype, bint inplace) except -1:
    cdef AclnnKernel kernel = <AclnnKernel>entry.data
    cdef int i
    if kernel.fallback is not None and (
            kernel.call.function.phase1 == NULL or not (kernel.documented >> <int>dtype) & 1):
        return run_decomposition(kernel.fallback, arguments, dtype)
    if kernel.inplace is not None and takes_inplace(kernel, arguments):
        return run_call(kernel.inplace, arguments, dtype)
    if kernel.generator >= 0 and (<Generator>arguments[kernel.generator].object).seed_tensor is not None:
        if kernel.graph_capture is not None:
            return run_call(kernel.graph_capture, arguments, dtype)
        if kernel.graph_capture_decomposition is not None:
            return run_decomposition(kernel.graph_capture_decomposition, arguments, dtype)
        return raise_not_capturable(kernel.call.name)
    for i in range(kernel.conditions):
        if kernel.condition[i](arguments):
            return run_call(<AclnnCall>kernel.conditional[i], arguments, dtype)
    if kernel.call.per_tensor:
        return call_per_tensor(kernel.call, arguments, dtype)
    if kernel.chunked_lists is not None:
        return call_in_chunks(kernel, arguments, dtype)
    return run_call(kernel.call, arguments, dtype)


def register_calls():
    """Register the kernels of the operators with an ACLNN call."""
    cdef AclnnKernel kernel
    cdef Operator op
    from mindtorch._npu._gen import thunks  # no-cython-lint: importing it registers the functions
    from mindtorch._npu._gen.calls import CALLS
    for key, entry in CALLS.items():
        op = find_operator(key)
        kernel = AclnnKernel.__new__(AclnnKernel)
        kernel.key, kernel.entry = key, entry
        KEEP_ALIVE.append(kernel)
        op.kernels[<int>NPU].data = <void *>kernel
        op.kernels[<int>NPU].call = run_aclnn
        op.foreach_dtypes[<int>NPU] = <int64_t>entry.get("list_dtypes", 0)


# --- the backend -----------------------------------------------------------------------------------------------------


cdef int current_index() except -1:
    return thread_state().device


cdef intptr_t current_capture_id(int index) noexcept:
    return <intptr_t>current_capture(index)


def register():
    """Load CANN and register the backend of device type "npu". A device starts at its first use."""
    if BACKENDS[<int>NPU].ready:
        return
    ensure_acl()
    enable_executor_cache()
    BACKENDS[<int>NPU].allocate = allocate
    BACKENDS[<int>NPU].allocate_pinned = allocate_pinned
    BACKENDS[<int>NPU].current_index = current_index
    BACKENDS[<int>NPU].copy = copy
    BACKENDS[<int>NPU].read = read
    BACKENDS[<int>NPU].capturing = current_capture_id
    set_queue_phase1(phase1_by_key)
    register_copies()
    register_calls()
    register_decompositions()
    BACKENDS[<int>NPU].ready = True


# --- decompositions --------------------------------------------------------------------------------------------------
# ACLNN lacks some operators. Their kernels are Python functions over other operators.


cdef enum OperandConversion:
    AS_OBJECT                      # a tensor in its own dtype, a generator, or None
    AS_COMPUTED                    # a tensor in the opmath dtype: 16-bit floats become float32
    AS_SCALAR
    AS_INTS                        # a tuple
    AS_INT
    AS_FLOAT
    AS_BOOL
    AS_OPTIONAL_FLOAT

cdef dict OPERAND_CONVERSIONS = {
    "object": AS_OBJECT, "computed": AS_COMPUTED, "scalar": AS_SCALAR, "ints": AS_INTS, "int": AS_INT,
    "float": AS_FLOAT, "bool": AS_BOOL, "optional_float": AS_OPTIONAL_FLOAT}


cdef class Decomposition:
    def __init__(self, function, str conversions, int results):
        words = conversions.split()
        self.function, self.count, self.results = function, len(words), results
        for i, word in enumerate(words):
            self.conversions[i] = <int>OPERAND_CONVERSIONS[word]


cdef object convert(OperandConversion conversion, const Argument *argument, ScalarType dtype):
    if conversion == AS_OBJECT:
        return <object>argument.object
    if conversion == AS_COMPUTED:
        return to_opmath(<TensorBase>argument.object, dtype)
    if conversion == AS_SCALAR:
        return None if argument.scalar == NULL else scalar_to_python(argument.scalar)
    if conversion == AS_INTS:
        return ints_of(argument.ints)
    if conversion == AS_OPTIONAL_FLOAT:
        return None if argument.optional_real == NULL else argument.optional_real[0]
    if conversion == AS_FLOAT:
        return argument.real
    return argument.integer != 0 if conversion == AS_BOOL else argument.integer


cdef int run_decomposition(Decomposition made, Argument *arguments, ScalarType dtype) except -1:
    """Call the function and copy its results to the outputs.

    The operators inside record no history, because the row has a node of its own. Autocast is off inside, because it
    has cast the row's arguments.
    """
    cdef tuple values = PyTuple_New(made.count)
    cdef TensorBase target = <TensorBase>arguments[0].object if made.results == 0 else None
    cdef uint32_t version = 0 if target is None else version_of(target)
    cdef bint recorded
    cdef unsigned int casting
    cdef int i, first_result = made.count - made.results
    for i in range(made.count):
        value = convert(<OperandConversion>made.conversions[i], &arguments[i], dtype)
        Py_INCREF(value)
        PyTuple_SET_ITEM(values, i, value)
    recorded, casting = set_grad_enabled(False), disable()
    try:
        results = made.function(*values)
    finally:
        set_grad_enabled(recorded)
        set_enabled_devices(casting)
    if target is not None:              # the caller increments the version, once
        set_version(target, version)
        return copy_result(target, results)
    if made.results == 1:
        return copy_result(<TensorBase>arguments[first_result].object, results)
    return copy_results([<object>arguments[i].object for i in range(first_result, made.count)], results)


cdef int run_decomposition_kernel(const Kernel *kernel, Argument *arguments, ScalarType dtype, bint inplace) except -1:
    return run_decomposition(<Decomposition>kernel.data, arguments, dtype)


def register_decompositions():
    """Register the kernels of the operators that are decomposed on the NPU."""
    cdef Decomposition made
    cdef Operator op
    from mindtorch._npu._gen import decompositions
    for key, entry in decompositions.KERNELS.items():
        op, made = find_operator(key), Decomposition(*entry)
        KEEP_ALIVE.append(made)
        op.kernels[<int>NPU].data = <void *>made
        op.kernels[<int>NPU].call = run_decomposition_kernel


# --- adapters of arguments -------------------------------------------------------------------------------------------


cdef const Shape *dims_or_all(Shape *all_of_them, const Shape *dim, TensorBase self) noexcept:
    cdef int i
    if dim.ndim:
        return dim
    all_of_them.ndim = self.ndim
    for i in range(self.ndim):
        all_of_them.sizes[i] = i
    return all_of_them


cdef aclDataType dtype_of(TensorBase tensor) noexcept:
    return acl_dtype(tensor.dtype)


cdef const Shape *sizes_of(Shape *storage, TensorBase tensor) except NULL:
    same_shape(storage, tensor)
    return storage


cdef int div_mode(object rounding_mode) except -1:
    return {None: 0, "trunc": 1, "floor": 2}[rounding_mode]


cdef list add_weight_decay(list grads, list tensors, double weight_decay, bint maximize):
    cdef Scalar alpha
    if weight_decay == 0:
        return grads
    # The operator negates the result if `maximize`, so the decay has the other sign.
    float_scalar(&alpha, -weight_decay if maximize else weight_decay)
    return list(op__foreach_add_List(grads, tensors, &alpha))


cdef list steps_minus_one(list state_steps):
    cdef TensorBase base = common_base(state_steps)
    cdef Py_ssize_t i
    if base is None:
        return list(op__foreach_sub_Scalar(state_steps, &ONE))
    base = op_sub_Scalar(base, &ONE, &ONE, None)
    return [make_view(base, 0, NULL, NULL, i) for i in range(base.numel)]


cdef int scatter_reduction(object reduce) except -1:
    return {"add": 1, "sum": 1, "multiply": 2, "prod": 2, "amax": 3, "amin": 4, "mean": 5}[reduce]


cdef list index_list(list indices, TensorBase self):
    cdef Shape shape
    shape.ndim = 1
    shape.sizes[0] = 0
    absent = empty_tensor(&shape, Long, self.device_type, self.device_index)
    return [absent if index is None else index for index in indices]


cdef double or_zero(const double *value) noexcept:
    return 0 if value == NULL else value[0]


cdef double or_minus_one(const double *value) noexcept:
    return -1 if value == NULL else value[0]


cdef double or_epsilon(const double *value) noexcept:
    return FLT_EPSILON if value == NULL else value[0]


cdef double or_dtype_max(const double *value, TensorBase tensor) noexcept:
    if value != NULL:
        return value[0]
    if tensor.dtype == Half:
        return 65504
    return 2.0 ** 128 - 2.0 ** 120 if tensor.dtype == BFloat16 else FLT_MAX


cdef double or_dtype_min(const double *value, TensorBase tensor) noexcept:
    return -or_dtype_max(NULL, tensor) if value == NULL else value[0]


cdef TensorBase cast_to(TensorBase tensor, ScalarType dtype):
    cdef Shape shape
    cdef TensorBase made
    same_shape(&shape, tensor)
    made = empty_tensor(&shape, dtype, tensor.device_type, tensor.device_index)
    copy_data(made, tensor, True)
    return made


cdef TensorBase cast(TensorBase tensor, TensorBase out):
    return tensor if tensor.dtype == out.dtype else cast_to(tensor, out.dtype)


cdef TensorBase to_opmath(TensorBase tensor, ScalarType dtype):
    dtype = opmath(dtype)
    return tensor if tensor.dtype == dtype else cast_to(tensor, dtype)


cdef int copy_result(TensorBase out, object result) except -1:
    if result is not out:
        copy_data(out, result, True)
    return 0


cdef int copy_results(list outs, object results) except -1:
    cdef tuple found = tuple(results)
    cdef Py_ssize_t i
    if len(found) != len(outs):
        raise ValueError(f"a decomposition has given {len(found)} results for {len(outs)} outputs")
    for i in range(len(outs)):
        copy_result(outs[i], found[i])
    return 0


cdef list cast_list(list tensors, TensorBase out):
    cdef TensorBase tensor
    return [cast(tensor, out) for tensor in tensors]


cdef list cat_list(list tensors, TensorBase out):
    cdef TensorBase tensor
    return [cast(tensor, out) for tensor in tensors if tensor.ndim != 1 or tensor.numel != 0]


cdef TensorBase flatten_without_dim(TensorBase tensor, const Shape *dim):
    return tensor if dim.ndim else flatten(tensor)


cdef TensorBase flatten(TensorBase tensor):
    tensor = make_contiguous(tensor)
    return make_view(tensor, 1, &tensor.numel, NULL, tensor.offset)


cdef TensorBase as_row_matrix(TensorBase tensor):
    cdef int64_t sizes[2]
    cdef int64_t strides[2]
    sizes[0], sizes[1] = 1, tensor.sizes[0]
    strides[0], strides[1] = tensor.sizes[0], tensor.strides[0]
    return make_view(tensor, 2, sizes, strides, tensor.offset)


cdef TensorBase ones_like_dtype(TensorBase like, const Shape *shape):
    return op_fill__Scalar(empty_tensor(shape, like.dtype, like.device_type, like.device_index), &ONE)


cdef int64_t first_or_zero(const Shape *values) noexcept:
    return values.sizes[0] if values.ndim else 0


cdef bint keepdim_or_all(bint keepdim, const Shape *dim) noexcept:
    return keepdim or dim.ndim == 0


cdef const Scalar *float_scalar(Scalar *storage, double value) noexcept:
    storage.kind = FLOAT_KIND
    storage.real = value
    return storage


cdef enum:
    OFFSET_INCREMENT = 10          # by how much a call advances the generator's offset, as in torch_npu


cdef int64_t seed_of(Generator generator) noexcept:
    return <int64_t>generator.seed_value


cdef int64_t next_offset(Generator generator) noexcept:
    return generator.advance(OFFSET_INCREMENT)


cdef TensorBase seed_tensor(Generator generator):
    return generator.seed_tensor


cdef TensorBase offset_tensor(Generator generator):
    return generator.offset_tensor


cdef TensorBase expand_as(TensorBase tensor, TensorBase out):
    cdef Shape strides
    cdef int i, j
    for i in range(out.ndim):
        j = i - (out.ndim - tensor.ndim)
        strides.sizes[i] = 0 if j < 0 or tensor.sizes[j] != out.sizes[i] else tensor.strides[j]
    return make_view(tensor, out.ndim, out.sizes, strides.sizes, tensor.offset)


cdef TensorBase in_batch(TensorBase matrices, TensorBase other):
    cdef Shape sizes, strides
    cdef int i, j
    for i in range(other.ndim):
        j = i - (other.ndim - matrices.ndim)
        sizes.sizes[i] = matrices.sizes[j] if i >= other.ndim - 2 else other.sizes[i]
        strides.sizes[i] = 0 if j < 0 or matrices.sizes[j] != sizes.sizes[i] else matrices.strides[j]
    return make_view(matrices, other.ndim, sizes.sizes, strides.sizes, matrices.offset)


cdef int qr_mode(object mode) except -1:
    return {"reduced": 0, "complete": 1, "r": 2}[mode]


cdef int64_t EXACT_INT_ENDS[NUM_SCALAR_TYPES]  # by ScalarType; 1 << 63 is no int64, so the largest int64 is never drawn
for dtype, end in ((Bool, 2), (Byte, 1 << 8), (Char, 1 << 7), (Short, 1 << 15), (Int, 1 << 31), (Long, (1 << 63) - 1),
                   (Half, (1 << 11) + 1), (BFloat16, (1 << 8) + 1), (Float, (1 << 24) + 1), (Double, (1 << 53) + 1)):
    EXACT_INT_ENDS[<int>dtype] = end


cdef int64_t numel_of(TensorBase tensor) noexcept:
    return tensor.numel


cdef TensorBase inverse_or_temporary(TensorBase inverse, TensorBase self, bint return_counts):
    cdef Shape shape
    if not return_counts or inverse.numel == self.numel:
        return inverse
    same_shape(&shape, self)
    return empty_tensor(&shape, Long, self.device_type, self.device_index)


cdef int64_t dim_or_none(const Shape *dim) noexcept:
    return dim.sizes[0] if dim.ndim else 1000       # means no dim, as in torch_npu


cdef int64_t size_at_dim(TensorBase tensor, const Shape *dim) noexcept:
    cdef int64_t axis = dim.sizes[0]
    return tensor.sizes[axis + tensor.ndim if axis < 0 else axis]


cdef TensorBase view_as_slices(TensorBase source, TensorBase self, int64_t dim, TensorBase index):
    cdef Shape shape
    if source.ndim == self.ndim:
        return source
    same_shape(&shape, self)
    if self.ndim:
        shape.sizes[dim] = index.numel
    return make_view(source, shape.ndim, shape.sizes, NULL, source.offset)


cdef int64_t num_heads_of(TensorBase query) noexcept:
    return query.sizes[1]


cdef TensorBase empty_output(TensorBase tensor):
    cdef Shape shape
    shape.ndim = 1
    shape.sizes[0] = 0
    return empty_tensor(&shape, tensor.dtype, tensor.device_type, tensor.device_index)


cdef TensorBase out_or_temporary(TensorBase out, TensorBase like):
    cdef Shape shape
    if out is not None:
        return out
    same_shape(&shape, like)
    return empty_tensor(&shape, like.dtype, like.device_type, like.device_index)


cdef int64_t rows_of(TensorBase matrix) noexcept:
    return matrix.sizes[0]


cdef int64_t columns_of(TensorBase matrix) noexcept:
    return matrix.sizes[1]


cdef int64_t to_or_max(const Shape *to) noexcept:
    return to.sizes[0] if to.ndim else INT64_MAX


cdef int64_t random_end_of(TensorBase self) noexcept:
    cdef int dtype = <int>self.dtype
    return EXACT_INT_ENDS[dtype]


cdef int64_t int_correction(const Scalar *correction) except? -1:
    if correction == NULL:
        return 1
    if correction.real != <int64_t>correction.real:
        raise NotImplementedError(f"a correction of {correction.real} is not supported on npu: ACLNN takes integers")
    return <int64_t>correction.real


cdef const Scalar *dim_scalar(Scalar *storage, int64_t dim) noexcept:
    storage.kind = INT_KIND
    storage.integer = dim
    storage.real = <double>dim
    storage.imag = 0
    return storage


cdef bint is_right_side(bint right, object side) except -1:
    return right or side == "right"


cdef double double_of(const Scalar *value) noexcept:
    return value.real


cdef list list_of(TensorBase tensor):
    return [] if tensor is None else [make_contiguous(tensor)]


cdef int rotary_mode(object mode) except -1:
    return 0 if mode == "half" else 1


cdef dict ATTENTION_LAYOUTS = {"BNSD": b"BNSD", "BSND": b"BSND", "BSH": b"BSH", "SBH": b"SBH"}


cdef char *attention_layout(object layout) except NULL:
    cdef bytes name = ATTENTION_LAYOUTS[layout]     # the dict keeps the bytes alive
    return name
