// Device and pinned memory: arguments, counters, use of addresses.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "../check.h"

namespace {

constexpr size_t kCapacity = size_t{64} << 20;

void *allocate(size_t size) {
  void *memory = nullptr;
  CHECK_OK(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(memory != nullptr && reinterpret_cast<uintptr_t>(memory) % 512 == 0);
  return memory;
}

size_t freeBytes() {
  size_t free = 0;
  size_t total = 0;
  CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  CHECK(total == kCapacity);
  return free;
}

char *at(void *address, size_t offset) { return static_cast<char *>(address) + offset; }

void testSizes() {
  void *memory = nullptr;
  const size_t before = freeBytes();
  memory = allocate(1);
  CHECK(before - freeBytes() == 64);  // rounded up to 32, and 32 more
  CHECK_OK(aclrtFree(memory));
  CHECK_OK(aclrtMallocAlign32(&memory, 33, ACL_MEM_MALLOC_NORMAL_ONLY));
  CHECK(before - freeBytes() == 64);
  CHECK_OK(aclrtFree(memory));
  CHECK_OK(aclrtMalloc(&memory, 32, ACL_MEM_MALLOC_HUGE1G_ONLY));
  CHECK(before - freeBytes() == 32);
  CHECK_OK(aclrtFree(memory));
  CHECK(freeBytes() == before);
  for (int policy = ACL_MEM_MALLOC_HUGE_FIRST; policy <= ACL_MEM_MALLOC_HUGE1G_ONLY_P2P; ++policy) {
    CHECK_OK(aclrtMalloc(&memory, 100, static_cast<aclrtMemMallocPolicy>(policy)));
    CHECK_OK(aclrtFree(memory));
  }
  CHECK_CODE(aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  CHECK_CODE(aclrtMalloc(nullptr, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  CHECK_CODE(aclrtMalloc(&memory, 8, ACL_MEM_TYPE_HIGH_BAND_WIDTH), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtMallocWithCfg(&memory, 8, ACL_MEM_TYPE_HIGH_BAND_WIDTH, nullptr));
  CHECK_OK(aclrtFree(memory));
  CHECK_OK(aclrtMallocCached(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK_OK(aclrtMemFlush(memory, 8));
  CHECK_OK(aclrtMemInvalidate(memory, 8));
  CHECK_CODE(aclrtMemFlush(memory, 128), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtFreeWithDevSync(memory));
}

void testExhaustion() {
  void *memory = nullptr;
  CHECK_CODE(aclrtMalloc(&memory, kCapacity, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK(contains(lastMessage(), "out of device memory"));
  CHECK_CODE(aclrtMalloc(&memory, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK_CODE(aclrtMalloc(&memory, SIZE_MAX - 40, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
  for (int round = 0; round < 3; ++round) {
    std::vector<void *> blocks;
    while (aclrtMalloc(&memory, (size_t{1} << 20) - 32, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS) {
      blocks.push_back(memory);
    }
    CHECK(blocks.size() == 64);
    for (size_t i = 0; i < blocks.size(); i += 2) CHECK_OK(aclrtFree(blocks[i]));
    for (size_t i = 1; i < blocks.size(); i += 2) CHECK_OK(aclrtFree(blocks[i]));
  }
  CHECK(freeBytes() == kCapacity);
  aclrtMemUsageInfo usage{};
  size_t count = 0;
  CHECK_OK(aclrtGetMemUsageInfo(0, &usage, 1, &count));
  CHECK(count == 1 && usage.curMemSize == 0 && usage.memPeakSize == kCapacity);
}

void testBadFrees() {
  void *memory = allocate(100);
  int local = 0;
  CHECK_CODE(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  CHECK_CODE(aclrtFree(&local), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtFree(at(memory, 64)), ACL_ERROR_RT_PARAM_INVALID);
  CHECK(contains(lastMessage(), "into a block"));
  CHECK_CODE(aclrtFreeHost(memory), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtFree(memory));
  CHECK_CODE(aclrtFree(memory), ACL_ERROR_RT_PARAM_INVALID);
  CHECK(contains(lastMessage(), "freed before"));
}

void testDeviceMemoryLookUp() {
  void *memory = allocate(100);  // 128 bytes and 32 of tail
  CHECK(simDeviceMemory(memory, 160) != nullptr);
  CHECK(simDeviceMemory(memory, 161) == nullptr);
  CHECK(simDeviceMemory(memory, UINT64_MAX) == nullptr);
  CHECK(simDeviceMemory(at(memory, 160), 0) != nullptr);
  CHECK(simDeviceMemory(at(memory, 100), 60) == static_cast<char *>(simDeviceMemory(memory, 1)) + 100);
  CHECK(simDeviceMemory(&memory, 1) == nullptr);
  CHECK(simDeviceMemory(nullptr, 0) == nullptr);
  std::memset(simDeviceMemory(memory, 100), 7, 100);
  CHECK_OK(aclrtFree(memory));
  CHECK(simDeviceMemory(memory, 1) == nullptr);
}

// The addresses that the program gets are the device's: the kernel finds nothing there that it could read, so a host
// that follows one crashes as it does on hardware.
void testHostCannotRead() {
  void *memory = allocate(64);
  int ends[2] = {-1, -1};
  CHECK(pipe(ends) == 0);
  CHECK(syscall(SYS_write, ends[1], memory, 1) == -1 && errno == EFAULT);
  CHECK(syscall(SYS_write, ends[1], simDeviceMemory(memory, 1), 1) == 1);
  close(ends[0]);
  close(ends[1]);
  CHECK_OK(aclrtFree(memory));
}

void testPointerAttributes() {
  aclrtPtrAttributes attributes{};
  void *host = nullptr;
  void *memory = allocate(64);
  int local = 0;
  CHECK_OK(aclrtMallocHost(&host, 64));
  CHECK_OK(aclrtPointerGetAttributes(at(memory, 10), &attributes));
  CHECK(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && attributes.location.id == 0);
  CHECK_OK(aclrtPointerGetAttributes(at(host, 10), &attributes));
  CHECK(attributes.location.type == ACL_MEM_LOCATION_TYPE_HOST);
  CHECK_OK(aclrtPointerGetAttributes(&local, &attributes));
  CHECK(attributes.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  uint32_t all = 0;
  void *list[] = {memory, at(memory, 5)};
  CHECK_OK(aclrtCheckMemType(list, 2, 2, &all, 0));
  CHECK(all == 1);
  list[1] = host;
  CHECK_OK(aclrtCheckMemType(list, 2, 2, &all, 0));
  CHECK(all == 0);
  void *base = nullptr;
  size_t size = 0;
  CHECK_OK(aclrtMemGetAddressRange(at(memory, 20), &base, &size));
  CHECK(base == memory && size == 64);
  CHECK_OK(aclrtFreeHost(host));
  CHECK_OK(aclrtFree(memory));
  CHECK_CODE(aclrtMemGetAddressRange(memory, &base, &size), ACL_ERROR_RT_PARAM_INVALID);
}

void testHostMemory() {
  void *host = nullptr;
  void *mapped = nullptr;
  CHECK_OK(aclrtMallocHost(&host, 100));
  CHECK(reinterpret_cast<uintptr_t>(host) % 64 == 0 && simLive(SIM_HOST_MEMORY) == 1);
  std::memset(host, 1, 100);
  CHECK_CODE(aclrtFree(host), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtHostRegisterV2(host, 64, ACL_HOST_REG_PINNED), ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CHECK_OK(aclrtFreeHost(host));
  CHECK_CODE(aclrtFreeHost(host), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtFreeHost(nullptr), ACL_ERROR_INVALID_PARAM);
  CHECK_CODE(aclrtMallocHost(&host, 0), ACL_ERROR_INVALID_PARAM);
  CHECK_OK(aclrtMallocHostWithCfg(&host, 10, nullptr));
  CHECK_OK(aclrtFreeHostWithDevSync(host));

  host = std::aligned_alloc(4096, 8192);
  CHECK_CODE(aclrtHostRegister(at(host, 64), 4096, ACL_HOST_REGISTER_MAPPED, &mapped), ACL_ERROR_RT_ADDR_UNALIGNED);
  CHECK_OK(aclrtHostRegister(host, 8192, ACL_HOST_REGISTER_MAPPED, &mapped));
  CHECK(simDeviceMemory(at(mapped, 100), 8092) == at(host, 100));  // the device may use it
  CHECK(simDeviceMemory(at(mapped, 100), 8093) == nullptr);
  CHECK_OK(aclrtHostGetDevicePointer(host, &mapped, 0));
  CHECK_OK(aclrtHostUnregister(host));
  CHECK(simDeviceMemory(mapped, 1) == nullptr);
  CHECK_CODE(aclrtHostUnregister(host), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED);
  CHECK_CODE(aclrtHostGetDevicePointer(host, &mapped, 0), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED);
  std::free(host);
}

void testThreads() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      CHECK_OK(aclrtSetDevice(0));
      for (int i = 0; i < 500; ++i) {
        const size_t size = static_cast<size_t>(1 + (i * 37 + t * 11) % 9000);
        void *memory = allocate(size);
        void *alias = simDeviceMemory(memory, size);
        std::memset(alias, t, size);
        CHECK(static_cast<char *>(alias)[size - 1] == t);
        CHECK_OK(aclrtFree(memory));
        CHECK(simDeviceMemory(memory, 1) != alias || size > 0);
      }
      CHECK_OK(aclrtResetDevice(0));
    });
  }
  for (std::thread &thread : threads) thread.join();
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "65536KiB", 1);
  start();
  testSizes();
  testExhaustion();
  testBadFrees();
  testDeviceMemoryLookUp();
  testHostCannotRead();
  testPointerAttributes();
  testHostMemory();
  testThreads();
  return finalizeAndCheckLive();
}
