"""Python's operators: what `a + b` runs, in OPERATORS of tensor.pxd.

Each sees the operands in Python's order; either may be the tensor. What is no tensor and no number gets
NotImplemented, so that the other operand's type can answer.
"""
from cpython.ref cimport PyObject

cimport mindtorch._core.profiling as profiling
cimport mindtorch._core.torch_function as torch_function
from mindtorch._core.dispatch cimport wrapped_number
from mindtorch._core.operator cimport MAX_ARGUMENTS, Argument, Operator, find_operator
from mindtorch._core.operator_function cimport default_argument
from mindtorch._core.run_operator cimport load, run, run_inplace
from mindtorch._core.scalar cimport Scalar, is_scalar, scalar_from
from mindtorch._core.tensor cimport OPERATORS, TensorBase


cdef enum Reverse:              # what a number on the left does
    REFUSED                     # torch's tensors answer through the other operator: 1 < x is x > 1
    SWAPPED                     # the operator for (tensor, number) takes them
    IN_ORDER                    # the operator for (number, tensor)
    WRAPPED                     # it becomes a tensor
    RECIPROCAL                  # number / tensor is number * (1 / tensor)

cdef class Call:
    """An operator, and its arguments beyond the two operands."""
    cdef Operator op
    cdef int first, second                      # the places of the operands
    cdef bint first_wrapped, second_wrapped     # whether a number becomes a tensor there
    cdef int rest_count
    cdef int rest_places[MAX_ARGUMENTS]
    cdef Argument rest[MAX_ARGUMENTS]
    cdef list kept                              # what they point to

cdef class NumberOperator:
    cdef str slot                               # of OPERATORS
    cdef str event                              # the name in profiles
    cdef Call of_tensors, with_number, of_number
    cdef Reverse reverse

# slot -> rows for (tensor, tensor), (tensor, number), and a number on the left.
cdef dict BINARY = {
    "add": ("add.Tensor", "add.Scalar", "add.Scalar", SWAPPED),
    "sub": ("sub.Tensor", "sub.Scalar", "rsub.Scalar", SWAPPED),
    "mul": ("mul.Tensor", "mul.Scalar", "mul.Scalar", SWAPPED),
    "truediv": ("div.Tensor", "div.Scalar", "mul.Scalar", RECIPROCAL),
    "floordiv": ("floor_divide", "floor_divide.Scalar", "floor_divide", WRAPPED),
    "mod": ("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor", IN_ORDER),
    "matmul": ("matmul", None, None, REFUSED),
    "pow": ("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar", IN_ORDER),
    "and_": ("bitwise_and.Tensor", "bitwise_and.Scalar", "bitwise_and.Scalar", SWAPPED),
    "or_": ("bitwise_or.Tensor", "bitwise_or.Scalar", "bitwise_or.Scalar", SWAPPED),
    "xor": ("bitwise_xor.Tensor", "bitwise_xor.Scalar", "bitwise_xor.Scalar", SWAPPED),
    "lshift": ("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "bitwise_left_shift.Scalar_Tensor",
               IN_ORDER),
    "rshift": ("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "bitwise_right_shift.Scalar_Tensor",
               IN_ORDER),
    "lt": ("lt.Tensor", "lt.Scalar", None, REFUSED), "le": ("le.Tensor", "le.Scalar", None, REFUSED),
    "eq": ("eq.Tensor", "eq.Scalar", None, REFUSED), "ne": ("ne.Tensor", "ne.Scalar", None, REFUSED),
    "gt": ("gt.Tensor", "gt.Scalar", None, REFUSED), "ge": ("ge.Tensor", "ge.Scalar", None, REFUSED),
    "iadd": ("add.Tensor", "add.Scalar", None, REFUSED), "isub": ("sub.Tensor", "sub.Scalar", None, REFUSED),
    "imul": ("mul.Tensor", "mul.Scalar", None, REFUSED), "itruediv": ("div.Tensor", "div.Scalar", None, REFUSED),
    "ipow": ("pow.Tensor_Tensor", "pow.Tensor_Scalar", None, REFUSED),
    "ifloordiv": ("floor_divide", "floor_divide.Scalar", None, REFUSED),
    "imod": ("remainder.Tensor", "remainder.Scalar", None, REFUSED),
    "iand": ("bitwise_and.Tensor", "bitwise_and.Scalar", None, REFUSED),
    "ior": ("bitwise_or.Tensor", "bitwise_or.Scalar", None, REFUSED),
    "ixor": ("bitwise_xor.Tensor", "bitwise_xor.Scalar", None, REFUSED),
    "ilshift": ("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", None, REFUSED),
    "irshift": ("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", None, REFUSED),
    "neg": ("neg", None, None, REFUSED), "abs": ("abs", None, None, REFUSED),
    "invert": ("bitwise_not", None, None, REFUSED)}
# What profiles call them where that is not the row's name.
cdef dict EVENTS = {
    "and_": "__and__", "or_": "__or__", "xor": "__xor__", "lshift": "__lshift__", "rshift": "__rshift__",
    "iand": "__iand__", "ior": "__ior__", "ixor": "__ixor__", "ilshift": "__ilshift__", "irshift": "__irshift__"}
cdef set UNARY = {"neg", "abs", "invert"}
cdef tuple INPLACE = ("iadd", "isub", "imul", "itruediv", "ipow", "ifloordiv", "imod", "iand", "ior", "ixor", "ilshift",
                      "irshift")
cdef Operator RECIPROCAL_OF = find_operator("reciprocal")


# --- reading the tables ----------------------------------------------------------------------------------------------

cdef dict overloads_by_row():
    """Row -> its overload, and the parameters of the function, as in _gen/functions.py."""
    from mindtorch._core._gen import functions
    found = {}
    for table in (functions.METHODS, functions.ATEN, functions.FUNCTIONS):
        for spec in table.values():
            if isinstance(spec, dict):
                found |= {overload[0]: (overload, spec["parameters"]) for overload in spec["overloads"]}
    return found


cdef Call read_call(dict overloads, str key):
    cdef Call call
    cdef int i
    if key is None:
        return None
    (_, target, _, conversions, defaults), parameters = overloads[key]
    call = Call.__new__(Call)
    call.op, call.kept = find_operator(target), []
    load(call.op)
    first, *others = conversions
    call.first, call.first_wrapped = first[2], len(first) > 3
    call.second = -1
    rest = dict(defaults)
    if others:
        second = others.pop(0)
        call.second, call.second_wrapped = second[2], len(second) > 3
    for parameter, _, place, *_ in others:
        rest[place] = parameters[parameter][1]
    for i, (place, value) in enumerate(rest.items()):
        call.rest_places[i] = place
        call.kept.append(default_argument(&call.rest[i], call.op.types[place], value))
    call.rest_count = len(rest)
    return call


cdef list read_all():
    overloads = overloads_by_row()
    found = []
    cdef NumberOperator made
    for slot in SLOTS:
        tensors, number, left, reverse = BINARY[slot]
        made = NumberOperator.__new__(NumberOperator)
        made.slot, made.reverse = slot, <Reverse><int>reverse
        name = tensors.partition(".")[0] + "_" * (slot in INPLACE)
        made.event = f"aten::{EVENTS.get(slot, name)}"
        made.of_tensors, made.with_number = read_call(overloads, tensors), read_call(overloads, number)
        made.of_number = read_call(overloads, left)
        found.append(made)
    return found


# --- running ---------------------------------------------------------------------------------------------------------

cdef inline object finish_call(Call call, Argument *arguments, bint inplace):
    cdef int i
    for i in range(call.rest_count):
        arguments[call.rest_places[i]] = call.rest[i]
    arguments[call.op.count].object = <PyObject *>None
    return run_inplace(call.op, arguments) if inplace else run(call.op, arguments)


cdef inline object call_tensors(Call call, object a, object b, bint inplace):
    cdef Argument arguments[MAX_ARGUMENTS]
    arguments[call.first].object, arguments[call.second].object = <PyObject *>a, <PyObject *>b
    return finish_call(call, arguments, inplace)


cdef object call_with_number(Call call, object tensor, Scalar *number, bint inplace):
    cdef Argument arguments[MAX_ARGUMENTS]
    cdef TensorBase wrapped
    arguments[call.first].object = <PyObject *>tensor
    if call.second_wrapped:
        wrapped = wrapped_number(number, <TensorBase>tensor)
        arguments[call.second].object = <PyObject *>wrapped
    else:
        arguments[call.second].scalar = number
    return finish_call(call, arguments, inplace)


cdef object call_of_number(Call call, Scalar *number, object tensor):
    cdef Argument arguments[MAX_ARGUMENTS]
    cdef TensorBase wrapped
    arguments[call.second].object = <PyObject *>tensor
    if call.first_wrapped:
        wrapped = wrapped_number(number, <TensorBase>tensor)
        arguments[call.first].object = <PyObject *>wrapped
    else:
        arguments[call.first].scalar = number
    return finish_call(call, arguments, False)


cdef object number_on_the_left(NumberOperator spec, Scalar *number, object b):
    cdef Argument arguments[2]
    if spec.reverse == SWAPPED:
        return call_with_number(spec.of_number, b, number, False)
    if spec.reverse == IN_ORDER:
        return call_of_number(spec.of_number, number, b)
    if spec.reverse == WRAPPED:
        return call_tensors(spec.of_number, wrapped_number(number, <TensorBase>b), b, False)
    arguments[0].object, arguments[1].object = <PyObject *>b, <PyObject *>None
    return call_with_number(spec.of_number, run(RECIPROCAL_OF, arguments), number, False)


cdef object compute(NumberOperator spec, object a, object b, bint inplace):
    cdef Scalar number
    if isinstance(a, TensorBase):
        if isinstance(b, TensorBase):
            return call_tensors(spec.of_tensors, a, b, inplace)
        if spec.with_number is not None and is_scalar(b):
            scalar_from(b, &number)
            return call_with_number(spec.with_number, a, &number, inplace)
    elif spec.reverse != REFUSED and is_scalar(a):
        scalar_from(a, &number)
        return number_on_the_left(spec, &number, b)
    if torch_function.discover(a, b):
        return torch_function.ask_for_operator(spec.slot, (a, b))
    return NotImplemented


cdef inline object binary(int slot, object a, object b, bint inplace=False):
    if profiling.records_operators or torch_function.active:
        return watched(<NumberOperator>SPECIFICATIONS[slot], a, b, inplace)
    return compute(<NumberOperator>SPECIFICATIONS[slot], a, b, inplace)


cdef object watched(NumberOperator spec, object a, object b, bint inplace):
    """The same where a profile runs, or operands may have to be asked."""
    cdef profiling.Range opened = None
    cdef object result
    if profiling.records_operators:
        reflected = spec.slot == "sub" and not isinstance(a, TensorBase)
        opened = profiling.begin("aten::rsub" if reflected else spec.event, profiling.FUNCTION, "cpu_op")
        if opened is not None:
            profiling.note_shapes(opened, [a, b])
    try:
        if torch_function.active and torch_function.operands_ask(a, b):
            result = torch_function.ask_for_operator(spec.slot, (a, b))
        else:
            result = compute(spec, a, b, inplace)
    finally:
        profiling.end(opened)
    if opened is not None:
        profiling.note_flops(opened, result)
    return result


cdef object unary(int slot, object a):
    cdef NumberOperator spec = <NumberOperator>SPECIFICATIONS[slot]
    cdef profiling.Range opened = None
    cdef Argument arguments[2]
    if torch_function.active and torch_function.operands_ask(a, a):
        return torch_function.ask_for_operator(spec.slot, (a,))
    if profiling.records_operators:
        opened = profiling.begin(spec.event, profiling.FUNCTION, "cpu_op")
        if opened is not None:
            profiling.note_shapes(opened, [a])
    arguments[0].object, arguments[1].object = <PyObject *>a, <PyObject *>None
    try:
        return run(spec.of_tensors.op, arguments)
    finally:
        profiling.end(opened)


# --- the slots -------------------------------------------------------------------------------------------------------

cdef enum Slot:
    SLOT_ADD, SLOT_SUB, SLOT_MUL, SLOT_TRUEDIV, SLOT_FLOORDIV, SLOT_MOD, SLOT_MATMUL, SLOT_POW, SLOT_AND,
    SLOT_OR, SLOT_XOR, SLOT_LSHIFT, SLOT_RSHIFT, SLOT_LT, SLOT_LE, SLOT_EQ, SLOT_NE, SLOT_GT, SLOT_GE,
    SLOT_IADD, SLOT_ISUB, SLOT_IMUL, SLOT_ITRUEDIV, SLOT_IPOW, SLOT_IFLOORDIV, SLOT_IMOD, SLOT_IAND, SLOT_IOR,
    SLOT_IXOR, SLOT_ILSHIFT, SLOT_IRSHIFT, SLOT_NEG, SLOT_ABS, SLOT_INVERT

cdef tuple SLOTS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "pow", "and_", "or_", "xor", "lshift",
    "rshift", "lt", "le", "eq", "ne", "gt", "ge", "iadd", "isub", "imul", "itruediv", "ipow", "ifloordiv",
    "imod", "iand", "ior", "ixor", "ilshift", "irshift", "neg", "abs", "invert")
cdef list SPECIFICATIONS = read_all()


cdef object add(object a, object b):
    return binary(SLOT_ADD, a, b)


cdef object sub(object a, object b):
    return binary(SLOT_SUB, a, b)


cdef object mul(object a, object b):
    return binary(SLOT_MUL, a, b)


cdef object truediv(object a, object b):
    return binary(SLOT_TRUEDIV, a, b)


cdef object floordiv(object a, object b):
    return binary(SLOT_FLOORDIV, a, b)


cdef object mod(object a, object b):
    return binary(SLOT_MOD, a, b)


cdef object matmul(object a, object b):
    return binary(SLOT_MATMUL, a, b)


cdef object pow(object a, object b):
    return binary(SLOT_POW, a, b)


cdef object and_(object a, object b):
    return binary(SLOT_AND, a, b)


cdef object or_(object a, object b):
    return binary(SLOT_OR, a, b)


cdef object xor(object a, object b):
    return binary(SLOT_XOR, a, b)


cdef object lshift(object a, object b):
    return binary(SLOT_LSHIFT, a, b)


cdef object rshift(object a, object b):
    return binary(SLOT_RSHIFT, a, b)


cdef object lt(object a, object b):
    return binary(SLOT_LT, a, b)


cdef object le(object a, object b):
    return binary(SLOT_LE, a, b)


cdef object eq(object a, object b):
    return binary(SLOT_EQ, a, b)


cdef object ne(object a, object b):
    return binary(SLOT_NE, a, b)


cdef object gt(object a, object b):
    return binary(SLOT_GT, a, b)


cdef object ge(object a, object b):
    return binary(SLOT_GE, a, b)


cdef object iadd(object a, object b):
    return binary(SLOT_IADD, a, b, True)


cdef object isub(object a, object b):
    return binary(SLOT_ISUB, a, b, True)


cdef object imul(object a, object b):
    return binary(SLOT_IMUL, a, b, True)


cdef object itruediv(object a, object b):
    return binary(SLOT_ITRUEDIV, a, b, True)


cdef object ipow(object a, object b):
    return binary(SLOT_IPOW, a, b, True)


cdef object ifloordiv(object a, object b):
    return binary(SLOT_IFLOORDIV, a, b, True)


cdef object imod(object a, object b):
    return binary(SLOT_IMOD, a, b, True)


cdef object iand(object a, object b):
    return binary(SLOT_IAND, a, b, True)


cdef object ior(object a, object b):
    return binary(SLOT_IOR, a, b, True)


cdef object ixor(object a, object b):
    return binary(SLOT_IXOR, a, b, True)


cdef object ilshift(object a, object b):
    return binary(SLOT_ILSHIFT, a, b, True)


cdef object irshift(object a, object b):
    return binary(SLOT_IRSHIFT, a, b, True)


cdef object neg(object a):
    return unary(SLOT_NEG, a)


cdef object abs(object a):
    return unary(SLOT_ABS, a)


cdef object invert(object a):
    return unary(SLOT_INVERT, a)


OPERATORS.add = add
OPERATORS.sub = sub
OPERATORS.mul = mul
OPERATORS.truediv = truediv
OPERATORS.floordiv = floordiv
OPERATORS.mod = mod
OPERATORS.matmul = matmul
OPERATORS.pow = pow
OPERATORS.and_ = and_
OPERATORS.or_ = or_
OPERATORS.xor = xor
OPERATORS.lshift = lshift
OPERATORS.rshift = rshift
OPERATORS.lt = lt
OPERATORS.le = le
OPERATORS.eq = eq
OPERATORS.ne = ne
OPERATORS.gt = gt
OPERATORS.ge = ge
OPERATORS.iadd = iadd
OPERATORS.isub = isub
OPERATORS.imul = imul
OPERATORS.itruediv = itruediv
OPERATORS.ipow = ipow
OPERATORS.ifloordiv = ifloordiv
OPERATORS.imod = imod
OPERATORS.iand = iand
OPERATORS.ior = ior
OPERATORS.ixor = ixor
OPERATORS.ilshift = ilshift
OPERATORS.irshift = irshift
OPERATORS.neg = neg
OPERATORS.abs = abs
OPERATORS.invert = invert
