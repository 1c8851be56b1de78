// Graphs: captured tasks in an order in which they may run. A graph runs as one task of a stream.
#ifndef MINDTORCH_SIM_RUNTIME_GRAPH_H_
#define MINDTORCH_SIM_RUNTIME_GRAPH_H_
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "stream.h"

namespace sim {

// A task that may run several times. Its last owner drops it.
struct StoredTask {
  SimTask task;
  explicit StoredTask(const SimTask &stored) : task(stored) {}
  StoredTask(const StoredTask &) = delete;
  StoredTask &operator=(const StoredTask &) = delete;
  ~StoredTask() {
    if (task.drop != nullptr) task.drop(task.argument);
  }
};
using StoredTaskPtr = std::shared_ptr<StoredTask>;

struct TaskGroup;

// Shared by the handle, running executions and updates of its tasks.
struct Graph {
  struct Node {
    StoredTaskPtr task;
    uint32_t stream;  // that it was captured from
  };
  Device *const device;
  std::atomic<uint64_t> aborts{0};
  std::mutex mutex;         // guards all below
  std::vector<Node> nodes;  // in the order of capture, which no dependency contradicts
  MarkerPtr last;           // passed when the latest execution is over
  std::vector<TaskGroup *> groups;

  explicit Graph(Device *owner) : device(owner) {}
};
using GraphPtr = std::shared_ptr<Graph>;

// Tasks of a graph that may be replaced.
struct TaskGroup {
  std::weak_ptr<Graph> graph;
  size_t first = 0;
  size_t count = 0;
};

// What an aclmdlRI points to. It is live from the end of its capture on.
struct GraphHandle {
  GraphPtr graph;  // guarded by captureMutex()
};

HandleTable<GraphHandle> &graphs();
HandleTable<TaskGroup> &taskGroups();
void closeGraph(GraphHandle *handle);  // which is not live any more

}  // namespace sim
#endif
