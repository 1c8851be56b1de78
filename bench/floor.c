/* The floor: the CANN calls that one op needs, and nothing else. No layer above them can cost less.
 *
 * Each function runs its op `count` times on buffers of four float32 values and returns the first status that is no
 * success. Descriptors are made and destroyed in each round, as a binding that keeps nothing between ops has to. */
#include "acl/acl.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_relu.h"

/* The first two tensors are operands, the third is the result. All start on a 64-byte boundary. */
typedef struct Buffers {
  void *x, *y, *out;
  void *workspace;
  uint64_t workspace_bytes;
  aclrtStream stream;
} Buffers;

enum { KEEP_DTYPE = 0 }; /* cubeMathType */

static aclTensor *vector(void *data) {
  static const int64_t size = 4, stride = 1;
  return aclCreateTensor(&size, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &size, 1, data);
}

static aclTensor *matrix(void *data) {
  static const int64_t sizes[] = {2, 2}, strides[] = {2, 1};
  return aclCreateTensor(sizes, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, sizes, 2, data);
}

static aclTensor *number(void *data) {
  return aclCreateTensor(NULL, 0, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, NULL, 0, data);
}

/* The second phase, once the workspace is known to be large enough. */
#define LAUNCH(op)                                          \
  (status                             ? status              \
   : bytes > buffers->workspace_bytes ? ACL_ERROR_BAD_ALLOC \
                                      : op(bytes ? buffers->workspace : NULL, bytes, executor, buffers->stream))

int floorAdd(const Buffers *buffers, long count) {
  int status = ACL_SUCCESS;
  for (long i = 0; i < count && !status; ++i) {
    float one = 1.0f;
    uint64_t bytes = 0;
    aclOpExecutor *executor = NULL;
    aclTensor *x = vector(buffers->x), *y = vector(buffers->y), *out = vector(buffers->out);
    aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT);
    status = aclnnAddGetWorkspaceSize(x, y, alpha, out, &bytes, &executor);
    status = LAUNCH(aclnnAdd);
    aclDestroyTensor(x);
    aclDestroyTensor(y);
    aclDestroyTensor(out);
    aclDestroyScalar(alpha);
  }
  return status;
}

int floorRelu(const Buffers *buffers, long count) {
  int status = ACL_SUCCESS;
  for (long i = 0; i < count && !status; ++i) {
    uint64_t bytes = 0;
    aclOpExecutor *executor = NULL;
    aclTensor *x = vector(buffers->x), *out = vector(buffers->out);
    status = aclnnReluGetWorkspaceSize(x, out, &bytes, &executor);
    status = LAUNCH(aclnnRelu);
    aclDestroyTensor(x);
    aclDestroyTensor(out);
  }
  return status;
}

int floorMm(const Buffers *buffers, long count) {
  int status = ACL_SUCCESS;
  for (long i = 0; i < count && !status; ++i) {
    uint64_t bytes = 0;
    aclOpExecutor *executor = NULL;
    aclTensor *x = matrix(buffers->x), *y = matrix(buffers->y), *out = matrix(buffers->out);
    status = aclnnMmGetWorkspaceSize(x, y, out, KEEP_DTYPE, &bytes, &executor);
    status = LAUNCH(aclnnMm);
    aclDestroyTensor(x);
    aclDestroyTensor(y);
    aclDestroyTensor(out);
  }
  return status;
}

int floorSum(const Buffers *buffers, long count) {
  int status = ACL_SUCCESS;
  for (long i = 0; i < count && !status; ++i) {
    static const int64_t all = 0;
    uint64_t bytes = 0;
    aclOpExecutor *executor = NULL;
    aclTensor *x = vector(buffers->x), *out = number(buffers->out);
    aclIntArray *dims = aclCreateIntArray(&all, 1);
    status = aclnnReduceSumGetWorkspaceSize(x, dims, false, ACL_FLOAT, out, &bytes, &executor);
    status = LAUNCH(aclnnReduceSum);
    aclDestroyTensor(x);
    aclDestroyTensor(out);
    aclDestroyIntArray(dims);
  }
  return status;
}
