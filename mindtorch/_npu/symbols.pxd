"""The two structs through which every CANN call goes. All their members are NULL until the loader fills them."""
from mindtorch._npu._gen.aclnn_api cimport AclnnApi
from mindtorch._npu.cann.cann_api cimport CannApi

cdef CannApi api            # runtime and descriptors: complete once the loader has succeeded, but for the optional ones
cdef AclnnApi aclnn         # operators: NULL where the toolkit has none

# Raises where the toolkit lacks an optional function.
cdef int require(void *function, str name) except -1
