"""How the NPU runs an operator: a call of ACLNN is data, and one function prepares and marshals its arguments."""
from cpython.ref cimport PyObject

from mindtorch._core.operator cimport Argument, Kernel
from mindtorch._core.scalar cimport Scalar, ScalarType
from mindtorch._core.tensor cimport Shape
from mindtorch._npu.cann.aclnn_call cimport AclnnPhase1


cdef union Storage:             # what an adapter may fill
    Shape shape
    Scalar scalar

# An adapter of adapt.pxd: fills `result`, and gives the object that has to live as long as the call, or None.
ctypedef object (*AdapterFunction)(Argument *values, Argument *result, Storage *storage)
ctypedef int (*ConditionFunction)(Argument *arguments) except -1

cdef int register_thunks(AclnnPhase1 *signatures, dict adapters_by_name, AdapterFunction *adapters,
                         dict conditions_by_name, ConditionFunction *conditions) except -1
