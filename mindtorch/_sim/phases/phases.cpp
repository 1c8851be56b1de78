/* The two phases of every operator: phase 1 checks the arguments and copies them to the executor, phase 2 submits the
 * executor to a stream. */
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <mutex>
#include <string>

#include "nnopbase/op_cache.h"
#include "opapi/op.h"

namespace sim {
namespace {

constexpr uint64_t kAlignment = 32;
constexpr size_t kLongestKey = 8192;

/* Layouts that are plain strided memory. */
constexpr uint64_t kBaseFormats = 1ull << ACL_FORMAT_NCHW | 1ull << ACL_FORMAT_NHWC | 1ull << ACL_FORMAT_ND |
                                  1ull << ACL_FORMAT_HWCN | 1ull << ACL_FORMAT_NDHWC | 1ull << ACL_FORMAT_NCDHW |
                                  1ull << ACL_FORMAT_NC | 1ull << ACL_FORMAT_NCL;

bool allows(uint64_t mask, aclDataType type) {
  return mask == 0 || (type >= 0 && type < 64 && (mask >> type & 1u) != 0);
}

aclnnStatus nullParameter(const OpRule &op, const ParameterRule &rule) {
  return simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "%s: %s is NULL", op.name, rule.name);
}

aclnnStatus notLive(const OpRule &op, const ParameterRule &rule, const void *handle) {
  return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %s (%p) is no live object of its kind", op.name, rule.name,
                 handle);
}

aclnnStatus wrongType(const OpRule &op, const ParameterRule &rule, aclDataType type) {
  char names[512] = "";
  int length = 0;
  for (int bit = 0; bit < 64 && length < 480; ++bit) {
    if ((rule.types >> bit & 1u) == 0) continue;
    length += std::snprintf(names + length, sizeof names - static_cast<size_t>(length), "%s%s", length ? ", " : "",
                            typeName(static_cast<aclDataType>(bit)));
  }
  return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %s has data type %s (%d), expected one of %s", op.name,
                 rule.name, typeName(type), static_cast<int>(type), names);
}

aclnnStatus invalidField(const OpRule &op, const ParameterRule &rule, const char *what, int64_t value,
                         const char *expected) {
  return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %s has %s %lld, expected %s", op.name, rule.name, what,
                 static_cast<long long>(value), expected);
}

SIM_COLD aclnnStatus reportedFailure(aclnnStatus status) {
  const Failure &failure = lastFailure();
  return simFail(status, failure.id, "%s", failure.text);
}

/* The status of a function of the kernel library, whose message becomes one of the thread's. */
aclnnStatus reported(aclnnStatus status) { return status == ACLNN_SUCCESS ? status : reportedFailure(status); }

/* SIM_ENTER for a function whose name is composed. */
SIM_COLD aclnnStatus enterArmed(const char *op, const char *phase) {
  return simEnterArmed((std::string(op) + phase).c_str(), nullptr);
}

aclnnStatus enter(const char *op, const char *phase) {
  if (__builtin_expect((__atomic_load_n(&simArmed, __ATOMIC_RELAXED) & SIM_WATCHED) == 0, 1)) return ACLNN_SUCCESS;
  return enterArmed(op, phase);
}

/* Copies shape and strides to the operand and computes its number of elements and its size in bytes. */
aclnnStatus measure(const OpRule &op, const ParameterRule &rule, const aclTensor *tensor, Operand *operand) {
  uint64_t count = 1, last = 0, contiguous = 1, end;
  bool is_contiguous = true, overflow = false;
  for (uint32_t i = tensor->rank; i-- > 0;) {
    int64_t dim = tensor->dims[i], stride = tensor->strides[i];
    if (dim < 0) return invalidField(op, rule, "dimension", dim, "0 or more");
    if (stride < 0) return invalidField(op, rule, "stride", stride, "0 or more");
    operand->dims[i] = dim;
    operand->strides[i] = stride;
    uint64_t step = 0;
    if (dim > 1) {
      overflow |= __builtin_mul_overflow(static_cast<uint64_t>(dim - 1), static_cast<uint64_t>(stride), &step);
      is_contiguous &= static_cast<uint64_t>(stride) == contiguous;
    }
    overflow |= __builtin_add_overflow(last, step, &last);
    overflow |= __builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count);
    contiguous = count;
  }
  overflow |= last >= std::numeric_limits<int64_t>::max() || count > std::numeric_limits<int64_t>::max();
  overflow |= __builtin_add_overflow(static_cast<uint64_t>(tensor->offset), last + 1, &end);
  overflow |= __builtin_mul_overflow(end, static_cast<uint64_t>(operand->item), &end);
  overflow |= end > std::numeric_limits<int64_t>::max();
  if (overflow)
    return invalidField(op, rule, "a shape too large, rank", tensor->rank, "a view of less than 2^63 bytes");
  if (!is_contiguous && !rule.strided && count > 1) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %s is not contiguous, expected a contiguous tensor", op.name,
                   rule.name);
  }
  operand->count = static_cast<int64_t>(count);
  operand->bytes = static_cast<int64_t>(last + 1) * operand->item;
  return ACLNN_SUCCESS;
}

aclnnStatus checkWritten(const OpRule &op, const ParameterRule &rule, const Operand &operand) {
  if ((rule.role & kOut) == 0 || operand.count == 0) return ACLNN_SUCCESS;
  for (int32_t i = 0; i < operand.rank; ++i) {
    if (operand.dims[i] > 1 && operand.strides[i] == 0) {
      return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %s is written but has a stride 0, expected no overlap",
                     op.name, rule.name);
    }
  }
  return ACLNN_SUCCESS;
}

aclnnStatus checkMemory(const OpRule &op, const char *name, const Operand &operand) {
  if (operand.count == 0) return ACLNN_SUCCESS;
  if (simDeviceMemory(reinterpret_cast<const void *>(operand.address), static_cast<uint64_t>(operand.bytes)) !=
      nullptr) {
    return ACLNN_SUCCESS;
  }
  return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001",
                 "%s: %s spans %lld bytes from address %#llx, expected live device memory", op.name, name,
                 static_cast<long long>(operand.bytes), static_cast<unsigned long long>(operand.address));
}

/* Checks that the view stays inside the storage. A descriptor without storage dimensions is not checked. */
aclnnStatus checkStorage(const OpRule &op, const ParameterRule &rule, const aclTensor *tensor, const Operand &operand) {
  if (tensor->storage_rank == 0 || operand.count == 0) return ACLNN_SUCCESS;
  int64_t storage = 1;
  for (uint32_t i = 0; i < tensor->storage_rank; ++i) {
    if (tensor->storage_dims[i] < 0 || __builtin_mul_overflow(storage, tensor->storage_dims[i], &storage)) {
      return invalidField(op, rule, "storage dimension", tensor->storage_dims[i],
                          "0 or more, and less than 2^63 elements");
    }
  }
  int64_t available; /* in bytes; no division, which would take longer than all else here */
  if (__builtin_mul_overflow(storage - tensor->offset, operand.item, &available) || operand.bytes <= available) {
    return ACLNN_SUCCESS;
  }
  const int64_t needed = tensor->offset + operand.bytes / operand.item;
  return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: the view of %s needs %lld elements, its storage has %lld",
                 op.name, rule.name, static_cast<long long>(needed), static_cast<long long>(storage));
}

aclnnStatus captureTensor(aclOpExecutor &executor, const ParameterRule &rule, const aclTensor *tensor,
                          uint32_t parameter, uint32_t ordinal, int64_t element) {
  const OpRule &op = *executor.op;
  Operand &operand = executor.operands.push();
  operand.tensor = tensor;
  operand.role = rule.role;
  operand.parameter = static_cast<uint8_t>(parameter);
  operand.ordinal = ordinal;
  operand.element = element;
  operand.given = tensor == nullptr ? 0 : executor.tensors++;
  operand.count = 0;
  operand.host = nullptr;
  if (tensor == nullptr) return rule.optional ? ACLNN_SUCCESS : nullParameter(op, rule);
  if (!isLive(tensor, kTensorMagic)) return notLive(op, rule, tensor);
  executor.references.push() = {&tensor->header, tensor->header.generation, parameter, ordinal, element};
  aclDataType type = tensor->type;
  if (!allows(rule.types, type)) return wrongType(op, rule, type);
  if (tensor->rank < rule.least_rank || tensor->rank > rule.most_rank) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %s has %u dimensions, expected %u to %u", op.name, rule.name,
                   tensor->rank, rule.least_rank, rule.most_rank);
  }
  if (tensor->format < 0 || tensor->format >= 64 || (kBaseFormats >> tensor->format & 1u) == 0) {
    return invalidField(op, rule, "format", tensor->format, "a base format (ND, NCHW, ...)");
  }
  if (reinterpret_cast<uintptr_t>(tensor->data) % kAlignment != 0) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %s has storage address %p, expected a multiple of 32",
                   op.name, rule.name, tensor->data);
  }
  if (tensor->offset < 0) return invalidField(op, rule, "view offset", tensor->offset, "0 or more");
  operand.item = static_cast<int32_t>(itemSize(type));
  if (operand.item == 0 || computeOf(type) == kNoCompute) return reported(refuseType(executor, type));
  operand.type = type;
  operand.compute = kRaw;
  operand.rank = static_cast<int32_t>(tensor->rank);
  SIM_TRY(measure(op, rule, tensor, &operand));
  SIM_TRY(checkWritten(op, rule, operand));
  SIM_TRY(checkStorage(op, rule, tensor, operand));
  operand.base = reinterpret_cast<uintptr_t>(tensor->data);
  operand.address = elementAddress(tensor, operand.item);
  return checkMemory(op, rule.name, operand);
}

template <class T>
T readAs(const aclScalar *scalar, int index = 0) {
  T value;
  std::memcpy(&value, scalar->bytes + static_cast<size_t>(index) * sizeof(T), sizeof value);
  return value;
}

bool readScalar(const aclScalar *scalar, Scalar *number) {
  switch (scalar->type) {
    case ACL_DOUBLE:
      setReal(number, readAs<double>(scalar));
      return true;
    case ACL_INT64:
    case ACL_UINT64:
      setInteger(number, readAs<int64_t>(scalar));
      return true;
    case ACL_COMPLEX64:
      setReal(number, readAs<float>(scalar), readAs<float>(scalar, 1));
      return true;
    case ACL_COMPLEX128:
      setReal(number, readAs<double>(scalar), readAs<double>(scalar, 1));
      return true;
    default:
      break;
  }
  Compute compute = computeOf(scalar->type);
  if (compute == kNoCompute) return false;
  const char *bytes = reinterpret_cast<const char *>(scalar->bytes);
  if (compute == kI64) {
    int64_t value;
    loadStrided(scalar->type, kI64)(bytes, 0, &value, 1);
    setInteger(number, value);
  } else {
    double value;
    loadStrided(scalar->type, kF64)(bytes, 0, &value, 1);
    setReal(number, value);
  }
  return true;
}

aclnnStatus captureScalar(aclOpExecutor &executor, const ParameterRule &rule, const aclScalar *scalar,
                          uint32_t parameter) {
  Scalar &number = executor.scalars[executor.scalar_count++];
  number.present = scalar != nullptr;
  if (scalar == nullptr) return rule.optional ? ACLNN_SUCCESS : nullParameter(*executor.op, rule);
  if (!isLive(scalar, kScalarMagic)) return notLive(*executor.op, rule, scalar);
  executor.references.push() = {&scalar->header, scalar->header.generation, parameter};
  if (!allows(rule.types, scalar->type)) return wrongType(*executor.op, rule, scalar->type);
  number.type = scalar->type;
  return readScalar(scalar, &number) ? ACLNN_SUCCESS : reported(refuseType(executor, scalar->type));
}

aclnnStatus captureList(aclOpExecutor &executor, const ParameterRule &rule, const aclTensorList *list,
                        uint32_t parameter, uint32_t ordinal) {
  if (list == nullptr) return rule.optional ? ACLNN_SUCCESS : nullParameter(*executor.op, rule);
  if (!isLive(list, kTensorListMagic)) return notLive(*executor.op, rule, list);
  executor.references.push() = {&list->header, list->header.generation, parameter};
  for (uint64_t i = 0; i < list->size; ++i) {
    SIM_TRY(captureTensor(executor, rule, list->items[i], parameter, ordinal, static_cast<int64_t>(i)));
  }
  return ACLNN_SUCCESS;
}

template <class Array>
aclnnStatus captureArray(aclOpExecutor &executor, const ParameterRule &rule, const void *handle, Magic magic,
                         uint32_t parameter) {
  const Array *array = static_cast<const Array *>(handle);
  if (array == nullptr) return rule.optional ? ACLNN_SUCCESS : nullParameter(*executor.op, rule);
  if (!isLive(array, magic)) return notLive(*executor.op, rule, array);
  executor.references.push() = {&array->header, array->header.generation, parameter};
  return ACLNN_SUCCESS;
}

aclnnStatus captureScalarList(aclOpExecutor &executor, const ParameterRule &rule, const aclScalarList *list,
                              uint32_t parameter) {
  if (list == nullptr) return rule.optional ? ACLNN_SUCCESS : nullParameter(*executor.op, rule);
  if (!isLive(list, kScalarListMagic)) return notLive(*executor.op, rule, list);
  executor.references.push() = {&list->header, list->header.generation, parameter};
  for (uint64_t i = 0; i < list->size; ++i) {
    const aclScalar *scalar = list->items[i];
    if (!isLive(scalar, kScalarMagic)) return notLive(*executor.op, rule, scalar);
    if (!allows(rule.types, scalar->type)) return wrongType(*executor.op, rule, scalar->type);
    Scalar &number = executor.scalar_list.push();
    number.present = true;
    number.type = scalar->type;
    if (!readScalar(scalar, &number)) return reported(refuseType(executor, scalar->type));
  }
  return ACLNN_SUCCESS;
}

/* What an in-place operator writes is a parameter twice, but the caller gives its tensors once: this copies the
 * operands of the first parameter. */
aclnnStatus captureAgain(aclOpExecutor &executor, const ParameterRule &rule, uint32_t parameter, uint32_t ordinal) {
  for (uint32_t i = 0, count = executor.operands.size(); i < count; ++i) {
    if (executor.operands[i].parameter != rule.repeats) continue;
    Operand &operand = executor.operands.push();
    operand = executor.operands[i];
    if (operand.tensor != nullptr) {
      const Header &header = operand.tensor->header;
      executor.references.push() = {&header, header.generation, parameter, ordinal, operand.element};
    }
    operand.role = rule.role;
    operand.parameter = static_cast<uint8_t>(parameter);
    operand.ordinal = ordinal;
    SIM_TRY(checkWritten(*executor.op, rule, operand));
  }
  return ACLNN_SUCCESS;
}

aclnnStatus capture(aclOpExecutor &executor, const Argument *arguments) {
  const OpRule &op = *executor.op;
  uint32_t ordinal = 0;
  for (uint32_t i = 0; i < op.count; ++i) {
    const ParameterRule &rule = op.parameters[i];
    const void *pointer = arguments[i].pointer;
    if (rule.kind == kTensor || rule.kind == kTensorList) executor.roles.push() = rule.role;
    if (rule.repeats >= 0) {
      SIM_TRY(captureAgain(executor, rule, i, ordinal++));
      continue;
    }
    switch (rule.kind) {
      case kTensor:
        SIM_TRY(captureTensor(executor, rule, static_cast<const aclTensor *>(pointer), i, ordinal++, -1));
        break;
      case kTensorList:
        SIM_TRY(captureList(executor, rule, static_cast<const aclTensorList *>(pointer), i, ordinal++));
        break;
      case kScalar:
        SIM_TRY(captureScalar(executor, rule, static_cast<const aclScalar *>(pointer), i));
        break;
      case kIntArray:
        SIM_TRY(captureArray<aclIntArray>(executor, rule, pointer, kIntArrayMagic, i));
        break;
      case kFloatArray:
        SIM_TRY(captureArray<aclFloatArray>(executor, rule, pointer, kFloatArrayMagic, i));
        break;
      case kBoolArray:
        SIM_TRY(captureArray<aclBoolArray>(executor, rule, pointer, kBoolArrayMagic, i));
        break;
      case kScalarList:
        SIM_TRY(captureScalarList(executor, rule, static_cast<const aclScalarList *>(pointer), i));
        break;
      case kValue:
        break;
    }
  }
  return ACLNN_SUCCESS;
}

/* --- the operator cache and workspaces --- */

template <class T>
void add(std::string *key, const T *values, uint64_t count) {
  key->append(reinterpret_cast<const char *>(values), count * sizeof(T)).append(1, ',');
}

void addTensor(std::string *key, const aclTensor *tensor) {
  if (tensor == nullptr) return add(key, "", 0);
  const int64_t rest[] = {tensor->type, tensor->format, tensor->offset};
  add(key, tensor->dims, tensor->rank);
  add(key, tensor->strides, tensor->rank);
  add(key, tensor->storage_dims, tensor->storage_rank);
  add(key, rest, 3);
}

void addScalar(std::string *key, const aclScalar *scalar) {
  if (scalar == nullptr) return add(key, "", 0);
  add(key, &scalar->type, 1);
  add(key, scalar->bytes, static_cast<uint64_t>(itemSize(scalar->type)));
}

template <class Array>
void addArray(std::string *key, const void *pointer) {
  const Array *array = static_cast<const Array *>(pointer);
  if (array == nullptr) return add(key, "", 0);
  add(key, array->items, array->size);
}

template <class List, class Element>
void addList(std::string *key, const void *pointer, void (*addElement)(std::string *, const Element *)) {
  const List *list = static_cast<const List *>(pointer);
  const uint64_t count = list == nullptr ? 0 : list->size;
  for (uint64_t i = 0; i < count; ++i) addElement(key, list->items[i]);
  add(key, &count, 1);
}

/* A key made of all arguments except addresses, or the key that the caller has set. Empty, and so not kept, where it is
 * longer than CANN's buffer. */
std::string cacheKeyOf(const OpRule &op, const Argument *arguments) {
  if (const std::string *own = callerKey()) return *own;
  std::string key = std::string("(") + op.name;
  for (uint32_t i = 0; i < op.count; ++i) {
    const void *pointer = arguments[i].pointer;
    switch (op.parameters[i].kind) {
      case kTensor:
        addTensor(&key, static_cast<const aclTensor *>(pointer));
        break;
      case kScalar:
        addScalar(&key, static_cast<const aclScalar *>(pointer));
        break;
      case kIntArray:
        addArray<aclIntArray>(&key, pointer);
        break;
      case kFloatArray:
        addArray<aclFloatArray>(&key, pointer);
        break;
      case kBoolArray:
        addArray<aclBoolArray>(&key, pointer);
        break;
      case kValue:
        add(&key, &arguments[i].integer, 1);
        break;
      case kTensorList:
        addList<aclTensorList>(&key, pointer, addTensor);
        break;
      case kScalarList:
        addList<aclScalarList>(&key, pointer, addScalar);
        break;
    }
  }
  return key.size() > kLongestKey ? std::string() : key;
}

__attribute__((noinline)) bool findEqualCall(aclOpExecutor *executor, const OpRule &op, const Argument *arguments) {
  return findCall(executor, cacheKeyOf(op, arguments));
}

/* Registers an executor's workspace while its kernel runs. A stream runs one kernel at a time, so an overlapping
 * workspace belongs to another stream, and the two kernels are not ordered. */
class WorkspaceUse {
 public:
  explicit WorkspaceUse(const aclOpExecutor &executor);
  ~WorkspaceUse();
  WorkspaceUse(const WorkspaceUse &) = delete;
  WorkspaceUse &operator=(const WorkspaceUse &) = delete;
  /* The operator whose workspace overlaps, or NULL. */
  const char *other() const { return other_; }

 private:
  const uintptr_t start_, end_;
  const char *const name_;
  const char *other_ = nullptr;
  WorkspaceUse *next_ = nullptr;
};

std::mutex workspace_mutex;
WorkspaceUse *first_workspace = nullptr;

WorkspaceUse::WorkspaceUse(const aclOpExecutor &executor)
    : start_(executor.workspace_address), end_(start_ + executor.workspace_size), name_(executor.op->name) {
  if (start_ == end_) return;
  std::lock_guard<std::mutex> guard(workspace_mutex);
  for (const WorkspaceUse *use = first_workspace; use != nullptr; use = use->next_) {
    if (use->start_ < end_ && start_ < use->end_) other_ = use->name_;
  }
  next_ = first_workspace;
  first_workspace = this;
}

WorkspaceUse::~WorkspaceUse() {
  if (start_ == end_) return;
  std::lock_guard<std::mutex> guard(workspace_mutex);
  WorkspaceUse **link = &first_workspace;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

/* Runs on the stream's thread. Memory that was freed after phase 2 is a device fault. */
aclError runTask(void *argument) {
  aclOpExecutor &executor = *static_cast<aclOpExecutor *>(argument);
  for (Operand &operand : executor.operands) {
    if (operand.count == 0) continue;
    operand.host = static_cast<char *>(
        simDeviceMemory(reinterpret_cast<const void *>(operand.address), static_cast<uint64_t>(operand.bytes)));
    if (operand.host == nullptr) return ACL_ERROR_RT_AICORE_EXCEPTION;
  }
  const WorkspaceUse use(executor);
  if (use.other() != nullptr) {
    return simFail(ACL_ERROR_RT_AICORE_EXCEPTION, "EZ9999",
                   "the workspace [%#llx, +%llu) is in use by %s, which another stream runs at the same time",
                   static_cast<unsigned long long>(executor.workspace_address),
                   static_cast<unsigned long long>(executor.workspace_size), use.other());
  }
  if (executor.workspace_size > 0) {
    executor.workspace = static_cast<char *>(
        simDeviceMemory(reinterpret_cast<const void *>(executor.workspace_address), executor.workspace_size));
    if (executor.workspace == nullptr) return ACL_ERROR_RT_AICORE_EXCEPTION;
    /* Fill the workspace with garbage, to find clients that pass their own data as workspace or expect data in it. */
    std::memset(executor.workspace, 0xA5, executor.workspace_size);
  }
  forgetFailure();
  const aclError code = executor.run(executor);
  if (code == ACL_SUCCESS) return code;
  const char *why = lastFailure().text;
  return simFail(code, "EZ9999", "%s%s(%s)", why, *why == '\0' ? "" : " ", describeOperands(executor).c_str());
}

void dropTask(void *argument) { releaseExecutor(static_cast<aclOpExecutor *>(argument)); }

aclnnStatus checkReferences(const OpRule &op, const aclOpExecutor &executor) {
  for (const Reference &reference : executor.references) {
    Kind kind = op.parameters[reference.parameter].kind;
    if (executor.repeatable && kind != kTensor && kind != kTensorList) continue; /* copied: phase 2 may come again */
    if (reference.object->generation != reference.generation) {
      return simFail(
          ACLNN_ERR_PARAM_INVALID, "EZ1001",
          "%s: %s was destroyed between the phases, or rewritten; expected it untouched until phase 2 returns", op.name,
          op.parameters[reference.parameter].name);
    }
  }
  return ACLNN_SUCCESS;
}

aclnnStatus checkOverlap(const OpRule &op, const aclOpExecutor &executor) {
  const uintptr_t start = executor.workspace_address, end = start + executor.workspace_size;
  for (const Operand &operand : executor.operands) {
    if (operand.count == 0 || operand.address >= end) continue;
    if (operand.address + static_cast<uintptr_t>(operand.bytes) <= start) continue;
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: the workspace overlaps %s", op.name,
                   op.parameters[operand.parameter].name);
  }
  return ACLNN_SUCCESS;
}

/* A kernel may access the memory of its own device and of its enabled peers. */
aclnnStatus checkDevices(const OpRule &op, const aclOpExecutor &executor) {
  if (simDeviceTotal() == 1) return ACLNN_SUCCESS;
  for (const Operand &operand : executor.operands) {
    if (operand.count == 0) continue;
    const int32_t device = simForeignDevice(reinterpret_cast<const void *>(operand.address));
    if (device < 0) continue;
    return simFail(ACLNN_ERR_RUNTIME_ERROR, "EZ9999", "%s: %s is memory of device %d, which the stream's cannot access",
                   op.name, op.parameters[operand.parameter].name, device);
  }
  const int32_t device = simForeignDevice(reinterpret_cast<const void *>(executor.workspace_address));
  if (executor.workspace_size == 0 || device < 0) return ACLNN_SUCCESS;
  return simFail(ACLNN_ERR_RUNTIME_ERROR, "EZ9999", "%s: the workspace is memory of device %d", op.name, device);
}

aclnnStatus checkWorkspace(const OpRule &op, void *workspace, uint64_t size, aclOpExecutor &executor) {
  uint64_t needed = executor.workspace_size;
  if (size > 0 && workspace == nullptr) {
    return simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "%s: workspace is NULL but workspaceSize is %llu", op.name,
                   static_cast<unsigned long long>(size));
  }
  if (size < needed) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: workspaceSize is %llu, expected at least %llu", op.name,
                   static_cast<unsigned long long>(size), static_cast<unsigned long long>(needed));
  }
  if (needed == 0) return ACLNN_SUCCESS;
  executor.workspace_address = reinterpret_cast<uintptr_t>(workspace);
  if (executor.workspace_address % kAlignment == 0 && simDeviceMemory(workspace, needed) != nullptr) {
    return checkOverlap(op, executor);
  }
  return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001",
                 "%s: workspace %p, expected %llu bytes of live device memory at a multiple of 32", op.name, workspace,
                 static_cast<unsigned long long>(needed));
}

aclnnStatus checkAddresses(const OpRule &op, const aclOpExecutor &executor) {
  for (const Operand &operand : executor.operands) {
    if (operand.tensor == nullptr) continue;
    const char *name = op.parameters[operand.parameter].name;
    if (operand.base % kAlignment != 0) {
      return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %s has storage address %#llx, expected a multiple of 32",
                     op.name, name, static_cast<unsigned long long>(operand.base));
    }
    SIM_TRY(checkMemory(op, name, operand));
  }
  return ACLNN_SUCCESS;
}

/* The addresses of a repeatable executor may have changed since phase 1. */
aclnnStatus refreshAddresses(const OpRule &op, aclOpExecutor &executor) {
  for (Operand &operand : executor.operands) {
    if (operand.tensor == nullptr) continue;
    const uintptr_t base = reinterpret_cast<uintptr_t>(operand.tensor->data);
    operand.address += base - operand.base;
    operand.base = base;
  }
  return checkAddresses(op, executor);
}

/* Of an executor that the caller has found by its key. */
aclnnStatus checkGivenAddresses(const OpRule &op, const aclOpExecutor &executor) {
  if (executor.addresses != executor.tensors) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001",
                   "%s: AddTensorAddrToCachedList was called %u times, the call of this key has %u tensors", op.name,
                   executor.addresses, executor.tensors);
  }
  return checkAddresses(op, executor);
}

/* Time of a kernel on the modelled device. */
int64_t kernelTime(const aclOpExecutor &executor) {
  if (__builtin_expect((__atomic_load_n(&simArmed, __ATOMIC_RELAXED) & SIM_MODELLED) == 0, 1)) return 0;
  int64_t bytes = 0;
  for (const Operand &operand : executor.operands) bytes += operand.count > 0 ? operand.bytes : 0;
  return simKernelTime(bytes, executor.flops);
}

/* Returns the executor, or a copy of a repeatable one, for the stream. */
aclOpExecutor *consume(aclOpExecutor *executor) {
  if (executor->repeatable) return copyExecutor(*executor);
  executor->header.magic = kDead;
  ++executor->header.generation;
  simCount(SIM_EXECUTOR, -1);
  return executor;
}

}  // namespace

aclnnStatus runPhase1(const OpRule &op, const Argument *arguments, uint64_t *workspace_size, aclOpExecutor **executor) {
  SIM_TRY(enter(op.name, kPhase1));
  if (workspace_size == nullptr || executor == nullptr) {
    return simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "%s: %s is NULL", op.name,
                   workspace_size == nullptr ? "workspaceSize" : "executor");
  }
  aclOpExecutor *created = allocateExecutor();
  created->op = &op;
  created->name = op.name;
  aclnnStatus status = capture(*created, arguments);
  if (status == ACLNN_SUCCESS) status = reported(op.body->prepare(*created, arguments, *op.body));
  if (status != ACLNN_SUCCESS) {
    releaseExecutor(created);
    return status;
  }
  created->header.magic = kExecutorMagic;
  if (opCacheEnabled() && findEqualCall(created, op, arguments)) {
    SIM_SPEND("phase1.hit");
  } else {
    SIM_SPEND("phase1");
  }
  simCount(SIM_EXECUTOR, 1);
  *workspace_size = created->workspace_size;
  *executor = created;
  return ACLNN_SUCCESS;
}

aclnnStatus runPhase2(const OpRule &op, void *workspace, uint64_t workspace_size, aclOpExecutor *executor,
                      aclrtStream stream) {
  if (executor == nullptr) return simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "%s: executor is NULL", op.name);
  if (!isLive(executor, kExecutorMagic)) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %p is no live executor (phase 2 called twice, or destroyed)",
                   op.name, static_cast<void *>(executor));
  }
  if (executor->op != &op) { /* not consumed: phase 2 of its own operator may still follow */
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: the executor was made by phase 1 of %s", op.name,
                   executor->op->name);
  }
  aclnnStatus status = enter(op.name, ""); /* an injected fault consumes the executor, as every failure does */
  SIM_SPEND("phase2");
  if (status == ACLNN_SUCCESS) status = checkReferences(op, *executor);
  if (status == ACLNN_SUCCESS && executor->repeatable) status = refreshAddresses(op, *executor);
  if (status == ACLNN_SUCCESS && executor->by_address) status = checkGivenAddresses(op, *executor);
  if (status == ACLNN_SUCCESS) status = checkWorkspace(op, workspace, workspace_size, *executor);
  if (status == ACLNN_SUCCESS) status = checkDevices(op, *executor);
  if (status != ACLNN_SUCCESS && executor->repeatable) return status;
  if (status == ACLNN_SUCCESS && opCacheEnabled()) keepCall(*executor);
  aclOpExecutor *task = consume(executor);
  if (status == ACLNN_SUCCESS) {
    aclError launched = simLaunchKernel(stream, {runTask, dropTask, task, op.name, 0, kernelTime(*task)});
    if (launched == ACL_SUCCESS) return ACLNN_SUCCESS;
    status = simFail(ACLNN_ERR_RUNTIME_ERROR, "EZ9999", "%s: launching the kernel failed with %d", op.name, launched);
  }
  releaseExecutor(task);
  return status;
}

aclnnStatus noKernel(const char *op, const char *phase) {
  SIM_TRY(enter(op, phase));
  return simFail(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "EZ9999", "%s: the simulator has no kernel for this operator", op);
}

}  // namespace sim
