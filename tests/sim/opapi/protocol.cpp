/* The two-phase protocol and its violations; descriptors, lists, repeatable executors; documented rules. */
#include <atomic>
#include <cstdlib>
#include <thread>

#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_layer_norm.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_nonzero.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_relu.h"
#include "nnopbase/executor.h"
#include "op_test.h"

// An operator of CANN that torch has no use for, and the simulator no kernel.
extern "C" aclnnStatus aclnnFresnelSinGetWorkspaceSize(const aclTensor *x, aclTensor *out, uint64_t *workspaceSize,
                                                       aclOpExecutor **executor);

extern "C" aclnnStatus aclnnAcosGetWorkspaceSize(const aclTensor *input, aclTensor *out, uint64_t *workspaceSize,
                                                 aclOpExecutor **executor);
extern "C" int InitHugeMemThreadLocal(void *, bool);
extern "C" void UnInitHugeMemThreadLocal(void *, bool);
extern "C" void ReleaseHugeMem(void *, bool);

namespace {

bool messageHas(const char *text) {
  const char *message = aclGetRecentErrMsg();
  bool found = message != nullptr && std::strstr(message, text) != nullptr;
  if (!found) std::fprintf(stderr, "no \"%s\" in \"%s\"\n", text, message != nullptr ? message : "");
  return found;
}

struct Sum {
  Tensor x{ACL_FLOAT, {4}, {1, 2, 3, 4}}, y{ACL_FLOAT, {4}, {10, 20, 30, 40}}, out{ACL_FLOAT, {4}, {}};
  Scalar one{1};
  uint64_t size = 99;
  aclOpExecutor *executor = nullptr;
  aclnnStatus begin() { return aclnnAddGetWorkspaceSize(x, y, one, out, &size, &executor); }
};

void testOrder() {
  currentCase() = "phases";
  Sum sum;
  EXPECT(sum.begin() == ACLNN_SUCCESS && sum.size == 0);
  EXPECT(simLive(SIM_EXECUTOR) == 1);
  EXPECT(aclnnAdd(nullptr, 0, sum.executor, nullptr) == ACLNN_SUCCESS);
  EXPECT(simLive(SIM_EXECUTOR) == 0);
  EXPECT_VALUES(sum.out.read(), {11, 22, 33, 44}, 0);
  EXPECT(aclnnAdd(nullptr, 0, sum.executor, nullptr) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(messageHas("phase 2 called twice"));
  EXPECT(aclnnAdd(nullptr, 0, nullptr, nullptr) == ACLNN_ERR_PARAM_NULLPTR);
  EXPECT(sum.begin() == ACLNN_SUCCESS);
  EXPECT(aclnnMul(nullptr, 0, sum.executor, nullptr) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(messageHas("made by phase 1 of aclnnAdd"));
  EXPECT(aclDestroyAclOpExecutor(sum.executor) == ACLNN_SUCCESS);
  EXPECT(aclDestroyAclOpExecutor(sum.executor) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(aclnnAdd(nullptr, 0, sum.executor, nullptr) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(aclDestroyAclOpExecutor(nullptr) == ACLNN_ERR_INNER_NULLPTR);
  EXPECT(aclnnAddGetWorkspaceSize(sum.x, sum.y, sum.one, sum.out, nullptr, &sum.executor) == ACLNN_ERR_PARAM_NULLPTR);
  EXPECT(aclnnAddGetWorkspaceSize(nullptr, sum.y, sum.one, sum.out, &sum.size, &sum.executor) ==
         ACLNN_ERR_PARAM_NULLPTR);
  EXPECT(messageHas("aclnnAdd: self is NULL"));
  EXPECT(aclnnAddGetWorkspaceSize(sum.x, sum.y, nullptr, sum.out, &sum.size, &sum.executor) == ACLNN_ERR_PARAM_NULLPTR);
  EXPECT(simLive(SIM_EXECUTOR) == 0);
}

void testWorkspace() {
  currentCase() = "workspace";
  Tensor self(ACL_FLOAT, {4}, {1, 2, 3, 4}), out(ACL_FLOAT, {}, {});
  IntArray all{};
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  auto begin = [&] { return aclnnReduceSumGetWorkspaceSize(self, all, false, ACL_FLOAT, out, &size, &executor); };
  EXPECT(begin() == ACLNN_SUCCESS && size > 0 && size % 512 == 0);
  EXPECT(aclnnReduceSum(nullptr, size, executor, nullptr) == ACLNN_ERR_PARAM_NULLPTR);
  EXPECT(simLive(SIM_EXECUTOR) == 0); /* the failure used the executor up */
  void *workspace = nullptr;
  EXPECT(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  EXPECT(begin() == ACLNN_SUCCESS);
  EXPECT(aclnnReduceSum(workspace, size - 1, executor, nullptr) == ACLNN_ERR_PARAM_INVALID);
  char host[512];
  EXPECT(begin() == ACLNN_SUCCESS);
  EXPECT(aclnnReduceSum(host, size, executor, nullptr) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(begin() == ACLNN_SUCCESS);
  EXPECT(aclnnReduceSum(workspace, size, executor, nullptr) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {10}, 0);
  EXPECT(aclrtFree(workspace) == ACL_SUCCESS);
  Tensor large(ACL_FLOAT, {1024}, {});
  EXPECT(aclnnReduceSumGetWorkspaceSize(large, all, false, ACL_FLOAT, out, &size, &executor) == ACLNN_SUCCESS);
  EXPECT(aclnnReduceSum(static_cast<char *>(large.memory()) + 512, size, executor, nullptr) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(messageHas("the workspace overlaps self"));
}

/* Kernels that meet: each waits in the midst of its work until the test lets it go on. */
struct Meeting {
  std::atomic<bool> entered{false}, leave{false};
} meeting;

aclError waitInKernel(const aclOpExecutor &) {
  meeting.entered = true;
  while (!meeting.leave) std::this_thread::yield();
  return ACL_SUCCESS;
}

/* A workspace belongs to one kernel at a time: the next of the same stream may have it, another stream's may not. */
void testSharedWorkspace(bool same_stream) {
  currentCase() = same_stream ? "a workspace used again" : "a workspace shared";
  Tensor self(ACL_FLOAT, {64}, {}), first_out(ACL_FLOAT, {}, {}), out(ACL_FLOAT, {}, {});
  IntArray all{0};
  aclrtStream first = nullptr, second = nullptr;
  aclOpExecutor *executor = nullptr;
  uint64_t size = 0;
  void *workspace = nullptr;
  EXPECT(aclrtCreateStream(&first) == ACL_SUCCESS && aclrtCreateStream(&second) == ACL_SUCCESS);
  EXPECT(aclnnReduceSumGetWorkspaceSize(self, all, false, ACL_FLOAT, first_out, &size, &executor) == ACLNN_SUCCESS);
  EXPECT(aclrtMalloc(&workspace, 2 * size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  executor->run = waitInKernel;
  meeting.entered = meeting.leave = false;
  EXPECT(aclnnReduceSum(workspace, size, executor, first) == ACLNN_SUCCESS);
  while (!meeting.entered) std::this_thread::yield();
  auto *beside = static_cast<char *>(workspace) + size; /* adjoining ranges are no offence */
  EXPECT(aclnnReduceSumGetWorkspaceSize(self, all, false, ACL_FLOAT, out, &size, &executor) == ACLNN_SUCCESS);
  EXPECT(aclnnReduceSum(beside, size, executor, second) == ACLNN_SUCCESS);
  EXPECT(aclrtSynchronizeStream(second) == ACL_SUCCESS);
  EXPECT(aclnnReduceSumGetWorkspaceSize(self, all, false, ACL_FLOAT, out, &size, &executor) == ACLNN_SUCCESS);
  EXPECT(aclnnReduceSum(beside - 32, size, executor, same_stream ? first : second) == ACLNN_SUCCESS);
  if (same_stream) meeting.leave = true;
  const aclError status = aclrtSynchronizeStream(same_stream ? first : second);
  EXPECT(status == (same_stream ? ACL_SUCCESS : ACL_ERROR_RT_AICORE_EXCEPTION));
  if (!same_stream) EXPECT(messageHas("is in use by aclnnReduceSum, which another stream runs at the same time"));
  meeting.leave = true;
  aclrtSynchronizeStream(first);
  EXPECT(aclrtDestroyStream(first) == ACL_SUCCESS && aclrtDestroyStream(second) == ACL_SUCCESS);
  EXPECT(aclrtFree(workspace) == ACL_SUCCESS);
}

void testLifetimes() {
  currentCase() = "lifetimes";
  Sum sum;
  {
    Tensor gone(ACL_FLOAT, {4}, {1, 1, 1, 1});
    EXPECT(aclnnAddGetWorkspaceSize(gone, sum.y, sum.one, sum.out, &sum.size, &sum.executor) == ACLNN_SUCCESS);
  }
  Tensor successor(ACL_FLOAT, {4}, {5, 5, 5, 5}); /* takes the descriptor's place */
  EXPECT(aclnnAdd(nullptr, 0, sum.executor, nullptr) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(messageHas("self was destroyed between the phases"));
  EXPECT(sum.begin() == ACLNN_SUCCESS);
  EXPECT(aclSetRawTensorAddr(sum.y, successor.memory()) == ACLNN_SUCCESS);
  EXPECT(aclnnAdd(nullptr, 0, sum.executor, nullptr) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(messageHas("other was destroyed between the phases, or rewritten"));
  EXPECT(sum.begin() == ACLNN_SUCCESS);
  EXPECT(aclnnAdd(nullptr, 0, sum.executor, nullptr) == ACLNN_SUCCESS);
  EXPECT_VALUES(sum.out.read(), {6, 7, 8, 9}, 0);
  EXPECT(aclSetRawTensorAddr(sum.y, sum.y.memory()) == ACLNN_SUCCESS);
  const int64_t four[] = {4};
  EXPECT(sum.begin() == ACLNN_SUCCESS);
  EXPECT(aclInitTensor(sum.y, four, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, four, 1, sum.y.memory()) == ACLNN_SUCCESS);
  EXPECT(aclnnAdd(nullptr, 0, sum.executor, nullptr) == ACLNN_ERR_PARAM_INVALID);
  aclTensor *dead = Tensor(ACL_FLOAT, {4}, {}).release();
  EXPECT(aclDestroyTensor(dead) == ACLNN_SUCCESS);
  EXPECT(aclDestroyTensor(dead) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(aclnnAddGetWorkspaceSize(dead, sum.y, sum.one, sum.out, &sum.size, &sum.executor) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(messageHas("no live object"));
  aclTensor *foreign = reinterpret_cast<aclTensor *>(sum.one.handle);
  EXPECT(aclnnAddGetWorkspaceSize(foreign, sum.y, sum.one, sum.out, &sum.size, &sum.executor) ==
         ACLNN_ERR_PARAM_INVALID);
  for (const void *nothing : {static_cast<const void *>(nullptr)}) {
    EXPECT(aclDestroyTensor(static_cast<const aclTensor *>(nothing)) == ACLNN_SUCCESS);
    EXPECT(aclDestroyScalar(static_cast<const aclScalar *>(nothing)) == ACLNN_SUCCESS);
    EXPECT(aclDestroyIntArray(static_cast<const aclIntArray *>(nothing)) == ACLNN_SUCCESS);
    EXPECT(aclDestroyTensorList(static_cast<const aclTensorList *>(nothing)) == ACLNN_SUCCESS);
  }
  EXPECT(sum.begin() == ACLNN_SUCCESS);
  EXPECT(aclnnAdd(nullptr, 0, sum.executor, nullptr) == ACLNN_SUCCESS);
  EXPECT(aclrtSynchronizeDevice() == ACL_SUCCESS);
}

void testRules() {
  currentCase() = "rules";
  Sum sum;
  uint64_t size;
  aclOpExecutor *executor;
  auto relu = [&](const aclTensor *self, const aclTensor *out) {
    return aclnnReluGetWorkspaceSize(self, out, &size, &executor);
  };
  Tensor shorter(ACL_FLOAT, {3}, {}), doubles(ACL_DOUBLE, {4}, {});
  EXPECT(relu(sum.x, shorter) == ACLNN_ERR_PARAM_INVALID && messageHas("out has shape [3], expected [4]"));
  EXPECT(relu(doubles, sum.out) == ACLNN_ERR_PARAM_INVALID && messageHas("self has data type DOUBLE (11), expected"));
  Tensor deep(ACL_FLOAT, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1});
  EXPECT(relu(deep, deep) == ACLNN_ERR_PARAM_INVALID && messageHas("self has 9 dimensions"));
  const int64_t dims[] = {4}, strides[] = {-1}, storage[] = {4};
  char *memory = static_cast<char *>(sum.x.memory());
  auto describe = [&](const int64_t *stride, int64_t offset, aclFormat format, void *data) {
    return aclCreateTensor(dims, 1, ACL_FLOAT, stride, offset, format, storage, 1, data);
  };
  struct {
    aclTensor *tensor;
    const char *message;
  } cases[] = {
      {describe(strides, 3, ACL_FORMAT_ND, memory), "stride -1"},
      {describe(nullptr, -1, ACL_FORMAT_ND, memory), "view offset -1"},
      {describe(nullptr, 0, ACL_FORMAT_FRACTAL_NZ, memory), "format 29"},
      {describe(nullptr, 0, ACL_FORMAT_ND, memory + 4), "multiple of 32"},
      {describe(nullptr, 1 << 30, ACL_FORMAT_ND, memory), "the view of self needs 1073741828 elements"},
      {describe(nullptr, int64_t{1} << 62, ACL_FORMAT_ND, memory), "a view of less than 2^63 bytes"},
      {describe(nullptr, 0, ACL_FORMAT_ND, nullptr), "live device memory"},
      {describe(nullptr, 8, ACL_FORMAT_ND, memory), "the view of self needs 12 elements, its storage has 4"},
  };
  for (auto &test : cases) {
    currentCase() = test.message;
    EXPECT(relu(test.tensor, sum.out) == ACLNN_ERR_PARAM_INVALID && messageHas(test.message));
    EXPECT(aclDestroyTensor(test.tensor) == ACLNN_SUCCESS);
  }
  for (const Dims &sizes : {Dims{-4}, Dims{int64_t{1} << 32, int64_t{1} << 32}}) {
    currentCase() = "storage dimensions";
    aclTensor *tensor =
        aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, sizes.data(), sizes.size(), memory);
    EXPECT(relu(tensor, sum.out) == ACLNN_ERR_PARAM_INVALID && messageHas("storage dimension"));
    EXPECT(aclDestroyTensor(tensor) == ACLNN_SUCCESS);
  }
  currentCase() = "no kernel";
  EXPECT(aclnnFresnelSinGetWorkspaceSize(sum.x, sum.out, &size, &executor) == ACLNN_ERR_INNER_FIND_KERNEL_ERROR);
  EXPECT(messageHas("aclnnFresnelSin"));
  EXPECT(aclCreateTensor(nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, storage, 1, memory) == nullptr);
}

void testGetters() {
  currentCase() = "getters";
  Tensor tensor(ACL_BF16, {2, 3}, {}, kTransposed);
  int64_t *dims = nullptr, *strides = nullptr, offset = -1;
  uint64_t count = 0;
  aclDataType type;
  EXPECT(aclGetViewShape(tensor, &dims, &count) == ACLNN_SUCCESS && count == 2 && dims[0] == 2 && dims[1] == 3);
  EXPECT(aclGetViewStrides(tensor, &strides, &count) == ACLNN_SUCCESS && strides[0] == 1 && strides[1] == 2);
  EXPECT(aclGetViewOffset(tensor, &offset) == ACLNN_SUCCESS && offset == 0);
  EXPECT(aclGetDataType(tensor, &type) == ACLNN_SUCCESS && type == ACL_BF16);
  EXPECT(aclGetViewShape(nullptr, &dims, &count) == ACLNN_ERR_PARAM_NULLPTR);
  delete[] dims;
  delete[] strides;
  IntArray array{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT(aclGetIntArraySize(array, &count) == ACLNN_SUCCESS && count == 10);
  void *address = nullptr;
  EXPECT(aclGetRawTensorAddr(tensor, &address) == ACLNN_SUCCESS && address == tensor.memory());
  EXPECT(aclnnInit(nullptr) == ACLNN_SUCCESS && aclnnFinalize() == ACLNN_SUCCESS);
}

void testRepeatable() {
  currentCase() = "repeatable";
  Sum sum;
  Tensor other(ACL_FLOAT, {4}, {5, 6, 7, 8}), target(ACL_FLOAT, {4}, {});
  EXPECT(sum.begin() == ACLNN_SUCCESS);
  EXPECT(aclSetAclOpExecutorRepeatable(sum.executor) == ACLNN_SUCCESS);
  EXPECT(aclnnAdd(nullptr, 0, sum.executor, nullptr) == ACLNN_SUCCESS);
  EXPECT_VALUES(sum.out.read(), {11, 22, 33, 44}, 0);
  EXPECT(aclSetInputTensorAddr(sum.executor, 0, sum.x, other.memory()) == ACLNN_SUCCESS);
  EXPECT(AclSetOutputTensorAddr(sum.executor, 0, sum.out, target.memory()) == ACLNN_SUCCESS);
  EXPECT(aclnnAdd(nullptr, 0, sum.executor, nullptr) == ACLNN_SUCCESS);
  EXPECT_VALUES(target.read(), {15, 26, 37, 48}, 0);
  EXPECT(aclSetTensorAddr(sum.executor, 2, sum.out, sum.out.memory()) == ACLNN_SUCCESS);
  EXPECT(aclSetInputTensorAddr(sum.executor, 2, sum.x, other.memory()) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(aclSetInputTensorAddr(sum.executor, 1, sum.x, other.memory()) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(aclSetInputTensorAddr(sum.executor, 0, nullptr, nullptr) == ACLNN_ERR_INNER_NULLPTR);
  EXPECT(aclSetInputTensorAddr(nullptr, 0, sum.x, nullptr) == ACLNN_ERR_INNER_NULLPTR);
  EXPECT(aclDestroyAclOpExecutor(sum.executor) == ACLNN_SUCCESS);
}

/* Absent tensors count, and the operator has its operands in an order of its own. */
void testPlacesOfTensors() {
  currentCase() = "places of tensors";
  Tensor x(ACL_FLOAT, {2, 2}, {1, 3, 5, 9}), y(ACL_FLOAT, {2, 2}, {}), target(ACL_FLOAT, {2, 2}, {});
  Tensor mean(ACL_FLOAT, {2, 1}, {}), rstd(ACL_FLOAT, {2, 1}, {});
  const int64_t two[] = {2};
  aclIntArray *shape = aclCreateIntArray(two, 1);
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  EXPECT(aclnnLayerNormGetWorkspaceSize(x, shape, nullptr, nullptr, 0, y, mean, rstd, &size, &executor) ==
         ACLNN_SUCCESS);
  Tensor workspace(ACL_FLOAT, {static_cast<int64_t>(size)}, {});
  EXPECT(aclSetAclOpExecutorRepeatable(executor) == ACLNN_SUCCESS);
  EXPECT(aclSetTensorAddr(executor, 1, y, target.memory()) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(aclSetTensorAddr(executor, 3, y, target.memory()) == ACLNN_SUCCESS);
  EXPECT(aclSetTensorAddr(executor, 6, rstd, rstd.memory()) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(aclnnLayerNorm(workspace.memory(), size, executor, nullptr) == ACLNN_SUCCESS);
  EXPECT_VALUES(target.read(), {-1, 1, -1, 1}, 1e-6);
  EXPECT(aclDestroyAclOpExecutor(executor) == ACLNN_SUCCESS);
  aclDestroyIntArray(shape);
}

/* As of CANN's operators that find out the shape of their result on the device. */
void testNotRepeatable() {
  currentCase() = "not repeatable";
  Tensor x(ACL_FLOAT, {3}, {1, 0, 2}), out(ACL_INT64, {3, 1}, {});
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  EXPECT(aclnnNonzeroGetWorkspaceSize(x, out, &size, &executor) == ACLNN_SUCCESS);
  EXPECT(aclSetAclOpExecutorRepeatable(executor) == ACLNN_ERR_INNER);
  EXPECT(aclDestroyAclOpExecutor(executor) == ACLNN_SUCCESS);
}

/* Descriptors made on one thread and destroyed on another, more of them than a thread keeps; and fewer than a thread
 * takes from the common list at once, by a thread that destroys none: what it had left outlives it. */
void testThreads() {
  currentCase() = "threads";
  const int64_t dims[] = {2};
  for (const size_t count : {2000, 100, 2000}) {
    std::vector<aclTensor *> tensors(count);
    std::thread maker([&] {
      for (aclTensor *&tensor : tensors) {
        tensor = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr);
      }
    });
    maker.join();
    std::thread breaker([&] {
      for (aclTensor *tensor : tensors) EXPECT(aclDestroyTensor(tensor) == ACLNN_SUCCESS);
    });
    breaker.join();
  }
  EXPECT(simLive(SIM_TENSOR) == 0);
}

/* Eight threads run operators at once, each on its own stream. */
void testStreams() {
  currentCase() = "streams";
  std::vector<std::thread> threads;
  std::vector<aclrtStream> streams(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i, &stream = streams[static_cast<size_t>(i)]] {
      EXPECT(aclrtSetDevice(0) == ACL_SUCCESS);
      EXPECT(aclrtCreateStream(&stream) == ACL_SUCCESS);
      Tensor sum(ACL_FLOAT, {4}, {0, 0, 0, 0}), step(ACL_FLOAT, {}, {static_cast<double>(i)});
      Scalar one(1);
      for (int round = 0; round < 50; ++round) {
        uint64_t size;
        aclOpExecutor *executor;
        EXPECT(aclnnInplaceAddGetWorkspaceSize(sum, step, one, &size, &executor) == ACLNN_SUCCESS);
        EXPECT(aclnnInplaceAdd(nullptr, 0, executor, stream) == ACLNN_SUCCESS);
      }
      EXPECT(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
      EXPECT_VALUES(sum.read(), Values(4, 50.0 * i), 0);
      EXPECT(aclrtResetDevice(0) == ACL_SUCCESS);
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (aclrtStream stream : streams) EXPECT(aclrtDestroyStream(stream) == ACL_SUCCESS);
}

/* The arena that clients switch on and off around an operator: nothing to do here, but counted and able to fail. */
void testArena() {
  currentCase() = "arena";
  simCountCalls(1);
  EXPECT(InitHugeMemThreadLocal(nullptr, false) == 0);
  simInjectFault("InitHugeMemThreadLocal", 1, 1, ACL_ERROR_FAILURE);
  EXPECT(InitHugeMemThreadLocal(nullptr, false) == ACL_ERROR_FAILURE);
  UnInitHugeMemThreadLocal(nullptr, false);
  ReleaseHugeMem(nullptr, false);
  EXPECT(simCalls("InitHugeMemThreadLocal") == 2 && simCalls("UnInitHugeMemThreadLocal") == 1);
  EXPECT(simCalls("ReleaseHugeMem") == 1);
  simCountCalls(0);
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_OP_CACHE", "0", 1); /* executors from the cache cannot be made repeatable */
  Session session;
  testOrder();
  testWorkspace();
  testLifetimes();
  testRules();
  testGetters();
  testRepeatable();
  testPlacesOfTensors();
  testNotRepeatable();
  testThreads();
  testStreams();
  testArena();
  testSharedWorkspace(true);
  testSharedWorkspace(false);
  EXPECT(aclrtResetDevice(0) == ACL_SUCCESS); /* the fault ends with it */
  EXPECT(aclrtSetDevice(0) == ACL_SUCCESS);
}
