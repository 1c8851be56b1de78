/* a + b of four numbers with ACL and ACLNN alone, from aclInit to aclFinalize.
 *
 *   export PKG_CONFIG_PATH="$(python -m mindtorch.sim)/lib64/pkgconfig"
 *   cc add.c -o add $(pkg-config --cflags --libs cann) && ./add
 */
#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_add.h"

enum { COUNT = 4 };

/* Ends the program where a call fails, with CANN's own message. */
static void check(int status, const char *call) {
  if (status == ACL_SUCCESS) return;
  const char *message = aclGetRecentErrMsg();
  fprintf(stderr, "%s failed with %d\n%s", call, status, message == NULL ? "" : message);
  exit(1);
}
#define CHECK(call) check((call), #call)

/* Device memory with the values. It is larger by 32 bytes, as ACLNN asks of a tensor's memory. */
static void *upload(const float *values) {
  void *device = NULL;
  CHECK(aclrtMalloc(&device, COUNT * sizeof(float) + 32, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(device, COUNT * sizeof(float), values, COUNT * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE));
  return device;
}

static aclTensor *vector(void *device) {
  const int64_t size = COUNT, stride = 1;
  return aclCreateTensor(&size, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &size, 1, device);
}

int main(void) {
  const float a[COUNT] = {1, 2, 3, 4}, b[COUNT] = {10, 20, 30, 40}, zeros[COUNT] = {0};
  float result[COUNT], one = 1;
  aclrtStream stream = NULL;
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&stream));
  void *on_device[] = {upload(a), upload(b), upload(zeros)};
  aclTensor *self = vector(on_device[0]), *other = vector(on_device[1]), *out = vector(on_device[2]);
  aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT);

  /* Phase 1 says how much workspace the operator needs; phase 2 puts it on the stream. */
  uint64_t workspace_bytes = 0;
  void *workspace = NULL;
  aclOpExecutor *executor = NULL;
  CHECK(aclnnAddGetWorkspaceSize(self, other, alpha, out, &workspace_bytes, &executor));
  if (workspace_bytes > 0) CHECK(aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclnnAdd(workspace, workspace_bytes, executor, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(result, sizeof result, on_device[2], sizeof result, ACL_MEMCPY_DEVICE_TO_HOST));
  printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);

  CHECK(aclDestroyTensor(self));
  CHECK(aclDestroyTensor(other));
  CHECK(aclDestroyTensor(out));
  CHECK(aclDestroyScalar(alpha));
  if (workspace != NULL) CHECK(aclrtFree(workspace));
  for (int i = 0; i < 3; ++i) CHECK(aclrtFree(on_device[i]));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return 0;
}
