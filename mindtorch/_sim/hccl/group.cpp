// HcclGroupStart and HcclGroupEnd: what a thread calls between them is done at the end.
#include <algorithm>
#include <functional>
#include <thread>

#include "communicator.h"

namespace sim::hccl {

namespace {

struct Group {
  int32_t depth = 0;
  std::vector<std::pair<Operation, aclrtStream>> operations;
  std::vector<std::pair<aclrtContext, std::function<HcclResult()>>> creations;
};
thread_local Group group;

bool isPair(const Operation &operation) { return operation.type == HCCL_CMD_BATCH_SEND_RECV; }

// 0: nothing yet, 1: communicators, 2: sends and receives, 3: collectives
int kindOfGroup() {
  if (!group.creations.empty()) return 1;
  if (group.operations.empty()) return 0;
  return isPair(group.operations[0].first) ? 2 : 3;
}

HcclResult checkKind(const char *function, int kind) {
  if (kindOfGroup() == 0 || kindOfGroup() == kind) return HCCL_SUCCESS;
  return fail(HCCL_E_NOT_SUPPORT, "EI0003",
              "%s: a group holds communicators, or collectives, or sends and receives; they do not mix", function);
}

// Ranks of several devices meet each other, so each has a thread of its own.
HcclResult createAll(std::vector<std::pair<aclrtContext, std::function<HcclResult()>>> creations) {
  std::vector<HcclResult> results(creations.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < creations.size(); ++i) {
    threads.emplace_back([&, i] {
      aclrtSetCurrentContext(creations[i].first);
      results[i] = creations[i].second();
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (const HcclResult result : results) {
    if (result != HCCL_SUCCESS) return fail(result, "EI0015", "HcclGroupEnd: a communicator was not made");
  }
  return HCCL_SUCCESS;
}

// All of a communicator are one batch, on the stream of the first.
HcclResult sendAll(std::vector<std::pair<Operation, aclrtStream>> operations) {
  for (size_t i = 0; i < operations.size(); ++i) {
    Operation &first = operations[i].first;
    if (first.communicator == nullptr) continue;  // part of a batch that has gone
    for (size_t j = i + 1; j < operations.size(); ++j) {
      Operation &other = operations[j].first;
      if (other.communicator != first.communicator) continue;
      first.items.insert(first.items.end(), other.items.begin(), other.items.end());
      other.communicator = nullptr;
    }
    HCCL_TRY(enqueue(std::move(first), operations[i].second));
  }
  return HCCL_SUCCESS;
}

uint64_t orderOf(const Operation &operation) {  // the largest first, those with counts by rank last
  const bool even = operation.send_counts.empty() && operation.receive_counts.empty();
  return even || operation.type == HCCL_CMD_ALLTOALL ? 1 + operation.count * sizeOf(operation.data_type) : 0;
}

}  // namespace

bool inGroup() { return group.depth > 0; }

HcclResult addToGroup(Operation operation, aclrtStream stream) {
  HCCL_TRY(checkKind(operation.function, isPair(operation) ? 2 : 3));
  group.operations.emplace_back(std::move(operation), stream);
  return HCCL_SUCCESS;
}

HcclResult addToGroup(const char *function, std::function<HcclResult()> creation) {
  HCCL_TRY(checkKind(function, 1));
  aclrtContext context = nullptr;
  aclrtGetCurrentContext(&context);
  group.creations.emplace_back(context, std::move(creation));
  return HCCL_SUCCESS;
}

}  // namespace sim::hccl

using namespace sim::hccl;

HcclResult HcclGroupStart(void) {
  HCCL_ENTER(HcclGroupStart);
  ++group.depth;
  return HCCL_SUCCESS;
}

HcclResult HcclGroupEnd(void) {
  HCCL_ENTER(HcclGroupEnd);
  if (group.depth == 0) return fail(HCCL_E_PARA, "EI0003", "%s: without HcclGroupStart", __func__);
  if (--group.depth > 0) return HCCL_SUCCESS;
  Group ended;
  std::swap(ended, group);
  if (!ended.creations.empty()) return createAll(std::move(ended.creations));
  if (ended.operations.empty()) return HCCL_SUCCESS;
  if (isPair(ended.operations[0].first)) return sendAll(std::move(ended.operations));
  std::stable_sort(ended.operations.begin(), ended.operations.end(),
                   [](const auto &a, const auto &b) { return orderOf(a.first) > orderOf(b.first); });
  for (auto &[operation, stream] : ended.operations) HCCL_TRY(enqueue(std::move(operation), stream));
  return HCCL_SUCCESS;
}
