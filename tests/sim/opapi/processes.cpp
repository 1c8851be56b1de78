/* The cost of loading libopapi, and libopapi after a fork. */
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_matmul.h"
#include "op_test.h"

namespace {

bool isMapped(const char *library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != std::string::npos) return true;
  }
  return false;
}

/* In a child: the operators say that there is no device, and nothing waits for threads that stayed with the parent. */
void testFork(const Tensor &x, const Scalar &one, const Tensor &out) {
  currentCase() = "fork";
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    uint64_t size;
    aclOpExecutor *executor = nullptr;
    aclnnStatus status = aclnnAddGetWorkspaceSize(x, x, one, out, &size, &executor);
    bool right = (status != ACLNN_SUCCESS ? status : aclnnAdd(nullptr, 0, executor, nullptr)) != ACLNN_SUCCESS;
    const char *message = aclGetRecentErrMsg();
    right &= message != nullptr && std::strstr(message, "forked") != nullptr;
    const int64_t dims[] = {2};
    aclTensor *tensor = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr);
    right &= tensor != nullptr && aclDestroyTensor(tensor) == ACLNN_SUCCESS;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Forks while threads fill and empty the pools of descriptors; the children use the pools too. */
void testForksAmongDescriptors() {
  currentCase() = "forks among descriptors";
  const auto use = [] {
    const int64_t dims[] = {2};
    std::vector<aclTensor *> tensors(600); /* more than a thread keeps */
    bool right = true;
    for (aclTensor *&tensor : tensors) {
      tensor = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr);
      right &= tensor != nullptr;
    }
    for (aclTensor *tensor : tensors) right &= aclDestroyTensor(tensor) == ACLNN_SUCCESS;
    return right;
  };
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!over) EXPECT(use());
    });
  }
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(100);
#ifdef __SANITIZE_ADDRESS__
      _exit(0); /* its allocator may have stayed locked */
#endif
      _exit(use() ? 0 : 1);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  over = true;
  for (std::thread &thread : threads) thread.join();
}

/* Forks while the device multiplies: no child waits for threads of the BLAS that are not there, the parent goes on. */
void testForksAmongProducts() {
  currentCase() = "forks among products";
  const int64_t size = 192;
  const Values ones(static_cast<size_t>(size * size), 1.0);
  Tensor x(ACL_FLOAT, {size, size}, ones), out(ACL_FLOAT, {size, size}, {});
  std::atomic<bool> over{false};
  std::thread multiplying([&] {
    EXPECT(aclrtSetDevice(0) == ACL_SUCCESS);
    while (!over) EXPECT(RUN(aclnnMatmul, x, x, out, 0) == ACLNN_SUCCESS);
    EXPECT(aclrtResetDevice(0) == ACL_SUCCESS);
  });
  for (int i = 0; i < 15; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      /* Not _exit: the BLAS ends its threads when the process ends. A sanitizer's allocator may have stayed locked. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
      _exit(0);
#endif
      std::exit(0);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  over = true;
  multiplying.join();
  EXPECT_VALUES(out.read(), Values(ones.size(), static_cast<double>(size)), 0);
}

}  // namespace

int main() {
  setenv("OPENBLAS_NUM_THREADS", "2", 1);
  Session session;
  currentCase() = "BLAS";
  Tensor x(ACL_FLOAT, {2, 2}, {1, 2, 3, 4}), out(ACL_FLOAT, {2, 2}, {});
  Scalar one(1);
  EXPECT(RUN(aclnnAdd, x, x, one, out) == ACLNN_SUCCESS);
  EXPECT(!isMapped("libscipy_openblas")); /* it comes with the first product */
  EXPECT(RUN(aclnnMatmul, x, x, out, 0) == ACLNN_SUCCESS);
  EXPECT(isMapped("libscipy_openblas"));
  EXPECT_VALUES(out.read(), {7, 10, 15, 22}, 0);
  testFork(x, one, out);
  EXPECT(RUN(aclnnMatmul, x, x, out, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {7, 10, 15, 22}, 0);
  testForksAmongDescriptors();
  testForksAmongProducts();
}
