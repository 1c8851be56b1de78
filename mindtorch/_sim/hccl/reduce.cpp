// Data types and reductions.
#include <algorithm>
#include <cstring>

#include "communicator.h"
#include "opapi/convert.h"

namespace sim::hccl {

namespace {

struct Type {
  uint64_t bytes;
  aclDataType acl;  // ACL_DT_UNDEFINED: it is moved, never computed with
};

Type typeOf(HcclDataType type) {
  switch (type) {
    case HCCL_DATA_TYPE_INT8:
      return {1, ACL_INT8};
    case HCCL_DATA_TYPE_INT16:
      return {2, ACL_INT16};
    case HCCL_DATA_TYPE_INT32:
      return {4, ACL_INT32};
    case HCCL_DATA_TYPE_INT64:
      return {8, ACL_INT64};
    case HCCL_DATA_TYPE_FP16:
      return {2, ACL_FLOAT16};
    case HCCL_DATA_TYPE_BFP16:
      return {2, ACL_BF16};
    case HCCL_DATA_TYPE_FP32:
      return {4, ACL_FLOAT};
    case HCCL_DATA_TYPE_FP64:
      return {8, ACL_DOUBLE};
    case HCCL_DATA_TYPE_UINT64:
      return {8, ACL_UINT64};
    case HCCL_DATA_TYPE_UINT32:
      return {4, ACL_DT_UNDEFINED};
    case HCCL_DATA_TYPE_UINT16:
      return {2, ACL_DT_UNDEFINED};
    case HCCL_DATA_TYPE_UINT8:
    case HCCL_DATA_TYPE_HIF8:
    case HCCL_DATA_TYPE_FP8E4M3:
    case HCCL_DATA_TYPE_FP8E5M2:
    case HCCL_DATA_TYPE_FP8E8M0:
      return {1, ACL_DT_UNDEFINED};
    case HCCL_DATA_TYPE_INT128:
      return {16, ACL_DT_UNDEFINED};
    default:
      return {0, ACL_DT_UNDEFINED};
  }
}

template <class C>
C combine(HcclReduceOp op, C a, C b) {
  switch (op) {
    case HCCL_REDUCE_SUM:
      return a + b;
    case HCCL_REDUCE_PROD:
      return a * b;
    case HCCL_REDUCE_MAX:
      return a != a || a > b ? a : b;  // not a number stays so
    default:
      return a != a || a < b ? a : b;
  }
}

// `result` may be one of the pieces. `C` computes what `Memory` holds.
template <class C, class Memory>
void reduceAs(aclDataType type, HcclReduceOp op, uint64_t item, const std::vector<const char *> &pieces, char *result,
              uint64_t count) {
  const auto compute = static_cast<uint8_t>(computeOf(type));
  const LoadStrided load = loadStrided(type, compute);
  const StoreStrided store = storeStrided(type, compute);
  const auto stride = static_cast<int64_t>(item);
  alignas(64) Memory sum[kBlock];
  alignas(64) Memory next[kBlock];
  alignas(64) char rounded[sizeof(sum)];
  for (uint64_t done = 0; done < count; done += kBlock) {
    const auto some = static_cast<int64_t>(std::min<uint64_t>(kBlock, count - done));
    const uint64_t at = done * item;
    load(pieces[0] + at, stride, sum, some);
    for (size_t rank = 1; rank < pieces.size(); ++rank) {
      load(pieces[rank] + at, stride, next, some);
      for (int64_t i = 0; i < some; ++i) {
        sum[i] = static_cast<Memory>(combine(op, static_cast<C>(sum[i]), static_cast<C>(next[i])));
      }
      if (item < sizeof(Memory)) {  // rounded, or cut, after each step
        store(sum, rounded, stride, some);
        load(rounded, stride, sum, some);
      }
    }
    store(sum, result + at, stride, some);
  }
}

}  // namespace

uint64_t sizeOf(HcclDataType type) { return typeOf(type).bytes; }

bool movable(HcclDataType type) {
  switch (type) {
    case HCCL_DATA_TYPE_HIF8:
    case HCCL_DATA_TYPE_FP8E4M3:
    case HCCL_DATA_TYPE_FP8E5M2:
    case HCCL_DATA_TYPE_FP8E8M0:
      return chip() == Chip::k950;
    case HCCL_DATA_TYPE_BFP16:
      return chip() != Chip::k910 && chip() != Chip::k310P;
    case HCCL_DATA_TYPE_INT128:
      return false;
    default:
      return sizeOf(type) != 0;
  }
}

bool reducible(HcclCMDType type, HcclDataType data_type, HcclReduceOp op) {
  const Chip soc = chip();
  if (static_cast<uint32_t>(op) > HCCL_REDUCE_MIN) return false;
  const bool variable = type == HCCL_CMD_REDUCE_SCATTER_V;
  if (variable && op == HCCL_REDUCE_PROD && soc != Chip::k950) return false;
  if (variable && op != HCCL_REDUCE_SUM && soc == Chip::k310P) return false;
  if (variable && data_type == HCCL_DATA_TYPE_INT64 && soc == Chip::k910B) return false;
  switch (data_type) {
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_FP32:
      return true;
    case HCCL_DATA_TYPE_INT16:
      if (soc == Chip::k310P) return op == HCCL_REDUCE_SUM;
      return soc != Chip::k910 && op != HCCL_REDUCE_PROD;
    case HCCL_DATA_TYPE_INT64:
      return soc != Chip::k310P;
    case HCCL_DATA_TYPE_BFP16:
      return soc != Chip::k910 && soc != Chip::k310P && op != HCCL_REDUCE_PROD;
    case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP64:
      return soc == Chip::k950;
    default:
      return false;
  }
}

void reduce(HcclDataType data_type, HcclReduceOp op, const std::vector<const char *> &pieces, char *result,
            uint64_t count) {
  const Type type = typeOf(data_type);
  const bool compares = op == HCCL_REDUCE_MAX || op == HCCL_REDUCE_MIN;
  switch (computeOf(type.acl)) {
    case kF32:
      return reduceAs<float, float>(type.acl, op, type.bytes, pieces, result, count);
    case kF64:
      return reduceAs<double, double>(type.acl, op, type.bytes, pieces, result, count);
    default:  // unsigned, integers wrap
      if (compares && data_type != HCCL_DATA_TYPE_UINT64) {
        return reduceAs<int64_t, int64_t>(type.acl, op, type.bytes, pieces, result, count);
      }
      return reduceAs<uint64_t, int64_t>(type.acl, op, type.bytes, pieces, result, count);
  }
}

}  // namespace sim::hccl
