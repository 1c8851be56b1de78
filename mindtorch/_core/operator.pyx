from mindtorch._core.dtype cimport code_name

cdef dict OPERATORS_BY_KEY = {}
cdef dict RULE_PLACES = {}
cdef RuleFunction *RULE_FUNCTIONS = NULL


cdef class Operator:
    def __init__(self, str key):
        self.key = key      # no device has a kernel until its backend registers one
        self.name = key.partition(".")[0]

    def __repr__(self):
        return f"<operator {self.key}>"


cdef Operator find_operator(str key):
    found = OPERATORS_BY_KEY.get(key)
    if found is None:
        found = OPERATORS_BY_KEY.setdefault(key, Operator(key))
    return <Operator>found


cdef int register_rules(dict places, RuleFunction *functions) except -1:
    global RULE_FUNCTIONS
    RULE_PLACES.update(places)
    RULE_FUNCTIONS = functions
    return 0


cdef RuleFunction find_rule(str name) except NULL:
    return RULE_FUNCTIONS[<int>RULE_PLACES[name]]


cdef int no_kernel(Operator op, int device_type, ScalarType dtype) except -1:
    raise NotImplementedError(
        f"Could not run '{op.key}' on {('cpu', 'npu')[device_type]} (dtype {code_name(dtype)}): "
        "there is no kernel for it on that device")
