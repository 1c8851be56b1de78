/* The door for the CPU device: kernels on memory of the host. The prepare function of an operator and its kernel are
 * those of the simulator; its streams, device memory and two phases are not there. */
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "mindtorch/kernels.h"
#include "opapi/blas.h"
#include "opapi/op.h"

namespace sim {
namespace {

constexpr uint32_t kMostParameters = 32, kMostArrays = 8;

/* The arrays among the arguments of one call, as prepare functions read them. */
struct Arrays {
  aclIntArray ints[kMostArrays];
  aclBoolArray bools[kMostArrays];
  uint32_t int_count = 0, bool_count = 0;
};

/* A thread's executor, which one call after the other uses. */
struct HostExecutor : aclOpExecutor {
  void reset(const OpRule &rule) {
    op = &rule;
    operands.clear();
    scalar_list.clear();
    integers.clear();
    scalar_count = 0;
    workspace_size = 0;
  }
};
thread_local HostExecutor executor;

void addOperand(const ParameterRule &rule, const KernelTensor *tensor, uint32_t parameter, uint32_t ordinal) {
  Operand &operand = executor.operands.push();
  operand.tensor = reinterpret_cast<const aclTensor *>(tensor); /* only compared with NULL */
  operand.role = rule.role;
  operand.parameter = static_cast<uint8_t>(parameter);
  operand.ordinal = ordinal;
  operand.element = -1;
  operand.count = 0;
  operand.host = nullptr;
  if (tensor == nullptr) return;
  operand.type = static_cast<aclDataType>(tensor->type);
  operand.item = static_cast<int32_t>(itemSize(operand.type));
  operand.compute = kRaw;
  operand.rank = tensor->rank;
  operand.host = static_cast<char *>(tensor->data);
  operand.address = reinterpret_cast<uintptr_t>(tensor->data);
  int64_t count = 1, last = 0;
  for (int32_t i = 0; i < tensor->rank; ++i) {
    operand.dims[i] = tensor->sizes[i];
    operand.strides[i] = tensor->strides[i];
    count *= tensor->sizes[i];
    last += (tensor->sizes[i] - 1) * tensor->strides[i];
  }
  operand.count = count;
  operand.bytes = count == 0 ? 0 : (last + 1) * operand.item;
}

void addNumber(const KernelNumber *number) {
  Scalar &scalar = executor.scalars[executor.scalar_count++];
  scalar.present = number != nullptr;
  if (number == nullptr) return;
  static constexpr aclDataType kKinds[] = {ACL_BOOL, ACL_INT64, ACL_DOUBLE, ACL_COMPLEX128};
  scalar.type = kKinds[number->kind];
  if (number->kind >= 2) {
    setReal(&scalar, number->real, number->imaginary);
  } else {
    setInteger(&scalar, number->integer);
  }
}

const aclIntArray *intArray(Arrays *arrays, const KernelInts *given) {
  aclIntArray &array = arrays->ints[arrays->int_count++];
  array.size = static_cast<uint64_t>(given->count);
  array.items = const_cast<int64_t *>(given->items);
  return &array;
}

const aclBoolArray *boolArray(Arrays *arrays, const KernelInts *given) {
  aclBoolArray &array = arrays->bools[arrays->bool_count++];
  array.size = static_cast<uint64_t>(given->count);
  array.items = array.inline_items;
  for (int64_t i = 0; i < given->count; ++i) array.items[i] = given->items[i] != 0;
  return &array;
}

int statusOf(aclnnStatus status) {
  if (status == ACLNN_SUCCESS) return 0;
  return status == ACLNN_ERR_INNER_FIND_KERNEL_ERROR ? KERNEL_ABSENT : KERNEL_REFUSED;
}

int run(const Kernel *kernel, const KernelValue *values) {
  const OpRule &op = *reinterpret_cast<const OpRule *>(kernel);
  Arrays arrays;
  union Arguments {
    Argument list[kMostParameters];
    Arguments() {}
  } arguments;
  uint32_t ordinal = 0;
  executor.reset(op);
  for (uint32_t i = 0; i < op.count; ++i) {
    const void *pointer = values[i].pointer;
    Argument &argument = arguments.list[i];
    argument.integer = values[i].integer;
    switch (op.parameters[i].kind) {
      case kTensor:
        addOperand(op.parameters[i], static_cast<const KernelTensor *>(pointer), i, ordinal++);
        break;
      case kScalar:
        addNumber(static_cast<const KernelNumber *>(pointer));
        break;
      case kIntArray:
        if (pointer != nullptr) argument.pointer = intArray(&arrays, static_cast<const KernelInts *>(pointer));
        break;
      case kBoolArray:
        if (pointer != nullptr) argument.pointer = boolArray(&arrays, static_cast<const KernelInts *>(pointer));
        break;
      case kValue:
        break;
      default:
        return statusOf(fail(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "EZ9999", "%s: lists have no way in", op.name));
    }
  }
  const aclnnStatus prepared = op.body->prepare(executor, arguments.list, *op.body);
  if (prepared != ACLNN_SUCCESS) return statusOf(prepared);
  executor.workspace = nullptr;
  if (executor.workspace_size > 0) {
    executor.workspace = static_cast<char *>(std::aligned_alloc(64, (executor.workspace_size + 63) / 64 * 64));
    if (executor.workspace == nullptr) {
      return statusOf(fail(ACLNN_ERR_INNER, "EZ9999", "%s: no memory for %llu bytes of workspace", op.name,
                           static_cast<unsigned long long>(executor.workspace_size)));
    }
  }
  const aclError ran = executor.run(executor);
  std::free(executor.workspace);
  if (ran == ACL_SUCCESS) return 0;
  fail(ACLNN_ERR_RUNTIME_ERROR, "EZ9999", "%s: the kernel failed with %d", op.name, ran);
  return ran == ACL_ERROR_RT_AICORE_EXCEPTION ? KERNEL_BAD_VALUES : KERNEL_REFUSED;
}

const Kernel *find(const char *name) {
  const OpRule *end = kRules + kRuleCount;
  const OpRule *found = std::lower_bound(
      kRules, end, name, [](const OpRule &rule, const char *wanted) { return std::strcmp(rule.name, wanted) < 0; });
  return found != end && std::strcmp(found->name, name) == 0 ? reinterpret_cast<const Kernel *>(found) : nullptr;
}

constexpr int32_t kScalarTypes[16] = {ACL_UINT8, ACL_INT8,   ACL_INT16, ACL_INT32,     ACL_INT64,      ACL_FLOAT16,
                                      ACL_FLOAT, ACL_DOUBLE, -1,        ACL_COMPLEX64, ACL_COMPLEX128, ACL_BOOL,
                                      -1,        -1,         -1,        ACL_BF16};

const char *message() { return lastFailure().text; }

}  // namespace
}  // namespace sim

extern "C" SIM_API const KernelLibrary mindtorch_kernels;
extern "C" const KernelLibrary mindtorch_kernels = {sim::find, sim::run, sim::message, sim::setBlasThreads,
                                                    sim::kScalarTypes};
