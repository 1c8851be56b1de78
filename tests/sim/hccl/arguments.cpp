// Every function of the library with invalid arguments.
#include "../arguments.h"

#include "declared.h"
#include "ranks.h"

// A status of HCCL is a member of its enumeration, and a failure has a message that names the function.
template <>
void arguments::checkEnum(const char *function, HcclResult result) {
  const std::string message = lastMessage();
  if (result == HCCL_SUCCESS) return;
  if (result > HCCL_SUCCESS && result < HCCL_E_RESERVED && contains(message, function)) return;
  std::fprintf(stderr, "%s returned %d: %s\n", function, static_cast<int>(result), message.c_str());
  std::_Exit(1);
}

namespace {

HcclComm live;  // of one rank; without it only the check of the communicator would run

void makeLive() {
  HcclRootInfo info;
  uint32_t rank = 0;
  if (HcclGetRankId(live, &rank) == HCCL_SUCCESS) return;
  CHECK_HCCL(HcclGetRootInfo(&info));
  CHECK_HCCL(HcclCommInitRootInfo(1, &info, 0, &live));
}

// The communicator that the call before has made is gone.
void renew() {
  HcclComm made = nullptr;
  std::memcpy(&made, arguments::room, sizeof(made));
  HcclCommDestroy(made);
}

}  // namespace

// Counts of ranks, which a call reads, and buffers.
template <>
std::vector<const void *> arguments::choices() {
  return {room, nullptr};
}

template <>
std::vector<HcclConfigValue> arguments::choices() {
  return {HcclConfigValue{0}, HcclConfigValue{-1}};
}

template <>
std::vector<void *> arguments::choices() {
  std::vector<void *> all{live, room, nullptr};
  for (void *handle : dead()) all.push_back(handle);
  return all;
}

int main() {
  startDevices(1);
  CHECK_OK(aclrtSetDevice(0));
  makeLive();
  arguments::dead() = {live};
  CHECK_HCCL(HcclCommDestroy(live));
#define DECLARED(function) \
  makeLive();              \
  arguments::sweep(#function, renew, function);
#include "declared.inc"
  renew();
  HcclCommDestroy(live);
  CHECK_OK(aclrtSynchronizeDevice());
  return finalizeAndCheckLive();
}
