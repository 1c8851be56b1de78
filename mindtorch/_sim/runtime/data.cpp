// Data types, half floats, data buffers.
#include <cstring>
#include <mutex>
#include <unordered_set>

#include "runtime.h"

struct aclDataBuffer {
  void *data;
  size_t size;
};

using namespace sim;

namespace {

struct DataBuffers {
  std::mutex mutex;
  std::unordered_set<const aclDataBuffer *> live;
};
DataBuffers &dataBuffers() {
  static DataBuffers &instance = *new DataBuffers;
  return instance;
}

// Returns an empty buffer if the handle is not live.
aclDataBuffer readDataBuffer(const aclDataBuffer *buffer) {
  std::lock_guard<std::mutex> lock(dataBuffers().mutex);
  return dataBuffers().live.count(buffer) == 0 ? aclDataBuffer{nullptr, 0} : *buffer;
}

}  // namespace

void sim::dataBuffersAtFork(Fork stage) { atFork(dataBuffers().mutex, stage); }

size_t aclDataTypeSize(aclDataType dataType) {
  SIM_ENTER_VALUE(aclDataTypeSize, 0);
  switch (dataType) {
    case ACL_DT_UNDEFINED:
    case ACL_STRING:
      return 0;
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
    case ACL_INT4:
    case ACL_UINT1:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_COMPLEX128:
      return 16;
    default:
      return 8;  // the six- and four-bit floats too: CANN's answer for what its list lacks
  }
}

float aclFloat16ToFloat(aclFloat16 value) {
  SIM_ENTER_VALUE(aclFloat16ToFloat, 0);
  const uint32_t sign = static_cast<uint32_t>(value & 0x8000) << 16;
  const uint32_t exponent = value >> 10 & 0x1f;
  const uint32_t mantissa = value & 0x3ff;
  uint32_t bits = 0;
  if (exponent == 0x1f) {
    bits = sign | 0x7f800000 | mantissa << 13;
  } else if (exponent != 0) {
    bits = sign | (exponent + 112) << 23 | mantissa << 13;
  } else {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // zero and subnormals, exact
    std::memcpy(&bits, &magnitude, sizeof bits);
    bits |= sign;
  }
  float result = 0;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

// Rounds to nearest, ties to even.
aclFloat16 aclFloatToFloat16(float value) {
  SIM_ENTER_VALUE(aclFloatToFloat16, 0);
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<aclFloat16>(sign | 0x7e00);   // NaN
  if (magnitude >= 0x477ff000) return static_cast<aclFloat16>(sign | 0x7c00);  // rounds to infinity
  if (magnitude < 0x33000000) return static_cast<aclFloat16>(sign);            // rounds to zero
  if (magnitude < 0x38800000) {                                                // subnormal: units of 2^-24
    const uint32_t shift = 126 - (magnitude >> 23);
    const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
    const uint32_t half = uint32_t{1} << (shift - 1);
    const uint32_t odd = mantissa >> shift & 1;
    return static_cast<aclFloat16>(sign | ((mantissa + half - 1 + odd) >> shift));
  }
  const uint32_t odd = magnitude >> 13 & 1;
  return static_cast<aclFloat16>(sign | (((magnitude + 0xfff + odd) >> 13) - (112 << 10)));
}

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size) {
  SIM_ENTER_VALUE(aclCreateDataBuffer, nullptr);
  auto *created = new aclDataBuffer{data, size};
  std::lock_guard<std::mutex> lock(dataBuffers().mutex);
  dataBuffers().live.insert(created);
  simCount(SIM_DATA_BUFFER, 1);
  return created;
}

aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer) {
  SIM_ENTER(aclDestroyDataBuffer);
  SIM_REQUIRE_POINTER(dataBuffer);
  {
    std::lock_guard<std::mutex> lock(dataBuffers().mutex);
    if (dataBuffers().live.erase(dataBuffer) == 0) return badHandle(__func__, "dataBuffer", dataBuffer);
  }
  simCount(SIM_DATA_BUFFER, -1);
  delete dataBuffer;
  return ACL_SUCCESS;
}

void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer) {
  SIM_ENTER_VALUE(aclGetDataBufferAddr, nullptr);
  return readDataBuffer(dataBuffer).data;
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer) {
  SIM_ENTER_VALUE(aclGetDataBufferSizeV2, 0);
  return readDataBuffer(dataBuffer).size;
}
