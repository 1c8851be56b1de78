/* MINDTORCH_SIM_OP_CACHE=1: executors from the cache cannot be made repeatable; the caller's own keys. */
#include "aclnn/op_cache.h"

#include <cstdlib>
#include <thread>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "op_test.h"

namespace {

/* The sum of two tensors; whether its executor can be made repeatable. The executor is used up. */
aclnnStatus repeatable(aclTensor *x, aclTensor *out, double alpha = 1) {
  Scalar number(alpha);
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  EXPECT(aclnnAddGetWorkspaceSize(x, x, number, out, &size, &executor) == ACLNN_SUCCESS);
  const aclnnStatus status = aclSetAclOpExecutorRepeatable(executor);
  EXPECT(aclnnAdd(nullptr, 0, executor, nullptr) == ACLNN_SUCCESS);
  EXPECT(aclrtSynchronizeDevice() == ACL_SUCCESS); /* before the tensors go */
  if (status == ACLNN_SUCCESS) EXPECT(aclDestroyAclOpExecutor(executor) == ACLNN_SUCCESS);
  return status;
}

void testCalls() {
  currentCase() = "calls";
  Tensor x(ACL_FLOAT, {4}, {1, 2, 3, 4}), y(ACL_FLOAT, {4}, {5, 6, 7, 8}), out(ACL_FLOAT, {4}, {});
  Tensor longer(ACL_FLOAT, {5}, {1, 2, 3, 4, 5}), longer_out(ACL_FLOAT, {5}, {});
  Scalar one(1.0);
  EXPECT(repeatable(x, out) == ACLNN_SUCCESS); /* and so it is kept for nobody else */
  EXPECT(repeatable(x, out) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnAdd, x, x, one, out) == ACLNN_SUCCESS);
  EXPECT(repeatable(x, out) == ACLNN_ERR_INNER);
  EXPECT(repeatable(y, out) == ACLNN_ERR_INNER); /* other memory only */
  EXPECT_VALUES(out.read(), {10, 12, 14, 16}, 0);
  EXPECT(repeatable(x, out, 2) == ACLNN_SUCCESS);
  EXPECT(repeatable(longer, longer_out) == ACLNN_SUCCESS);
  std::thread([&] { EXPECT(aclrtSetDevice(0) == ACL_SUCCESS && repeatable(x, out) == ACLNN_SUCCESS); }).join();
}

void testArrays() {
  currentCase() = "arrays";
  Tensor x(ACL_FLOAT, {2, 2}, {1, 2, 3, 4}), out(ACL_FLOAT, {2}, {});
  IntArray rows{0}, columns{1};
  EXPECT(RUN(aclnnReduceSum, x, rows, false, ACL_FLOAT, out) == ACLNN_SUCCESS);
  for (aclIntArray *dims : {rows.handle, columns.handle}) {
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    EXPECT(aclnnReduceSumGetWorkspaceSize(x, dims, false, ACL_FLOAT, out, &size, &executor) == ACLNN_SUCCESS);
    EXPECT((aclSetAclOpExecutorRepeatable(executor) == ACLNN_SUCCESS) == (dims == columns.handle));
    EXPECT(aclDestroyAclOpExecutor(executor) == ACLNN_SUCCESS);
  }
}

void testKeys() {
  currentCase() = "keys";
  Tensor x(ACL_FLOAT, {3}, {1, 2, 3}), out(ACL_FLOAT, {3}, {});
  Scalar one(1.0);
  uint8_t first[] = {1, 2}, second[] = {1, 3};
  EXPECT(RUN(aclnnAdd, x, x, one, out) == ACLNN_SUCCESS);
  InitPTACacheThreadLocal();
  EXPECT(repeatable(x, out) == ACLNN_SUCCESS); /* without a key nothing is looked up */
  SetPTACacheHashKey(first, sizeof first);
  EXPECT(RUN(aclnnAdd, x, x, one, out) == ACLNN_SUCCESS);
  EXPECT(repeatable(x, out) == ACLNN_ERR_INNER);
  SetPTACacheHashKey(second, sizeof second);
  EXPECT(repeatable(x, out) == ACLNN_SUCCESS);
  SetPTACacheHashKey(nullptr, 0);
  EXPECT(RUN(aclnnAdd, x, x, one, out) == ACLNN_SUCCESS);
  EXPECT(repeatable(x, out) == ACLNN_SUCCESS);
  UnInitPTACacheThreadLocal();
  EXPECT(repeatable(x, out) == ACLNN_ERR_INNER);
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_OP_CACHE", "1", 1);
  Session session;
  testCalls();
  testArrays();
  testKeys();
}
