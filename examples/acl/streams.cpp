// Two streams: one multiplies matrices, the other waits for it by an event and adds up the result. C++17.
//
//   cmake -B build -DCANN_DIR="$(python -m mindtorch.sim)/lib64/cmake/CANN" && cmake --build build && build/streams
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_reduce_sum.h"

namespace {

void check(int status, const char *call) {
  if (status == ACL_SUCCESS) return;
  const char *message = aclGetRecentErrMsg();
  throw std::runtime_error(std::string(call) + " failed with " + std::to_string(status) + "\n" +
                           (message == nullptr ? "" : message));
}
#define CHECK(call) check((call), #call)

template <class T, class Destroy>
std::unique_ptr<T, Destroy> owned(T *handle, Destroy destroy) {
  if (handle == nullptr) throw std::runtime_error("no handle was made");
  return {handle, destroy};
}

// A contiguous float32 tensor on the device.
class Tensor {
 public:
  explicit Tensor(std::vector<int64_t> sizes) : sizes_(std::move(sizes)), strides_(sizes_.size(), 1) {
    for (size_t i = sizes_.size(); i-- > 1;) strides_[i - 1] = strides_[i] * sizes_[i];
    count_ = sizes_.empty() ? 1 : sizes_[0] * strides_[0];
    CHECK(aclrtMalloc(&data_, bytes() + 32, ACL_MEM_MALLOC_HUGE_FIRST));
    handle_ = aclCreateTensor(sizes_.data(), sizes_.size(), ACL_FLOAT, strides_.data(), 0, ACL_FORMAT_ND, sizes_.data(),
                              sizes_.size(), data_);
  }
  Tensor(const Tensor &) = delete;
  Tensor &operator=(const Tensor &) = delete;
  ~Tensor() {
    aclDestroyTensor(handle_);
    aclrtFree(data_);
  }

  void fill(float value) {
    const std::vector<float> values(count_, value);
    CHECK(aclrtMemcpy(data_, bytes(), values.data(), bytes(), ACL_MEMCPY_HOST_TO_DEVICE));
  }
  float first() const {
    float value = 0;
    CHECK(aclrtMemcpy(&value, sizeof value, data_, sizeof value, ACL_MEMCPY_DEVICE_TO_HOST));
    return value;
  }
  aclTensor *get() const { return handle_; }

 private:
  size_t bytes() const { return count_ * sizeof(float); }
  std::vector<int64_t> sizes_, strides_;
  size_t count_ = 0;
  void *data_ = nullptr;
  aclTensor *handle_ = nullptr;
};

// Both phases of an operator. The workspace must live until the stream has passed the operator.
class Launch {
 public:
  template <class Phase1, class Phase2>
  Launch(aclrtStream stream, Phase1 phase1, Phase2 phase2) {
    uint64_t bytes = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(phase1(&bytes, &executor));
    if (bytes > 0) CHECK(aclrtMalloc(&workspace_, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(phase2(workspace_, bytes, executor, stream));
  }
  Launch(const Launch &) = delete;
  Launch &operator=(const Launch &) = delete;
  ~Launch() {
    if (workspace_ != nullptr) aclrtFree(workspace_);
  }

 private:
  void *workspace_ = nullptr;
};

void run() {
  constexpr int64_t kSize = 64;
  aclrtStream multiplying = nullptr, adding = nullptr;
  aclrtEvent multiplied = nullptr;
  CHECK(aclrtCreateStream(&multiplying));
  CHECK(aclrtCreateStream(&adding));
  CHECK(aclrtCreateEvent(&multiplied));
  {
    Tensor a({kSize, kSize}), b({kSize, kSize}), product({kSize, kSize});
    a.fill(0.5F);
    b.fill(2.0F);
    const int64_t dims[] = {0, 1};
    const auto all = owned(aclCreateIntArray(dims, 2), aclDestroyIntArray);
    const Tensor total({});
    const Launch multiply(
        multiplying,
        [&](auto... out) { return aclnnMatmulGetWorkspaceSize(a.get(), b.get(), product.get(), 0, out...); },
        aclnnMatmul);
    CHECK(aclrtRecordEvent(multiplied, multiplying));
    CHECK(aclrtStreamWaitEvent(adding, multiplied));
    const Launch add(
        adding,
        [&](auto... out) {
          return aclnnReduceSumGetWorkspaceSize(product.get(), all.get(), false, ACL_FLOAT, total.get(), out...);
        },
        aclnnReduceSum);
    CHECK(aclrtSynchronizeStream(adding));
    std::printf("the sum of %lld products is %g\n", static_cast<long long>(kSize * kSize), total.first());
  }
  CHECK(aclrtDestroyEvent(multiplied));
  CHECK(aclrtDestroyStream(adding));
  CHECK(aclrtDestroyStream(multiplying));
}

}  // namespace

int main() {
  try {
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    run();
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
