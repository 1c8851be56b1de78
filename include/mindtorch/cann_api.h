/* The struct of function pointers through which every call of CANN's runtime goes.
 *
 * The types come from the declarations in include/, so a call whose arguments drift from them does not compile.
 * The loader fills it once. Its functions are required but for those that came later or that little depends on, which
 * stay NULL where the toolkit has none. Functions of ACLNN are found by name: mindtorch/_npu/symbols.pyx. */
#ifndef MINDTORCH_CANN_API_H_
#define MINDTORCH_CANN_API_H_
#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnn/op_cache.h"

/* delete[] of C++ (the name is the ABI's), which frees what aclGetViewShape hands out: found through libnnopbase, whose
 * new[] it goes with. */
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
  X(aclrtCreateEventWithFlag) X(aclrtResetEvent) X(aclrtEventGetTimestamp) X(aclrtIpcGetEventHandle) X(aclrtIpcOpenEventHandle) X(aclrtLaunchHostFunc) \
  X(aclrtCtxSetSysParamOpt) X(aclrtSetOpExecuteTimeOutWithMs) \
  X(aclrtHostRegister) X(aclrtHostRegisterV2) X(aclrtHostUnregister) \
  X(aclrtGetMemUceInfo) X(aclrtDeviceTaskAbort) X(aclrtSetDeviceResLimit) X(aclrtGetDeviceResLimit) \
  X(aclrtSetStreamResLimit) X(aclrtGetStreamResLimit) X(aclrtResetStreamResLimit) \
  X(aclrtUseStreamResInCurrentThread) X(aclrtUnuseStreamResInCurrentThread) X(aclrtGetResInCurrentThread) \
  X(aclmdlInitDump) X(aclmdlSetDump) X(aclmdlFinalizeDump) \
  X(aclmdlRICaptureBegin) X(aclmdlRICaptureGetInfo) X(aclmdlRICaptureEnd) \
  X(aclmdlRIExecuteAsync) X(aclmdlRIDestroy) X(aclmdlRIDebugJsonPrint) \
  X(aclmdlRICaptureTaskGrpBegin) X(aclmdlRICaptureTaskGrpEnd) \
  X(aclmdlRICaptureTaskUpdateBegin) X(aclmdlRICaptureTaskUpdateEnd)
/* clang-format on */

typedef struct CannApi {
#define X(function) __typeof__(&function) function;
  MINDTORCH_ACL_FUNCTIONS(X)
  MINDTORCH_NNOPBASE_FUNCTIONS(X)
  MINDTORCH_OPTIONAL_FUNCTIONS(X)
#undef X
} CannApi;

#endif
