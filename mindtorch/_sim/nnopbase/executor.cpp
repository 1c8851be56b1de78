/* Executors: pool, repeatable use, address setters; start-up and the per-thread arenas that clients switch on. */
#include "nnopbase/executor.h"

#include <pthread.h>

#include "fork.h"
#include "nnopbase/op_cache.h"
#include "nnopbase/pool.h"

namespace sim {

aclOpExecutor *allocateExecutor() {
  aclOpExecutor *executor = Pool<aclOpExecutor>::allocate();
  executor->repeatable = executor->cached = executor->by_address = false;
  executor->workspace_size = 0;
  executor->scalar_count = executor->tensors = 0;
  executor->flops = 0;
  return executor;
}

namespace {

SIM_COLD void forgetShapes(aclOpExecutor *executor) {
  for (auto &found : executor->found) found.reset();
}

}  // namespace

void releaseExecutor(aclOpExecutor *executor) {
  executor->operands.clear();
  executor->references.clear();
  executor->roles.clear();
  executor->scalar_list.clear();
  executor->integers.clear();
  if (executor->found[0]) forgetShapes(executor);
  Pool<aclOpExecutor>::release(executor);
}

namespace {

/* The locks of the cache and the pools across fork(): a child may create and destroy descriptors. */
template <class... T>
void poolsAtFork(Fork stage) {
  (Pool<T>::atFork(stage), ...);
}

template <Fork stage>
void runForkHandlers() {
  opCacheAtFork(stage);
  poolsAtFork<aclTensor, aclScalar, aclIntArray, aclFloatArray, aclBoolArray, aclTensorList, aclScalarList,
              aclOpExecutor>(stage);
}

[[maybe_unused]] const int registered =
    pthread_atfork(runForkHandlers<Fork::kPrepare>, runForkHandlers<Fork::kParent>, runForkHandlers<Fork::kChild>);

aclnnStatus notAnExecutor(const char *function, const aclOpExecutor *executor) {
  if (executor == nullptr) return simFail(ACLNN_ERR_INNER_NULLPTR, "EZ9999", "%s: executor is NULL", function);
  return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %p is no live executor (used up or destroyed)", function,
                 static_cast<const void *>(executor));
}

/* What phase 1 was given as tensor `relative` (-1: no list) of the `index`-th tensor parameter with one of `roles`. */
const Reference *findTensor(const aclOpExecutor *executor, uint8_t roles, size_t index, int64_t relative) {
  uint32_t ordinal = 0;
  for (size_t seen = 0; ordinal < executor->roles.size(); ++ordinal) {
    if ((executor->roles[ordinal] & roles) != 0 && seen++ == index) break;
  }
  for (const Reference &reference : executor->references) {
    if (reference.ordinal == ordinal && reference.element == relative) return &reference;
  }
  return nullptr;
}

aclnnStatus setAddress(const char *function, aclOpExecutor *executor, uint8_t roles, size_t index, int64_t relative,
                       aclTensor *tensor, void *address) {
  if (tensor == nullptr) return simFail(ACLNN_ERR_INNER_NULLPTR, "EZ9999", "%s: tensor is NULL", function);
  const Reference *given = findTensor(executor, roles, index, relative);
  if (given == nullptr) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: index %llu names no tensor of phase 1", function,
                   static_cast<unsigned long long>(index));
  }
  if (given->object != &tensor->header || !isLive(tensor, kTensorMagic)) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: the tensor at index %llu is not the one given to phase 1",
                   function, static_cast<unsigned long long>(index));
  }
  tensor->data = address;
  return ACLNN_SUCCESS;
}

aclnnStatus setDynamicAddress(const char *function, aclOpExecutor *executor, uint8_t roles, size_t index,
                              size_t relative, aclTensorList *tensors, void *address) {
  if (tensors == nullptr) return simFail(ACLNN_ERR_INNER_NULLPTR, "EZ9999", "%s: tensors is NULL", function);
  if (!isLive(tensors, kTensorListMagic) || relative >= tensors->size) {
    return simFail(ACLNN_ERR_PARAM_INVALID, "EZ1001", "%s: %s", function,
                   isLive(tensors, kTensorListMagic) ? "relativeIndex is beyond the list" : "tensors is no live list");
  }
  return setAddress(function, executor, roles, index, static_cast<int64_t>(relative),
                    const_cast<aclTensor *>(tensors->items[relative]), address);
}

}  // namespace
}  // namespace sim

using namespace sim;

#define CHECK_EXECUTOR(function, executor) \
  if (!isLive(executor, kExecutorMagic)) return notAnExecutor(#function, executor)

extern "C" {

SIM_API aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor) {
  SIM_ENTER(aclSetAclOpExecutorRepeatable);
  CHECK_EXECUTOR(aclSetAclOpExecutorRepeatable, executor);
  if (executor->cached) {
    return simFail(ACLNN_ERR_INNER, "EZ9999", "aclSetAclOpExecutorRepeatable: the executor is from the operator cache");
  }
  if (executor->found[0] != nullptr) {
    return simFail(ACLNN_ERR_INNER, "EZ9999", "aclSetAclOpExecutorRepeatable: the elements decide shapes of %s",
                   executor->name);
  }
  executor->repeatable = true;
  return ACLNN_SUCCESS;
}

SIM_API aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor) {
  SIM_ENTER(aclDestroyAclOpExecutor);
  CHECK_EXECUTOR(aclDestroyAclOpExecutor, executor);
  executor->header.magic = kDead;
  ++executor->header.generation;
  simCount(SIM_EXECUTOR, -1);
  releaseExecutor(executor);
  return ACLNN_SUCCESS;
}

/* Both spellings are in use: older toolkits export the capitalised one. */
#define SIM_SETTER(name, roles)                                                                          \
  SIM_API aclnnStatus name(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) { \
    SIM_ENTER(name);                                                                                     \
    CHECK_EXECUTOR(name, executor);                                                                      \
    return setAddress(#name, executor, roles, index, -1, tensor, addr);                                  \
  }
#define SIM_DYNAMIC_SETTER(name, roles)                                                         \
  SIM_API aclnnStatus name(aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, \
                           aclTensorList *tensors, void *addr) {                                \
    SIM_ENTER(name);                                                                            \
    CHECK_EXECUTOR(name, executor);                                                             \
    return setDynamicAddress(#name, executor, roles, irIndex, relativeIndex, tensors, addr);    \
  }

SIM_SETTER(aclSetInputTensorAddr, kIn)
SIM_SETTER(AclSetInputTensorAddr, kIn)
SIM_SETTER(aclSetOutputTensorAddr, kOut)
SIM_SETTER(AclSetOutputTensorAddr, kOut)
SIM_SETTER(aclSetTensorAddr, kInOut)
SIM_SETTER(AclSetTensorAddr, kInOut)
SIM_DYNAMIC_SETTER(aclSetDynamicInputTensorAddr, kIn)
SIM_DYNAMIC_SETTER(AclSetDynamicInputTensorAddr, kIn)
SIM_DYNAMIC_SETTER(aclSetDynamicOutputTensorAddr, kOut)
SIM_DYNAMIC_SETTER(AclSetDynamicOutputTensorAddr, kOut)
SIM_DYNAMIC_SETTER(aclSetDynamicTensorAddr, kInOut)
SIM_DYNAMIC_SETTER(AclSetDynamicTensorAddr, kInOut)

SIM_API aclnnStatus aclnnInit(const char *) {
  SIM_ENTER(aclnnInit);
  return ACLNN_SUCCESS;
}

SIM_API aclnnStatus aclnnFinalize(void) {
  SIM_ENTER(aclnnFinalize);
  return ACLNN_SUCCESS;
}

/* Clients switch a per-thread arena for executors on and off. The pools here are per thread anyway. */
SIM_API int InitHugeMemThreadLocal(void *, bool) {
  SIM_ENTER(InitHugeMemThreadLocal);
  return ACLNN_SUCCESS;
}
SIM_API void UnInitHugeMemThreadLocal(void *, bool) { SIM_ENTER_VALUE(UnInitHugeMemThreadLocal, ); }
SIM_API void ReleaseHugeMem(void *, bool) { SIM_ENTER_VALUE(ReleaseHugeMem, ); }

}  // extern "C"
