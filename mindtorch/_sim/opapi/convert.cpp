#include "opapi/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "opapi/vector.h"

namespace sim {
namespace {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
struct Float8E5M2 {
  uint8_t bits;
};
struct Float8E4M3 { /* without infinities; the NaN is all ones */
  uint8_t bits;
};
struct Float8E8M0 { /* an exponent; all ones is the NaN */
  uint8_t bits;
};
struct Bool {
  uint8_t byte;
};

/* Conditional expressions instead of branches, here and in narrow, so that loops are vectorised. */
float widen(Half half) {
  uint32_t sign = (half.bits & 0x8000u) << 16;
  uint32_t magnitude = half.bits & 0x7FFFu;
  uint32_t normal = (magnitude << 13) + (112u << 23);
  uint32_t subnormal = floatToBits(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  uint32_t finite = magnitude >= 0x0400u ? normal : subnormal;
  return bitsToFloat(sign | (magnitude >= 0x7C00u ? magnitude << 13 | 0x7F800000u : finite));
}

float widen(BFloat value) { return bitsToFloat(static_cast<uint32_t>(value.bits) << 16); }

float widen(Float8E5M2 value) { return widen(Half{static_cast<uint16_t>(value.bits << 8)}); }

float widen(Float8E4M3 value) {
  uint32_t sign = (value.bits & 0x80u) << 24;
  uint32_t magnitude = value.bits & 0x7Fu;
  uint32_t subnormal = floatToBits(static_cast<float>(magnitude) * 0x1p-9f);
  uint32_t finite = magnitude >= 0x08u ? (magnitude << 20) + (120u << 23) : subnormal;
  return bitsToFloat(sign | (magnitude == 0x7Fu ? 0x7FC00000u : finite));
}

float widen(Float8E8M0 value) {
  uint32_t finite = value.bits == 0 ? 0x00400000u : static_cast<uint32_t>(value.bits) << 23;
  return bitsToFloat(value.bits == 0xFFu ? 0x7FC00000u : finite);
}

/* Adds one less than half of the dropped part, and the lowest kept bit: rounds to nearest, ties to even. */
uint32_t roundAway(uint32_t bits, uint32_t dropped) {
  return (bits + (1u << (dropped - 1)) - 1 + (bits >> dropped & 1u)) >> dropped;
}

void narrow(float value, Half *half) {
  uint32_t bits = floatToBits(value);
  uint32_t sign = bits >> 16 & 0x8000u;
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t normal = roundAway(magnitude - (112u << 23), 13); /* a carry into the exponent is right, up to infinity */
  uint32_t subnormal = floatToBits(bitsToFloat(magnitude) + 0.5f) - 0x3F000000u; /* next to 0.5 bits are 2^-24 apart */
  uint32_t finite = magnitude >= 0x38800000u ? normal : subnormal;
  uint32_t result = magnitude >= 0x47800000u ? 0x7C00u : finite; /* 65536 and more */
  half->bits = static_cast<uint16_t>(sign | (magnitude > 0x7F800000u ? 0x7E00u : result));
}

void narrow(float value, BFloat *result) {
  uint32_t bits = floatToBits(value);
  bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  result->bits = static_cast<uint16_t>(nan ? 0x7FC0u | (bits >> 16 & 0x8000u) : roundAway(bits, 16));
}

void narrow(float value, Float8E5M2 *result) {
  uint32_t bits = floatToBits(value);
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t normal = roundAway(magnitude - (112u << 23), 21);
  uint32_t subnormal = floatToBits(bitsToFloat(magnitude) + 128.0f) - floatToBits(128.0f); /* bits are 2^-16 apart */
  uint32_t finite = magnitude >= 0x38800000u ? std::min(normal, 0x7Cu) : subnormal;
  uint32_t whole = magnitude >= 0x47800000u ? 0x7Cu : finite; /* 65536 and more */
  result->bits = static_cast<uint8_t>((bits >> 24 & 0x80u) | (magnitude > 0x7F800000u ? 0x7Fu : whole));
}

void narrow(float value, Float8E4M3 *result) {
  uint32_t bits = floatToBits(value);
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t normal = roundAway(magnitude - (120u << 23), 20);
  uint32_t subnormal = floatToBits(bitsToFloat(magnitude) + 16384.0f) - floatToBits(16384.0f); /* 2^-9 apart */
  uint32_t finite = magnitude >= 0x3C800000u ? std::min(normal, 0x7Eu) : subnormal;
  uint32_t whole = magnitude >= 0x43E00000u ? 0x7Eu : finite; /* 448 and more: the largest number */
  result->bits = static_cast<uint8_t>((bits >> 24 & 0x80u) | (magnitude > 0x7F800000u ? 0x7Fu : whole));
}

void narrow(float value, Float8E8M0 *result) {
  uint32_t bits = floatToBits(value);
  uint32_t exponent = bits >> 23 & 0xFFu;
  uint32_t halfway = exponent > 0 ? 0x400000u : 0x400001u; /* numbers below the least exponent have no leading 1 */
  result->bits = static_cast<uint8_t>(exponent + (exponent < 255u && (bits & 0x7FFFFFu) >= halfway ? 1u : 0u));
}

/* Out of range saturates to int64, NaN gives 0; a narrower integer then keeps the low bits, as torch does on x86. */
int64_t toInteger(double value) {
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63) return std::numeric_limits<int64_t>::min();
  return std::isnan(value) ? 0 : static_cast<int64_t>(value);
}

template <class T>
constexpr bool isComplex = std::is_same<T, std::complex<float>>::value || std::is_same<T, Complex>::value;
template <class T>
constexpr bool isFloat8 =
    std::is_same<T, Float8E5M2>::value || std::is_same<T, Float8E4M3>::value || std::is_same<T, Float8E8M0>::value;
template <class T>
constexpr bool isSmallFloat = std::is_same<T, Half>::value || std::is_same<T, BFloat>::value || isFloat8<T>;

template <class C, class T>
C loadAs(T value) {
  if constexpr (std::is_same<T, Bool>::value) {
    return static_cast<C>(value.byte != 0 ? 1 : 0);
  } else if constexpr (std::is_same<C, Boolean>::value) {
    if constexpr (isFloat8<T>) {
      return widen(value) != 0.0f;
    } else if constexpr (isSmallFloat<T>) {
      return (value.bits & 0x7FFFu) != 0;
    } else {
      return value != T(0);
    }
  } else if constexpr (isSmallFloat<T>) {
    return loadAs<C>(widen(value));
  } else if constexpr (isComplex<T>) {
    if constexpr (isComplex<C>) {
      return C(value.real(), value.imag());
    } else {
      return loadAs<C>(value.real());
    }
  } else if constexpr (isComplex<C>) {
    return C(static_cast<double>(value), 0.0);
  } else if constexpr (std::is_same<C, int64_t>::value && std::is_floating_point<T>::value) {
    return toInteger(static_cast<double>(value));
  } else {
    return static_cast<C>(value);
  }
}

template <class T, class C>
T storeAs(C value) {
  if constexpr (std::is_same<T, Bool>::value) {
    return Bool{static_cast<uint8_t>(value != C(0))};
  } else if constexpr (isComplex<C> && !isComplex<T>) {
    return storeAs<T>(value.real());
  } else if constexpr (isComplex<T>) {
    using Part = typename T::value_type;
    if constexpr (isComplex<C>) {
      return T(static_cast<Part>(value.real()), static_cast<Part>(value.imag()));
    } else {
      return T(static_cast<Part>(value), Part(0));
    }
  } else if constexpr (isSmallFloat<T>) {
    T result;
    narrow(static_cast<float>(value), &result);
    return result;
  } else if constexpr (std::is_integral<T>::value && std::is_floating_point<C>::value) {
    if (std::is_same<T, uint64_t>::value && value >= C(0x1p63)) {
      return static_cast<T>(value >= C(0x1p64) ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(value));
    }
    return static_cast<T>(toInteger(static_cast<double>(value)));
  } else {
    return static_cast<T>(value);
  }
}

template <class T, class C>
SIM_INLINE void loadAll(const char *memory, int64_t stride, C *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, memory + i * stride, sizeof value);
    to[i] = loadAs<C>(value);
  }
}

/* Separate loops for one repeated element, as of a broadcast, and for contiguous elements: the compiler vectorises
 * them. */
template <class T, class C>
SIM_CLONES void load(const char *memory, int64_t stride, void *array, int64_t count) {
  C *to = static_cast<C *>(array);
  if (stride == 0) {
    C value;
    loadAll<T>(memory, 0, &value, 1);
    std::fill_n(to, count, value);
    return;
  }
  if (stride == sizeof(T)) return loadAll<T>(memory, sizeof(T), to, count);
  loadAll<T>(memory, stride, to, count);
}

template <class T, class C>
SIM_INLINE void storeAll(const C *from, char *memory, int64_t stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    T value = storeAs<T>(from[i]);
    std::memcpy(memory + i * stride, &value, sizeof value);
  }
}

template <class T, class C>
SIM_CLONES void store(const void *array, char *memory, int64_t stride, int64_t count) {
  const C *from = static_cast<const C *>(array);
  if (stride == sizeof(T)) return storeAll<T>(from, memory, sizeof(T), count);
  storeAll<T>(from, memory, stride, count);
}

/* The compute type of a data type. */
template <class T>
using NativeOf = std::conditional_t<
    std::is_same<T, float>::value || isSmallFloat<T>, float,
    std::conditional_t<std::is_same<T, double>::value, double, std::conditional_t<isComplex<T>, Complex, int64_t>>>;

/* Pairs with a direct conversion: where two steps would change the value (bool, uint64), and the most frequent
 * conversions. All others convert over the native compute type, which keeps the library small. */
template <class T, class C>
constexpr bool isDirect =
    std::is_same<C, NativeOf<T>>::value || std::is_same<T, Bool>::value || std::is_same<T, uint64_t>::value ||
    (std::is_same<C, double>::value &&
     (std::is_same<T, float>::value || std::is_same<T, Half>::value || std::is_same<T, BFloat>::value)) ||
    (std::is_same<C, float>::value && (std::is_same<T, int32_t>::value || std::is_same<T, uint8_t>::value));

template <class From, class To>
SIM_CLONES void convertArray(const From *from, To *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = loadAs<To>(from[i]);
}

constexpr int64_t kChunk = 256;

template <class T, class C>
void loadStrided(const char *memory, int64_t stride, void *array, int64_t count) {
  using Native = NativeOf<T>;
  if constexpr (isDirect<T, C>) {
    load<T, C>(memory, stride, array, count);
  } else {
    Native chunk[kChunk];
    for (int64_t first = 0; first < count; first += kChunk) {
      const int64_t length = std::min(kChunk, count - first);
      load<T, Native>(memory + first * stride, stride, chunk, length);
      convertArray(chunk, static_cast<C *>(array) + first, length);
    }
  }
}

template <class T, class C>
void storeStrided(const void *array, char *memory, int64_t stride, int64_t count) {
  using Native = NativeOf<T>;
  if constexpr (isDirect<T, C>) {
    store<T, C>(array, memory, stride, count);
  } else {
    Native chunk[kChunk];
    for (int64_t first = 0; first < count; first += kChunk) {
      const int64_t length = std::min(kChunk, count - first);
      convertArray(static_cast<const C *>(array) + first, chunk, length);
      store<T, Native>(chunk, memory + first * stride, stride, length);
    }
  }
}

template <int Size>
void loadRaw(const char *memory, int64_t stride, void *array, int64_t count) {
  char *to = static_cast<char *>(array);
  if (stride == Size) {
    std::memcpy(to, memory, static_cast<size_t>(Size * count));
    return;
  }
  for (int64_t i = 0; i < count; ++i, memory += stride) std::memcpy(to + i * Size, memory, Size);
}

template <int Size>
void storeRaw(const void *array, char *memory, int64_t stride, int64_t count) {
  const char *from = static_cast<const char *>(array);
  if (stride == Size) {
    std::memcpy(memory, from, static_cast<size_t>(Size * count));
    return;
  }
  for (int64_t i = 0; i < count; ++i, memory += stride) std::memcpy(memory, from + i * Size, Size);
}

constexpr int32_t kComputeSizes[] = {sizeof(float), sizeof(double), sizeof(int64_t), sizeof(Complex), sizeof(Boolean)};

template <class T>
constexpr TypeFacts factsOf(Category category, uint8_t width) {
  constexpr int size = sizeof(T);
  return {computeOfType<NativeOf<T>>(),
          category,
          width,
          {loadStrided<T, float>, loadStrided<T, double>, loadStrided<T, int64_t>, loadStrided<T, Complex>,
           loadStrided<T, Boolean>, loadRaw<size>},
          {storeStrided<T, float>, storeStrided<T, double>, storeStrided<T, int64_t>, storeStrided<T, Complex>,
           storeStrided<T, Boolean>, storeRaw<size>}};
}

constexpr std::array<TypeFacts, kTypeCount> typeTable() {
  std::array<TypeFacts, kTypeCount> table{};
  for (TypeFacts &facts : table) facts = {kNoCompute, kNoCategory, 0, {}, {}};
  table[ACL_BOOL] = factsOf<Bool>(kBool, 0);
  table[ACL_INT8] = factsOf<int8_t>(kInteger, 0);
  table[ACL_UINT8] = factsOf<uint8_t>(kInteger, 0);
  table[ACL_INT16] = factsOf<int16_t>(kInteger, 0);
  table[ACL_UINT16] = factsOf<uint16_t>(kInteger, 0);
  table[ACL_INT32] = factsOf<int32_t>(kInteger, 0);
  table[ACL_UINT32] = factsOf<uint32_t>(kInteger, 0);
  table[ACL_INT64] = factsOf<int64_t>(kInteger, 0);
  table[ACL_UINT64] = factsOf<uint64_t>(kInteger, 0);
  table[ACL_FLOAT8_E5M2] = factsOf<Float8E5M2>(kFloating, 1);
  table[ACL_FLOAT8_E4M3FN] = factsOf<Float8E4M3>(kFloating, 1);
  table[ACL_FLOAT8_E8M0] = factsOf<Float8E8M0>(kFloating, 1);
  table[ACL_FLOAT16] = factsOf<Half>(kFloating, 2);
  table[ACL_BF16] = factsOf<BFloat>(kFloating, 2);
  table[ACL_FLOAT] = factsOf<float>(kFloating, 3);
  table[ACL_DOUBLE] = factsOf<double>(kFloating, 4);
  table[ACL_COMPLEX64] = factsOf<std::complex<float>>(kComplex, 3);
  table[ACL_COMPLEX128] = factsOf<Complex>(kComplex, 4);
  return table;
}

bool isUnsigned(aclDataType type) {
  return type == ACL_UINT8 || type == ACL_UINT16 || type == ACL_UINT32 || type == ACL_UINT64;
}

/* The common type of two integers: the wider one, or a signed type that holds both if only one is signed. */
aclDataType promoteIntegers(aclDataType a, aclDataType b) {
  aclDataType wide = itemSize(a) >= itemSize(b) ? a : b;
  aclDataType narrow = wide == a ? b : a;
  if (isUnsigned(a) == isUnsigned(b) || !isUnsigned(wide)) {
    bool equal_sizes = itemSize(a) == itemSize(b);
    if (!equal_sizes || isUnsigned(a) == isUnsigned(b)) return wide;
    return promoteIntegers(narrow, wide);
  }
  return wide == ACL_UINT8 ? ACL_INT16 : wide == ACL_UINT16 ? ACL_INT32 : ACL_INT64;
}

}  // namespace

const std::array<TypeFacts, kTypeCount> kTypes = typeTable();

aclDataType promoteTypes(aclDataType a, aclDataType b) {
  if (a == b) return a;
  Category category = categoryOf(a), other = categoryOf(b);
  if (category == kNoCategory || other == kNoCategory) return ACL_DT_UNDEFINED;
  const uint8_t width = kTypes[a].width, other_width = kTypes[b].width;
  if (category == kComplex || other == kComplex) {
    bool wide = (category >= kFloating && width == 4) || (other >= kFloating && other_width == 4);
    return wide ? ACL_COMPLEX128 : ACL_COMPLEX64;
  }
  if (category != other) return category > other ? a : b;
  if (category == kInteger) return promoteIntegers(a, b);
  if (width == other_width) return ACL_FLOAT; /* float16 with bfloat16 */
  return width > other_width ? a : b;
}

bool canCast(aclDataType from, aclDataType to) {
  if (from == to) return true;
  Category source = categoryOf(from), target = categoryOf(to);
  if (source == kNoCategory || target == kNoCategory) return false;
  if (target == kBool) return false;
  return source <= target || (source == kInteger && target == kInteger);
}

Cursor::Cursor(const Operand &operand)
    : load_(loadStrided(operand.type, operand.compute)),
      store_(storeStrided(operand.type, operand.compute)),
      rank_(0),
      item_(operand.item),
      array_item_(operand.compute == kRaw ? operand.item : kComputeSizes[operand.compute]),
      position_(operand.host) {
  same_type_ = operand.compute == kRaw || (operand.compute == kF32 && operand.type == ACL_FLOAT) ||
               (operand.compute == kF64 && operand.type == ACL_DOUBLE) ||
               (operand.compute == kI64 && operand.type == ACL_INT64) ||
               (operand.compute == kC128 && operand.type == ACL_COMPLEX128) ||
               (operand.compute == kBoolean8 && operand.type == ACL_BOOL);
  for (int32_t i = 0; i < operand.rank; ++i) { /* merge dimensions that are contiguous with each other */
    int64_t dim = operand.dims[i], stride = operand.strides[i] * item_;
    if (dim == 1) continue;
    if (rank_ > 0 && strides_[rank_ - 1] == stride * dim) {
      dims_[rank_ - 1] *= dim;
      strides_[rank_ - 1] = stride;
    } else {
      dims_[rank_] = dim;
      strides_[rank_++] = stride;
    }
  }
  if (rank_ == 0) {
    dims_[0] = 1;
    strides_[0] = item_;
    rank_ = 1;
  }
  std::fill(index_, index_ + rank_, 0);
}

void Cursor::moveTo(char *base) {
  position_ = base;
  std::fill(index_, index_ + rank_, 0);
}

void Cursor::advance(int64_t count) {
  int32_t last = rank_ - 1;
  index_[last] += count;
  position_ += count * strides_[last];
  for (int32_t i = last; i > 0 && index_[i] == dims_[i]; --i) {
    position_ += strides_[i - 1] - dims_[i] * strides_[i];
    index_[i] = 0;
    ++index_[i - 1];
  }
}

template <class Row>
void Cursor::walk(int64_t count, Row row) {
  while (count > 0) {
    int64_t run = std::min(count, dims_[rank_ - 1] - index_[rank_ - 1]);
    row(position_, strides_[rank_ - 1], run);
    advance(run);
    count -= run;
  }
}

int64_t Cursor::directRun() const {
  int32_t last = rank_ - 1;
  return same_type_ && strides_[last] == item_ ? dims_[last] - index_[last] : 0;
}

const void *Cursor::read(void *buffer, int64_t count) {
  if (void *memory = direct(count)) {
    advance(count);
    return memory;
  }
  char *to = static_cast<char *>(buffer);
  walk(count, [this, &to](const char *memory, int64_t stride, int64_t run) {
    load_(memory, stride, to, run);
    to += run * array_item_;
  });
  return buffer;
}

void Cursor::write(const void *array, int64_t count) {
  const char *from = static_cast<const char *>(array);
  walk(count, [this, &from](char *memory, int64_t stride, int64_t run) {
    store_(from, memory, stride, run);
    from += run * array_item_;
  });
}

void Cursor::skip(int64_t count) {
  walk(count, [](char *, int64_t, int64_t) {});
}

void Cursor::addresses(char **to, int64_t count) {
  walk(count, [&to](char *memory, int64_t stride, int64_t run) {
    for (int64_t i = 0; i < run; ++i) to[i] = memory + i * stride;
    to += run;
  });
}

}  // namespace sim
