/* Arrays of int64, float, bool and lists of tensors, scalars. */
#include "nnopbase/objects.h"
#include "nnopbase/pool.h"

namespace sim {
namespace {

template <class Array, class Item>
Array *create(const char *function, Magic magic, SimKind kind, const Item *values, uint64_t size) {
  static void *site = nullptr; /* of one function: each kind of array has its own */
  if (__atomic_load_n(&simArmed, __ATOMIC_RELAXED) && simEnterArmed(function, &site) != ACL_SUCCESS) return nullptr;
  if (values == nullptr && size > 0) {
    simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "%s: value is NULL but size is %llu", function,
            static_cast<unsigned long long>(size));
    return nullptr;
  }
  if (size > PTRDIFF_MAX / sizeof(Item)) {
    simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: size is %llu, more than an address space holds", function,
            static_cast<unsigned long long>(size));
    return nullptr;
  }
  Array *array = Pool<Array>::allocate();
  array->items = size <= Array::kInline ? array->inline_items : new Item[size];
  array->size = size;
  for (uint64_t i = 0; i < size; ++i) array->items[i] = values[i];
  array->header.magic = magic;
  simCount(kind, 1);
  return array;
}

template <class Array>
aclnnStatus destroy(const char *function, Magic magic, SimKind kind, const Array *handle) {
  if (handle == nullptr) return ACLNN_SUCCESS;
  if (!isLive(handle, magic)) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %p is no live object of this kind", function,
                   static_cast<const void *>(handle));
  }
  Array *array = const_cast<Array *>(handle);
  array->header.magic = kDead;
  ++array->header.generation;
  if (array->items != array->inline_items) delete[] array->items;
  array->items = array->inline_items;
  array->size = 0;
  Pool<Array>::release(array);
  simCount(kind, -1);
  return ACLNN_SUCCESS;
}

template <class Array>
aclnnStatus getSize(const char *function, Magic magic, const Array *handle, uint64_t *size) {
  if (handle == nullptr || size == nullptr) {
    return simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "%s: %s is NULL", function, handle ? "size" : "array");
  }
  if (!isLive(handle, magic)) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %p is no live object of this kind", function,
                   static_cast<const void *>(handle));
  }
  *size = handle->size;
  return ACLNN_SUCCESS;
}

/* A list owns its elements. An element that is already destroyed is an error. */
template <class List, class Destroy>
aclnnStatus destroyList(const char *function, Magic magic, SimKind kind, const List *list, Destroy destroyElement) {
  aclnnStatus status = ACLNN_SUCCESS;
  if (isLive(list, magic)) {
    for (uint64_t i = 0; i < list->size; ++i) {
      aclnnStatus element = destroyElement(list->items[i]);
      if (element != ACLNN_SUCCESS) status = element;
    }
  }
  aclnnStatus own = destroy(function, magic, kind, list);
  return own != ACLNN_SUCCESS ? own : status;
}

}  // namespace
}  // namespace sim

using namespace sim;

extern "C" {

SIM_API aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size) {
  return create<aclIntArray>("aclCreateIntArray", kIntArrayMagic, SIM_INT_ARRAY, value, size);
}

SIM_API aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size) {
  return create<aclFloatArray>("aclCreateFloatArray", kFloatArrayMagic, SIM_FLOAT_ARRAY, value, size);
}

SIM_API aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size) {
  return create<aclBoolArray>("aclCreateBoolArray", kBoolArrayMagic, SIM_BOOL_ARRAY, value, size);
}

SIM_API aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size) {
  return create<aclTensorList>("aclCreateTensorList", kTensorListMagic, SIM_TENSOR_LIST, value, size);
}

SIM_API aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size) {
  return create<aclScalarList>("aclCreateScalarList", kScalarListMagic, SIM_SCALAR_LIST, value, size);
}

SIM_API aclnnStatus aclDestroyIntArray(const aclIntArray *array) {
  SIM_ENTER(aclDestroyIntArray);
  return destroy("aclDestroyIntArray", kIntArrayMagic, SIM_INT_ARRAY, array);
}

SIM_API aclnnStatus aclDestroyFloatArray(const aclFloatArray *array) {
  SIM_ENTER(aclDestroyFloatArray);
  return destroy("aclDestroyFloatArray", kFloatArrayMagic, SIM_FLOAT_ARRAY, array);
}

SIM_API aclnnStatus aclDestroyBoolArray(const aclBoolArray *array) {
  SIM_ENTER(aclDestroyBoolArray);
  return destroy("aclDestroyBoolArray", kBoolArrayMagic, SIM_BOOL_ARRAY, array);
}

SIM_API aclnnStatus aclDestroyTensorList(const aclTensorList *array) {
  SIM_ENTER(aclDestroyTensorList);
  return destroyList("aclDestroyTensorList", kTensorListMagic, SIM_TENSOR_LIST, array, destroyTensor);
}

SIM_API aclnnStatus aclDestroyScalarList(const aclScalarList *array) {
  SIM_ENTER(aclDestroyScalarList);
  return destroyList("aclDestroyScalarList", kScalarListMagic, SIM_SCALAR_LIST, array, destroyScalar);
}

SIM_API aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size) {
  SIM_ENTER(aclGetIntArraySize);
  return getSize("aclGetIntArraySize", kIntArrayMagic, array, size);
}

SIM_API aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size) {
  SIM_ENTER(aclGetFloatArraySize);
  return getSize("aclGetFloatArraySize", kFloatArrayMagic, array, size);
}

SIM_API aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size) {
  SIM_ENTER(aclGetBoolArraySize);
  return getSize("aclGetBoolArraySize", kBoolArrayMagic, array, size);
}

SIM_API aclnnStatus aclGetTensorListSize(const aclTensorList *tensorList, uint64_t *size) {
  SIM_ENTER(aclGetTensorListSize);
  return getSize("aclGetTensorListSize", kTensorListMagic, tensorList, size);
}

SIM_API aclnnStatus aclGetScalarListSize(const aclScalarList *scalarList, uint64_t *size) {
  SIM_ENTER(aclGetScalarListSize);
  return getSize("aclGetScalarListSize", kScalarListMagic, scalarList, size);
}

}  // extern "C"
