/* Conversion between the data types in device memory and the compute types of kernels. float16, bfloat16 and the
 * 8-bit floats compute in float; bool and all integers in int64 (two's complement, so that results that wrap have the
 * right low bits); both complex types in complex<double>. Boolean is one byte an element, for logical operators and
 * conditions. kRaw copies elements without reading their values. */
#ifndef MINDTORCH_SIM_OPAPI_CONVERT_H_
#define MINDTORCH_SIM_OPAPI_CONVERT_H_
#include <array>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "nnopbase/executor.h"

namespace sim {

using Complex = std::complex<double>;

enum Compute : uint8_t { kF32, kF64, kI64, kC128, kBoolean8, kRaw, kNoCompute };
constexpr int kComputeCount = kRaw; /* types that loops are written for */
using Boolean = uint8_t;            /* written as 0 or 1; read as 0 or anything else */
enum Category : uint8_t { kBool, kInteger, kFloating, kComplex, kNoCategory };

template <class C>
constexpr Compute computeOfType() {
  if (std::is_same<C, float>::value) return kF32;
  if (std::is_same<C, double>::value) return kF64;
  if (std::is_same<C, Boolean>::value) return kBoolean8;
  if (std::is_same<C, int64_t>::value) return kI64;
  static_assert(std::is_arithmetic<C>::value || std::is_same<C, Complex>::value, "no compute type");
  static_assert(!std::is_integral<C>::value || std::is_same<C, Boolean>::value || std::is_same<C, int64_t>::value,
                "a result that no compute type holds");
  return kC128;
}

/* `count` elements `stride` bytes apart in memory, from or to a contiguous array of the compute type. */
using LoadStrided = void (*)(const char *memory, int64_t stride, void *array, int64_t count);
using StoreStrided = void (*)(const void *array, char *memory, int64_t stride, int64_t count);

struct TypeFacts {
  Compute compute; /* kNoCompute for types without kernels */
  Category category;
  uint8_t width; /* of two floating or complex types the wider one is the common type */
  LoadStrided load[kComputeCount + 1];
  StoreStrided store[kComputeCount + 1];
};
constexpr uint32_t kTypeCount = ACL_FLOAT8_E8M0 + 1; /* no type with kernels has a higher number */
extern SIM_API const std::array<TypeFacts, kTypeCount> kTypes;

inline Compute computeOf(aclDataType type) {
  return static_cast<uint32_t>(type) < kTypeCount ? kTypes[type].compute : kNoCompute;
}

/* The order in which torch's type promotion compares types. */
inline Category categoryOf(aclDataType type) {
  return static_cast<uint32_t>(type) < kTypeCount ? kTypes[type].category : kNoCategory;
}

aclDataType promoteTypes(aclDataType a, aclDataType b);
bool canCast(aclDataType from, aclDataType to); /* torch's rule for an output of another type */

inline LoadStrided loadStrided(aclDataType type, uint8_t compute) { return kTypes[type].load[compute]; }
inline StoreStrided storeStrided(aclDataType type, uint8_t compute) { return kTypes[type].store[compute]; }

constexpr int64_t kBlock = 512;
constexpr int64_t kBlockBytes = kBlock * 16;

/* Walks the elements of an operand in logical order. */
class Cursor {
 public:
  explicit Cursor(const Operand &operand);

  /* The next `count` (at most kBlock) elements as the operand's compute type: `buffer`, or the memory itself. */
  const void *read(void *buffer, int64_t count);
  /* The address of the next `count` elements if they are contiguous and of the compute type, else NULL. Does not
   * advance. */
  void *direct(int64_t count) const { return directRun() >= count ? position_ : nullptr; }
  int64_t directRun() const; /* number of such elements from here on */
  void write(const void *array, int64_t count);
  void skip(int64_t count);
  void addresses(char **to, int64_t count); /* of the next `count` elements, which are passed over */
  void moveTo(char *base);                  /* the first element again, at another address */
  char *position() const { return position_; }

 private:
  template <class Row>
  void walk(int64_t count, Row row);
  void advance(int64_t count);

  LoadStrided load_;
  StoreStrided store_;
  bool same_type_;
  int32_t rank_;
  int32_t item_;       /* bytes of an element in memory */
  int32_t array_item_; /* and in the compute type */
  char *position_;
  int64_t dims_[kMaxRank];
  int64_t strides_[kMaxRank]; /* in bytes */
  int64_t index_[kMaxRank];
};

}  // namespace sim
#endif
