// Communicators: their life, their configurations, and the functions that only concern their state.
#include "communicator.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <thread>

#include "transport.h"

namespace sim::hccl {

namespace {

struct Table {
  std::mutex mutex;
  std::map<HcclComm, CommunicatorPtr> live;
  uintptr_t made = 0;
};
Table &table() {
  static Table &all = *new Table;
  static const int registered =
      pthread_atfork([] { all.mutex.lock(); }, [] { all.mutex.unlock(); }, [] { all.mutex.unlock(); });
  static_cast<void>(registered);
  return all;
}

HcclResult publish(const char *function, CommunicatorPtr communicator, HcclComm *handle) {
  std::lock_guard<std::mutex> lock(table().mutex);
  for (const auto &one : table().live) {
    if (one.second->settings.name == communicator->settings.name && one.second->device == communicator->device) {
      return fail(HCCL_E_PARA, "EI0003", "%s: device %d has a communicator with the name %s already", function,
                  communicator->device, communicator->settings.name.c_str());
    }
  }
  *handle = reinterpret_cast<HcclComm>(++table().made * 64);  // no number twice: a destroyed one is recognised
  table().live.emplace(*handle, std::move(communicator));
  simCount(SIM_COMMUNICATOR, 1);
  return HCCL_SUCCESS;
}

}  // namespace

Communicator::Communicator(Membership membership, uint32_t own_rank, int32_t own_device, Settings own_settings)
    : id(std::move(membership.id)),
      rank(own_rank),
      device(own_device),
      peers(std::move(membership.peers)),
      endpoint(std::move(membership.endpoint)),
      settings(std::move(own_settings)),
      links(peers.size()) {
  if (settings.name.empty()) settings.name = id;
}

Communicator::~Communicator() { endpoint->forget(id); }

bool Communicator::enter() {
  std::unique_lock<std::mutex> lock(mutex);
  while (busy_ && !destroyed.load() && !simTaskCancelled()) idle_.wait_for(lock, std::chrono::milliseconds(20));
  if (busy_) return false;
  busy_ = true;
  return true;
}

void Communicator::leave() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    busy_ = false;
  }
  idle_.notify_all();
}

aclError Communicator::markBroken(aclError code, HcclResult reason, const std::string &text) {
  if (reason == HCCL_E_PARA) async_error.store(reason);  // of all failures, HCCL reports unequal arguments alone
  broken_ = code;
  broken_text_ = text;
  return code;
}

HcclResult Communicator::reserveBuffer(const char *function) {
  std::lock_guard<std::mutex> lock(mutex);
  if (buffer != nullptr) return HCCL_SUCCESS;
  const uint64_t bytes = (uint64_t{2} << 20) * settings.buffer_megabytes;
  if (aclrtMalloc(&buffer, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS) return HCCL_SUCCESS;
  buffer = nullptr;
  return fail(HCCL_E_OOM, "EI0011", "%s: no device memory for the buffers of %s: twice %u MB", function,
              settings.name.c_str(), settings.buffer_megabytes);
}

HcclResult readConfig(const char *function, const HcclCommConfig *config, Settings *settings) {
  const Environment &defaults = environment();
  *settings = {defaults.buffer_megabytes, -1, defaults.execute_seconds, ""};
  if (config == nullptr) return HCCL_SUCCESS;
  HcclCommConfigHead head{};
  std::memcpy(&head, config->reserved, sizeof(head));
  if (head.magic != HCCL_COMM_CONFIG_MAGIC_WORD || head.size < sizeof(head)) {
    return fail(HCCL_E_PARA, "EI0003", "%s: config has the magic word %#x: call HcclCommConfigInit", function,
                head.magic);
  }
  HcclCommConfig known{};
  HcclCommConfigInit(&known);
  std::memcpy(&known, config, std::min(head.size, sizeof(known)));
  const auto set = [](uint32_t value) { return value != HCCL_COMM_CONFIG_NOT_SET; };
  if (set(known.hcclBufferSize)) {
    if (known.hcclBufferSize == 0) return fail(HCCL_E_PARA, "EI0003", "%s: hcclBufferSize is 0 MB", function);
    settings->buffer_megabytes = known.hcclBufferSize;
  }
  if (set(known.hcclDeterministic)) {
    if (known.hcclDeterministic > 2) {
      return fail(HCCL_E_PARA, "EI0003", "%s: hcclDeterministic is %u, expected 0 to 2", function,
                  known.hcclDeterministic);
    }
    settings->deterministic = static_cast<int32_t>(known.hcclDeterministic);
  }
  if (head.version >= 2) {
    settings->name.assign(known.hcclCommName, strnlen(known.hcclCommName, sizeof(known.hcclCommName)));
    if (settings->name.size() == sizeof(known.hcclCommName)) {
      return fail(HCCL_E_PARA, "EI0003", "%s: hcclCommName has no end", function);
    }
  }
  if (head.version >= 7 && known.aclGraphZeroCopyEnable > 1) {
    return fail(HCCL_E_PARA, "EI0003", "%s: aclGraphZeroCopyEnable is %u, expected 0 or 1", function,
                known.aclGraphZeroCopyEnable);
  }
  if (head.version >= 8 && set(static_cast<uint32_t>(known.hcclExecTimeOut))) {
    if (known.hcclExecTimeOut < 0) {
      return fail(HCCL_E_PARA, "EI0003", "%s: hcclExecTimeOut is %d", function, known.hcclExecTimeOut);
    }
    settings->execute_seconds = known.hcclExecTimeOut;
  }
  return HCCL_SUCCESS;
}

namespace {

HcclResult unknown(const char *function, HcclComm handle) {
  return fail(HCCL_E_PARA, "EI0003", "%s: comm %p is no communicator, or was destroyed", function, handle);
}

HcclResult currentDevice(const char *function, int32_t *device) {
  const std::string &problem = environment().problem.empty() ? problemOfConditions() : environment().problem;
  if (!problem.empty()) return fail(HCCL_E_PARA, "EI0001", "%s: %s", function, problem.c_str());
  if (aclrtGetDevice(device) == ACL_SUCCESS) return HCCL_SUCCESS;
  return fail(HCCL_E_RUNTIME, "EI0003", "%s: no device is set: call aclrtSetDevice", function);
}

HcclResult checkRank(const char *function, uint32_t ranks, uint32_t rank) {
  if (ranks != 0 && rank < ranks) return HCCL_SUCCESS;
  return fail(HCCL_E_PARA, "EI0003", "%s: rank is %u of %u ranks", function, rank, ranks);
}

// Makes a communicator of the ranks that `meets` finds; in a group, at its end. It has the configuration's name, else
// `name`, else its identifier.
template <class Meet>
HcclResult create(const char *function, uint32_t rank, const HcclCommConfig *config, const char *name, HcclComm *handle,
                  Meet meets) {
  Settings settings;
  HCCL_TRY(readConfig(function, config, &settings));
  if (settings.name.empty()) settings.name = name;
  int32_t device = -1;
  HCCL_TRY(currentDevice(function, &device));
  const auto creation = [=]() -> HcclResult {
    Membership membership;
    HCCL_TRY(meets(device, &membership));
    return publish(function, std::make_shared<Communicator>(std::move(membership), rank, device, settings), handle);
  };
  return inGroup() ? addToGroup(function, creation) : creation();
}

HcclResult createByRootInfo(const char *function, uint32_t ranks, const HcclRootInfo *info, uint32_t rank,
                            const HcclCommConfig *config, HcclComm *handle) {
  if (handle == nullptr) return nullArgument(function, "comm");
  if (info == nullptr) return nullArgument(function, "rootInfo");
  HCCL_TRY(checkRank(function, ranks, rank));
  return create(function, rank, config, "", handle, [=, root = *info](int32_t device, Membership *membership) {
    return rendezvous(function, root, ranks, rank, device, membership);
  });
}

constexpr size_t kPathBytes = 4095;
constexpr size_t kNameBytes = 128;
constexpr uint64_t kNoMember = 0xFFFFFFFF;

HcclResult createByTable(const char *function, const char *path, uint32_t rank, const HcclCommConfig *config,
                         HcclComm *handle) {
  if (path == nullptr) return nullArgument(function, "clusterInfo");
  if (handle == nullptr) return nullArgument(function, "comm");
  if (strnlen(path, kPathBytes + 1) > kPathBytes) {
    return fail(HCCL_E_PARA, "EI0003", "%s: clusterInfo has more than %zu characters", function, kPathBytes);
  }
  const auto meet = [=, file = std::string(path)](int32_t device, Membership *membership) {
    return rendezvousByTable(function, file.c_str(), rank, device, membership);
  };
  return create(function, rank, config, "hccl_world_group", handle, meet);
}

}  // namespace

Caller::Caller(const char *function, HcclComm handle) {
  if (handle == nullptr) {
    result = nullArgument(function, "comm");
    return;
  }
  std::lock_guard<std::mutex> lock(table().mutex);
  const auto found = table().live.find(handle);
  if (found == table().live.end()) {
    result = unknown(function, handle);
    return;
  }
  communicator = found->second;
  communicator->calls.fetch_add(1);
}

Caller::~Caller() {
  if (communicator != nullptr) communicator->calls.fetch_sub(1);
}

}  // namespace sim::hccl

using namespace sim::hccl;

HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo) {
  HCCL_ENTER(HcclGetRootInfo);
  int32_t device = -1;
  HCCL_TRY(currentDevice(__func__, &device));
  if (rootInfo == nullptr) return nullArgument(__func__, "rootInfo");
  return makeRootInfo(__func__, rootInfo);
}

HcclResult HcclGetRootInfoScalable(HcclRootInfo *rootInfo) {
  HCCL_ENTER(HcclGetRootInfoScalable);
  int32_t device = -1;
  HCCL_TRY(currentDevice(__func__, &device));
  if (rootInfo == nullptr) return nullArgument(__func__, "rootInfo");
  return makeRootInfo(__func__, rootInfo);
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm) {
  HCCL_ENTER(HcclCommInitRootInfo);
  return createByRootInfo(__func__, nRanks, rootInfo, rank, nullptr, comm);
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                      const HcclCommConfig *config, HcclComm *comm) {
  HCCL_ENTER(HcclCommInitRootInfoConfig);
  if (config == nullptr) return nullArgument(__func__, "config");
  return createByRootInfo(__func__, nRanks, rootInfo, rank, config, comm);
}

// Several roots share the work of a start with many ranks; here the first one does it alone.
HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot, const HcclRootInfo *rootInfoList,
                                        uint32_t rank, uint32_t nExtRoot, const HcclCommConfig *config,
                                        HcclComm *comm) {
  HCCL_ENTER(HcclCommInitRootInfoScalable);
  static_cast<void>(nExtRoot);
  if (nRoot == 0) return fail(HCCL_E_PARA, "EI0003", "%s: nRoot is 0", __func__);
  return createByRootInfo(__func__, nRanks, rootInfoList, rank, config, comm);
}

HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm) {
  HCCL_ENTER(HcclCommInitClusterInfo);
  return createByTable(__func__, clusterInfo, rank, nullptr, comm);
}

HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank, HcclCommConfig *config,
                                         HcclComm *comm) {
  HCCL_ENTER(HcclCommInitClusterInfoConfig);
  if (config == nullptr) return nullArgument(__func__, "config");
  return createByTable(__func__, clusterInfo, rank, config, comm);
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms) {
  HCCL_ENTER(HcclCommInitAll);
  if (devices == nullptr) return nullArgument(__func__, "devices");
  if (comms == nullptr) return nullArgument(__func__, "comms");
  uint32_t available = 0;
  if (aclrtGetDeviceCount(&available) != ACL_SUCCESS) return HCCL_E_RUNTIME;
  if (ndev == 0 || ndev > available) {
    return fail(HCCL_E_PARA, "EI0003", "%s: ndev is %u of %u devices", __func__, ndev, available);
  }
  std::set<int32_t> distinct;
  for (uint32_t i = 0; i < ndev; ++i) {
    const bool known = devices[i] >= 0 && static_cast<uint32_t>(devices[i]) < available;
    if (!known || !distinct.insert(devices[i]).second) {
      return fail(HCCL_E_PARA, "EI0003", "%s: devices[%u] is %d: unknown, or named twice", __func__, i, devices[i]);
    }
  }
  int32_t device = -1;
  HCCL_TRY(currentDevice(__func__, &device));
  Settings settings;
  HCCL_TRY(readConfig(__func__, nullptr, &settings));
  HcclRootInfo info;
  HCCL_TRY(makeRootInfo(__func__, &info));
  std::vector<Membership> members(ndev);
  std::vector<HcclResult> results(ndev);
  std::vector<std::thread> ranks;
  for (uint32_t i = 0; i < ndev; ++i) {
    ranks.emplace_back([&, i] { results[i] = rendezvous("HcclCommInitAll", info, ndev, i, devices[i], &members[i]); });
  }
  for (std::thread &rank : ranks) rank.join();
  for (const HcclResult result : results) {
    if (result != HCCL_SUCCESS) return fail(result, "EI0015", "%s: the ranks did not meet", __func__);
  }
  for (uint32_t i = 0; i < ndev; ++i) {
    HCCL_TRY(
        publish(__func__, std::make_shared<Communicator>(std::move(members[i]), i, devices[i], settings), &comms[i]));
  }
  return HCCL_SUCCESS;
}

HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds, uint64_t subCommId,
                                   uint32_t subCommRankId, HcclCommConfig *config, HcclComm *subComm) {
  HCCL_ENTER(HcclCreateSubCommConfig);
  if (comm == nullptr) return nullArgument(__func__, "comm");
  HCCL_REQUIRE_COMMUNICATOR(caller, *comm);
  if (subComm == nullptr) return nullArgument(__func__, "subComm");
  if (rankIds == nullptr && subCommId == kNoMember) {
    *subComm = nullptr;  // this rank is no member
    return HCCL_SUCCESS;
  }
  if (rankIds == nullptr) return nullArgument(__func__, "rankIds");
  if (config == nullptr) return nullArgument(__func__, "config");
  HCCL_TRY(checkRank(__func__, rankNum, subCommRankId));
  Communicator &parent = *caller.communicator;
  if (parent.sub) {
    return fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: comm is a sub-communicator itself", __func__);
  }
  Membership members;
  members.id = parent.id + "_sub_" + std::to_string(subCommId);
  members.endpoint = parent.endpoint;
  std::set<uint32_t> distinct;
  for (uint32_t i = 0; i < rankNum; ++i) {
    if (rankIds[i] >= parent.size() || !distinct.insert(rankIds[i]).second) {
      return fail(HCCL_E_PARA, "EI0003", "%s: rankIds[%u] is %u: not of the %u ranks, or named twice", __func__, i,
                  rankIds[i], parent.size());
    }
    members.peers.push_back(parent.peers[rankIds[i]]);
  }
  if (rankIds[subCommRankId] != parent.rank) {
    return fail(HCCL_E_PARA, "EI0003", "%s: rankIds[%u] is %u, this rank is %u", __func__, subCommRankId,
                rankIds[subCommRankId], parent.rank);
  }
  Settings settings;
  HCCL_TRY(readConfig(__func__, config, &settings));
  if (settings.name.empty()) settings.name = parent.settings.name + "_sub_" + std::to_string(subCommId);
  auto made = std::make_shared<Communicator>(std::move(members), subCommRankId, parent.device, std::move(settings));
  made->sub = true;
  return publish(__func__, std::move(made), subComm);
}

HcclResult HcclCommDestroy(HcclComm comm) {
  HCCL_ENTER(HcclCommDestroy);
  if (comm == nullptr) return HCCL_SUCCESS;
  const auto destroy = [comm]() -> HcclResult {
    CommunicatorPtr communicator;
    {
      std::lock_guard<std::mutex> lock(table().mutex);
      const auto found = table().live.find(comm);
      if (found == table().live.end()) return unknown("HcclCommDestroy", comm);
      if (found->second->calls.load() != 0) {
        return fail(HCCL_E_AGAIN, "EI0003", "HcclCommDestroy: another thread uses the communicator");
      }
      communicator = found->second;
      table().live.erase(found);
    }
    simCount(SIM_COMMUNICATOR, -1);
    communicator->destroyed.store(true);
    std::lock_guard<std::mutex> lock(communicator->mutex);
    if (communicator->buffer != nullptr) aclrtFree(communicator->buffer);  // a device that was reset has freed it
    communicator->buffer = nullptr;
    return HCCL_SUCCESS;
  };
  return inGroup() ? addToGroup(__func__, destroy) : destroy();
}

HcclResult HcclGetCommName(HcclComm comm, char *commName) {
  HCCL_ENTER(HcclGetCommName);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (commName == nullptr) return nullArgument(__func__, "commName");
  std::snprintf(commName, kNameBytes, "%s", caller.communicator->settings.name.c_str());
  return HCCL_SUCCESS;
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize) {
  HCCL_ENTER(HcclGetRankSize);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (rankSize == nullptr) return nullArgument(__func__, "rankSize");
  *rankSize = caller.communicator->size();
  return HCCL_SUCCESS;
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank) {
  HCCL_ENTER(HcclGetRankId);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (rank == nullptr) return nullArgument(__func__, "rank");
  *rank = caller.communicator->rank;
  return HCCL_SUCCESS;
}

HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError) {
  HCCL_ENTER(HcclGetCommAsyncError);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (asyncError == nullptr) return nullArgument(__func__, "asyncError");
  *asyncError = caller.communicator->async_error.load();
  return HCCL_SUCCESS;
}

HcclResult HcclSetCommConfig(HcclComm comm, HcclConfig config, HcclConfigValue configValue) {
  HCCL_ENTER(HcclSetCommConfig);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (config != HCCL_DETERMINISTIC) return HCCL_SUCCESS;
  if (configValue.value < 0 || configValue.value > 2) {
    return fail(HCCL_E_PARA, "EI0003", "%s: configValue is %d, expected 0 to 2", __func__, configValue.value);
  }
  std::lock_guard<std::mutex> lock(caller.communicator->mutex);
  caller.communicator->settings.deterministic = configValue.value;
  return HCCL_SUCCESS;
}

HcclResult HcclGetCommConfig(HcclComm comm, HcclConfig config, HcclConfigValue *configValue) {
  HCCL_ENTER(HcclGetCommConfig);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (configValue == nullptr) return nullArgument(__func__, "configValue");
  if (config != HCCL_DETERMINISTIC) {
    return fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: a communicator has no config %d", __func__,
                static_cast<int>(config));
  }
  std::lock_guard<std::mutex> lock(caller.communicator->mutex);
  const int32_t own = caller.communicator->settings.deterministic;
  configValue->value = own >= 0 ? own : deterministicSetting();
  return HCCL_SUCCESS;
}

HcclResult HcclCommSuspend(HcclComm comm) {
  HCCL_ENTER(HcclCommSuspend);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  caller.communicator->suspended.store(true);
  return HCCL_SUCCESS;
}

HcclResult HcclCommResume(HcclComm comm) {
  HCCL_ENTER(HcclCommResume);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  caller.communicator->suspended.store(false);
  return HCCL_SUCCESS;
}

HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t *ranks, bool *useBackup, uint32_t nRanks) {
  HCCL_ENTER(HcclCommWorkingDevNicSet);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (ranks == nullptr) return nullArgument(__func__, "ranks");
  if (useBackup == nullptr) return nullArgument(__func__, "useBackup");
  if (nRanks == 0 || nRanks > caller.communicator->size()) {
    return fail(HCCL_E_PARA, "EI0003", "%s: nRanks is %u of %u ranks", __func__, nRanks, caller.communicator->size());
  }
  for (uint32_t i = 0; i < nRanks; ++i) HCCL_TRY(checkRank(__func__, caller.communicator->size(), ranks[i]));
  return HCCL_SUCCESS;  // the simulator's links have no second card
}

// Windows and ranges of memory for copies without a buffer: what is registered is checked, links need none of it.

HcclResult HcclCommRegister(HcclComm comm, void *addr, uint64_t size, void **handle, uint32_t flag) {
  HCCL_ENTER(HcclCommRegister);
  static_cast<void>(flag);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (addr == nullptr) return nullArgument(__func__, "addr");
  if (handle == nullptr) return nullArgument(__func__, "handle");
  if (size == 0 || simDeviceMemory(addr, size) == nullptr) {
    return fail(HCCL_E_PARA, "EI0003", "%s: [%p, +%llu) is no device memory", __func__, addr,
                static_cast<unsigned long long>(size));
  }
  std::lock_guard<std::mutex> lock(caller.communicator->mutex);
  caller.communicator->windows[addr] = size;
  *handle = addr;
  return HCCL_SUCCESS;
}

HcclResult HcclCommDeregister(HcclComm comm, void *handle) {
  HCCL_ENTER(HcclCommDeregister);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (handle == nullptr) return nullArgument(__func__, "handle");
  std::lock_guard<std::mutex> lock(caller.communicator->mutex);
  if (caller.communicator->windows.erase(handle) == 1) return HCCL_SUCCESS;
  return fail(HCCL_E_NOT_FOUND, "EI0003", "%s: %p is not registered", __func__, handle);
}

HcclResult HcclCommExchangeMem(HcclComm comm, void *windowHandle, uint32_t *peerRanks, uint32_t peerRankNum) {
  HCCL_ENTER(HcclCommExchangeMem);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (windowHandle == nullptr) return nullArgument(__func__, "windowHandle");
  if (peerRanks == nullptr) return nullArgument(__func__, "peerRanks");
  if (peerRankNum == 0 || peerRankNum > caller.communicator->size()) {
    return fail(HCCL_E_PARA, "EI0003", "%s: peerRankNum is %u of %u ranks", __func__, peerRankNum,
                caller.communicator->size());
  }
  for (uint32_t i = 0; i < peerRankNum; ++i) HCCL_TRY(checkRank(__func__, caller.communicator->size(), peerRanks[i]));
  std::lock_guard<std::mutex> lock(caller.communicator->mutex);
  if (caller.communicator->windows.count(windowHandle) == 1) return HCCL_SUCCESS;
  return fail(HCCL_E_NOT_FOUND, "EI0003", "%s: %p is not registered", __func__, windowHandle);
}

HcclResult HcclCommSetMemoryRange(HcclComm comm, void *baseVirPtr, size_t size, size_t alignment, uint64_t flags) {
  HCCL_ENTER(HcclCommSetMemoryRange);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (baseVirPtr == nullptr) return nullArgument(__func__, "baseVirPtr");
  if (size == 0 || alignment != 0 || flags != 0) {
    return fail(HCCL_E_PARA, "EI0003", "%s: size is %zu, expected more than 0; alignment and flags are reserved: 0",
                __func__, size);
  }
  std::lock_guard<std::mutex> lock(caller.communicator->mutex);
  const auto start = reinterpret_cast<uintptr_t>(baseVirPtr);
  for (const auto &range : caller.communicator->ranges) {
    if (start < range.first + range.second.first && range.first < start + size) {
      return fail(HCCL_E_PARA, "EI0003", "%s: the range at %p overlaps one that is set", __func__, baseVirPtr);
    }
  }
  caller.communicator->ranges[start] = {size, 0};
  return HCCL_SUCCESS;
}

HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr) {
  HCCL_ENTER(HcclCommUnsetMemoryRange);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (baseVirPtr == nullptr) return nullArgument(__func__, "baseVirPtr");
  std::lock_guard<std::mutex> lock(caller.communicator->mutex);
  const auto found = caller.communicator->ranges.find(reinterpret_cast<uintptr_t>(baseVirPtr));
  if (found == caller.communicator->ranges.end()) {
    return fail(HCCL_E_PARA, "EI0003", "%s: no range begins at %p", __func__, baseVirPtr);
  }
  if (found->second.second != 0) {
    return fail(HCCL_E_PARA, "EI0003", "%s: memory of the range at %p is active", __func__, baseVirPtr);
  }
  caller.communicator->ranges.erase(found);
  return HCCL_SUCCESS;
}

namespace {

// The range that holds the address; end() where there is none.
auto rangeOf(Communicator &communicator, uintptr_t at, uint64_t size) {
  auto found = communicator.ranges.upper_bound(at);
  if (found == communicator.ranges.begin()) return communicator.ranges.end();
  --found;
  const uint64_t offset = at - found->first;
  const bool inside = offset < found->second.first && size <= found->second.first - offset;
  return inside ? found : communicator.ranges.end();
}

}  // namespace

HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                                      uint64_t flags) {
  HCCL_ENTER(HcclCommActivateCommMemory);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (virPtr == nullptr) return nullArgument(__func__, "virPtr");
  if (handle == nullptr) return nullArgument(__func__, "handle");
  if (size == 0 || offset != 0 || flags != 0) {
    return fail(HCCL_E_PARA, "EI0003", "%s: size is %zu, expected more than 0; offset and flags are reserved: 0",
                __func__, size);
  }
  std::lock_guard<std::mutex> lock(caller.communicator->mutex);
  const auto at = reinterpret_cast<uintptr_t>(virPtr);
  const auto range = rangeOf(*caller.communicator, at, size);
  if (range == caller.communicator->ranges.end()) {
    return fail(HCCL_E_PARA, "EI0003", "%s: %p is in no range of HcclCommSetMemoryRange", __func__, virPtr);
  }
  if (!caller.communicator->active.emplace(at, size).second) {
    return fail(HCCL_E_PARA, "EI0003", "%s: the memory at %p is active", __func__, virPtr);
  }
  ++range->second.second;
  return HCCL_SUCCESS;
}

HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr) {
  HCCL_ENTER(HcclCommDeactivateCommMemory);
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);
  if (virPtr == nullptr) return nullArgument(__func__, "virPtr");
  std::lock_guard<std::mutex> lock(caller.communicator->mutex);
  const auto at = reinterpret_cast<uintptr_t>(virPtr);
  const auto found = caller.communicator->active.find(at);
  if (found == caller.communicator->active.end()) {
    return fail(HCCL_E_PARA, "EI0003", "%s: no memory is active at %p", __func__, virPtr);
  }
  --rangeOf(*caller.communicator, at, found->second)->second.second;
  caller.communicator->active.erase(found);
  return HCCL_SUCCESS;
}
