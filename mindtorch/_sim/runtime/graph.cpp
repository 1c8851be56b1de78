// Graphs: executing, aborting, printing and destroying them. Executions of one graph follow one another, in the order
// of the calls, also on different streams.
#include "graph.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "capture.h"

namespace sim {

namespace {

constexpr uint32_t kGraphs = 1 << 16;

// One execution. Its marker is passed when it is over, or dropped without.
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
  {
    std::lock_guard<std::mutex> lock(graph->mutex);
    before = std::exchange(graph->last, done);
  }
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

void carryGraphsOver(Fork stage) {
  graphs().carryOver(stage);
  taskGroups().carryOver(stage);
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

using namespace sim;

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
