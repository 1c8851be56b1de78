/* What prepare functions share: refusals, and the rules of shapes and types. */
#include "opapi/op.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace sim {
namespace {

thread_local Failure failure;

}  // namespace

const Failure &lastFailure() { return failure; }

void forgetFailure() { failure.text[0] = '\0'; }

bool inBounds(int64_t index, int64_t size) {
  if (__builtin_expect(index >= 0 && index < size, 1)) return true;
  fail(ACLNN_ERR_INNER, "EZ9999", "index %lld is out of bounds for a dimension of size %lld",
       static_cast<long long>(index), static_cast<long long>(size));
  return false;
}

aclnnStatus fail(aclnnStatus status, const char *id, const char *format, ...) {
  failure.id = id;
  va_list values;
  va_start(values, format);
  std::vsnprintf(failure.text, sizeof failure.text, format, values);
  va_end(values);
  return status;
}

MessageValue::MessageValue(aclDataType type) : kind_(kText), text_(typeName(type)) {}

int MessageValue::print(const OpRule &op, char *to, size_t buffer) const {
  switch (kind_) {
    case kSigned:
      return std::snprintf(to, buffer, "%lld", signed_);
    case kUnsigned:
      return std::snprintf(to, buffer, "%llu", unsigned_);
    case kReal:
      return std::snprintf(to, buffer, "%g", real_);
    case kText:
      return std::snprintf(to, buffer, "%s", text_);
    default:
      return std::snprintf(to, buffer, "%s", op.parameters[unsigned_].name);
  }
}

aclnnStatus refuseWith(const aclOpExecutor &executor, const char *format, const MessageValue *values) {
  char text[512];
  size_t length = 0;
  for (; *format != '\0' && length + 1 < sizeof text; ++format) {
    if (format[0] != '{' || format[1] != '}') {
      text[length++] = *format;
      continue;
    }
    length += static_cast<size_t>(values++->print(*executor.op, text + length, sizeof text - length));
    ++format;
  }
  text[std::min(length, sizeof text - 1)] = '\0';
  return fail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %s", executor.op->name, text);
}

aclnnStatus refuseType(const aclOpExecutor &executor, aclDataType type) {
  return fail(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "EZ9999", "%s: the simulator has no kernel for data type %s (%d)",
              executor.op->name, typeName(type), static_cast<int>(type));
}

namespace {

/* "[2,3]" */
struct ShapeText {
  char text[kMaxRank * 21 + 3];
  ShapeText(const int64_t *dims, int32_t rank) {
    size_t length = 0;
    text[length++] = '[';
    for (int32_t i = 0; i < rank; ++i) {
      length += static_cast<size_t>(
          std::snprintf(text + length, sizeof text - length, "%s%lld", i ? "," : "", static_cast<long long>(dims[i])));
    }
    std::snprintf(text + length, sizeof text - length, "]");
  }
};

}  // namespace

const char *typeName(aclDataType type) {
  static const struct {
    aclDataType type;
    const char *name;
  } kNames[] = {
      {ACL_FLOAT, "FLOAT"},           {ACL_FLOAT16, "FLOAT16"},     {ACL_INT8, "INT8"},     {ACL_INT32, "INT32"},
      {ACL_UINT8, "UINT8"},           {ACL_INT16, "INT16"},         {ACL_UINT16, "UINT16"}, {ACL_UINT32, "UINT32"},
      {ACL_INT64, "INT64"},           {ACL_UINT64, "UINT64"},       {ACL_DOUBLE, "DOUBLE"}, {ACL_BOOL, "BOOL"},
      {ACL_STRING, "STRING"},         {ACL_COMPLEX64, "COMPLEX64"}, {ACL_BF16, "BF16"},     {ACL_INT4, "INT4"},
      {ACL_COMPLEX128, "COMPLEX128"}, {ACL_COMPLEX32, "COMPLEX32"}, {ACL_UINT1, "UINT1"},   {ACL_HIFLOAT8, "HIFLOAT8"},
  };
  for (const auto &entry : kNames) {
    if (entry.type == type) return entry.name;
  }
  return "another type";
}

std::string describeOperands(const aclOpExecutor &executor) {
  std::string text;
  for (const Operand &operand : executor.operands) {
    if (operand.base == 0 && operand.count > 0) continue; /* left out */
    text += text.empty() ? "" : ", ";
    text += executor.op->parameters[operand.parameter].name;
    if (operand.element >= 0) text += "[" + std::to_string(operand.element) + "]";
    text += std::string(" ") + typeName(operand.type) + ShapeText(operand.dims, operand.rank).text;
  }
  return text;
}

Shape shapeOf(const Operand &operand) {
  Shape shape;
  shape.rank = operand.rank;
  for (int32_t i = 0; i < operand.rank; ++i) shape.dims[i] = operand.dims[i];
  return shape;
}

bool broadcastInto(Shape *shape, const Operand &operand) {
  if (operand.rank > shape->rank) {
    int32_t shift = operand.rank - shape->rank;
    for (int32_t i = shape->rank; i-- > 0;) shape->dims[i + shift] = shape->dims[i];
    for (int32_t i = 0; i < shift; ++i) shape->dims[i] = 1;
    shape->rank = operand.rank;
  }
  int32_t shift = shape->rank - operand.rank;
  for (int32_t i = 0; i < operand.rank; ++i) {
    int64_t &dim = shape->dims[i + shift];
    if (dim == 1) {
      dim = operand.dims[i];
    } else if (operand.dims[i] != dim && operand.dims[i] != 1) {
      return false;
    }
  }
  return true;
}

aclnnStatus requireShape(const aclOpExecutor &executor, const Operand &out, const Shape &shape) {
  bool equal = out.rank == shape.rank;
  for (int32_t i = 0; equal && i < shape.rank; ++i) equal = out.dims[i] == shape.dims[i];
  if (equal) return ACLNN_SUCCESS;
  return refuse(executor, "{} has shape {}, expected {}", out, ShapeText(out.dims, out.rank).text,
                ShapeText(shape.dims, shape.rank).text);
}

aclnnStatus requireCast(const aclOpExecutor &executor, aclDataType from, const Operand &out) {
  if (canCast(from, out.type)) return ACLNN_SUCCESS;
  return refuse(executor, "{} has data type {}, but a result of type {} cannot be cast to it", out, out.type, from);
}

aclnnStatus normalizeDim(const aclOpExecutor &executor, int64_t dim, int32_t rank, int32_t *result) {
  int64_t range = rank == 0 ? 1 : rank;
  if (dim < -range || dim >= range) return refuse(executor, "dim is {}, expected {} to {}", dim, -range, range - 1);
  *result = static_cast<int32_t>(dim < 0 ? dim + range : dim);
  return ACLNN_SUCCESS;
}

aclnnStatus readInts(const aclOpExecutor &executor, const void *array, int count, int64_t least, int64_t *values) {
  const aclIntArray *given = static_cast<const aclIntArray *>(array);
  if (given->size != static_cast<uint64_t>(count)) {
    return refuse(executor, "an array of {} elements, expected {}", given->size, count);
  }
  for (int i = 0; i < count; ++i) {
    values[i] = given->items[i];
    if (values[i] < least) return refuse(executor, "{} in an array, expected {} or more", values[i], least);
  }
  return ACLNN_SUCCESS;
}

void expectShape(aclOpExecutor &executor, const Operand &out, int which) {
  executor.found[which] = std::make_shared<FoundShape>();
  const_cast<aclTensor *>(out.tensor)->found = executor.found[which];
}

void reportShape(const aclOpExecutor &executor, int which, const Shape &shape) {
  FoundShape &found = *executor.found[which];
  found.rank = static_cast<uint32_t>(shape.rank);
  for (int32_t i = 0; i < shape.rank; ++i) found.dims[i] = shape.dims[i];
  found.known.store(true, std::memory_order_release);
}

void expandTo(Operand *operand, const Shape &shape) {
  int32_t shift = shape.rank - operand->rank;
  for (int32_t i = shape.rank; i-- > 0;) {
    bool own = i >= shift && operand->dims[i - shift] == shape.dims[i];
    operand->strides[i] = own ? operand->strides[i - shift] : 0;
    operand->dims[i] = shape.dims[i];
  }
  operand->rank = shape.rank;
}

}  // namespace sim
