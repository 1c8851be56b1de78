/* Hooks of libnnopbase that torch_npu looks up by name; no public header of CANN has them (opbase, op_cache.cpp).
 *
 * Phase 1 keeps what it has found, by thread, and gives it again to an equal call: an executor from there works once,
 * and cannot be made repeatable. Between InitPTACacheThreadLocal and UnInitPTACacheThreadLocal the caller's key stands
 * for the call in the place of its arguments. */
#ifndef MINDTORCH_ACLNN_OP_CACHE_H_
#define MINDTORCH_ACLNN_OP_CACHE_H_
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void InitPTACacheThreadLocal(void);
void UnInitPTACacheThreadLocal(void);
/* `key` must stay until phase 1 has returned; NULL and 0: nothing is kept of the call. */
void SetPTACacheHashKey(uint8_t *key, size_t len);

#ifdef __cplusplus
}
#endif

#endif
