/* cat and stack: every input is copied to its slice of the output. */
#include "opapi/loops.h"

namespace sim {
namespace {

/* torch lets an empty one-dimensional tensor stand in any cat. */
bool isLegacyEmpty(const Operand &operand) { return operand.rank == 1 && operand.dims[0] == 0; }

aclError runJoin(const aclOpExecutor &executor) {
  uint32_t inputs = executor.operands.size() - 1;
  Operand out = executor.operands[inputs];
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  const bool stack = executor.attributes[1] != 0;
  for (uint32_t i = 0; i < inputs; ++i) {
    Operand in = executor.operands[i];
    if (in.count == 0) continue;
    if (stack) {
      for (int32_t k = in.rank++; k > dim; --k) {
        in.dims[k] = in.dims[k - 1];
        in.strides[k] = in.strides[k - 1];
      }
      in.dims[dim] = 1;
      in.strides[dim] = 0;
    }
    Operand slice = out;
    slice.dims[dim] = in.dims[dim];
    slice.compute = in.compute;
    convertView(in, slice);
    out.host += in.dims[dim] * out.strides[dim] * out.item;
  }
  return ACL_SUCCESS;
}

aclnnStatus checkInputs(const aclOpExecutor &executor, uint32_t inputs) {
  if (inputs == 0) return refuse(executor, "tensors is empty");
  return ACLNN_SUCCESS;
}

aclnnStatus prepareJoin(aclOpExecutor &executor, int32_t dim, const Shape &shape, bool stack) {
  uint32_t inputs = executor.operands.size() - 1;
  Operand &out = executor.operands[inputs];
  SIM_TRY(requireShape(executor, out, shape));
  aclDataType type = executor.operands[0].type;
  for (uint32_t i = 1; i < inputs; ++i) type = promoteTypes(type, executor.operands[i].type);
  SIM_TRY(requireCast(executor, type, out));
  for (uint32_t i = 0; i < inputs; ++i) {
    executor.operands[i].compute = copyCompute(executor.operands[i].type, out.type);
  }
  executor.attributes[0] = dim;
  executor.attributes[1] = stack;
  executor.run = runJoin;
  executor.workspace_size = out.count > 0 ? roundUp(inputs * sizeof(uint64_t)) : 0; /* the address table */
  return ACLNN_SUCCESS;
}

aclnnStatus prepareCat(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  uint32_t inputs = executor.operands.size() - 1;
  SIM_TRY(checkInputs(executor, inputs));
  const Operand *model = &executor.operands[0];
  for (uint32_t i = 0; i < inputs && isLegacyEmpty(*model); ++i) model = &executor.operands[i];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, model->rank, &dim));
  if (model->rank == 0) return refuse(executor, "tensors holds a 0-d tensor, which cannot be concatenated");
  Shape shape = shapeOf(*model);
  shape.dims[dim] = 0;
  for (uint32_t i = 0; i < inputs; ++i) {
    const Operand &in = executor.operands[i];
    if (isLegacyEmpty(in)) continue;
    bool fits = in.rank == shape.rank;
    for (int32_t k = 0; fits && k < in.rank; ++k) fits = k == dim || in.dims[k] == shape.dims[k];
    if (!fits) return refuse(executor, "tensor {} of tensors differs from the others beside dim {}", i, dim);
    shape.dims[dim] += in.dims[dim];
  }
  return prepareJoin(executor, dim, shape, false);
}

aclnnStatus prepareStack(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  uint32_t inputs = executor.operands.size() - 1;
  SIM_TRY(checkInputs(executor, inputs));
  const Operand &first = executor.operands[0];
  if (first.rank >= static_cast<int32_t>(kMaxRank)) return refuse(executor, "tensors has {} dimensions", first.rank);
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, first.rank + 1, &dim));
  for (uint32_t i = 1; i < inputs; ++i) {
    SIM_TRY(requireShape(executor, executor.operands[i], shapeOf(first)));
  }
  Shape shape = shapeOf(first);
  for (int32_t k = shape.rank++; k > dim; --k) shape.dims[k] = shape.dims[k - 1];
  shape.dims[dim] = inputs;
  return prepareJoin(executor, dim, shape, true);
}

}  // namespace

SIM_OP(aclnnCat, prepareCat, nullptr, 0)
SIM_OP(aclnnStack, prepareStack, nullptr, 0)

}  // namespace sim
