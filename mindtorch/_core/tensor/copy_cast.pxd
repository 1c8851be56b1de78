"""Copies, casts and moves between devices."""
from mindtorch._core.tensor.dtype cimport ScalarType
from mindtorch._core.tensor.tensor cimport TensorBase


cdef TensorBase contiguous(TensorBase self)                    # self when it is contiguous
cdef TensorBase clone_tensor(TensorBase self)

# Self when nothing changes and `copy` is not asked for. A cast happens on the device that has a kernel for it.
cdef TensorBase to_copy(TensorBase self, ScalarType dtype, int device_type, int device_index, bint non_blocking,
                        bint copy)
cdef TensorBase copy_tensor_(TensorBase self, TensorBase source, bint non_blocking)      # Tensor.copy_
cdef int set_memory_format(TensorBase self, object format, const char *function) except -1
cdef object fill_new_memory              # a function that is called with tensors of undefined elements, or None
cdef str legacy_type_name(TensorBase self)                          # "torch.FloatTensor", "torch.npu.FloatTensor"
