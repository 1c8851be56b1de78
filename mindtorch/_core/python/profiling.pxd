"""Ranges of host time that a profile records: operators, nodes of backward, launches, what record_function names."""
from libc.stdint cimport int64_t


cdef enum Scope:                       # torch's numbers
    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    USER_SCOPE = 7


cdef class Range:                      # one call
    cdef readonly str name
    cdef readonly str category         # as traces have it: cpu_op, user_annotation, privateuse1_runtime
    cdef readonly int scope
    cdef readonly int64_t start        # in nanoseconds of `clock`
    cdef readonly int64_t end          # 0 while the call runs
    cdef readonly int64_t memory       # by how many bytes the NPU's allocated memory has grown
    cdef readonly int64_t sequence_nr  # of a node of backward; else -1
    cdef readonly int64_t flops
    cdef readonly Range parent         # the range that it is in
    cdef readonly list shapes          # of the arguments; None where they are not recorded
    cdef readonly list stack           # the Python frames, innermost first; None where they are not recorded
    cdef list recording

cdef bint records_operators                                      # whether the functions of operators make ranges
cdef bint recording_thread() noexcept                            # whether the calling thread is being recorded
cdef Range begin(str name, Scope scope, str category)            # None where nothing is recorded
cdef int end(Range opened) except -1                             # takes what `begin` gave, None included
cdef int64_t clock() noexcept nogil                              # in nanoseconds, only forward
cdef int note_call(str name, str category, int64_t began) except -1     # a range without others in it that ends now
cdef int note_shapes(Range opened, list arguments) except -1     # where they are recorded
cdef int note_flops(Range opened, object result) except -1
# A function of two operands in a range of that name.
cdef object profiled_binary(object (*own)(object, object), str name, object a, object b)
cdef str index_name(object index)
cdef str assignment_name(object index, object value)
