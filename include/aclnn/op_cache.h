/* Hooks of libnnopbase that torch_npu looks up by name; no public header of CANN has them (opbase, op_cache.cpp).
 *
 * CANN keeps the executors of calls, and a caller may find one by a key of its own, without descriptors and phase 1:
 *
 *     CanUsePTACache(operator), InitPTACacheThreadLocal(), AddTensorAddrToCachedList(storage) for each tensor in the
 * order of the parameters, SetPTACacheHashKey(key), PTAFindExecCache(key, &workspace size)
 *
 * Where it finds one, phase 2 follows, once; where it finds none, both phases follow, and phase 2 keeps the call under
 * the key. UnInitPTACacheThreadLocal ends it. All of it is the calling thread's, but for the calls that are kept. An
 * executor from there cannot be made repeatable. */
#ifndef MINDTORCH_ACLNN_OP_CACHE_H_
#define MINDTORCH_ACLNN_OP_CACHE_H_
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif

bool CanUsePTACache(const char *api); /* false: the cache is off, and the others need not be called */
void InitPTACacheThreadLocal(void);
void UnInitPTACacheThreadLocal(void);
/* The storage of the next tensor argument; absent ones are left out. */
void AddTensorAddrToCachedList(void *addr);
/* `key` must stay until phase 1 has returned; NULL and 0: nothing is kept of the call. */
void SetPTACacheHashKey(uint8_t *key, size_t len);
aclOpExecutor *PTAFindExecCache(uint8_t *buf, size_t len, uint64_t *workspaceSize); /* NULL: not found */
/* The same by a number that the caller has hashed its arguments to; 0: nothing is kept. */
void SetPTAHashKey(uint64_t hash);
aclOpExecutor *PTAGetExecCache(uint64_t hash, uint64_t *workspaceSize);

#ifdef __cplusplus
}
#endif

#endif
