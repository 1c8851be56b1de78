// Copies and fills: values, directions, what is asynchronous, what is refused.
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "../check.h"

namespace {

using Bytes = std::vector<uint8_t>;

Bytes counted(size_t size) {
  Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  return bytes;
}

void *deviceMemory(size_t size) {
  void *memory = nullptr;
  CHECK_OK(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
  return memory;
}

Bytes read(const void *memory, size_t size) {
  Bytes bytes(size);
  CHECK_OK(aclrtMemcpy(bytes.data(), size, memory, size, ACL_MEMCPY_DEVICE_TO_HOST));
  return bytes;
}

void testSynchronous() {
  const Bytes source = counted(300);
  Bytes copy(300);
  void *first = deviceMemory(300);
  void *second = deviceMemory(300);
  CHECK_OK(aclrtMemcpy(first, 300, source.data(), 300, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK_OK(aclrtMemcpy(second, 300, first, 300, ACL_MEMCPY_DEVICE_TO_DEVICE));
  CHECK(read(second, 300) == source);
  CHECK_OK(aclrtMemcpy(copy.data(), 300, source.data(), 300, ACL_MEMCPY_HOST_TO_HOST));
  CHECK(copy == source);
  CHECK_OK(aclrtMemcpy(copy.data(), 300, second, 300, ACL_MEMCPY_DEFAULT));

  CHECK_CODE(aclrtMemcpy(first, 299, source.data(), 300, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtMemcpy(first, 400, source.data(), 400, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  CHECK(contains(lastMessage(), "past its end"));
  CHECK_CODE(aclrtMemcpy(first, 300, source.data(), 300, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
  CHECK(contains(lastMessage(), "DEVICE_TO_HOST"));
  CHECK_CODE(aclrtMemcpy(nullptr, 1, source.data(), 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  CHECK_CODE(aclrtMemcpy(first, 1, nullptr, 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  CHECK_OK(aclrtMemcpy(nullptr, 0, nullptr, 0, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK_OK(aclrtFree(second));
  CHECK_CODE(aclrtMemcpy(second, 1, source.data(), 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtFree(first));
}

void testFill() {
  void *memory = deviceMemory(100);
  CHECK_OK(aclrtMemset(memory, 100, 0x1ff, 100));
  CHECK(read(memory, 100) == Bytes(100, 0xff));
  CHECK_OK(aclrtMemsetAsync(memory, 100, 3, 50, nullptr));
  CHECK_OK(aclrtSynchronizeStream(nullptr));
  CHECK(read(memory, 100)[49] == 3 && read(memory, 100)[50] == 0xff);
  CHECK_CODE(aclrtMemset(memory, 99, 0, 100), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtMemset(memory, 1000, 0, 1000), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtMemset(nullptr, 1, 0, 1), ACL_ERROR_INVALID_PARAM);
  int local = 0;
  CHECK_CODE(aclrtMemset(&local, 4, 0, 4), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtFree(memory));
}

// Pinned memory: the call returns while the copy is still to come. A synchronous copy does not wait for streams.
void testPinned(aclrtStream stream) {
  void *memory = deviceMemory(64);
  void *pinned = nullptr;
  CHECK_OK(aclrtMallocHost(&pinned, 64));
  CHECK_OK(aclrtMemset(memory, 64, 0, 64));
  std::memset(pinned, 5, 64);
  Gate gate;
  CHECK_OK(block(stream, gate));
  CHECK_OK(aclrtMemcpyAsync(memory, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CHECK(read(memory, 64) == Bytes(64, 0));
  std::memset(pinned, 6, 64);  // before the stream comes to it: the copy takes this
  gate.open();
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK(read(memory, 64) == Bytes(64, 6));
  CHECK_OK(aclrtMemcpyAsync(pinned, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK_CODE(aclrtMemcpyAsync(memory, 100, pinned, 65, ACL_MEMCPY_HOST_TO_DEVICE, stream), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtFreeHost(pinned));
  CHECK_OK(aclrtFree(memory));
}

// Pageable memory: the call returns after the copy, and the copy keeps its place in the stream.
void testPageable(aclrtStream stream) {
  void *memory = deviceMemory(64);
  Bytes source(64, 9);
  Gate gate;
  CHECK_OK(block(stream, gate));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  CHECK_OK(aclrtMemcpyAsync(memory, 64, source.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  CHECK_OK(aclrtStreamQuery(stream, &status));
  CHECK(status == ACL_STREAM_STATUS_COMPLETE);
  source.assign(64, 1);
  CHECK(read(memory, 64) == Bytes(64, 9));
  opener.join();
  CHECK_OK(aclrtMemcpyAsyncWithCondition(source.data(), 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK(source == Bytes(64, 9));
  Bytes other(64);
  CHECK_CODE(aclrtMemcpyAsync(other.data(), 64, source.data(), 64, ACL_MEMCPY_HOST_TO_HOST, stream),
             ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  CHECK_CODE(aclrtMemcpyAsync(memory, 63, source.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE, stream),
             ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtFree(memory));
}

void testRows(aclrtStream stream) {
  const Bytes source = counted(40);  // 4 rows of 10
  void *memory = deviceMemory(64);   // 4 rows of 16
  CHECK_OK(aclrtMemset(memory, 64, 0, 64));
  CHECK_OK(aclrtMemcpy2d(memory, 16, source.data(), 10, 7, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  const Bytes rows = read(memory, 64);
  for (size_t row = 0; row < 4; ++row) {
    CHECK(std::memcmp(&rows[row * 16], &source[row * 10], 7) == 0 && rows[row * 16 + 7] == 0);
  }
  Bytes back(28);
  CHECK_OK(aclrtMemcpy2dAsync(back.data(), 7, memory, 16, 7, 4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK(std::memcmp(&back[21], &source[30], 7) == 0);
  CHECK_CODE(aclrtMemcpy2d(memory, 6, source.data(), 10, 7, 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtMemcpy2d(memory, SIZE_MAX / 2, source.data(), 10, 7, 4, ACL_MEMCPY_HOST_TO_DEVICE),
             ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtMemcpy2d(memory, 32, source.data(), 10, 7, 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtFree(memory));
}

void testBatch(aclrtStream stream) {
  Bytes first = counted(8);
  Bytes second = counted(16);
  void *memory[] = {deviceMemory(8), deviceMemory(16)};
  void *host[] = {first.data(), second.data()};
  size_t sizes[] = {8, 16};
  size_t start = 0;
  size_t failed = 0;
  aclrtMemcpyBatchAttr to_device{};
  to_device.dstLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  to_device.srcLoc = {0, ACL_MEM_LOCATION_TYPE_HOST};
  aclrtMemcpyBatchAttr to_host{};
  to_host.dstLoc = to_device.srcLoc;
  to_host.srcLoc = to_device.dstLoc;
  CHECK_OK(aclrtMemcpyBatch(memory, sizes, host, sizes, 2, &to_device, &start, 1, &failed));
  CHECK(failed == SIZE_MAX && read(memory[1], 16) == second);
  first.assign(8, 0);
  CHECK_OK(aclrtMemcpyBatchAsync(host, sizes, memory, sizes, 2, &to_host, &start, 1, &failed, stream));
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK(first == counted(8));
  CHECK_CODE(aclrtMemcpyBatch(memory, sizes, host, sizes, 2, &to_host, &start, 1, &failed), ACL_ERROR_RT_PARAM_INVALID);
  CHECK(failed == 0);
  void *mixed_dst[] = {memory[0], host[1]};
  void *mixed_src[] = {host[0], memory[1]};
  CHECK_CODE(aclrtMemcpyBatch(mixed_dst, sizes, mixed_src, sizes, 2, &to_device, &start, 1, &failed),
             ACL_ERROR_RT_PARAM_INVALID);
  CHECK(failed == 1);
  CHECK_CODE(aclrtMemcpyBatch(memory, sizes, host, sizes, 0, &to_device, &start, 1, &failed),
             ACL_ERROR_RT_PARAM_INVALID);
  for (void *each : memory) CHECK_OK(aclrtFree(each));
}

void testPeers() {
  int32_t can = 0;
  int32_t status = 1;
  void *here = deviceMemory(32);
  CHECK_OK(aclrtMemset(here, 32, 4, 32));
  CHECK_OK(aclrtSetDevice(1));
  void *there = deviceMemory(32);
  CHECK_OK(aclrtDeviceCanAccessPeer(&can, 1, 0));
  CHECK(can == 1);
  CHECK_CODE(aclrtDeviceCanAccessPeer(&can, 1, 1), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtMemcpy(there, 32, here, 32, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  CHECK(contains(lastMessage(), "aclrtDeviceEnablePeerAccess"));
  CHECK_OK(aclrtDevicePeerAccessStatus(1, 0, &status));
  CHECK(status == 0);
  CHECK_OK(aclrtDeviceEnablePeerAccess(0, 0));
  CHECK_OK(aclrtDevicePeerAccessStatus(1, 0, &status));
  CHECK(status == 1);
  CHECK_OK(aclrtMemcpy(there, 32, here, 32, ACL_MEMCPY_DEVICE_TO_DEVICE));
  CHECK(read(there, 32) == Bytes(32, 4));
  CHECK_OK(aclrtMemcpy(there, 32, here, 32, ACL_MEMCPY_INTER_DEVICE_TO_DEVICE));
  CHECK_CODE(aclrtMemcpy(there, 32, here, 32, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtSetDevice(0));  // the other direction was not opened
  CHECK_CODE(aclrtMemcpy(there, 32, here, 32, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtDeviceEnablePeerAccess(0, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtDeviceEnablePeerAccess(5, 0), ACL_ERROR_RT_INVALID_DEVICEID);
  CHECK_OK(aclrtSetDevice(1));
  CHECK_OK(aclrtDeviceDisablePeerAccess(0));
  CHECK_CODE(aclrtMemcpy(there, 32, here, 32, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtFree(there));
  CHECK_OK(aclrtResetDeviceForce(1));
  CHECK_OK(aclrtSetDevice(0));
  CHECK_OK(aclrtFree(here));
}

// Memory that is freed before the stream comes to the copy: a fault that a later call reports.
void testFreedUnderCopy() {
  for (const bool free_host : {false, true}) {
    aclrtStream stream = nullptr;
    void *memory = deviceMemory(64);
    void *pinned = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtMallocHost(&pinned, 64));
    Gate gate;
    CHECK_OK(block(stream, gate));
    CHECK_OK(aclrtMemcpyAsync(memory, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK_OK(free_host ? aclrtFreeHost(pinned) : aclrtFree(memory));
    gate.open();
    CHECK_CODE(aclrtSynchronizeStream(stream), ACL_ERROR_RT_SYS_DMA);
    const std::string message = lastMessage();
    CHECK(contains(message, "aclrtMemcpyAsync") && contains(message, free_host ? "src" : "dst"));
    if (!free_host) CHECK_OK(aclrtFreeHost(pinned));
    CHECK_OK(aclrtResetDeviceForce(0));
    CHECK_OK(aclrtSetDevice(0));
  }
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  setenv("MINDTORCH_SIM_DEVICES", "2", 1);
  start();
  aclrtStream stream = nullptr;
  CHECK_OK(aclrtCreateStream(&stream));
  testSynchronous();
  testFill();
  testPinned(stream);
  testPageable(stream);
  testRows(stream);
  testBatch(stream);
  testPeers();
  CHECK_OK(aclrtDestroyStream(stream));
  testFreedUnderCopy();
  return finalizeAndCheckLive();
}
