// Settings of the process and of communicators, versions of configurations, rank tables, ranges of memory, graphs.
#include <cstdio>

#include "ranks.h"

namespace {

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

void settingsOfTheProcess() {
  HcclConfigValue value{-1};
  CHECK_HCCL(HcclGetConfig(HCCL_DETERMINISTIC, &value));
  CHECK(value.value == 0);
  CHECK_HCCL(HcclSetConfig(HCCL_DETERMINISTIC, {1}));
  CHECK_HCCL(HcclGetConfig(HCCL_DETERMINISTIC, &value));
  CHECK(value.value == 1);
  CHECK_CODE(HcclSetConfig(HCCL_DETERMINISTIC, {3}), HCCL_E_PARA);
  CHECK_CODE(HcclSetConfig(HCCL_DETERMINISTIC, {2}),
             std::strncmp(aclrtGetSocName(), "Ascend910B", 10) == 0 ? HCCL_SUCCESS : HCCL_E_NOT_SUPPORT);
  CHECK_HCCL(HcclSetConfig(static_cast<HcclConfig>(1), {5}));  // other keys are taken
  CHECK_CODE(HcclGetConfig(HCCL_DETERMINISTIC, nullptr), HCCL_E_PTR);
  CHECK_HCCL(HcclSetConfig(HCCL_DETERMINISTIC, {0}));
  CHECK(HcclGetCommConfigCapability() == HCCL_COMM_CONFIG_RESERVED);
  CHECK(std::strcmp(HcclGetErrorString(HCCL_E_TIMEOUT), "timeout") == 0);
  CHECK(HcclGetErrorString(static_cast<HcclResult>(9999)) != nullptr);
}

HcclComm madeWith(const HcclCommConfig &config, HcclResult expected = HCCL_SUCCESS) {
  HcclRootInfo info;
  HcclComm comm = nullptr;
  CHECK_HCCL(HcclGetRootInfoScalable(&info));
  CHECK_CODE(HcclCommInitRootInfoScalable(1, 1, &info, 0, 0, &config, &comm), expected);
  return comm;
}

HcclCommConfig configOf(uint32_t version, size_t size = sizeof(HcclCommConfig)) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  const HcclCommConfigHead head = {size, HCCL_COMM_CONFIG_MAGIC_WORD, version, 0};
  std::memcpy(config.reserved, &head, sizeof(head));
  std::strcpy(config.hcclCommName, "named");
  return config;
}

// A field counts from its version on, and where the caller's structure has it.
void versionsOfConfigurations() {
  CHECK_OK(aclrtSetDevice(0));
  const auto isNamed = [](const HcclCommConfig &config) {
    const HcclComm comm = madeWith(config);
    char name[128];
    CHECK_HCCL(HcclGetCommName(comm, name));
    CHECK_HCCL(HcclCommDestroy(comm));
    return std::strcmp(name, "named") == 0;
  };
  CHECK(!isNamed(configOf(1)));
  CHECK(isNamed(configOf(2)));
  CHECK(isNamed(configOf(HCCL_COMM_CONFIG_VERSION + 5)));  // a later one: what is not known is left out
  CHECK(!isNamed(configOf(HCCL_COMM_CONFIG_VERSION, 32)));
  HcclCommConfig config = configOf(6);
  config.aclGraphZeroCopyEnable = 2;
  CHECK_HCCL(HcclCommDestroy(madeWith(config)));
  config = configOf(7);
  config.aclGraphZeroCopyEnable = 2;
  madeWith(config, HCCL_E_PARA);
  config = configOf(10);
  config.hcclBufferSize = 0;
  madeWith(config, HCCL_E_PARA);
  config = configOf(10);
  config.hcclDeterministic = 3;
  madeWith(config, HCCL_E_PARA);
  config.hcclDeterministic = 1;
  const HcclComm comm = madeWith(config);
  HcclConfigValue value{};
  CHECK_HCCL(HcclGetCommConfig(comm, HCCL_DETERMINISTIC, &value));
  CHECK(value.value == 1);  // before the setting of the process
  HcclRootInfo info;
  HcclComm other = nullptr;
  CHECK_HCCL(HcclGetRootInfo(&info));
  CHECK_CODE(HcclCommInitRootInfoConfig(1, &info, 0, &config, &other), HCCL_E_PARA);  // the name is taken
  CHECK_HCCL(HcclCommDestroy(comm));
  CHECK_OK(aclrtResetDevice(0));
}

void byTableWithConfiguration() {
  CHECK_OK(aclrtSetDevice(0));
  HcclRootInfo info;
  CHECK_HCCL(HcclGetRootInfo(&info));
  uint32_t port = 0;
  std::memcpy(&port, info.internal + 64, sizeof(port));
  char path[] = "/tmp/rank_table_XXXXXX";
  FILE *table = fdopen(mkstemp(path), "w");
  std::fprintf(table,
               R"({"status": "completed", "version": "1.0", "server_count": "1", "server_list": [{"server_id": "a",
                   "device": [{"device_id": "0", "device_ip": "192.168.1.8", "device_port": "%u", "rank_id": "0"}]}]})",
               port == 65535 ? port - 1 : port + 1);
  std::fclose(table);
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  HcclComm comm = nullptr, second = nullptr;
  CHECK_HCCL(HcclCommInitClusterInfoConfig(path, 0, &config, &comm));
  char name[128];
  CHECK_HCCL(HcclGetCommName(comm, name));
  CHECK(std::strcmp(name, "hccl_world_group") == 0);
  CHECK_CODE(HcclCommInitClusterInfoConfig(path, 0, &config, &second), HCCL_E_PARA);
  CHECK_CODE(HcclCommInitClusterInfoConfig(path, 0, nullptr, &second), HCCL_E_PTR);
  CHECK_HCCL(HcclCommDestroy(comm));
  std::remove(path);
  CHECK_OK(aclrtResetDevice(0));
}

void rangesOfMemory(const Rank &rank) {
  const Array<float> memory(1024);
  auto *start = reinterpret_cast<char *>(memory.get());
  CHECK_HCCL(HcclCommSetMemoryRange(rank.comm, start, 4096, 0, 0));
  CHECK_CODE(HcclCommSetMemoryRange(rank.comm, start + 100, 8, 0, 0), HCCL_E_PARA);  // they overlap
  int handle = 0;
  CHECK_HCCL(HcclCommActivateCommMemory(rank.comm, start + 512, 512, 0, &handle, 0));
  CHECK_CODE(HcclCommActivateCommMemory(rank.comm, start + 512, 512, 0, &handle, 0), HCCL_E_PARA);
  CHECK_CODE(HcclCommActivateCommMemory(rank.comm, start + 4000, 512, 0, &handle, 0), HCCL_E_PARA);
  CHECK_CODE(HcclCommUnsetMemoryRange(rank.comm, start), HCCL_E_PARA);  // some of it is active
  CHECK_HCCL(HcclCommDeactivateCommMemory(rank.comm, start + 512));
  CHECK_CODE(HcclCommDeactivateCommMemory(rank.comm, start + 512), HCCL_E_PARA);
  CHECK_HCCL(HcclCommUnsetMemoryRange(rank.comm, start));
  CHECK_CODE(HcclCommUnsetMemoryRange(rank.comm, start), HCCL_E_PARA);
  uint32_t ranks[] = {1 - rank.number};
  bool backup[] = {true};
  CHECK_HCCL(HcclCommWorkingDevNicSet(rank.comm, ranks, backup, 1));
  CHECK_CODE(HcclCommWorkingDevNicSet(rank.comm, ranks, backup, 3), HCCL_E_PARA);
}

// A captured collective runs with each replay, in all ranks.
void captured(const Rank &rank) {
  const Array<float> value(3, static_cast<float>(rank.number + 1));
  const auto reduce = [&] {
    CHECK_HCCL(HcclAllReduce(value.get(), value.get(), 3, kFloat, HCCL_REDUCE_SUM, rank.comm, rank.stream));
  };
  reduce();  // connects the ranks
  rank.synchronize();
  aclmdlRI graph = nullptr;
  CHECK_OK(aclmdlRICaptureBegin(rank.stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  reduce();
  CHECK_OK(aclmdlRICaptureEnd(rank.stream, &graph));
  CHECK(value.values()[0] == 3);  // it has not run
  for (const float expected : {6.0f, 12.0f}) {
    CHECK_OK(aclmdlRIExecuteAsync(graph, rank.stream));
    rank.synchronize();
    CHECK(value.values()[2] == expected);
  }
  CHECK_OK(aclmdlRIDestroy(graph));
}

}  // namespace

int main() {
  startDevices(2);
  settingsOfTheProcess();
  versionsOfConfigurations();
  byTableWithConfiguration();
  onRanks(2, rangesOfMemory);
  onRanks(2, captured);
  return finalizeAndCheckLive();
}
