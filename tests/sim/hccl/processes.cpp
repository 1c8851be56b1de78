// Ranks that are processes: values, unequal arguments, a rank that is killed, what is left behind.
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "ranks.h"

namespace {

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

// Two processes, each a rank with a device of its own, before this one has used any.
void onProcesses(const std::function<int(const Rank &)> &work, const std::vector<int> &expected) {
  int channel[2];
  CHECK(pipe(channel) == 0);
  std::vector<pid_t> children;
  for (uint32_t number = 0; number < 2; ++number) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      CHECK_OK(aclInit(nullptr));
      CHECK_OK(aclrtSetDevice(0));
      HcclRootInfo info;
      if (number == 0) {
        CHECK_HCCL(HcclGetRootInfo(&info));
        CHECK(write(channel[1], &info, sizeof(info)) == sizeof(info));
      } else {
        CHECK(read(channel[0], &info, sizeof(info)) == sizeof(info));
      }
      Rank rank{number, 2, nullptr, nullptr};
      CHECK_HCCL(HcclCommInitRootInfo(2, &info, number, &rank.comm));
      CHECK_OK(aclrtCreateStream(&rank.stream));
      _exit(work(rank));
    }
    children.push_back(child);
  }
  for (size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    CHECK(waitpid(children[i], &status, 0) == children[i]);
    CHECK((WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status)) == expected[i]);
  }
  close(channel[0]);
  close(channel[1]);
}

int reduceMany(const Rank &rank) {
  const size_t count = 3000001;
  const Array<float> values(count, static_cast<float>(rank.number + 1));
  for (int i = 0; i < 3; ++i) {
    CHECK_HCCL(HcclAllReduce(values.get(), values.get(), count, kFloat, HCCL_REDUCE_SUM, rank.comm, rank.stream));
  }
  rank.synchronize();
  CHECK(values.values() == std::vector<float>(count, 12));
  CHECK_HCCL(HcclCommDestroy(rank.comm));
  return 0;
}

// Rank 1 is killed while rank 0 waits for it, which ends with the time-out, as on hardware.
int killed(const Rank &rank) {
  const Array<float> values(4);
  CHECK_HCCL(HcclBarrier(rank.comm, rank.stream));
  rank.synchronize();
  if (rank.number == 1) raise(SIGKILL);
  CHECK_HCCL(HcclAllReduce(values.get(), values.get(), 4, kFloat, HCCL_REDUCE_SUM, rank.comm, rank.stream));
  CHECK_CODE(aclrtSynchronizeStream(rank.stream), ACL_ERROR_RT_FFTS_PLUS_TIMEOUT);
  const std::string message = lastMessage();
  CHECK(contains(message, "EI0002") && contains(message, "rank 1 (its process has closed the link)"));
  return 0;
}

template <class Call>
auto unequal(const char *parameter, Call call) {
  return [=](const Rank &rank) {
    const Array<float> from(8), to(8);
    CHECK_HCCL(call(rank, from.get(), to.get()));
    CHECK_CODE(aclrtSynchronizeStream(rank.stream), ACL_ERROR_RT_FFTS_PLUS_EXCEPTION);
    const std::string message = lastMessage();
    CHECK(contains(message, "EI0005") && contains(message, parameter));
    HcclResult error = HCCL_SUCCESS;
    CHECK_HCCL(HcclGetCommAsyncError(rank.comm, &error));
    CHECK(error == HCCL_E_PARA);
    return 0;
  };
}

// A stream that is aborted ends its wait for a rank that does not come.
int aborted(const Rank &rank) {
  const Array<float> values(4);
  CHECK_HCCL(HcclBarrier(rank.comm, rank.stream));
  rank.synchronize();
  if (rank.number == 1) return 0;
  CHECK_HCCL(HcclAllReduce(values.get(), values.get(), 4, kFloat, HCCL_REDUCE_SUM, rank.comm, rank.stream));
  CHECK_OK(aclrtStreamAbort(rank.stream));
  CHECK_OK(aclrtDestroyStreamForce(rank.stream));
  CHECK_HCCL(HcclCommDestroy(rank.comm));
  return 0;
}

std::vector<std::string> sharedMemory() {
  std::vector<std::string> names;
  DIR *folder = opendir("/dev/shm");
  while (const dirent *entry = folder == nullptr ? nullptr : readdir(folder)) names.emplace_back(entry->d_name);
  if (folder != nullptr) closedir(folder);
  return names;
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  setenv("HCCL_BUFFSIZE", "1", 1);
  setenv("HCCL_IF_IP", "127.0.0.1", 1);
  setenv("HCCL_EXEC_TIMEOUT", "4", 1);
  const auto before = sharedMemory();
  onProcesses(killed, {0, -SIGKILL});
  CHECK(sharedMemory() == before);
  setenv("HCCL_EXEC_TIMEOUT", "0", 1);
  onProcesses(reduceMany, {0, 0});
  onProcesses(aborted, {0, 0});
  onProcesses(unequal("count differs",
                      [](const Rank &rank, float *from, float *to) {
                        return HcclAllReduce(from, to, 4 + rank.number, kFloat, HCCL_REDUCE_SUM, rank.comm,
                                             rank.stream);
                      }),
              {0, 0});
  onProcesses(unequal("op differs",
                      [](const Rank &rank, float *from, float *to) {
                        return HcclAllReduce(from, to, 4, kFloat, static_cast<HcclReduceOp>(rank.number * 2), rank.comm,
                                             rank.stream);
                      }),
              {0, 0});
  onProcesses(unequal("dataType differs",
                      [](const Rank &rank, float *from, float *to) {
                        return HcclAllGather(from, to, 4, rank.number == 0 ? kFloat : HCCL_DATA_TYPE_INT32, rank.comm,
                                             rank.stream);
                      }),
              {0, 0});
  onProcesses(unequal("operator differs between ranks: ",
                      [](const Rank &rank, float *from, float *to) {
                        return rank.number == 0 ? HcclBarrier(rank.comm, rank.stream)
                                                : HcclAllGather(from, to, 4, kFloat, rank.comm, rank.stream);
                      }),
              {0, 0});
  onProcesses(unequal("root differs",
                      [](const Rank &rank, float *from, float *) {
                        return HcclBroadcast(from, 4, kFloat, rank.number, rank.comm, rank.stream);
                      }),
              {0, 0});
  std::puts("ok");
  return 0;
}
