/* The objects behind the handles of ACLNN. libnnopbase.so creates them, libopapi.so reads them. Every object begins
 * with a Header. The magic number identifies live objects of the right kind. The generation changes when an object is
 * destroyed or rewritten, so that phase 2 notices changes of its arguments. */
#ifndef MINDTORCH_SIM_NNOPBASE_OBJECTS_H_
#define MINDTORCH_SIM_NNOPBASE_OBJECTS_H_
#include <atomic>
#include <cstdint>
#include <memory>

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

/* A handle may be any value: it is dereferenced only if it is aligned. */
template <class T>
inline bool isLive(const T *handle, Magic magic) {
  return handle != nullptr && reinterpret_cast<uintptr_t>(handle) % alignof(T) == 0 && handle->header.magic == magic;
}

/* Bytes of an element by aclDataType; 0 for types that are smaller than one byte or unknown. */
constexpr uint8_t kItemSizes[] = {4, 2, 1, 4, 1, 0, 2, 2, 4, 8, 8, 8, 1, 0, 0, 0, 8, 16, 0,
                                  0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 4, 1, 1, 1,  1};
static_assert(kItemSizes[ACL_COMPLEX128] == 16 && kItemSizes[ACL_BF16] == 2 && kItemSizes[ACL_COMPLEX32] == 4 &&
              kItemSizes[ACL_FLOAT8_E8M0] == 1 && sizeof kItemSizes == ACL_FLOAT8_E8M0 + 1);

inline int64_t itemSize(aclDataType type) {
  return static_cast<uint32_t>(type) < sizeof kItemSizes ? kItemSizes[type] : 0;
}

/* The shape of an output that depends on values. Descriptor and executor share it; either may be destroyed first. */
struct FoundShape {
  std::atomic<bool> known{false};
  uint32_t rank = 0;
  int64_t dims[kMaxRank] = {};
};

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
  std::shared_ptr<sim::FoundShape> found;
};

struct aclScalar {
  sim::Header header;
  aclScalar *next_free;
  aclDataType type;
  alignas(16) unsigned char bytes[16];
};

namespace sim {

/* An array or a list. Short ones are stored inside the object. */
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

namespace sim {

/* aclDestroyTensor and aclDestroyScalar, also for the elements of a list. */
aclnnStatus destroyTensor(const aclTensor *tensor);
aclnnStatus destroyScalar(const aclScalar *scalar);

}  // namespace sim
#endif
