/* How an operator of libopapi is described and run.
 *
 * The generated exports call beginOp (phase 1) and launchOp (phase 2) with the operator's rule: what CANN documents
 * about its parameters, and its body: the prepare function that checks shapes, infers types and chooses the kernel.
 * A kernel source registers a body with one line:  SIM_OP(aclnnExp, prepareUnary, kLoops<Exp>, kFloatResult) */
#ifndef MINDTORCH_SIM_OPAPI_OP_H_
#define MINDTORCH_SIM_OPAPI_OP_H_
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
  const Number *numbers;
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

aclnnStatus beginOp(const OpRule &op, const Argument *arguments, uint64_t *workspace_size, aclOpExecutor **executor);
aclnnStatus launchOp(const OpRule &op, void *workspace, uint64_t workspace_size, aclOpExecutor *executor,
                     aclrtStream stream);
aclnnStatus noKernel(const char *op, const char *function);

/* For prepare functions: what is wrong is said with the operator's name before it. */
aclnnStatus refuse(const aclOpExecutor &executor, const char *format, ...) __attribute__((format(printf, 2, 3)));
aclnnStatus refuseType(const aclOpExecutor &executor, aclDataType type); /* 561003: no kernel for this type */

const char *typeName(aclDataType type);

struct Shape {
  int32_t rank = 0;
  int64_t dims[kMaxRank];
};

Shape shapeOf(const Operand &operand);
bool broadcastInto(Shape *shape, const Operand &operand); /* false: the shapes do not fit */
aclnnStatus requireShape(const aclOpExecutor &executor, const Operand &out, const Shape &shape);
aclnnStatus requireCast(const aclOpExecutor &executor, aclDataType from, const Operand &out);
aclnnStatus normalizeDim(const aclOpExecutor &executor, int64_t dim, int32_t rank, int32_t *result);
/* Outputs whose shapes the values decide: they have room for the most there may be, and aclGetViewShape gives what the
 * kernel has found once the stream has passed it. */
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

/* Of an argument that phase 1 has not checked yet. */
inline aclDataType typeOf(const aclTensor *tensor) {
  return isLive(tensor, kTensorMagic) ? tensor->type : ACL_DT_UNDEFINED;
}

inline uint64_t roundUp(uint64_t bytes) { return (bytes + 511) / 512 * 512; }

}  // namespace sim
#endif
