"""Ranges of host time that a profile records: operators, nodes of backward, launches, blocks of record_function."""
from libc.stdint cimport int64_t


cdef enum RecordScope:                       # torch's numbers
    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    USER_SCOPE = 7


cdef class Range:                      # one call
    cdef readonly str name
    cdef readonly str category          # in traces: cpu_op, user_annotation, privateuse1_runtime
    cdef readonly int scope
    cdef readonly int64_t start_ns      # in nanoseconds of `clock`
    cdef readonly int64_t end_ns        # 0 while the call runs
    cdef readonly int64_t memory_delta  # the growth of the NPU's allocated memory, in bytes
    cdef readonly int64_t sequence_nr   # of a node of backward; else -1
    cdef readonly int64_t flops
    cdef readonly Range parent          # the range around it
    cdef readonly list shapes           # of the arguments; None where the profile has no shapes
    cdef readonly list stack            # the Python frames, innermost first; None where the profile has no stacks
    cdef readonly object device_time    # of a launch: a DeviceTime of _npu/launch.pyx; None where it is not measured
    cdef list ranges                    # the profile's list of ranges

cdef bint records_operators                                       # whether the functions of operators make ranges
cdef bint is_thread_profiled() noexcept                           # whether a profile records the calling thread
cdef Range open_range(str name, RecordScope scope, str category)  # None where no profile records the thread
cdef int close_range(Range opened) except -1                      # of a range of `open_range`, or None
cdef int64_t clock() noexcept nogil                               # monotonic, in nanoseconds
# adds a range without children that ends now
cdef int add_finished_range(str name, str category, int64_t began, object device_time) except -1
cdef int set_shapes(Range opened, list arguments) except -1     # where the profile has shapes
cdef int set_flops(Range opened, object result) except -1       # where the profile has flops
# Calls a function of two operands in a range of that name.
cdef object profiled_binary(object (*function)(object, object), str name, object a, object b)
cdef str index_name(object index)                                # the operator's name in profiles, of x[index]
cdef str assignment_name(object index, object value)             # of x[index] = value
