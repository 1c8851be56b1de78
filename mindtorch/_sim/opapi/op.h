/* How an operator of libopapi is described and run. The generated exports call runPhase1 and runPhase2 with the
 * operator's rule: what CANN documents about its parameters, and its body. The body's prepare function checks shapes,
 * infers types and selects the kernel. A kernel source registers a body by one line: SIM_OP(aclnnExp,
 * prepareElementwise, &kLoopsOf<Exp>, kFloatResult) */
#ifndef MINDTORCH_SIM_OPAPI_OP_H_
#define MINDTORCH_SIM_OPAPI_OP_H_
#include <string>
#include <type_traits>

#include "nnopbase/executor.h"
#include "opapi/convert.h"

namespace sim {

enum Kind : uint8_t {
  kTensor,
  kTensorList,
  kScalar,
  kScalarList,
  kIntArray,
  kFloatArray,
  kBoolArray,
  kValue, /* an attribute passed by value or as text: not checked here */
};

struct ParameterRule {
  const char *name;
  Kind kind;
  uint8_t role;
  uint8_t least_rank;
  uint8_t most_rank;
  bool strided;   /* takes a non-contiguous view */
  bool optional;  /* may be NULL */
  int8_t repeats; /* the index of the parameter of which this one is the output, in an in-place operator; else -1 */
  uint64_t types; /* bit per aclDataType; 0: any */
};

struct Argument {
  template <class T, std::enable_if_t<std::is_integral<T>::value || std::is_enum<T>::value, int> = 0>
  Argument(T value) : integer(static_cast<int64_t>(value)) {}
  Argument(double value) : real(value) {}
  Argument(float value) : real(value) {}
  Argument(const void *value) : pointer(value) {}
  union {
    const void *pointer;
    int64_t integer;
    double real;
  };
};

struct LoopArguments {
  void *out;
  const void *in[4];
  int64_t count;
  int64_t first; /* logical index of the block's first element */
  const Scalar *scalars;
};
using Loop = void (*)(const LoopArguments &);

struct OpBody {
  aclnnStatus (*prepare)(aclOpExecutor &, const Argument *, const OpBody &);
  const void *kernel; /* what the prepare function expects: loops by compute type, a reducer, ... */
  int64_t variant;
};

struct OpRule {
  const char *name;
  const ParameterRule *parameters;
  uint32_t count;
  const OpBody *body;
};

#define SIM_OP(op, ...)          \
  extern const OpBody body_##op; \
  const OpBody body_##op = {__VA_ARGS__};

/* Every operator with a kernel, in the order of the names: opapi_rules.inc. */
extern SIM_API const OpRule kRules[];
extern SIM_API const uint32_t kRuleCount;

aclnnStatus runPhase1(const OpRule &op, const Argument *arguments, uint64_t *workspace_size, aclOpExecutor **executor);
aclnnStatus runPhase2(const OpRule &op, void *workspace, uint64_t workspace_size, aclOpExecutor *executor,
                      aclrtStream stream);
constexpr char kPhase1[] = "GetWorkspaceSize"; /* suffix of the functions of phase 1 */
aclnnStatus noKernel(const char *op, const char *phase);
/* An operator on lists of tensors. Its kernel is the body of the elementwise operator. */
aclnnStatus prepareForeachOf(aclOpExecutor &executor, const Argument *arguments, const OpBody &body);

/* A value in a message. A data type is shown by its name, an operand by the name of its parameter. */
class MessageValue {
 public:
  template <class T, std::enable_if_t<std::is_integral<T>::value && std::is_signed<T>::value, int> = 0>
  MessageValue(T value) : kind_(kSigned), signed_(value) {}
  template <class T, std::enable_if_t<std::is_integral<T>::value && std::is_unsigned<T>::value, int> = 0>
  MessageValue(T value) : kind_(kUnsigned), unsigned_(value) {}
  MessageValue(double value) : kind_(kReal), real_(value) {}
  MessageValue(const char *text) : kind_(kText), text_(text) {}
  MessageValue(aclDataType type);
  MessageValue(const Operand &operand) : kind_(kParameter), unsigned_(operand.parameter) {}
  int print(const OpRule &op, char *to, size_t buffer) const;

 private:
  enum { kSigned, kUnsigned, kReal, kText, kParameter } kind_;
  union {
    long long signed_;
    unsigned long long unsigned_;
    double real_;
    const char *text_;
  };
};

/* Why the thread's last call of the kernel library failed. Who calls it tells its own caller: phase 1 by a message of
 * ACL, the door for the host by a text. */
struct Failure {
  const char *id;
  char text[640];
};
SIM_API const Failure &lastFailure();
SIM_API void forgetFailure();
/* For kernels: whether a dimension has the index; if not, lastFailure() says so. */
bool inBounds(int64_t index, int64_t size);
/* "self FLOAT[5,2], indices INT64[2], out FLOAT[2,2]" */
SIM_API std::string describeOperands(const aclOpExecutor &executor);
aclnnStatus fail(aclnnStatus status, const char *id, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* For prepare functions: fails with the operator's name and `format`, each {} of which is replaced by a value. */
SIM_COLD aclnnStatus refuseWith(const aclOpExecutor &executor, const char *format, const MessageValue *values);
template <class... T>
aclnnStatus refuse(const aclOpExecutor &executor, const char *format, const T &...values) {
  const MessageValue list[] = {MessageValue(values)..., MessageValue(0)};
  return refuseWith(executor, format, list);
}
/* 561003: no kernel for this type */
SIM_API SIM_COLD aclnnStatus refuseType(const aclOpExecutor &executor, aclDataType type);

SIM_API const char *typeName(aclDataType type);

struct Shape {
  int32_t rank = 0;
  int64_t dims[kMaxRank];
};

Shape shapeOf(const Operand &operand);
inline Shape vectorShape(int64_t length) { return {1, {length}}; }
bool broadcastInto(Shape *shape, const Operand &operand); /* false: the shapes do not fit */
aclnnStatus requireShape(const aclOpExecutor &executor, const Operand &out, const Shape &shape);
aclnnStatus requireCast(const aclOpExecutor &executor, aclDataType from, const Operand &out);
aclnnStatus normalizeDim(const aclOpExecutor &executor, int64_t dim, int32_t rank, int32_t *result);
/* The `count` numbers of an aclIntArray, each at least `least`. */
aclnnStatus readInts(const aclOpExecutor &executor, const void *array, int count, int64_t least, int64_t *values);
/* Outputs whose shape depends on values: expectShape in phase 1, reportShape at run time; then aclGetViewShape
 * returns the reported shape. The tensor has room for the largest possible result. */
void expectShape(aclOpExecutor &executor, const Operand &out, int which);
void reportShape(const aclOpExecutor &executor, int which, const Shape &shape);
void expandTo(Operand *operand, const Shape &shape); /* broadcast dimensions get the stride 0 */

inline Operand &firstOut(aclOpExecutor &executor) {
  for (Operand &operand : executor.operands) {
    if (operand.role & kOut) return operand;
  }
  return executor.operands.back();
}
inline const Operand &firstOut(const aclOpExecutor &executor) {
  return firstOut(const_cast<aclOpExecutor &>(executor));
}

/* For an argument that has not been checked yet. */
inline aclDataType typeOf(const aclTensor *tensor) {
  return isLive(tensor, kTensorMagic) ? tensor->type : ACL_DT_UNDEFINED;
}

inline void setReal(Scalar *number, double real, double imaginary = 0.0) {
  number->real = real;
  number->imaginary = imaginary;
  bool fits = real > -0x1p63 && real < 0x1p63;
  number->integer = fits ? static_cast<int64_t>(real) : real > 0 ? INT64_MAX : real < 0 ? INT64_MIN : 0;
}

inline void setInteger(Scalar *number, int64_t integer) {
  number->integer = integer;
  number->real = static_cast<double>(integer);
  number->imaginary = 0.0;
}

inline uint64_t roundUp(uint64_t bytes) { return (bytes + 511) / 512 * 512; }

}  // namespace sim
#endif
