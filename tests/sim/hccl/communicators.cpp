// How communicators are made, named, configured, divided and destroyed; groups of calls; errors of calls.
#include <atomic>
#include <cstdio>

#include "ranks.h"

namespace {

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

void sumOverRanks(HcclComm comm, aclrtStream stream, float own, float expected) {
  const Array<float> value(1, own);
  CHECK_HCCL(HcclAllReduce(value.get(), value.get(), 1, kFloat, HCCL_REDUCE_SUM, comm, stream));
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK(value.values()[0] == expected);
}

void namesAndSettings(const Rank &rank) {
  uint32_t number = 99;
  CHECK_HCCL(HcclGetRankSize(rank.comm, &number));
  CHECK(number == rank.count);
  CHECK_HCCL(HcclGetRankId(rank.comm, &number));
  CHECK(number == rank.number);
  char name[128];
  CHECK_HCCL(HcclGetCommName(rank.comm, name));
  CHECK(contains(name, "127.0.0.1%"));
  HcclResult error = HCCL_E_INTERNAL;
  CHECK_HCCL(HcclGetCommAsyncError(rank.comm, &error));
  CHECK(error == HCCL_SUCCESS);
  CHECK_HCCL(HcclSetCommConfig(rank.comm, HCCL_DETERMINISTIC, {1}));
  HcclConfigValue value{};
  CHECK_HCCL(HcclGetCommConfig(rank.comm, HCCL_DETERMINISTIC, &value));
  CHECK(value.value == 1);
  CHECK_CODE(HcclSetCommConfig(rank.comm, HCCL_DETERMINISTIC, {7}), HCCL_E_PARA);

  const Array<float> memory(8);
  void *window = nullptr;
  CHECK_HCCL(HcclCommRegister(rank.comm, memory.get(), 32, &window, 0));
  uint32_t all[] = {0, 1};
  CHECK_HCCL(HcclCommExchangeMem(rank.comm, window, all, 2));
  CHECK_HCCL(HcclCommDeregister(rank.comm, window));
  CHECK_CODE(HcclCommDeregister(rank.comm, window), HCCL_E_NOT_FOUND);
  CHECK_HCCL(HcclCommSuspend(rank.comm));
  CHECK_CODE(HcclBarrier(rank.comm, rank.stream), HCCL_E_SUSPENDING);
  CHECK_HCCL(HcclCommResume(rank.comm));
}

void badCalls(const Rank &rank) {
  const Array<float> from(4), to(4);
  float host[4] = {};
  const auto reduce = [&](void *sent, void *received, uint64_t count, aclrtStream stream) {
    return HcclAllReduce(sent, received, count, kFloat, HCCL_REDUCE_SUM, rank.comm, stream);
  };
  CHECK_CODE(reduce(nullptr, to.get(), 4, rank.stream), HCCL_E_PTR);
  CHECK_CODE(reduce(from.get(), to.get(), 4, nullptr), HCCL_E_PTR);
  CHECK_CODE(reduce(from.get(), to.get(), uint64_t{1} << 31, rank.stream), HCCL_E_PARA);
  CHECK_CODE(reduce(from.get(), to.get(), 1 << 20, rank.stream), HCCL_E_PARA);
  CHECK_CODE(reduce(host, to.get(), 4, rank.stream), HCCL_E_PARA);
  CHECK(contains(lastMessage(), "is not inside device memory"));
  CHECK_CODE(HcclBroadcast(from.get(), 4, kFloat, 2, rank.comm, rank.stream), HCCL_E_PARA);
  CHECK_CODE(HcclSend(from.get(), 4, kFloat, rank.number, rank.comm, rank.stream), HCCL_E_PARA);
  CHECK_CODE(HcclAlltoAll(from.get(), 2, kFloat, from.get(), 2, kFloat, rank.comm, rank.stream), HCCL_E_PARA);
  CHECK_CODE(HcclAlltoAll(from.get(), 2, kFloat, to.get(), 2, HCCL_DATA_TYPE_INT32, rank.comm, rank.stream),
             HCCL_E_PARA);
  CHECK_HCCL(HcclBarrier(rank.comm, rank.stream));  // none of them has left anything behind
  rank.synchronize();
}

void configured() {
  const HcclRootInfo info = rootInfo();
  onThreads(2, [&](uint32_t number) {
    HcclComm comm = nullptr;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    std::strcpy(config.hcclCommName, "mine");
    config.hcclBufferSize = 2;
    CHECK_HCCL(HcclCommInitRootInfoConfig(2, &info, number, &config, &comm));
    char name[128];
    CHECK_HCCL(HcclGetCommName(comm, name));
    CHECK(std::strcmp(name, "mine") == 0);
    size_t before = 0, after = 0, total = 0;
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    sumOverRanks(comm, stream, 1, 2);
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
    CHECK(before - after >= size_t{4} << 20);  // twice the buffer, from the first operation on
    CHECK_HCCL(HcclCommDestroy(comm));
    CHECK_CODE(HcclCommDestroy(comm), HCCL_E_PARA);
    CHECK_HCCL(HcclCommDestroy(nullptr));
    CHECK_OK(aclrtDestroyStream(stream));
  });
  CHECK_OK(aclrtSetDevice(0));
  HcclCommConfig config{};
  HcclComm comm = nullptr;
  CHECK_CODE(HcclCommInitRootInfoConfig(1, &info, 0, &config, &comm), HCCL_E_PARA);
  CHECK(contains(lastMessage(), "magic word"));
  CHECK_CODE(HcclCommInitRootInfo(2, &info, 2, &comm), HCCL_E_PARA);
  CHECK_CODE(HcclCommInitRootInfo(1, nullptr, 0, &comm), HCCL_E_PTR);
  CHECK_OK(aclrtResetDevice(0));
}

void missingRank() {
  const HcclRootInfo info = rootInfo();
  std::atomic<int> named{0};
  onThreads(2, [&](uint32_t number) {  // the third does not come
    HcclComm comm = nullptr;
    CHECK_CODE(HcclCommInitRootInfo(3, &info, number, &comm), HCCL_E_TIMEOUT);
    if (contains(lastMessage(), "no rank has come from: rank 2")) ++named;
  });
  CHECK(named > 0);
  const HcclRootInfo other = rootInfo();
  onThreads(2, [&](uint32_t number) {
    HcclComm comm = nullptr;
    CHECK_CODE(HcclCommInitRootInfo(2 + number, &other, number, &comm), HCCL_E_PARA);
    CHECK(contains(lastMessage(), "ranks, rank"));
  });
}

void allAtOnce() {
  CHECK_OK(aclrtSetDevice(0));
  int32_t devices[] = {2, 0, 1};
  int32_t twice[] = {0, 0};
  HcclComm comms[3] = {};
  CHECK_CODE(HcclCommInitAll(2, twice, comms), HCCL_E_PARA);
  CHECK_CODE(HcclCommInitAll(0, devices, comms), HCCL_E_PARA);
  CHECK_HCCL(HcclCommInitAll(3, devices, comms));
  CHECK_OK(aclrtResetDevice(0));
  onThreads(3, [&](uint32_t device) {
    const HcclComm comm = comms[device == 2 ? 0 : device + 1];
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    sumOverRanks(comm, stream, static_cast<float>(device), 3);
    const Array<float> value(1);
    CHECK_OK(aclrtSetDevice(static_cast<int32_t>((device + 1) % 3)));
    CHECK_CODE(HcclBarrier(comm, stream), HCCL_E_PARA);  // of another device
    CHECK_OK(aclrtResetDevice(static_cast<int32_t>((device + 1) % 3)));
    CHECK_OK(aclrtSetDevice(static_cast<int32_t>(device)));
    CHECK_HCCL(HcclCommDestroy(comm));
    CHECK_OK(aclrtDestroyStream(stream));
  });
}

void divided(const Rank &rank) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  HcclComm comm = rank.comm, part = nullptr;
  uint32_t pairs[][2] = {{0, 2}, {3, 1}};
  uint32_t *own = pairs[rank.number % 2];
  const uint32_t number = own[0] == rank.number ? 0 : 1;
  CHECK_HCCL(HcclCreateSubCommConfig(&comm, 2, own, 10 + rank.number % 2, number, &config, &part));
  sumOverRanks(part, rank.stream, static_cast<float>(rank.number), rank.number % 2 == 0 ? 2 : 4);
  uint32_t id = 9;
  CHECK_HCCL(HcclGetRankId(part, &id));
  CHECK(id == number);
  HcclComm none = part;
  CHECK_CODE(HcclCreateSubCommConfig(&part, 2, own, 11, number, &config, &none), HCCL_E_NOT_SUPPORT);
  CHECK_HCCL(HcclCreateSubCommConfig(&comm, 2, nullptr, 0xFFFFFFFF, 0, &config, &none));
  CHECK(none == nullptr);
  CHECK_HCCL(HcclCommDestroy(part));
}

void grouped(const Rank &rank) {
  const Array<float> one(1, 1), many(100, 2), sent(5, 3 + static_cast<float>(rank.number)), received(5);
  CHECK_HCCL(HcclGroupStart());
  CHECK_HCCL(HcclGroupStart());
  CHECK_HCCL(HcclAllReduce(one.get(), one.get(), 1, kFloat, HCCL_REDUCE_SUM, rank.comm, rank.stream));
  CHECK_HCCL(HcclGroupEnd());
  CHECK_HCCL(HcclAllReduce(many.get(), many.get(), 100, kFloat, HCCL_REDUCE_SUM, rank.comm, rank.stream));
  CHECK_CODE(HcclSend(sent.get(), 5, kFloat, 1 - rank.number, rank.comm, rank.stream), HCCL_E_NOT_SUPPORT);
  CHECK_HCCL(HcclGroupEnd());
  CHECK_HCCL(HcclGroupStart());  // both send first: only a group can do that
  CHECK_HCCL(HcclSend(sent.get(), 5, kFloat, 1 - rank.number, rank.comm, rank.stream));
  CHECK_HCCL(HcclRecv(received.get(), 5, kFloat, 1 - rank.number, rank.comm, rank.stream));
  CHECK_HCCL(HcclGroupEnd());
  rank.synchronize();
  CHECK(one.values()[0] == 2 && many.values()[99] == 4 && received.values()[4] == 4 - static_cast<float>(rank.number));
  CHECK_CODE(HcclGroupEnd(), HCCL_E_PARA);
}

// One thread makes the communicators of two devices.
void createdInGroup() {
  const HcclRootInfo info = rootInfo();
  HcclComm comms[2] = {};
  CHECK_HCCL(HcclGroupStart());
  for (int32_t device = 0; device < 2; ++device) {
    CHECK_OK(aclrtSetDevice(device));
    CHECK_HCCL(HcclCommInitRootInfo(2, &info, static_cast<uint32_t>(device), &comms[device]));
  }
  CHECK_HCCL(HcclGroupEnd());
  for (const HcclComm comm : comms) CHECK_HCCL(HcclCommDestroy(comm));
  for (int32_t device = 0; device < 2; ++device) CHECK_OK(aclrtResetDevice(device));
}

void byTable() {
  char path[] = "/tmp/rank_table_XXXXXX";
  const int file = mkstemp(path);
  CHECK(file >= 0);
  FILE *table = fdopen(file, "w");
  // A port of the ephemeral range that was free a moment ago.
  const HcclRootInfo info = rootInfo();
  uint32_t port = 0;
  std::memcpy(&port, info.internal + 64, sizeof(port));
  std::fprintf(table,
               R"({"status": "completed", "version": "1.0", "server_count": "1", "server_list": [{"server_id": "a",
                   "device": [{"device_id": "0", "device_ip": "192.168.1.8", "device_port": "%u", "rank_id": "0"},
                              {"device_id": "1", "device_ip": "192.168.1.9", "rank_id": "1"}]}]})",
               port == 65535 ? port - 1 : port + 1);
  std::fclose(table);
  onThreads(2, [&](uint32_t number) {
    HcclComm comm = nullptr;
    CHECK_HCCL(HcclCommInitClusterInfo(path, number, &comm));
    char name[128];
    CHECK_HCCL(HcclGetCommName(comm, name));
    CHECK(std::strcmp(name, "hccl_world_group") == 0);
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    sumOverRanks(comm, stream, 1, 2);
    CHECK_CODE(HcclCommInitClusterInfo(path, 1 - number, &comm), HCCL_E_PARA);  // that device is another's
    CHECK_HCCL(HcclCommDestroy(comm));
    CHECK_OK(aclrtDestroyStream(stream));
  });
  std::remove(path);
  CHECK_OK(aclrtSetDevice(0));
  HcclComm comm = nullptr;
  CHECK_CODE(HcclCommInitClusterInfo(path, 0, &comm), HCCL_E_OPEN_FILE_FAILURE);
  CHECK_OK(aclrtResetDevice(0));
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_HCCL_TIMEOUT_SCALE", "0.02", 1);  // 3 s until a missing rank is given up
  startDevices(4);
  onRanks(2, namesAndSettings);
  onRanks(2, badCalls);
  configured();
  missingRank();
  allAtOnce();
  onRanks(4, divided);
  onRanks(2, grouped);
  createdInGroup();
  byTable();
  return finalizeAndCheckLive();
}
