#include "opapi/call_key.h"

#include "nnopbase/op_cache.h"

namespace sim {
namespace {

template <class T>
void add(std::string *key, const T *values, uint64_t count) {
  key->append(reinterpret_cast<const char *>(values), count * sizeof(T)).append(1, ',');
}

void addTensor(std::string *key, const aclTensor *tensor) {
  if (tensor == nullptr) return add(key, "", 0);
  const int64_t rest[] = {tensor->type, tensor->format, tensor->offset};
  add(key, tensor->dims, tensor->rank);
  add(key, tensor->strides, tensor->rank);
  add(key, tensor->storage_dims, tensor->storage_rank);
  add(key, rest, 3);
}

void addScalar(std::string *key, const aclScalar *scalar) {
  if (scalar == nullptr) return add(key, "", 0);
  add(key, &scalar->type, 1);
  add(key, scalar->bytes, static_cast<uint64_t>(itemSize(scalar->type)));
}

template <class Array>
void addArray(std::string *key, const void *pointer) {
  const Array *array = static_cast<const Array *>(pointer);
  if (array == nullptr) return add(key, "", 0);
  add(key, array->items, array->size);
}

}  // namespace

std::string cacheKeyOf(const OpRule &op, const Argument *arguments) {
  if (const std::string *own = callerKey()) return *own;
  std::string key(op.name);
  for (uint32_t i = 0; i < op.count; ++i) {
    const void *pointer = arguments[i].pointer;
    switch (op.parameters[i].kind) {
      case kTensor:
        addTensor(&key, static_cast<const aclTensor *>(pointer));
        break;
      case kScalar:
        addScalar(&key, static_cast<const aclScalar *>(pointer));
        break;
      case kIntArray:
        addArray<aclIntArray>(&key, pointer);
        break;
      case kFloatArray:
        addArray<aclFloatArray>(&key, pointer);
        break;
      case kBoolArray:
        addArray<aclBoolArray>(&key, pointer);
        break;
      case kValue:
        add(&key, &arguments[i].integer, 1);
        break;
      case kTensorList:
      case kScalarList:
        return std::string();
    }
  }
  return key;
}

}  // namespace sim
