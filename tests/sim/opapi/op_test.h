/* Shared by the tests of libnnopbase and libopapi: device tensors with a host copy of their values, all layouts of a
 * view, and calls of both phases. Expected values are plain formulas on doubles. */
#ifndef MINDTORCH_TESTS_SIM_OPAPI_OP_TEST_H_
#define MINDTORCH_TESTS_SIM_OPAPI_OP_TEST_H_
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "sim.h"

inline const char *&currentCase() {
  static const char *name = "";
  return name;
}

#define EXPECT(condition)                                                                           \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      const char *message = aclGetRecentErrMsg();                                                   \
      std::fprintf(stderr, "%s:%d: [%s] %s\n  %s\n", __FILE__, __LINE__, currentCase(), #condition, \
                   message != nullptr ? message : "");                                              \
      std::exit(1);                                                                                 \
    }                                                                                               \
  } while (0)

using Dims = std::vector<int64_t>;
using Values = std::vector<double>;
const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

inline int64_t product(const Dims &dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

/* Initialises the device; at the end checks that no object is alive. */
struct Session {
  Session() {
    EXPECT(aclInit(nullptr) == ACL_SUCCESS);
    EXPECT(aclrtSetDevice(0) == ACL_SUCCESS);
  }
  ~Session() {
    for (int kind = SIM_TENSOR; kind <= SIM_EXECUTOR; ++kind) EXPECT(simLive(static_cast<SimKind>(kind)) == 0);
    EXPECT(aclrtResetDevice(0) == ACL_SUCCESS);
    EXPECT(aclFinalize() == ACL_SUCCESS);
    std::puts("ok");
  }
};

/* The program runs once more, with an argument and this setting; its exit status. */
inline int runAs(const char *program, const std::string &setting, const std::string &value) {
  return std::system((setting + "=" + value + " " + program + " child >/dev/null").c_str());
}

/* 16-bit floats, by the definition of their formats. */
inline double decode16(uint16_t bits, int exponent_bits) {
  int mantissa_bits = 15 - exponent_bits;
  int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  double mantissa = bits & ((1 << mantissa_bits) - 1);
  int bias = (1 << (exponent_bits - 1)) - 1;
  double value;
  if (exponent == (1 << exponent_bits) - 1) {
    value = mantissa != 0 ? kNan : kInf;
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    value = std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  }
  return bits & 0x8000 ? -value : value;
}

/* The nearest encoding, by bisection over the positive ones; ties go to the even encoding. */
inline uint16_t encode16(double value, int exponent_bits) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double target = std::fabs(value);
  int infinity = ((1 << exponent_bits) - 1) << (15 - exponent_bits);
  if (std::isnan(value)) return static_cast<uint16_t>(infinity | 1 << (14 - exponent_bits));
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  int low = 0, high = infinity;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    (decode16(static_cast<uint16_t>(middle), exponent_bits) <= target ? low : high) = middle;
  }
  double below = decode16(static_cast<uint16_t>(low), exponent_bits);
  double above = high == infinity ? 2 * below - decode16(static_cast<uint16_t>(low - 1), exponent_bits)
                                  : decode16(static_cast<uint16_t>(high), exponent_bits);
  double down = target - below, up = above - target;
  bool take_high = up < down || (up == down && low % 2 == 1);
  return static_cast<uint16_t>(sign | (take_high ? high : low));
}

inline size_t sizeOfType(aclDataType type) {
  switch (type) {
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
      return 4;
    case ACL_DOUBLE:
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_COMPLEX64:
      return 8;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_COMPLEX128:
      return 16;
    default:
      return 1;
  }
}

template <class T>
void put(char *to, double value) {
  T converted = static_cast<T>(value);
  std::memcpy(to, &converted, sizeof converted);
}

template <class T>
double get(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

#define FOR_TYPE(type, action16, action) \
  switch (type) {                        \
    case ACL_FLOAT:                      \
      action(float);                     \
    case ACL_DOUBLE:                     \
      action(double);                    \
    case ACL_INT8:                       \
      action(int8_t);                    \
    case ACL_INT16:                      \
      action(int16_t);                   \
    case ACL_INT32:                      \
      action(int32_t);                   \
    case ACL_INT64:                      \
      action(int64_t);                   \
    case ACL_UINT8:                      \
      action(uint8_t);                   \
    case ACL_UINT16:                     \
      action(uint16_t);                  \
    case ACL_UINT32:                     \
      action(uint32_t);                  \
    case ACL_UINT64:                     \
      action(uint64_t);                  \
    case ACL_BOOL:                       \
      action(uint8_t);                   \
    case ACL_FLOAT16:                    \
      action16(5);                       \
    case ACL_BF16:                       \
      action16(8);                       \
    default:                             \
      std::abort();                      \
  }

inline void putValue(char *to, aclDataType type, double value) {
#define PUT(T) return put<T>(to, value)
#define PUT16(bits)                        \
  {                                        \
    uint16_t code = encode16(value, bits); \
    std::memcpy(to, &code, 2);             \
    return;                                \
  }
  FOR_TYPE(type, PUT16, PUT)
}

inline double getValue(const char *from, aclDataType type) {
#define GET(T) return get<T>(from)
#define GET16(bits)              \
  {                              \
    uint16_t code;               \
    std::memcpy(&code, from, 2); \
    return decode16(code, bits); \
  }
  FOR_TYPE(type, GET16, GET)
}

/* The value that the type stores (for values in range only). */
inline double rounded(double value, aclDataType type) {
  char bytes[16];
  if (type == ACL_BOOL) return value != 0.0;
  putValue(bytes, type, value);
  return getValue(bytes, type);
}

enum Layout { kContiguous, kTransposed, kOffset, kStepped, kLayouts };

/* A tensor in device memory. Strides and offset follow the layout; values are in logical order. */
class Tensor {
 public:
  Tensor(aclDataType type, const Dims &dims, const Values &values, Layout layout = kContiguous)
      : type_(type), dims_(dims), strides_(dims.size()) {
    int64_t stride = layout == kStepped ? 2 : 1;
    for (size_t n = 0; n < dims.size(); ++n) {
      size_t i = layout == kTransposed ? n : dims.size() - 1 - n;
      strides_[i] = stride;
      stride *= std::max<int64_t>(dims[i], 1);
    }
    if (layout == kOffset) offset_ = 3;
    storage_ = stride + offset_;
    create();
    write(values);
  }

  /* A view with stride 0 of the one element. */
  static Tensor expanded(aclDataType type, const Dims &dims, double value) {
    Tensor one(type, {}, {value});
    aclDestroyTensor(one.handle_);
    one.dims_ = dims;
    one.strides_.assign(dims.size(), 0);
    one.describe();
    return one;
  }

  Tensor(Tensor &&other) noexcept
      : type_(other.type_),
        dims_(other.dims_),
        strides_(other.strides_),
        offset_(other.offset_),
        storage_(other.storage_),
        memory_(other.memory_),
        handle_(other.handle_) {
    other.memory_ = nullptr;
    other.handle_ = nullptr;
  }
  Tensor(const Tensor &) = delete;
  ~Tensor() {
    aclDestroyTensor(handle_);
    if (memory_ != nullptr) aclrtFree(memory_);
  }

  operator aclTensor *() const { return handle_; }
  aclTensor *release() {
    aclTensor *handle = handle_;
    handle_ = nullptr;
    return handle;
  }
  void *memory() const { return memory_; }
  const Dims &dims() const { return dims_; }
  aclDataType type() const { return type_; }

  void write(const Values &values) {
    std::vector<char> bytes(static_cast<size_t>(storage_) * sizeOfType(type_));
    for (size_t i = 0; i < values.size(); ++i)
      putValue(bytes.data() + position(static_cast<int64_t>(i)), type_, values[i]);
    EXPECT(aclrtMemcpy(memory_, bytes.size(), bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS);
  }

  Values read() const {
    EXPECT(aclrtSynchronizeDevice() == ACL_SUCCESS);
    std::vector<char> bytes(static_cast<size_t>(storage_) * sizeOfType(type_));
    EXPECT(aclrtMemcpy(bytes.data(), bytes.size(), memory_, bytes.size(), ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
    Values values(static_cast<size_t>(product(dims_)));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = getValue(bytes.data() + position(static_cast<int64_t>(i)), type_);
    return values;
  }

 private:
  void create() {
    size_t bytes = static_cast<size_t>(storage_) * sizeOfType(type_);
    EXPECT(aclrtMalloc(&memory_, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    describe();
  }
  void describe() {
    handle_ = aclCreateTensor(dims_.data(), dims_.size(), type_, strides_.data(), offset_, ACL_FORMAT_ND, &storage_, 1,
                              memory_);
    EXPECT(handle_ != nullptr);
  }
  size_t position(int64_t index) const {
    int64_t element = offset_;
    for (size_t i = dims_.size(); i-- > 0;) {
      element += index % dims_[i] * strides_[i];
      index /= dims_[i];
    }
    return static_cast<size_t>(element) * sizeOfType(type_);
  }

  aclDataType type_;
  Dims dims_, strides_;
  int64_t offset_ = 0;
  int64_t storage_ = 1;
  void *memory_ = nullptr;
  aclTensor *handle_ = nullptr;
};

struct Scalar {
  explicit Scalar(double value) : handle(aclCreateScalar(&value, ACL_DOUBLE)) {}
  explicit Scalar(int64_t value) : handle(aclCreateScalar(&value, ACL_INT64)) {}
  explicit Scalar(int value) : Scalar(static_cast<int64_t>(value)) {}
  Scalar(const Scalar &) = delete;
  ~Scalar() { aclDestroyScalar(handle); }
  operator aclScalar *() const { return handle; }
  aclScalar *handle;
};

struct IntArray {
  IntArray(std::initializer_list<int64_t> values) : handle(aclCreateIntArray(values.begin(), values.size())) {}
  IntArray(const IntArray &) = delete;
  ~IntArray() { aclDestroyIntArray(handle); }
  operator aclIntArray *() const { return handle; }
  aclIntArray *handle;
};

using Phase2 = aclnnStatus (*)(void *, uint64_t, aclOpExecutor *, aclrtStream);

/* Calls both phases and synchronizes the stream; returns the status of phase 1 if it fails. */
inline aclnnStatus runBoth(const std::function<aclnnStatus(uint64_t *, aclOpExecutor **)> &begin, Phase2 launch) {
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  aclnnStatus status = begin(&size, &executor);
  if (status != ACLNN_SUCCESS) return status;
  void *workspace = nullptr;
  if (size > 0) EXPECT(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  status = launch(workspace, size, executor, nullptr);
  aclError finished = aclrtSynchronizeDevice();
  if (workspace != nullptr) aclrtFree(workspace);
  return status != ACLNN_SUCCESS ? status : finished;
}

#define RUN(op, ...)                                                                                                   \
  runBoth([&](uint64_t *size, aclOpExecutor **executor) { return op##GetWorkspaceSize(__VA_ARGS__, size, executor); }, \
          op)

inline bool close(double actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (actual == expected) return true;
  return std::fabs(actual - expected) <= tolerance * std::max(1.0, std::fabs(expected));
}

inline void expectValues(const Values &actual, const Values &expected, double tolerance, const char *file, int line) {
  bool equal = actual.size() == expected.size();
  size_t i = 0;
  for (; equal && i < actual.size(); ++i) {
    if (!close(actual[i], expected[i], tolerance)) break;
  }
  if (equal && i == actual.size()) return;
  std::fprintf(stderr, "%s:%d: [%s] element %zu of %zu is %.17g, expected %.17g\n", file, line, currentCase(), i,
               expected.size(), i < actual.size() ? actual[i] : kNan, i < expected.size() ? expected[i] : kNan);
  std::exit(1);
}
#define EXPECT_VALUES(actual, ...) expectValues(actual, __VA_ARGS__, __FILE__, __LINE__)

/* The numerical gradient of `function` by x. */
inline Values slopes(Values x, const std::function<double(const Values &)> &function) {
  Values found(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double before = x[i], step = 1e-5;
    x[i] = before + step;
    const double above = function(x);
    x[i] = before - step;
    found[i] = (above - function(x)) / (2 * step);
    x[i] = before;
  }
  return found;
}

/* Relative tolerance for one rounding to the type after a few in float. */
inline double toleranceOf(aclDataType type) {
  switch (type) {
    case ACL_FLOAT16:
      return 1e-3;
    case ACL_BF16:
      return 8e-3;
    case ACL_FLOAT:
      return 1e-6;
    case ACL_DOUBLE:
      return 1e-14;
    default:
      return 0.0;
  }
}
#endif
