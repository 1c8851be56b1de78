/* HcclApi: a struct of function pointers, through which mindtorch calls CANN's collective library, as CannApi is for
 * the runtime (cann_api.h). Optional functions stay NULL if the library lacks them. */
#ifndef MINDTORCH_HCCL_API_H_
#define MINDTORCH_HCCL_API_H_
#include "hccl/hccl.h"

/* clang-format off */
#define MINDTORCH_HCCL_FUNCTIONS(X) \
  X(HcclGetRootInfo) X(HcclCommInitRootInfo) X(HcclCommDestroy) X(HcclGetCommAsyncError) \
  X(HcclAllReduce) X(HcclReduce) X(HcclBroadcast) X(HcclScatter) X(HcclAllGather) X(HcclReduceScatter) \
  X(HcclAlltoAllV) X(HcclSend) X(HcclRecv) X(HcclBatchSendRecv) X(HcclBarrier)

#define MINDTORCH_HCCL_OPTIONAL_FUNCTIONS(X) \
  X(HcclCommInitRootInfoConfig) X(HcclGetCommConfigCapability) X(HcclAllGatherV) X(HcclReduceScatterV) \
  X(HcclGetErrorString)
/* clang-format on */

typedef struct HcclApi {
#define X(function) __typeof__(&function) function;
  MINDTORCH_HCCL_FUNCTIONS(X)
  MINDTORCH_HCCL_OPTIONAL_FUNCTIONS(X)
#undef X
} HcclApi;

/* The names of the functions, in the order of the struct's members; only communicator.pyx includes this file. */
#define X(function) #function,
static const char *const mindtorch_hccl_names[] = {MINDTORCH_HCCL_FUNCTIONS(X) NULL};
static const char *const mindtorch_hccl_optional_names[] = {MINDTORCH_HCCL_OPTIONAL_FUNCTIONS(X) NULL};
#undef X

#endif
