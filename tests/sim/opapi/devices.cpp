/* Operators on two devices: a kernel can access the memory of its own device and of enabled peers. */
#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "op_test.h"

int main() {
  setenv("MINDTORCH_SIM_DEVICES", "2", 1);
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  Session session;
  {
    currentCase() = "operands";
    Tensor near(ACL_FLOAT, {2}, {1, 2}), out(ACL_FLOAT, {2}, {});
    Scalar one(1);
    EXPECT(aclrtSetDevice(1) == ACL_SUCCESS);
    Tensor far(ACL_FLOAT, {2}, {10, 20});
    EXPECT(aclrtSetDevice(0) == ACL_SUCCESS);
    EXPECT(RUN(aclnnAdd, near, far, one, out) == ACLNN_ERR_RUNTIME_ERROR);
    EXPECT(std::strstr(aclGetRecentErrMsg(), "other is memory of device 1") != nullptr);
    EXPECT(simLive(SIM_EXECUTOR) == 0);
    EXPECT(aclrtDeviceEnablePeerAccess(1, 0) == ACL_SUCCESS);
    EXPECT(RUN(aclnnAdd, near, far, one, out) == ACLNN_SUCCESS);
    EXPECT_VALUES(out.read(), {11, 22}, 0);
    EXPECT(aclrtDeviceDisablePeerAccess(1) == ACL_SUCCESS);

    currentCase() = "workspace";
    Tensor sum(ACL_FLOAT, {}, {});
    uint64_t size;
    aclOpExecutor *executor;
    EXPECT(aclnnReduceSumGetWorkspaceSize(near, nullptr, false, ACL_FLOAT, sum, &size, &executor) == ACLNN_SUCCESS);
    EXPECT(aclrtSetDevice(1) == ACL_SUCCESS);
    void *workspace = nullptr;
    EXPECT(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    EXPECT(aclrtSetDevice(0) == ACL_SUCCESS);
    EXPECT(aclnnReduceSum(workspace, size, executor, nullptr) == ACLNN_ERR_RUNTIME_ERROR);
    EXPECT(aclrtFree(workspace) == ACL_SUCCESS);
  }
  EXPECT(aclrtResetDeviceForce(1) == ACL_SUCCESS);
  EXPECT(aclrtResetDevice(0) == ACL_SUCCESS); /* set three times: the session takes the last one back */
  EXPECT(aclrtResetDevice(0) == ACL_SUCCESS);
}
