// Events of both kinds. Every record creates a Marker, which is completed when the stream reaches it. An event of
// aclrtCreateEventExWithFlag may be recorded repeatedly: waits and queries use the latest record at the time of the
// call. An event of aclrtCreateEvent(WithFlag) is a hardware flag: the first record after creation or reset sets it,
// and only aclrtResetEvent clears it. Waits use the flag; queries and times use the latest record. An event with
// ACL_EVENT_IPC may be recorded repeatedly. Its records are counted in shared memory, and its waits poll the counts.
//
// Every record leaves a Marker that the stream passes. An event of aclrtCreateEventExWithFlag is re-recordable: waits
// and queries use the marker of the latest record at the time of the call. An event of aclrtCreateEvent(WithFlag) is a
// flag in hardware: waits look at the flag, which the first record after creation or reset raises and only
// aclrtResetEvent takes down; queries and times look at the latest record. An event with the flag ACL_EVENT_IPC is
// re-recordable, and its records are counted where other processes see them; their waits look there every now and then.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "capture.h"
#include "ipc_event.h"
#include "stream.h"

namespace sim {

namespace {

constexpr uint32_t kEvents = 1 << 18;
constexpr std::chrono::microseconds kIpcPause{200};
constexpr uint32_t kFlagsTogether =
    ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE | ACL_EVENT_DEVICE_USE_ONLY;

struct Event {
  std::mutex mutex;  // guards the markers
  Device *device = nullptr;
  uint32_t flags = 0;
  bool extended = false;             // of aclrtCreateEventExWithFlag
  MarkerPtr recorded;                // the latest record; empty before the first
  MarkerPtr raised;                  // the hardware flag of an event that is not extended
  CapturePointPtr captured;          // the latest record, where a capturing stream made it
  std::shared_ptr<IpcEvent> shared;  // with the flag ACL_EVENT_IPC; constant while the event lives
};

HandleTable<Event> &events() {
  static HandleTable<Event> &table = *new HandleTable<Event>(kEvents);
  return table;
}

aclError createEvent(const char *function, aclrtEvent *event, uint32_t flags, bool extended,
                     std::shared_ptr<IpcEvent> shared = nullptr) {
  if (event == nullptr) return nullArgument(function, "event");
  Context *context = contextOrDefault();
  if (context == nullptr) return noContext(function);
  const bool alone = flags == ACL_EVENT_EXTERNAL || flags == ACL_EVENT_IPC;
  if (flags == 0 || (!alone && (flags & ~kFlagsTogether) != 0)) {
    return badValue(function, "flag", flags, "ACL_EVENT_* flags, EXTERNAL and IPC each alone");
  }
  if (flags == ACL_EVENT_IPC && shared == nullptr) {
    shared = IpcEvent::create();
    if (shared == nullptr) {
      return simFail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "EE1001", "%s: the host has no shared memory left", function);
    }
  }
  Event *created = nullptr;
  if (extended || context->device->event_ids.load() < kEventIdsPerDevice) created = events().take();
  if (created == nullptr) {
    return simFail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "EE1001", "%s: no event is left on device %d", function,
                   context->device->id);
  }
  {
    std::lock_guard<std::mutex> lock(created->mutex);
    created->device = context->device;
    created->flags = flags;
    created->extended = extended;
    created->recorded.reset();
    created->captured.reset();
    created->raised = extended ? nullptr : std::make_shared<Marker>();
    created->shared = std::move(shared);
  }
  if (!extended) context->device->event_ids.fetch_add(1);
  events().publish(created);
  simCount(SIM_EVENT, 1);
  *event = created;
  return ACL_SUCCESS;
}

void closeEvent(Event *event) {
  {
    std::lock_guard<std::mutex> lock(event->mutex);
    event->recorded.reset();
    event->raised.reset();
    event->captured.reset();
    event->shared.reset();
    if (!event->extended) event->device->event_ids.fetch_sub(1);
  }
  events().release(event);
  simCount(SIM_EVENT, -1);
}

aclError resolveEvent(const char *function, aclrtEvent handle, Event **event) {
  if (contextOrDefault() == nullptr) return noContext(function);
  if (handle == nullptr) return nullArgument(function, "event");
  *event = events().find(handle);
  return *event == nullptr ? badHandle(function, "event", handle) : ACL_SUCCESS;
}

aclError refuse(const char *function, const char *reason) {
  return simFail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "EE1001", "%s: %s", function, reason);
}

MarkerPtr latest(Event &event) {
  std::lock_guard<std::mutex> lock(event.mutex);
  return event.recorded;
}

CapturePointPtr capturedAt(Event &event) {
  std::lock_guard<std::mutex> lock(event.mutex);
  return event.captured;
}

// Completes its markers when it has run or is dropped, so that no wait hangs.
struct RecordWork {
  MarkerPtr recorded;
  MarkerPtr raised;
  std::shared_ptr<IpcEvent> shared;
  uint64_t number;
  RecordWork(MarkerPtr first, MarkerPtr second, std::shared_ptr<IpcEvent> third)
      : recorded(std::move(first)),
        raised(std::move(second)),
        shared(std::move(third)),
        number(shared == nullptr ? 0 : shared->record()) {}
  RecordWork(RecordWork &&) = default;
  RecordWork &operator=(RecordWork &&) = delete;
  ~RecordWork() { (*this)(); }
  aclError operator()() {
    if (recorded != nullptr) complete(*recorded);
    if (raised != nullptr) complete(*raised);
    if (shared != nullptr) shared->pass(number);
    return ACL_SUCCESS;
  }
};

// The hardware flag of an event, read each time a task of a graph runs.
MarkerPtr flagOf(Event *event) {
  if (events().find(event) == nullptr) return nullptr;
  std::lock_guard<std::mutex> lock(event->mutex);
  return event->raised;
}

void lower(Event &event) {
  std::lock_guard<std::mutex> lock(event.mutex);
  if (event.raised != nullptr) event.raised = std::make_shared<Marker>();
}

aclError destroyedEvent() {
  return simFail(ACL_ERROR_RT_INVALID_HANDLE, "EE1001", "an event that the graph uses was destroyed");
}

// Records an event on a capturing stream: as a point of the capture, or as a task that sets the hardware flag whenever
// the graph runs.
aclError recordCaptured(const char *function, Event &event, Stream &stream, CapturePointPtr point) {
  if (!event.extended) {
    return submitWork(stream, function, [flagged = &event]() -> aclError {
      const MarkerPtr raised = flagOf(flagged);
      if (raised == nullptr) return destroyedEvent();
      complete(*raised);
      return ACL_SUCCESS;
    });
  }
  std::lock_guard<std::mutex> lock(event.mutex);
  if (event.shared != nullptr) {
    return invalidateCapture(stream, refuse(function, "an event of several processes is not recorded in a capture"));
  }
  event.captured = std::move(point);
  return ACL_SUCCESS;
}

aclError waitForFlag(const char *function, Event *event, Clock::duration patience) {
  const MarkerPtr raised = flagOf(event);
  if (raised == nullptr) return destroyedEvent();
  const auto end = patience == Clock::duration::zero() ? forever() : Clock::now() + patience;
  const auto up = [&] { return raised->done.load(std::memory_order_acquire); };
  if (waitInTask(end, up) != WaitResult::kTimeout) return ACL_SUCCESS;
  return simFail(ACL_ERROR_RT_WAIT_TIMEOUT, "EE9999", "%s: the event was not recorded in time", function);
}

aclError recordEvent(const char *function, Event &event, Stream &stream) {
  if (&stream.device() != event.device) {
    return simFail(ACL_ERROR_RT_STREAM_CONTEXT, "EE1001", "%s: the event is of device %d, the stream of device %d",
                   function, event.device->id, stream.device().id);
  }
  SIM_TRY(stream.device().check(function));
  if (CapturePointPtr point = pointOf(stream)) return recordCaptured(function, event, stream, std::move(point));
  const MarkerPtr recorded = std::make_shared<Marker>();
  MarkerPtr raised;
  std::shared_ptr<IpcEvent> shared;
  {
    std::lock_guard<std::mutex> lock(event.mutex);
    raised = event.raised;
    shared = event.shared;
  }
  recorded->due = stream.due();
  if (raised != nullptr) raised->due = stream.due();
  if (stream.idle() && stream.device().attention.load(std::memory_order_relaxed) == 0 && !stream.stores()) {
    RecordWork(recorded, raised, shared)();  // nothing is ahead of it
    ++thread_state.last_task;
  } else if (aclError error = submitBrief(stream, function, RecordWork(recorded, raised, shared));
             error != ACL_SUCCESS) {
    return error;
  }
  std::lock_guard<std::mutex> lock(event.mutex);
  event.recorded = recorded;
  event.captured.reset();
  return ACL_SUCCESS;
}

// A stream's wait for a marker. The marker counts it from the call until it has ended or is dropped.
struct WaitWork {
  MarkerPtr marker;
  Clock::duration patience;  // zero: for ever
  const char *function;
  WaitWork(MarkerPtr awaited, Clock::duration longest, const char *name)
      : marker(std::move(awaited)), patience(longest), function(name) {
    marker->waits.fetch_add(1);
  }
  WaitWork(WaitWork &&) = default;
  WaitWork &operator=(WaitWork &&) = delete;
  ~WaitWork() {
    if (marker != nullptr) marker->waits.fetch_sub(1);
  }
  aclError operator()() {
    const auto end = patience == Clock::duration::zero() ? forever() : Clock::now() + patience;
    const auto passed = [&] { return marker->done.load(std::memory_order_acquire); };
    if (waitInTask(end, passed) != WaitResult::kTimeout) return ACL_SUCCESS;
    return simFail(ACL_ERROR_RT_WAIT_TIMEOUT, "EE9999", "%s: the event was not recorded in time", function);
  }
};

// The same for an IPC event, which is polled.
struct IpcWaitWork {
  std::shared_ptr<IpcEvent> shared;
  uint64_t number;
  Clock::time_point end;
  const char *function;
  aclError operator()() {
    const auto passed = [&] { return shared->passed(number); };
    while (!passed()) {
      if (Clock::now() >= end) {
        return simFail(ACL_ERROR_RT_WAIT_TIMEOUT, "EE9999", "%s: the event was not recorded in time", function);
      }
      if (waitInTask(std::min(end, Clock::now() + kIpcPause), passed) == WaitResult::kCancelled) break;
    }
    return ACL_SUCCESS;
  }
};

std::shared_ptr<IpcEvent> sharedOf(Event &event) {
  std::lock_guard<std::mutex> lock(event.mutex);
  return event.shared;
}

aclError waitShared(const char *function, Stream &stream, const std::shared_ptr<IpcEvent> &shared, uint32_t seconds) {
  const uint64_t number = shared->recorded();
  if (shared->passed(number)) return ACL_SUCCESS;
  const auto end = seconds == 0 ? forever() : Clock::now() + std::chrono::seconds(seconds);
  return submitWork(stream, function, IpcWaitWork{shared, number, end, function});
}

aclError synchronizeShared(const char *function, const IpcEvent &shared, Clock::time_point end) {
  const uint64_t number = shared.recorded();
  while (!shared.passed(number)) {
    if (Clock::now() >= end) {
      return simFail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "EE9999", "%s: the event did not complete in time", function);
    }
    std::this_thread::sleep_for(kIpcPause);
  }
  return ACL_SUCCESS;
}

aclError waitEvent(const char *function, aclrtStream handle, aclrtEvent event_handle, uint32_t seconds) {
  Stream *stream = nullptr;
  Event *event = nullptr;
  SIM_TRY(resolveStream(function, handle, &stream));
  SIM_TRY(resolveEvent(function, event_handle, &event));
  if (!event->extended && (event->flags & ACL_EVENT_SYNC) == 0) {
    return refuse(function, "an event that streams wait for needs the flag ACL_EVENT_SYNC");
  }
  SIM_TRY(stream->device().check(function));
  if (!event->extended && pointOf(*stream) != nullptr) {
    return submitWork(*stream, function, [=] { return waitForFlag(function, event, std::chrono::seconds(seconds)); });
  }
  const bool recorded = latest(*event) != nullptr || sharedOf(*event) != nullptr;
  aclError result = ACL_SUCCESS;
  if (waitCaptured(function, *stream, capturedAt(*event), recorded, &result)) return result;
  if (const auto shared = sharedOf(*event)) return waitShared(function, *stream, shared, seconds);
  MarkerPtr marker;
  {
    std::lock_guard<std::mutex> lock(event->mutex);
    marker = event->extended ? event->recorded : event->raised;
  }
  if (marker == nullptr) return ACL_SUCCESS;
  stream->startAfter(marker->due);
  if (marker->done.load(std::memory_order_acquire)) return ACL_SUCCESS;
  return submitWork(*stream, function, WaitWork(marker, std::chrono::seconds(seconds), function));
}

aclError synchronizeEvent(const char *function, aclrtEvent handle, Clock::time_point end) {
  Event *event = nullptr;
  SIM_TRY(resolveEvent(function, handle, &event));
  SIM_TRY(refuseCaptured(function, capturedAt(*event)));
  Device &device = *event->device;
  if (const auto shared = sharedOf(*event)) {
    SIM_TRY(synchronizeShared(function, *shared, end));
    return device.check(function);
  }
  const MarkerPtr marker = latest(*event);
  if (marker == nullptr && !event->extended) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: the event was never recorded", function);
  }
  if (marker != nullptr && !marker->done.load(std::memory_order_acquire)) {
    const bool in_time = signal().wait(end, [&] { return marker->done.load(); });
    if (!in_time) {
      return simFail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "EE9999", "%s: the event did not complete in time", function);
    }
  }
  if (marker != nullptr && !pauseUntilDue(marker->due, end)) {
    return simFail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "EE9999", "%s: the event did not complete in time", function);
  }
  return device.check(function);
}

aclError timeOf(const char *function, const char *argument, Event &event, int64_t *nanoseconds) {
  SIM_TRY(refuseCaptured(function, capturedAt(event)));
  const MarkerPtr marker = latest(event);
  if ((event.flags & ACL_EVENT_TIME_LINE) == 0 || marker == nullptr) {
    return simFail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "EE1001", "%s: %s %s", function, argument,
                   marker == nullptr ? "was never recorded" : "was created without the flag ACL_EVENT_TIME_LINE");
  }
  if (!marker->passed()) {
    return simFail(ACL_ERROR_RT_EVENT_NOT_COMPLETE, "EE1001", "%s: %s has not completed yet", function, argument);
  }
  *nanoseconds = marker->nanoseconds.load(std::memory_order_relaxed);
  return ACL_SUCCESS;
}

}  // namespace

void eventsAtFork(Fork stage) { events().atFork(stage); }

void releaseEvents(const Device *device) {
  events().forEachLive([&](Event *event) {
    if (event->device == device && events().retire(event)) closeEvent(event);
  });
}

}  // namespace sim

using namespace sim;

#define SIM_REQUIRE_EVENT(found, handle) SIM_RESOLVE(Event, found, resolveEvent, handle)

aclError aclrtCreateEvent(aclrtEvent *event) {
  SIM_ENTER(aclrtCreateEvent);
  return createEvent(__func__, event, ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE, false);
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag) {
  SIM_ENTER(aclrtCreateEventWithFlag);
  return createEvent(__func__, event, flag, false);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
  SIM_ENTER(aclrtCreateEventExWithFlag);
  return createEvent(__func__, event, flag, true);
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  SIM_ENTER(aclrtDestroyEvent);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(event);
  Event *found = events().find(event);
  if (found == nullptr || !events().retire(found)) return badHandle(__func__, "event", event);
  closeEvent(found);
  return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  SIM_ENTER(aclrtRecordEvent);
  SIM_REQUIRE_STREAM(found_stream, stream);
  SIM_REQUIRE_EVENT(found, event);
  return recordEvent(__func__, *found, *found_stream);
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  SIM_ENTER(aclrtResetEvent);
  SIM_REQUIRE_STREAM(found_stream, stream);
  SIM_REQUIRE_EVENT(found, event);
  if (found->extended) return refuse(__func__, "events of aclrtCreateEventExWithFlag are not reset");
  if ((found->flags & ACL_EVENT_SYNC) == 0) return refuse(__func__, "the event lacks the flag ACL_EVENT_SYNC");
  if (pointOf(*found_stream) == nullptr) {
    lower(*found);
    return ACL_SUCCESS;
  }
  return submitWork(*found_stream, __func__, [found]() -> aclError {
    if (flagOf(found) == nullptr) return destroyedEvent();
    lower(*found);
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  SIM_ENTER(aclrtStreamWaitEvent);
  return waitEvent(__func__, stream, event, opWaitSeconds());
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  SIM_ENTER(aclrtStreamWaitEventWithTimeout);
  if (timeout < 0) return badValue(__func__, "timeout", timeout, "seconds, or 0 for ever");
  return waitEvent(__func__, stream, event, static_cast<uint32_t>(timeout));
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status) {
  SIM_ENTER(aclrtQueryEvent);
  SIM_REQUIRE_POINTER(status);
  SIM_REQUIRE_EVENT(found, event);
  if (found->extended) {
    return refuse(__func__, "events of aclrtCreateEventExWithFlag are asked by aclrtQueryEventStatus");
  }
  SIM_TRY(found->device->check(__func__));
  const MarkerPtr marker = latest(*found);
  *status = marker != nullptr && marker->passed() ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status) {
  SIM_ENTER(aclrtQueryEventStatus);
  SIM_REQUIRE_POINTER(status);
  SIM_REQUIRE_EVENT(found, event);
  SIM_TRY(refuseCaptured(__func__, capturedAt(*found)));
  SIM_TRY(found->device->check(__func__));
  const MarkerPtr marker = latest(*found);
  const auto shared = sharedOf(*found);
  bool complete = marker == nullptr ? found->extended : marker->passed();
  if (shared != nullptr) complete = shared->passed(shared->recorded());
  *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status) {
  SIM_ENTER(aclrtQueryEventWaitStatus);
  SIM_REQUIRE_POINTER(status);
  SIM_REQUIRE_EVENT(found, event);
  if (found->extended) return refuse(__func__, "not for events of aclrtCreateEventExWithFlag");
  std::lock_guard<std::mutex> lock(found->mutex);
  *status = found->raised->waits.load() == 0 ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  SIM_ENTER(aclrtSynchronizeEvent);
  return synchronizeEvent(__func__, event, forever());
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  SIM_ENTER(aclrtSynchronizeEventWithTimeout);
  if (timeout < -1) return badValue(__func__, "timeout", timeout, "-1 or milliseconds");
  return synchronizeEvent(__func__, event, afterMilliseconds(timeout));
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  SIM_ENTER(aclrtEventElapsedTime);
  SIM_REQUIRE_POINTER(ms);
  SIM_REQUIRE_EVENT(start, startEvent);
  SIM_REQUIRE_EVENT(end, endEvent);
  int64_t from = 0;
  int64_t to = 0;
  SIM_TRY(timeOf(__func__, "startEvent", *start, &from));
  SIM_TRY(timeOf(__func__, "endEvent", *end, &to));
  if (to < from) {
    return simFail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "EE1001", "%s: startEvent is later than endEvent", __func__);
  }
  *ms = static_cast<float>(static_cast<double>(to - from) / 1e6);
  return ACL_SUCCESS;
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp) {
  SIM_ENTER(aclrtEventGetTimestamp);
  SIM_REQUIRE_POINTER(timestamp);
  SIM_REQUIRE_EVENT(found, event);
  int64_t nanoseconds = 0;
  SIM_TRY(timeOf(__func__, "event", *found, &nanoseconds));
  *timestamp = static_cast<uint64_t>(nanoseconds) / 1000;
  return ACL_SUCCESS;
}

aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle) {
  SIM_ENTER(aclrtIpcGetEventHandle);
  SIM_REQUIRE_POINTER(handle);
  SIM_REQUIRE_EVENT(found, event);
  const auto shared = sharedOf(*found);
  if (shared == nullptr) return refuse(__func__, "the event lacks the flag ACL_EVENT_IPC");
  shared->name(handle);
  return ACL_SUCCESS;
}

aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event) {
  SIM_ENTER(aclrtIpcOpenEventHandle);
  auto shared = IpcEvent::open(handle);
  if (shared == nullptr) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: the handle is of no event that lives", __func__);
  }
  return createEvent(__func__, event, ACL_EVENT_IPC, true, std::move(shared));
}

aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId) {
  SIM_ENTER(aclrtGetEventId);
  SIM_REQUIRE_POINTER(eventId);
  SIM_REQUIRE_EVENT(found, event);
  *eventId = events().indexOf(found);
  return ACL_SUCCESS;
}

aclError aclrtGetEventAvailNum(uint32_t *eventCount) {
  SIM_ENTER(aclrtGetEventAvailNum);
  SIM_REQUIRE_POINTER(eventCount);
  SIM_REQUIRE_CONTEXT(context);
  *eventCount = static_cast<uint32_t>(kEventIdsPerDevice - context->device->event_ids.load());
  return ACL_SUCCESS;
}

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

// Notifies: a record sets a flag, a wait waits for the flag and clears it.

namespace {

// Shared with the tasks that use it, so that a notify may be destroyed while they are queued.
struct Flag {
  bool raised = false;  // guarded by signal()
};

struct Notify {
  Device *device = nullptr;
  std::shared_ptr<Flag> flag;
};

constexpr uint64_t kDeviceUseOnly = 1;  // ACL_NOTIFY_DEVICE_USE_ONLY

HandleTable<Notify> &notifies() {
  static HandleTable<Notify> &table = *new HandleTable<Notify>(kMaxDevices * kNotifiesPerDevice);
  return table;
}

void closeNotify(Notify *notify) {
  notify->device->notifies.fetch_sub(1);
  notify->flag.reset();
  notifies().release(notify);
  simCount(SIM_NOTIFY, -1);
}

aclError resolveNotify(const char *function, aclrtNotify handle, Notify **notify) {
  if (handle == nullptr) return nullArgument(function, "notify");
  *notify = notifies().find(handle);
  return *notify == nullptr ? badHandle(function, "notify", handle) : ACL_SUCCESS;
}

aclError waitNotify(const char *function, Stream &stream, const std::shared_ptr<Flag> &flag, uint32_t seconds) {
  return submitWork(stream, function, [=]() -> aclError {
    const auto take = [&] {  // called with the lock of signal() held, so that one record ends one wait
      const bool raised = flag->raised;
      flag->raised = false;
      return raised;
    };
    bool taken = false;
    const bool in_time = signal().wait(afterSeconds(seconds), [&] {
      taken = taken || take();
      return taken || running_stream->cancelled();
    });
    if (in_time) return ACL_SUCCESS;
    return simFail(ACL_ERROR_RT_WAIT_TIMEOUT, "EE9999", "%s: the notify was not recorded in time", function);
  });
}

}  // namespace

void notifiesAtFork(Fork stage) { notifies().atFork(stage); }

void releaseNotifies(const Device *device) {
  notifies().forEachLive([&](Notify *notify) {
    if (notify->device == device && notifies().retire(notify)) closeNotify(notify);
  });
}

}  // namespace sim

aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag) {
  SIM_ENTER(aclrtCreateNotify);
  SIM_REQUIRE_POINTER(notify);
  SIM_REQUIRE_CONTEXT(context);
  if (flag > kDeviceUseOnly) return badValue(__func__, "flag", static_cast<int64_t>(flag), "0 or 1");
  Device &device = *context->device;
  Notify *created = device.notifies.load() < kNotifiesPerDevice ? notifies().take() : nullptr;
  if (created == nullptr) {
    return simFail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "EE1001", "%s: all %d notifies of device %d are in use", __func__,
                   kNotifiesPerDevice, device.id);
  }
  created->device = &device;
  created->flag = std::make_shared<Flag>();
  device.notifies.fetch_add(1);
  notifies().publish(created);
  simCount(SIM_NOTIFY, 1);
  *notify = created;
  return ACL_SUCCESS;
}

aclError aclrtDestroyNotify(aclrtNotify notify) {
  SIM_ENTER(aclrtDestroyNotify);
  SIM_REQUIRE_DEVICES();
  SIM_RESOLVE(Notify, found, resolveNotify, notify);
  if (!notifies().retire(found)) return badHandle(__func__, "notify", notify);
  closeNotify(found);
  return ACL_SUCCESS;
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream) {
  SIM_ENTER(aclrtRecordNotify);
  SIM_REQUIRE_STREAM(found_stream, stream);
  SIM_RESOLVE(Notify, found, resolveNotify, notify);
  SIM_TRY(found_stream->device().check(__func__));
  return submitWork(*found_stream, __func__, [flag = found->flag]() -> aclError {
    signal().raise([&] { flag->raised = true; });
    return ACL_SUCCESS;
  });
}

aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout) {
  SIM_ENTER(aclrtWaitAndResetNotify);
  SIM_REQUIRE_STREAM(found_stream, stream);
  SIM_RESOLVE(Notify, found, resolveNotify, notify);
  SIM_TRY(found_stream->device().check(__func__));
  return waitNotify(__func__, *found_stream, found->flag, timeout);
}

aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId) {
  SIM_ENTER(aclrtGetNotifyId);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(notifyId);
  SIM_RESOLVE(Notify, found, resolveNotify, notify);
  *notifyId = notifies().indexOf(found);
  return ACL_SUCCESS;
}
