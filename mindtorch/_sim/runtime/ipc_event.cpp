#include "ipc_event.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace sim {

namespace {

constexpr char kFolder[] = "/dev/shm/";
constexpr char kPrefix[] = "mindtorch-event-";

}  // namespace

IpcEvent::IpcEvent(std::string path, Counts *counts, int owner)
    : path_(std::move(path)), counts_(counts), owner_(owner) {}

IpcEvent::~IpcEvent() {
  munmap(counts_, sizeof(Counts));
  if (owner_ == getpid()) unlink(path_.c_str());
}

std::shared_ptr<IpcEvent> IpcEvent::map(const std::string &path, int flags) {
  const bool created = (flags & O_CREAT) != 0;
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  void *memory = MAP_FAILED;
  if (!created || ftruncate(file, sizeof(Counts)) == 0) {  // which fills it with zeros
    memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (memory == MAP_FAILED) {
    if (created) unlink(path.c_str());
    return nullptr;
  }
  return std::shared_ptr<IpcEvent>(new IpcEvent(path, static_cast<Counts *>(memory), created ? getpid() : 0));
}

std::shared_ptr<IpcEvent> IpcEvent::create() {
  static std::atomic<uint64_t> made{0};
  const std::string number = std::to_string(getpid()) + "-" + std::to_string(made.fetch_add(1));
  return map(std::string(kFolder) + kPrefix + number, O_RDWR | O_CREAT | O_EXCL);
}

std::shared_ptr<IpcEvent> IpcEvent::open(const aclrtIpcEventHandle &handle) {
  const size_t length = strnlen(handle.reserved, sizeof handle.reserved);
  const std::string name(handle.reserved, length);
  const bool plausible = length < sizeof handle.reserved && name.compare(0, sizeof kPrefix - 1, kPrefix) == 0 &&
                         name.find('/') == std::string::npos;
  return plausible ? map(kFolder + name, O_RDWR) : nullptr;
}

void IpcEvent::name(aclrtIpcEventHandle *handle) const {
  std::memset(handle->reserved, 0, sizeof handle->reserved);
  path_.copy(handle->reserved, sizeof handle->reserved - 1, sizeof kFolder - 1);
}

void IpcEvent::pass(uint64_t number) {
  uint64_t before = counts_->passed.load();
  while (before < number && !counts_->passed.compare_exchange_weak(before, number)) {
  }
}

}  // namespace sim
