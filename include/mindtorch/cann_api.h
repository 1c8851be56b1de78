/* CannApi: a struct of function pointers, through which mindtorch calls CANN's runtime.
 *
 * The types of the pointers come from the declarations in include/, so a call with wrong arguments does not compile.
 * The loader fills the struct once. The optional functions stay NULL if the toolkit lacks them: CANN added them later,
 * or little depends on them. The functions of ACLNN are looked up by name instead (mindtorch/_npu/acl.pyx). */
#ifndef MINDTORCH_CANN_API_H_
#define MINDTORCH_CANN_API_H_
#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnn/op_cache.h"

/* delete[] of C++, by its name in the ABI. It frees the array that aclGetViewShape returns, which libnnopbase allocates
 * with new[]; so the loader looks it up through libnnopbase. */
#ifdef __cplusplus
extern "C"
#endif
void _ZdaPv(void *array);

/* clang-format off */
#define MINDTORCH_ACL_FUNCTIONS(X) \
  X(aclInit) X(aclFinalize) X(aclGetRecentErrMsg) X(aclrtGetSocName) \
  X(aclrtGetDeviceCount) X(aclrtSetDevice) X(aclrtResetDevice) X(aclrtSynchronizeDevice) \
  X(aclrtCreateContext) X(aclrtDestroyContext) X(aclrtSetCurrentContext) \
  X(aclrtCreateStreamWithConfig) X(aclrtDestroyStream) X(aclrtSynchronizeStream) \
  X(aclrtStreamQuery) X(aclrtStreamWaitEvent) \
  X(aclrtCreateEventExWithFlag) X(aclrtDestroyEvent) X(aclrtRecordEvent) X(aclrtQueryEventStatus) \
  X(aclrtSynchronizeEvent) X(aclrtEventElapsedTime) \
  X(aclrtMalloc) X(aclrtFree) X(aclrtMallocHost) X(aclrtFreeHost) X(aclrtGetMemInfo) \
  X(aclrtReserveMemAddress) X(aclrtReleaseMemAddress) X(aclrtMallocPhysical) X(aclrtFreePhysical) \
  X(aclrtMapMem) X(aclrtUnmapMem) \
  X(aclrtMemcpy) X(aclrtMemcpyAsync) \
  X(aclrtDeviceCanAccessPeer) X(aclrtDeviceEnablePeerAccess) X(aclrtDeviceDisablePeerAccess)

#define MINDTORCH_NNOPBASE_FUNCTIONS(X) \
  X(aclCreateTensor) X(aclDestroyTensor) X(aclCreateScalar) X(aclDestroyScalar) \
  X(aclCreateIntArray) X(aclDestroyIntArray) X(aclCreateBoolArray) X(aclDestroyBoolArray) \
  X(aclCreateTensorList) X(aclDestroyTensorList) X(aclCreateScalarList) X(aclDestroyScalarList) \
  X(aclDestroyAclOpExecutor) X(aclGetViewShape) X(_ZdaPv)

#define MINDTORCH_OPTIONAL_FUNCTIONS(X) \
  X(aclGetDeviceCapability) X(aclrtGetDeviceUtilizationRate) X(aclrtDeviceGetUuid) \
  X(aclrtCreateEventWithFlag) X(aclrtResetEvent) X(aclrtEventGetTimestamp) X(aclrtIpcGetEventHandle) \
  X(aclrtIpcOpenEventHandle) X(aclrtLaunchHostFunc) \
  X(aclrtCtxSetSysParamOpt) X(aclrtSetOpExecuteTimeOutWithMs) \
  X(aclrtHostRegister) X(aclrtHostRegisterV2) X(aclrtHostUnregister) \
  X(aclrtGetMemUceInfo) X(aclrtDeviceTaskAbort) X(aclrtSetDeviceResLimit) X(aclrtGetDeviceResLimit) \
  X(aclrtSetStreamResLimit) X(aclrtGetStreamResLimit) X(aclrtResetStreamResLimit) \
  X(aclrtUseStreamResInCurrentThread) X(aclrtUnuseStreamResInCurrentThread) X(aclrtGetResInCurrentThread) \
  X(aclmdlInitDump) X(aclmdlSetDump) X(aclmdlFinalizeDump) \
  X(aclmdlRICaptureBegin) X(aclmdlRICaptureGetInfo) X(aclmdlRICaptureEnd) \
  X(aclmdlRIExecuteAsync) X(aclmdlRIDestroy) X(aclmdlRIDebugJsonPrint) \
  X(aclmdlRICaptureTaskGrpBegin) X(aclmdlRICaptureTaskGrpEnd) \
  X(aclmdlRICaptureTaskUpdateBegin) X(aclmdlRICaptureTaskUpdateEnd) \
  X(CanUsePTACache) X(InitPTACacheThreadLocal) X(UnInitPTACacheThreadLocal) X(AddTensorAddrToCachedList) \
  X(SetPTACacheHashKey) X(PTAFindExecCache) \
  X(aclSetAclOpExecutorRepeatable) X(aclSetTensorAddr) X(AclSetTensorAddr) X(aclSetDynamicTensorAddr) \
  X(AclSetDynamicTensorAddr)
/* clang-format on */

typedef struct CannApi {
#define X(function) __typeof__(&function) function;
  MINDTORCH_ACL_FUNCTIONS(X)
  MINDTORCH_NNOPBASE_FUNCTIONS(X)
  MINDTORCH_OPTIONAL_FUNCTIONS(X)
#undef X
} CannApi;

#endif
