/* aclTensor and aclScalar: creation, destruction, reading. */
#include <cstring>

#include "nnopbase/objects.h"
#include "nnopbase/pool.h"

namespace sim {

namespace {

SIM_COLD void forgetShape(aclTensor *tensor) { tensor->found.reset(); }

bool fill(aclTensor *tensor, const char *function, const int64_t *dims, uint64_t rank, aclDataType type,
          const int64_t *strides, int64_t offset, aclFormat format, const int64_t *storage_dims, uint64_t storage_rank,
          void *data) {
  if ((dims == nullptr && rank > 0) || (storage_dims == nullptr && storage_rank > 0)) {
    simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "%s: %s is NULL but its count is not 0", function,
            dims == nullptr && rank > 0 ? "viewDims" : "storageDims");
    return false;
  }
  if (rank > kMaxDims || storage_rank > kMaxDims) {
    simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %llu dimensions, at most %u are possible", function,
            static_cast<unsigned long long>(rank > kMaxDims ? rank : storage_rank), kMaxDims);
    return false;
  }
  tensor->type = type;
  tensor->format = format;
  tensor->rank = static_cast<uint32_t>(rank);
  tensor->storage_rank = static_cast<uint32_t>(storage_rank);
  tensor->offset = offset;
  tensor->data = data;
  if (tensor->found) forgetShape(tensor);
  for (uint64_t i = 0; i < rank; ++i) tensor->dims[i] = dims[i];
  for (uint64_t i = 0; i < storage_rank; ++i) tensor->storage_dims[i] = storage_dims[i];
  if (strides != nullptr) {
    for (uint64_t i = 0; i < rank; ++i) tensor->strides[i] = strides[i];
    return true;
  }
  uint64_t stride = 1; /* unsigned: absurd dims may wrap here, phase 1 refuses them */
  for (uint64_t i = rank; i-- > 0; stride *= static_cast<uint64_t>(dims[i])) {
    tensor->strides[i] = static_cast<int64_t>(stride);
  }
  return true;
}

aclnnStatus notATensor(const char *function, const aclTensor *tensor) {
  if (tensor == nullptr) return simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "%s: tensor is NULL", function);
  return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %p is no live aclTensor", function,
                 static_cast<const void *>(tensor));
}

/* Copies to an array that the caller frees with delete[]. */
aclnnStatus copyOut(const char *function, const int64_t *from, uint64_t count, int64_t **values, uint64_t *size) {
  if (values == nullptr || size == nullptr) {
    return simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "%s: an output pointer is NULL", function);
  }
  *values = new int64_t[count];
  for (uint64_t i = 0; i < count; ++i) (*values)[i] = from[i];
  *size = count;
  return ACLNN_SUCCESS;
}

}  // namespace

aclnnStatus destroyTensor(const aclTensor *tensor) {
  if (tensor == nullptr) return ACLNN_SUCCESS;
  if (!isLive(tensor, kTensorMagic)) return notATensor("aclDestroyTensor", tensor);
  aclTensor *object = const_cast<aclTensor *>(tensor);
  object->header.magic = kDead;
  ++object->header.generation;
  if (object->found) forgetShape(object);
  Pool<aclTensor>::release(object);
  simCount(SIM_TENSOR, -1);
  return ACLNN_SUCCESS;
}

aclnnStatus destroyScalar(const aclScalar *scalar) {
  if (scalar == nullptr) return ACLNN_SUCCESS;
  if (!isLive(scalar, kScalarMagic)) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "aclDestroyScalar: %p is no live aclScalar",
                   static_cast<const void *>(scalar));
  }
  aclScalar *object = const_cast<aclScalar *>(scalar);
  object->header.magic = kDead;
  ++object->header.generation;
  Pool<aclScalar>::release(object);
  simCount(SIM_SCALAR, -1);
  return ACLNN_SUCCESS;
}

}  // namespace sim

using namespace sim;

#define CHECK_TENSOR(function, tensor) \
  if (!isLive(tensor, kTensorMagic)) return notATensor(#function, tensor)
#define CHECK_OUTPUT(function, pointer) \
  if ((pointer) == nullptr) return simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", #function ": " #pointer " is NULL")

extern "C" {

SIM_API aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                                   const int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims,
                                   uint64_t storageDimsNum, void *tensorData) {
  SIM_ENTER_VALUE(aclCreateTensor, nullptr);
  aclTensor *tensor = Pool<aclTensor>::allocate();
  if (!fill(tensor, "aclCreateTensor", viewDims, viewDimsNum, dataType, stride, offset, format, storageDims,
            storageDimsNum, tensorData)) {
    Pool<aclTensor>::release(tensor);
    return nullptr;
  }
  tensor->header.magic = kTensorMagic;
  simCount(SIM_TENSOR, 1);
  return tensor;
}

SIM_API aclnnStatus aclInitTensor(aclTensor *tensor, const int64_t *viewDims, uint64_t viewDimsNum,
                                  aclDataType dataType, const int64_t *stride, int64_t offset, aclFormat format,
                                  const int64_t *storageDims, uint64_t storageDimsNum, void *tensorDataAddr) {
  SIM_ENTER(aclInitTensor);
  CHECK_TENSOR(aclInitTensor, tensor);
  bool filled = fill(tensor, "aclInitTensor", viewDims, viewDimsNum, dataType, stride, offset, format, storageDims,
                     storageDimsNum, tensorDataAddr);
  if (!filled) return ACLNN_ERR_PARAM_INVALID;
  ++tensor->header.generation;
  return ACLNN_SUCCESS;
}

SIM_API aclnnStatus aclDestroyTensor(const aclTensor *tensor) {
  SIM_ENTER(aclDestroyTensor);
  return destroyTensor(tensor);
}

SIM_API aclScalar *aclCreateScalar(void *value, aclDataType dataType) {
  SIM_ENTER_VALUE(aclCreateScalar, nullptr);
  int64_t bytes = itemSize(dataType);
  if (value == nullptr || bytes == 0) {
    simFail(value == nullptr ? ACLNN_ERR_PARAM_NULLPTR : ACLNN_ERR_PARAM_INVALID, "EZ1001",
            "aclCreateScalar: %s (data type %d)", value == nullptr ? "value is NULL" : "no scalars of this data type",
            static_cast<int>(dataType));
    return nullptr;
  }
  aclScalar *scalar = Pool<aclScalar>::allocate();
  scalar->type = dataType;
  std::memcpy(scalar->bytes, value, static_cast<size_t>(bytes));
  scalar->header.magic = kScalarMagic;
  simCount(SIM_SCALAR, 1);
  return scalar;
}

SIM_API aclnnStatus aclDestroyScalar(const aclScalar *scalar) {
  SIM_ENTER(aclDestroyScalar);
  return destroyScalar(scalar);
}

SIM_API aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum) {
  SIM_ENTER(aclGetViewShape);
  CHECK_TENSOR(aclGetViewShape, tensor);
  const FoundShape *found = tensor->found.get();
  if (found != nullptr && found->known.load(std::memory_order_acquire)) {
    return copyOut("aclGetViewShape", found->dims, found->rank, viewDims, viewDimsNum);
  }
  return copyOut("aclGetViewShape", tensor->dims, tensor->rank, viewDims, viewDimsNum);
}

SIM_API aclnnStatus aclGetStorageShape(const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum) {
  SIM_ENTER(aclGetStorageShape);
  CHECK_TENSOR(aclGetStorageShape, tensor);
  return copyOut("aclGetStorageShape", tensor->storage_dims, tensor->storage_rank, storageDims, storageDimsNum);
}

SIM_API aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum) {
  SIM_ENTER(aclGetViewStrides);
  CHECK_TENSOR(aclGetViewStrides, tensor);
  return copyOut("aclGetViewStrides", tensor->strides, tensor->rank, stridesValue, stridesNum);
}

SIM_API aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset) {
  SIM_ENTER(aclGetViewOffset);
  CHECK_TENSOR(aclGetViewOffset, tensor);
  CHECK_OUTPUT(aclGetViewOffset, offset);
  *offset = tensor->offset;
  return ACLNN_SUCCESS;
}

SIM_API aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format) {
  SIM_ENTER(aclGetFormat);
  CHECK_TENSOR(aclGetFormat, tensor);
  CHECK_OUTPUT(aclGetFormat, format);
  *format = tensor->format;
  return ACLNN_SUCCESS;
}

SIM_API aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType) {
  SIM_ENTER(aclGetDataType);
  CHECK_TENSOR(aclGetDataType, tensor);
  CHECK_OUTPUT(aclGetDataType, dataType);
  *dataType = tensor->type;
  return ACLNN_SUCCESS;
}

SIM_API aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr) {
  SIM_ENTER(aclSetRawTensorAddr);
  CHECK_TENSOR(aclSetRawTensorAddr, tensor);
  ++tensor->header.generation; /* documented: not between the phases */
  tensor->data = addr;
  return ACLNN_SUCCESS;
}

SIM_API aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr) {
  SIM_ENTER(aclGetRawTensorAddr);
  CHECK_TENSOR(aclGetRawTensorAddr, tensor);
  CHECK_OUTPUT(aclGetRawTensorAddr, addr);
  *addr = tensor->data;
  return ACLNN_SUCCESS;
}

SIM_API aclnnStatus aclDumpOpTensors(const char *opType, const char *opName, aclTensor **tensors, size_t inputTensorNum,
                                     size_t outputTensorNum, aclrtStream) {
  SIM_ENTER(aclDumpOpTensors);
  CHECK_OUTPUT(aclDumpOpTensors, opType);
  CHECK_OUTPUT(aclDumpOpTensors, opName);
  CHECK_OUTPUT(aclDumpOpTensors, tensors);
  for (size_t i = 0; i < inputTensorNum + outputTensorNum; ++i) CHECK_TENSOR(aclDumpOpTensors, tensors[i]);
  return ACLNN_SUCCESS;
}

}  // extern "C"
