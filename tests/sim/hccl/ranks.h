// Ranks that are threads of one process, each with a device of its own.
#ifndef MINDTORCH_TESTS_SIM_RANKS_H_
#define MINDTORCH_TESTS_SIM_RANKS_H_
#include <cmath>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "../check.h"
#include "hccl/hccl.h"

#define CHECK_HCCL(call) CHECK_CODE(call, HCCL_SUCCESS)

inline void startDevices(int devices) {
  setenv("MINDTORCH_SIM_DEVICES", std::to_string(devices).c_str(), 1);
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  setenv("HCCL_BUFFSIZE", "1", 1);
  setenv("HCCL_IF_IP", "127.0.0.1", 1);
  CHECK_OK(aclInit(nullptr));
}

// What a rank has while it runs.
struct Rank {
  uint32_t number;
  uint32_t count;
  HcclComm comm;
  aclrtStream stream;
  void synchronize() const { CHECK_OK(aclrtSynchronizeStream(stream)); }
};

inline void onThreads(uint32_t count, const std::function<void(uint32_t)> &work) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      CHECK_OK(aclrtSetDevice(static_cast<int32_t>(rank)));
      work(rank);
      CHECK_OK(aclrtResetDevice(static_cast<int32_t>(rank)));
    });
  }
  for (std::thread &thread : threads) thread.join();
}

inline HcclRootInfo rootInfo() {
  HcclRootInfo info;
  CHECK_OK(aclrtSetDevice(0));
  CHECK_HCCL(HcclGetRootInfo(&info));
  CHECK_OK(aclrtResetDevice(0));
  return info;
}

// A communicator of `count` ranks, for the length of `work`.
inline void onRanks(uint32_t count, const std::function<void(const Rank &)> &work) {
  const HcclRootInfo info = rootInfo();
  onThreads(count, [&](uint32_t number) {
    Rank rank{number, count, nullptr, nullptr};
    CHECK_HCCL(HcclCommInitRootInfo(count, &info, number, &rank.comm));
    CHECK_OK(aclrtCreateStream(&rank.stream));
    work(rank);
    CHECK_HCCL(HcclCommDestroy(rank.comm));
    CHECK_OK(aclrtDestroyStream(rank.stream));
  });
}

// An array in device memory.
template <class T>
class Array {
 public:
  explicit Array(const std::vector<T> &values) : size_(values.size()) {
    CHECK_OK(aclrtMalloc(&address_, bytes() + 32, ACL_MEM_MALLOC_HUGE_FIRST));
    if (size_ != 0) CHECK_OK(aclrtMemcpy(address_, bytes(), values.data(), bytes(), ACL_MEMCPY_HOST_TO_DEVICE));
  }
  explicit Array(size_t size, T value = T{}) : Array(std::vector<T>(size, value)) {}
  ~Array() { CHECK_OK(aclrtFree(address_)); }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  T *get() const { return static_cast<T *>(address_); }
  std::vector<T> values() const {
    std::vector<T> result(size_);
    if (size_ != 0) CHECK_OK(aclrtMemcpy(result.data(), bytes(), address_, bytes(), ACL_MEMCPY_DEVICE_TO_HOST));
    return result;
  }

 private:
  size_t bytes() const { return size_ * sizeof(T); }
  size_t size_;
  void *address_ = nullptr;
};

#endif
