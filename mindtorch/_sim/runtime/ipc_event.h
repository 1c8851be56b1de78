// State of an event that several processes share: the number of the last record, and of the last completed record.
#ifndef MINDTORCH_SIM_RUNTIME_IPC_EVENT_H_
#define MINDTORCH_SIM_RUNTIME_IPC_EVENT_H_
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime.h"

namespace sim {

class IpcEvent {
 public:
  static std::shared_ptr<IpcEvent> create();  // nullptr: the host has no shared memory left
  static std::shared_ptr<IpcEvent> open(const aclrtIpcEventHandle &handle);  // nullptr: the event is gone
  ~IpcEvent();                                                               // the creator takes the name away
  IpcEvent(const IpcEvent &) = delete;
  IpcEvent &operator=(const IpcEvent &) = delete;

  void name(aclrtIpcEventHandle *handle) const;
  uint64_t record() { return counts_->recorded.fetch_add(1) + 1; }  // the number of the new record
  void pass(uint64_t number);
  uint64_t recorded() const { return counts_->recorded.load(); }
  bool passed(uint64_t number) const { return counts_->passed.load(std::memory_order_acquire) >= number; }

 private:
  struct Counts {
    std::atomic<uint64_t> recorded;
    std::atomic<uint64_t> passed;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "the counts are shared between processes");

  IpcEvent(std::string path, Counts *counts, int owner);
  static std::shared_ptr<IpcEvent> map(const std::string &path, int flags);

  const std::string path_;
  Counts *const counts_;
  const int owner_;  // process that made the event; 0: another one
};

}  // namespace sim
#endif
