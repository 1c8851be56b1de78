/* What the handles of ACLNN point to. libnnopbase.so makes them, libopapi.so reads them.
 *
 * Every object begins with a Header. Its magic number tells a live object of the right kind from a destroyed or a
 * foreign one; its generation changes with every destruction, so that an executor notices when the memory of one of
 * its arguments has become another object. */
#ifndef MINDTORCH_SIM_NNOPBASE_OBJECTS_H_
#define MINDTORCH_SIM_NNOPBASE_OBJECTS_H_
#include <cstdint>

#include "aclnn/acl_meta.h"
#include "sim.h"

namespace sim {

constexpr uint32_t kMaxDims = 25; /* a descriptor may hold more than any operator takes */
constexpr uint32_t kMaxRank = 8;

enum Magic : uint32_t {
  kDead = 0xDEADACC1u,
  kTensorMagic = 0xACC1AA01u,
  kScalarMagic,
  kIntArrayMagic,
  kFloatArrayMagic,
  kBoolArrayMagic,
  kTensorListMagic,
  kScalarListMagic,
  kExecutorMagic,
};

struct Header {
  uint32_t magic = kDead;
  uint32_t generation = 0;
};

/* A handle can be anything: only what is aligned as an object of ours is looked into. */
template <class T>
inline bool isLive(const T *handle, Magic magic) {
  return handle != nullptr && reinterpret_cast<uintptr_t>(handle) % alignof(T) == 0 && handle->header.magic == magic;
}

SIM_API int64_t itemSize(aclDataType type); /* in bytes; 0 for types that are smaller than one byte or unknown */

}  // namespace sim

struct aclTensor {
  sim::Header header;
  aclTensor *next_free;
  aclDataType type;
  aclFormat format;
  uint32_t rank;
  uint32_t storage_rank;
  int64_t offset; /* in elements */
  void *data;     /* base of the storage */
  int64_t dims[sim::kMaxDims];
  int64_t strides[sim::kMaxDims];
  int64_t storage_dims[sim::kMaxDims];
};

struct aclScalar {
  sim::Header header;
  aclScalar *next_free;
  aclDataType type;
  alignas(16) unsigned char bytes[16];
};

namespace sim {

/* An array or a list: short ones lie inside the object. */
template <class Item, class Handle>
struct ArrayObject {
  static constexpr uint64_t kInline = 8;
  Header header;
  Handle *next_free;
  uint64_t size;
  Item *items;
  Item room[kInline];
};

}  // namespace sim

struct aclIntArray : sim::ArrayObject<int64_t, aclIntArray> {};
struct aclFloatArray : sim::ArrayObject<float, aclFloatArray> {};
struct aclBoolArray : sim::ArrayObject<bool, aclBoolArray> {};
struct aclTensorList : sim::ArrayObject<const aclTensor *, aclTensorList> {};
struct aclScalarList : sim::ArrayObject<const aclScalar *, aclScalarList> {};
#endif
