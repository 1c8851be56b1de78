// Graphs of captured tasks: capturing streams, then executing, printing and destroying graphs.
#include "graph.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "capture.h"

// Stream capture. A capture has a lane for each stream that takes part: the one on which it began, and those that
// waited for an event of the capture. The vector clock of a lane tells which tasks of the other lanes precede it. At
// the end, all lanes must have been joined to the first one.

namespace sim {

namespace {

using Clocks = std::vector<uint64_t>;  // by lane; lanes that it does not reach count 0

struct Lane {
  Stream *stream;
  uint64_t steps;  // tasks, and the fork itself
  Clocks behind;
};

struct Capture {
  GraphHandle *handle;
  GraphPtr graph;
  Context *context;
  std::thread::id thread;
  aclmdlRICaptureMode mode;
  std::vector<Lane> lanes;
  bool valid = true;
  bool grouping = false;  // between aclmdlRICaptureTaskGrpBegin and End
  size_t group_start = 0;

  Lane *laneOf(const Stream *stream) {
    const auto found =
        std::find_if(lanes.begin(), lanes.end(), [&](const Lane &lane) { return lane.stream == stream; });
    return found == lanes.end() ? nullptr : &*found;
  }
};
using CapturePtr = std::shared_ptr<Capture>;

// The new tasks of a group.
struct Update {
  GraphPtr graph;
  size_t first;
  size_t count;
  std::vector<StoredTaskPtr> tasks;
};

struct Captures {
  std::mutex mutex;
  std::map<const Stream *, CapturePtr> by_stream;
  std::map<const Stream *, Update> updates;
};

Captures &captures() {
  static Captures &all = *new Captures;
  return all;
}

std::atomic<int32_t> active_captures{0};  // captures, so that other calls need no lock
thread_local aclmdlRICaptureMode thread_mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

CapturePtr captureOf(const Stream &stream) {  // under the lock, as all below
  const auto found = captures().by_stream.find(&stream);
  return found == captures().by_stream.end() ? nullptr : found->second;
}

void merge(Clocks &clocks, const Clocks &others) {
  clocks.resize(std::max(clocks.size(), others.size()));
  for (size_t i = 0; i < others.size(); ++i) clocks[i] = std::max(clocks[i], others[i]);
}

Clocks clocksOf(const Capture &capture, const Lane &lane) {
  Clocks clocks = lane.behind;
  clocks.resize(capture.lanes.size());
  clocks[static_cast<size_t>(&lane - capture.lanes.data())] = lane.steps;
  return clocks;
}

// Removes the streams of a capture that has ended.
void close(const Capture &capture) {
  for (const Lane &lane : capture.lanes) {
    captures().by_stream.erase(lane.stream);
    lane.stream->storing.store(false, std::memory_order_release);
  }
  active_captures.fetch_sub(1);
}

void discard(const CapturePtr &capture) {
  close(*capture);
  closeGraph(capture->handle);
}

aclError invalidated(const char *function) {
  return simFail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "EE1001",
                 "%s: an earlier call has failed, and the capture with it", function);
}

bool joined(const Capture &capture) {
  const Clocks end = clocksOf(capture, capture.lanes.front());
  for (size_t i = 0; i < capture.lanes.size(); ++i) {
    if (end[i] < capture.lanes[i].steps) return false;
  }
  return true;
}

bool forbids(const Capture &capture, aclmdlRICaptureMode caller) {
  if (caller == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id()) return capture.mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
  return caller == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL && capture.mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
}

aclError refuseByMode(const char *function, aclError code) {
  if (active_captures.load(std::memory_order_relaxed) == 0) return ACL_SUCCESS;
  std::lock_guard<std::mutex> lock(captures().mutex);
  bool forbidden = false;
  for (const auto &[stream, capture] : captures().by_stream) {
    if (capture->context != currentContext() || !forbids(*capture, thread_mode)) continue;
    capture->valid = false;
    forbidden = true;
  }
  if (!forbidden) return ACL_SUCCESS;
  return simFail(code, "EE1001", "%s: the mode of a capture that is under way forbids this call", function);
}

aclError refuseToJoin(const char *function, const Capture &capture, const Stream &stream, bool captures_otherwise) {
  if (captures_otherwise) {
    return simFail(ACL_ERROR_STREAM_CAPTURE_CONFLICT, "EE1001", "%s: the event belongs to another capture", function);
  }
  if (&stream == stream.context()->default_stream) {
    return simFail(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, "EE1001", "%s: a default stream takes no part in captures",
                   function);
  }
  if (stream.context() != capture.context || stream.stores()) {
    return simFail(ACL_ERROR_RT_STREAM_CONTEXT, "EE1001",
                   "%s: the stream is of another context than the capture, or stores its tasks", function);
  }
  return ACL_SUCCESS;
}

// Adds `stream` to a capture if it does not belong to it yet.
aclError join(const char *function, const CapturePtr &capture, Stream &stream) {
  const CapturePtr other = captureOf(stream);
  if (other == capture) return ACL_SUCCESS;
  if (aclError error = refuseToJoin(function, *capture, stream, other != nullptr); error != ACL_SUCCESS) {
    capture->valid = false;
    if (other != nullptr) other->valid = false;
    return error;
  }
  captures().by_stream.emplace(&stream, capture);
  capture->lanes.push_back({&stream, 1, {}});
  stream.storing.store(true, std::memory_order_release);
  return ACL_SUCCESS;
}

}  // namespace

struct CapturePoint {
  std::weak_ptr<Capture> capture;
  Clocks clocks;
};

std::mutex &captureMutex() { return captures().mutex; }

void capturesAtFork(Fork stage) { atFork(captures().mutex, stage); }

bool storeTask(const char *function, Stream &stream, const SimTask &task, aclError *error) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  *error = ACL_SUCCESS;
  const auto update = captures().updates.find(&stream);
  if (update != captures().updates.end()) {
    update->second.tasks.push_back(std::make_shared<StoredTask>(task));
    return true;
  }
  const CapturePtr capture = captureOf(stream);
  if (capture == nullptr) return false;
  if (!capture->valid) {
    *error = invalidated(function);
    return true;
  }
  capture->graph->nodes.push_back({std::make_shared<StoredTask>(task), streams().indexOf(&stream)});
  ++capture->laneOf(&stream)->steps;
  ++thread_state.last_task;
  return true;
}

CapturePointPtr pointOf(Stream &stream) {
  if (!stream.storing.load(std::memory_order_acquire)) return nullptr;
  std::lock_guard<std::mutex> lock(captures().mutex);
  const CapturePtr capture = captureOf(stream);
  if (capture == nullptr) return nullptr;
  return std::make_shared<CapturePoint>(CapturePoint{capture, clocksOf(*capture, *capture->laneOf(&stream))});
}

bool waitCaptured(const char *function, Stream &stream, const CapturePointPtr &point, bool recorded, aclError *error) {
  if (point == nullptr && !stream.storing.load(std::memory_order_acquire)) return false;
  std::lock_guard<std::mutex> lock(captures().mutex);
  const CapturePtr own = captureOf(stream);
  const CapturePtr capture = point == nullptr ? nullptr : point->capture.lock();
  *error = ACL_SUCCESS;
  if (capture == nullptr) {
    if (own == nullptr && point == nullptr) return false;
    if (point == nullptr && !recorded) return true;  // nothing to wait for
    if (own != nullptr) own->valid = false;
    *error = own == nullptr ? simFail(ACL_ERROR_RT_EVENT_CAPTURED, "EE1001",
                                      "%s: the event was last recorded in a capture, which "
                                      "is over",
                                      function)
                            : simFail(ACL_ERROR_RT_CAPTURE_DEPENDENCY, "EE1001",
                                      "%s: a capturing stream cannot wait for what is not captured with it", function);
    return true;
  }
  if (!capture->valid) {
    *error = invalidated(function);
    return true;
  }
  *error = join(function, capture, stream);
  if (*error == ACL_SUCCESS) merge(capture->laneOf(&stream)->behind, point->clocks);
  return true;
}

aclError refuseCapturing(const char *function, Stream &stream) {
  if (!stream.storing.load(std::memory_order_acquire)) return ACL_SUCCESS;
  std::lock_guard<std::mutex> lock(captures().mutex);
  if (captures().updates.count(&stream) != 0) {
    return simFail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "EE1001", "%s: the stream updates a group of tasks", function);
  }
  if (captureOf(stream) == nullptr) return ACL_SUCCESS;
  return simFail(ACL_ERROR_RT_STREAM_CAPTURED, "EE1001", "%s: the stream captures", function);
}

aclError refuseCapturing(const char *function, const Context &context) {
  if (active_captures.load(std::memory_order_relaxed) == 0) return ACL_SUCCESS;
  std::lock_guard<std::mutex> lock(captures().mutex);
  const auto &all = captures().by_stream;
  if (std::none_of(all.begin(), all.end(), [&](const auto &entry) { return entry.second->context == &context; })) {
    return ACL_SUCCESS;
  }
  return simFail(ACL_ERROR_RT_STREAM_CAPTURED, "EE1001", "%s: a stream of the context captures", function);
}

aclError refuseCaptured(const char *function, const CapturePointPtr &point) {
  if (point == nullptr) return ACL_SUCCESS;
  return simFail(ACL_ERROR_RT_EVENT_CAPTURED, "EE1001", "%s: the event was last recorded in a capture", function);
}

aclError refusePageable(const char *function, Stream &stream) {
  if (!stream.storing.load(std::memory_order_acquire)) {
    return refuseByMode(function, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC);
  }
  invalidateCapture(stream, ACL_SUCCESS);
  return simFail(ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC, "EE1001",
                 "%s: a captured copy needs pinned host memory, which lives as long as the graph", function);
}

aclError refuseUnsafe(const char *function) { return refuseByMode(function, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT); }

aclError invalidateCapture(Stream &stream, aclError code) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  if (const CapturePtr capture = captureOf(stream)) capture->valid = false;
  return code;
}

void discardCaptures(const Stream &stream) {
  if (!stream.storing.load(std::memory_order_acquire)) return;
  std::lock_guard<std::mutex> lock(captures().mutex);
  captures().updates.erase(&stream);
  if (const CapturePtr capture = captureOf(stream)) discard(capture);
}

void discardCaptures(const Context &context) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  auto &updates = captures().updates;
  for (auto it = updates.begin(); it != updates.end();) {
    it = it->first->context() == &context ? updates.erase(it) : std::next(it);
  }
  auto &all = captures().by_stream;
  for (auto it = all.begin(); it != all.end(); it = all.begin()) {
    it = std::find_if(all.begin(), all.end(), [&](const auto &entry) { return entry.second->context == &context; });
    if (it == all.end()) break;
    discard(CapturePtr(it->second));
  }
}

namespace {

aclError endCapture(const char *function, Stream &stream, CapturePtr *ended) {
  const CapturePtr capture = captureOf(stream);
  if (capture == nullptr) {
    return simFail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "EE1001", "%s: the stream does not capture", function);
  }
  if (capture->lanes.front().stream != &stream) {
    return simFail(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "EE1001", "%s: the capture began on another stream",
                   function);
  }
  if (capture->mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id()) {
    return simFail(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, "EE1001", "%s: the capture began on another thread",
                   function);
  }
  if (!capture->valid) {
    discard(capture);
    return invalidated(function);
  }
  if (capture->grouping || !joined(*capture)) {
    const bool grouping = capture->grouping;
    discard(capture);
    if (grouping) {
      return simFail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "EE1001", "%s: a group of tasks was not ended", function);
    }
    return simFail(ACL_ERROR_RT_STREAM_UNJOINED, "EE1001",
                   "%s: a stream of the capture has tasks that its first stream has not waited for", function);
  }
  close(*capture);
  *ended = capture;
  return ACL_SUCCESS;
}

aclError findCapture(const char *function, const Stream &stream, CapturePtr *capture) {
  *capture = captureOf(stream);
  if (*capture == nullptr) {
    return simFail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "EE1001", "%s: the stream does not capture", function);
  }
  return (*capture)->valid ? ACL_SUCCESS : invalidated(function);
}

aclError beginUpdate(const char *function, Stream &stream, aclrtTaskGrp handle) {
  if (stream.stores()) {
    return simFail(ACL_ERROR_RT_STREAM_CAPTURED, "EE1001", "%s: the stream captures, updates or stores tasks",
                   function);
  }
  TaskGroup *group = taskGroups().find(handle);
  GraphPtr graph = group == nullptr ? nullptr : group->graph.lock();
  if (graph == nullptr) return badHandle(function, "handle", handle);
  captures().updates.emplace(&stream, Update{std::move(graph), group->first, group->count, {}});
  stream.storing.store(true, std::memory_order_release);
  return ACL_SUCCESS;
}

// Checks that the update calls the same operators as the captured group.
aclError checkUpdate(const char *function, const Update &update) {
  std::lock_guard<std::mutex> lock(update.graph->mutex);
  bool same = update.tasks.size() == update.count;
  for (size_t i = 0; same && i < update.count; ++i) {
    const char *captured = update.graph->nodes[update.first + i].task->task.name;
    const char *given = update.tasks[i]->task.name;
    same = captured == given || (captured != nullptr && given != nullptr && std::string(captured) == given);
  }
  if (same) return ACL_SUCCESS;
  return simFail(ACL_ERROR_RT_MODEL_UPDATE_FAILED, "EE1001",
                 "%s: an update repeats the calls of its group, of which there were %zu", function, update.count);
}

}  // namespace
}  // namespace sim

using namespace sim;

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
  SIM_ENTER(aclmdlRICaptureBegin);
  SIM_REQUIRE_STREAM(found, stream);
  if (mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) return badValue(__func__, "mode", mode, "0, 1 or 2");
  if (found == found->context()->default_stream) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: a default stream does not capture", __func__);
  }
  SIM_TRY(found->device().check(__func__));
  std::lock_guard<std::mutex> lock(captureMutex());
  if (found->stores()) {
    return simFail(ACL_ERROR_RT_STREAM_CAPTURED, "EE1001", "%s: the stream captures already, or stores its tasks",
                   __func__);
  }
  GraphHandle *handle = graphs().take();
  if (handle == nullptr) return simFail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "EE1001", "%s: no graph is left", __func__);
  simCount(SIM_GRAPH, 1);
  handle->graph = std::make_shared<Graph>(&found->device());
  auto capture = std::make_shared<Capture>();
  capture->handle = handle;
  capture->graph = handle->graph;
  capture->context = found->context();
  capture->thread = std::this_thread::get_id();
  capture->mode = mode;
  capture->lanes.push_back({found, 1, {}});
  captures().by_stream.emplace(found, std::move(capture));
  active_captures.fetch_add(1);
  found->storing.store(true, std::memory_order_release);
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI) {
  SIM_ENTER(aclmdlRICaptureGetInfo);
  SIM_REQUIRE_POINTER(status);
  SIM_REQUIRE_POINTER(modelRI);
  SIM_REQUIRE_STREAM(found, stream);
  std::lock_guard<std::mutex> lock(captureMutex());
  const CapturePtr capture = captureOf(*found);
  *modelRI = capture == nullptr ? nullptr : capture->handle;
  *status = capture == nullptr ? ACL_MODEL_RI_CAPTURE_STATUS_NONE
            : capture->valid   ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE
                               : ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED;
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI) {
  SIM_ENTER(aclmdlRICaptureEnd);
  SIM_REQUIRE_POINTER(modelRI);
  *modelRI = nullptr;
  SIM_REQUIRE_STREAM(found, stream);
  std::lock_guard<std::mutex> lock(captureMutex());
  CapturePtr ended;
  SIM_TRY(endCapture(__func__, *found, &ended));
  graphs().publish(ended->handle);
  *modelRI = ended->handle;
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode) {
  SIM_ENTER(aclmdlRICaptureThreadExchangeMode);
  SIM_REQUIRE_POINTER(mode);
  if (*mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) return badValue(__func__, "*mode", *mode, "0, 1 or 2");
  std::swap(*mode, thread_mode);
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) {
  SIM_ENTER(aclmdlRICaptureTaskGrpBegin);
  SIM_REQUIRE_STREAM(found, stream);
  std::lock_guard<std::mutex> lock(captureMutex());
  CapturePtr capture;
  SIM_TRY(findCapture(__func__, *found, &capture));
  if (capture->grouping) {
    return simFail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "EE1001", "%s: a group has begun already", __func__);
  }
  capture->grouping = true;
  capture->group_start = capture->graph->nodes.size();
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle) {
  SIM_ENTER(aclmdlRICaptureTaskGrpEnd);
  SIM_REQUIRE_POINTER(handle);
  SIM_REQUIRE_STREAM(found, stream);
  std::lock_guard<std::mutex> lock(captureMutex());
  CapturePtr capture;
  SIM_TRY(findCapture(__func__, *found, &capture));
  if (!capture->grouping) {
    return simFail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "EE1001", "%s: no group has begun", __func__);
  }
  TaskGroup *group = taskGroups().take();
  if (group == nullptr) {
    return simFail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "EE1001", "%s: no group of tasks is left", __func__);
  }
  capture->grouping = false;
  group->graph = capture->graph;
  group->first = capture->group_start;
  group->count = capture->graph->nodes.size() - capture->group_start;
  capture->graph->groups.push_back(group);
  taskGroups().publish(group);
  *handle = group;
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle) {
  SIM_ENTER(aclmdlRICaptureTaskUpdateBegin);
  SIM_REQUIRE_POINTER(handle);
  SIM_REQUIRE_STREAM(found, stream);
  std::lock_guard<std::mutex> lock(captureMutex());
  return beginUpdate(__func__, *found, handle);
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) {
  SIM_ENTER(aclmdlRICaptureTaskUpdateEnd);
  SIM_REQUIRE_STREAM(found, stream);
  Update update;
  {
    std::lock_guard<std::mutex> lock(captureMutex());
    const auto begun = captures().updates.find(found);
    if (begun == captures().updates.end()) {
      return simFail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "EE1001", "%s: the stream updates no group", __func__);
    }
    update = std::move(begun->second);
    captures().updates.erase(begun);
    found->storing.store(false, std::memory_order_release);
  }
  SIM_TRY(checkUpdate(__func__, update));
  return submitWork(*found, __func__, [update = std::move(update)]() mutable -> aclError {
    std::lock_guard<std::mutex> lock(update.graph->mutex);
    for (size_t i = 0; i < update.count; ++i) update.graph->nodes[update.first + i].task.swap(update.tasks[i]);
    return ACL_SUCCESS;
  });
}

// Graphs: executing, aborting, printing and destroying them. Executions of one graph follow one another, in the order
// of the calls, also on different streams.

namespace sim {

namespace {

constexpr uint32_t kGraphs = 1 << 16;

// One execution of a graph. Its marker is completed when it has ended or is dropped.
struct Execution {
  GraphPtr graph;
  MarkerPtr before;
  MarkerPtr done;
  uint64_t aborts;
  Execution(GraphPtr executed, MarkerPtr previous, MarkerPtr own)
      : graph(std::move(executed)), before(std::move(previous)), done(std::move(own)), aborts(graph->aborts.load()) {}
  Execution(Execution &&) = default;
  Execution &operator=(Execution &&) = delete;
  ~Execution() {
    if (done != nullptr) complete(*done);
  }

  StoredTaskPtr task(size_t index) const {
    std::lock_guard<std::mutex> lock(graph->mutex);
    return index < graph->nodes.size() ? graph->nodes[index].task : nullptr;
  }

  aclError operator()() {
    if (before != nullptr) {
      const auto over = [this] { return before->done.load(std::memory_order_acquire); };
      if (waitInTask(forever(), over) != WaitResult::kDone) return ACL_SUCCESS;
      before.reset();
    }
    size_t index = 0;
    for (StoredTaskPtr node = task(0); node != nullptr; node = task(++index)) {
      if (graph->aborts.load() != aborts || running_stream->cancelled()) break;
      if (node->task.run == nullptr) continue;
      const aclError code =
          node->task.kind == SIM_TASK_KERNEL ? Stream::runTimed(node->task) : node->task.run(node->task.argument);
      if (code != ACL_SUCCESS) {
        return simFail(code, "EZ9999", "task %zu of the graph, %s, failed", index,
                       node->task.name == nullptr ? "a task" : node->task.name);
      }
    }
    return ACL_SUCCESS;
  }
};

aclError resolveGraph(const char *function, aclmdlRI handle, GraphPtr *graph) {
  if (contextOrDefault() == nullptr) return noContext(function);
  if (handle == nullptr) return nullArgument(function, "modelRI");
  std::lock_guard<std::mutex> lock(captureMutex());
  const GraphHandle *found = graphs().find(handle);
  if (found == nullptr) return badHandle(function, "modelRI", handle);
  *graph = found->graph;
  return ACL_SUCCESS;
}

aclError execute(const char *function, aclmdlRI handle, Stream &stream, uint64_t *ticket) {
  GraphPtr graph;
  SIM_TRY(resolveGraph(function, handle, &graph));
  SIM_TRY(refuseCapturing(function, stream));
  SIM_TRY(stream.device().check(function));
  if (graph->device != &stream.device()) {
    return simFail(ACL_ERROR_RT_STREAM_CONTEXT, "EE1001", "%s: the graph is of device %d, the stream of device %d",
                   function, graph->device->id, stream.device().id);
  }
  const MarkerPtr done = std::make_shared<Marker>();
  MarkerPtr before;
  int64_t modelled_time = 0;
  {
    std::lock_guard<std::mutex> lock(graph->mutex);
    before = std::exchange(graph->last, done);
    for (const Graph::Node &node : graph->nodes) modelled_time += node.task->task.device_ns;
  }
  stream.addDeviceTime(modelled_time);
  return submitWork(stream, function, Execution(std::move(graph), std::move(before), done), ticket);
}

std::string escaped(const char *text) {
  std::string result;
  for (; text != nullptr && *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') result.push_back('\\');
    result.push_back(*text);
  }
  return result;
}

std::string describe(Graph &graph) {
  std::ostringstream text;
  std::lock_guard<std::mutex> lock(graph.mutex);
  text << "{\"device\": " << graph.device->id << ", \"tasks\": [";
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    text << (i == 0 ? "\n" : ",\n") << "  {\"id\": " << i << ", \"stream\": " << graph.nodes[i].stream
         << ", \"name\": \"" << escaped(graph.nodes[i].task->task.name) << "\"}";
  }
  text << "\n]}\n";
  return text.str();
}

}  // namespace

HandleTable<GraphHandle> &graphs() {
  static HandleTable<GraphHandle> &table = *new HandleTable<GraphHandle>(kGraphs);
  return table;
}

HandleTable<TaskGroup> &taskGroups() {
  static HandleTable<TaskGroup> &table = *new HandleTable<TaskGroup>(kGraphs);
  return table;
}

void graphsAtFork(Fork stage) {
  graphs().atFork(stage);
  taskGroups().atFork(stage);
}

void closeGraph(GraphHandle *handle) {
  for (TaskGroup *group : handle->graph->groups) {
    if (taskGroups().retire(group)) taskGroups().release(group);
  }
  handle->graph.reset();
  graphs().release(handle);
  simCount(SIM_GRAPH, -1);
}

void releaseGraphs(const Device *device) {
  std::lock_guard<std::mutex> lock(captureMutex());
  graphs().forEachLive([&](GraphHandle *handle) {
    if (handle->graph->device == device && graphs().retire(handle)) closeGraph(handle);
  });
}

}  // namespace sim

aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
  SIM_ENTER(aclmdlRIExecuteAsync);
  SIM_REQUIRE_STREAM(found, stream);
  return execute(__func__, modelRI, *found, nullptr);
}

aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout) {
  SIM_ENTER(aclmdlRIExecute);
  if (timeout < -1) return badValue(__func__, "timeout", timeout, "-1 or milliseconds");
  SIM_REQUIRE_CONTEXT(context);
  uint64_t ticket = 0;
  Stream &stream = *context->default_stream;
  SIM_TRY(execute(__func__, modelRI, stream, &ticket));
  return stream.wait(__func__, afterMilliseconds(timeout), ticket);
}

aclError aclmdlRIAbort(aclmdlRI modelRI) {
  SIM_ENTER(aclmdlRIAbort);
  GraphPtr graph;
  SIM_TRY(resolveGraph(__func__, modelRI, &graph));
  graph->aborts.fetch_add(1);
  return ACL_SUCCESS;
}

aclError aclmdlRIDestroy(aclmdlRI modelRI) {
  SIM_ENTER(aclmdlRIDestroy);
  GraphPtr graph;  // its tasks are dropped without the lock
  SIM_TRY(resolveGraph(__func__, modelRI, &graph));
  std::lock_guard<std::mutex> lock(captureMutex());
  GraphHandle *found = graphs().find(modelRI);
  if (found == nullptr || !graphs().retire(found)) return badHandle(__func__, "modelRI", modelRI);
  closeGraph(found);
  return ACL_SUCCESS;
}

aclError aclmdlRIDebugPrint(aclmdlRI modelRI) {
  SIM_ENTER(aclmdlRIDebugPrint);
  GraphPtr graph;
  SIM_TRY(resolveGraph(__func__, modelRI, &graph));
  std::fputs(describe(*graph).c_str(), stderr);
  return ACL_SUCCESS;
}

aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char *path, uint32_t flags) {
  SIM_ENTER(aclmdlRIDebugJsonPrint);
  SIM_REQUIRE_POINTER(path);
  if (flags > 1) return badValue(__func__, "flags", flags, "0 or 1");
  GraphPtr graph;
  SIM_TRY(resolveGraph(__func__, modelRI, &graph));
  std::ofstream file(path);
  file << describe(*graph);
  file.close();
  if (file) return ACL_SUCCESS;
  return simFail(ACL_ERROR_INVALID_FILE, "EE1001", "%s: path \"%s\" cannot be written", __func__, path);
}
