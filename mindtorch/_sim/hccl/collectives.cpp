// Collectives, sends and receives: the checks of a call, and what happens when the stream gets there.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "../runtime/cost.h"
#include "communicator.h"

namespace sim::hccl {

namespace {

constexpr uint64_t kMostElements = 0x7FFFFFFF;

// The device memory of an operation, while it runs.
class Buffers {
 public:
  // nullptr: no memory is needed, or it was freed after the call.
  char *find(const char *name, const void *address, uint64_t bytes) {
    if (bytes == 0) return nullptr;
    auto *alias = static_cast<char *>(simDeviceMemory(address, bytes));
    if (alias == nullptr) {
      error = simFail(ACL_ERROR_RT_SYS_DMA, "EI0012", "%s [%p, +%llu) was freed before the stream got there", name,
                      address, static_cast<unsigned long long>(bytes));
    }
    return alias;
  }
  aclError error = ACL_SUCCESS;
};

uint64_t sumOf(const std::vector<uint64_t> &counts) {
  uint64_t sum = 0;
  for (const uint64_t count : counts) sum += count;
  return sum;
}

// One past the last element that counts and offsets reach.
uint64_t endOffset(const std::vector<uint64_t> &counts, const std::vector<uint64_t> &offsets) {
  uint64_t reach = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) reach = std::max(reach, offsets[i] + counts[i]);
  }
  return reach;
}

// How much device memory an operation reads and writes on this rank, in elements.
struct Extent {
  uint64_t sent;
  uint64_t received;
};
Extent extentOf(const Operation &operation) {
  const uint64_t ranks = operation.communicator->size();
  const bool root = operation.communicator->rank == operation.root;
  const uint64_t count = operation.count;
  switch (operation.type) {
    case HCCL_CMD_BROADCAST:
      return {0, count};
    case HCCL_CMD_REDUCE:
      return {count, root ? count : 0};
    case HCCL_CMD_SCATTER:
      return {root ? ranks * count : 0, count};
    case HCCL_CMD_ALLGATHER:
      return {count, ranks * count};
    case HCCL_CMD_REDUCE_SCATTER:
      return {ranks * count, count};
    case HCCL_CMD_ALLGATHER_V:
      return {count, endOffset(operation.receive_counts, operation.receive_offsets)};
    case HCCL_CMD_REDUCE_SCATTER_V:
      return {endOffset(operation.send_counts, operation.send_offsets), count};
    case HCCL_CMD_ALLTOALL:
    case HCCL_CMD_ALLTOALLV:
    case HCCL_CMD_ALLTOALLVC:
      return {endOffset(operation.send_counts, operation.send_offsets),
              endOffset(operation.receive_counts, operation.receive_offsets)};
    case HCCL_CMD_BATCH_SEND_RECV:
    case HCCL_CMD_BARRIER:
      return {0, 0};
    default:
      return {count, count};
  }
}

// A running operation.
class Run {
 public:
  explicit Run(const Operation &operation)
      : operation_(operation),
        communicator_(*operation.communicator),
        ranks_(communicator_.size()),
        rank_(communicator_.rank),
        item_(sizeOf(operation.data_type)) {
    const double seconds = communicator_.settings.execute_seconds * environment().scale;
    patience_ = std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
    const bool pairs = operation.type == HCCL_CMD_BATCH_SEND_RECV;
    const bool even = operation.send_counts.empty() && operation.receive_counts.empty() && !pairs;
    signature_ = {static_cast<uint32_t>(operation.type), pairs ? 0u : static_cast<uint32_t>(operation.data_type),
                  static_cast<uint32_t>(operation.reduce), operation.root, even ? operation.count : 0};
  }

  aclError operator()() {
    const Extent extent = extentOf(operation_);
    Buffers buffers;
    send_ = buffers.find("sendBuf", operation_.send, extent.sent * item_);
    receive_ = buffers.find("recvBuf", operation_.receive, extent.received * item_);
    if (buffers.error != ACL_SUCCESS) return buffers.error;
    switch (operation_.type) {
      case HCCL_CMD_ALLREDUCE:
        return allReduce();
      case HCCL_CMD_REDUCE:
        return reduceAt(std::vector<uint64_t>(ranks_, 0), onlyRoot(operation_.count), receive_);
      case HCCL_CMD_REDUCE_SCATTER:
        return reduceAt(multiples(operation_.count), std::vector<uint64_t>(ranks_, operation_.count), receive_);
      case HCCL_CMD_REDUCE_SCATTER_V:
        return reduceAt(operation_.send_offsets, operation_.send_counts, receive_);
      case HCCL_CMD_BROADCAST:
        return broadcast();
      case HCCL_CMD_SCATTER:
        return scatter();
      case HCCL_CMD_ALLGATHER:
        return gather(multiples(operation_.count), std::vector<uint64_t>(ranks_, operation_.count), send_);
      case HCCL_CMD_ALLGATHER_V:
        return gather(operation_.receive_offsets, operation_.receive_counts, send_);
      case HCCL_CMD_ALLTOALL:
      case HCCL_CMD_ALLTOALLV:
      case HCCL_CMD_ALLTOALLVC:
        return allToAll();
      case HCCL_CMD_BATCH_SEND_RECV:
        return sendAndReceive();
      default:  // a barrier
        return gather(std::vector<uint64_t>(ranks_, 0), std::vector<uint64_t>(ranks_, 0), nullptr);
    }
  }

 private:
  std::vector<uint64_t> multiples(uint64_t count) const {
    std::vector<uint64_t> offsets(ranks_);
    for (uint32_t rank = 0; rank < ranks_; ++rank) offsets[rank] = rank * count;
    return offsets;
  }
  std::vector<uint64_t> onlyRoot(uint64_t count) const {
    std::vector<uint64_t> counts(ranks_, 0);
    counts[operation_.root] = count;
    return counts;
  }
  void send(uint32_t peer, const char *data, uint64_t count) {
    transfers_.push_back({peer, true, const_cast<char *>(data), count * item_});
  }
  void receive(uint32_t peer, char *data, uint64_t count) { transfers_.push_back({peer, false, data, count * item_}); }
  aclError exchangeAll() {
    const aclError error = exchange(communicator_, transfers_, signature_, patience_);
    transfers_.clear();
    return error;
  }

  // Each rank reduces the piece of its own; then all gather the pieces.
  aclError allReduce() {
    const uint64_t each = operation_.count / ranks_;
    const uint64_t more = operation_.count % ranks_;
    std::vector<uint64_t> offsets(ranks_);
    std::vector<uint64_t> counts(ranks_);
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      offsets[rank] = rank * each + std::min<uint64_t>(rank, more);
      counts[rank] = each + (rank < more ? 1 : 0);
    }
    char *own = receive_ + offsets[rank_] * item_;
    if (const aclError error = reduceAt(offsets, counts, own); error != ACL_SUCCESS) return error;
    return gather(offsets, counts, own);
  }

  // Sends its piece to each rank, and puts the reduction of the pieces for this rank at `result`.
  aclError reduceAt(const std::vector<uint64_t> &offsets, const std::vector<uint64_t> &counts, char *result) {
    const uint64_t count = counts[rank_];
    const uint64_t bytes = count * item_;
    std::vector<char> pieces((ranks_ - 1) * bytes);
    std::vector<const char *> of_ranks(ranks_);
    char *next = pieces.data();
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      if (rank == rank_) {
        of_ranks[rank] = send_ + offsets[rank] * item_;
        continue;
      }
      if (getsResult(rank)) send(rank, send_ + offsets[rank] * item_, counts[rank]);
      of_ranks[rank] = next;
      if (getsResult(rank_)) receive(rank, next, count);
      next += bytes;
    }
    if (const aclError error = exchangeAll(); error != ACL_SUCCESS) return error;
    if (count != 0) reduce(operation_.data_type, operation_.reduce, of_ranks, result, count);
    return ACL_SUCCESS;
  }
  bool getsResult(uint32_t receiver) const { return operation_.type != HCCL_CMD_REDUCE || receiver == operation_.root; }

  aclError gather(const std::vector<uint64_t> &offsets, const std::vector<uint64_t> &counts, const char *own) {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      send(rank, own, counts[rank_]);
      receive(rank, receive_ + offsets[rank] * item_, counts[rank]);
    }
    return exchangeAll();
  }

  aclError broadcast() {
    if (rank_ != operation_.root) {
      receive(operation_.root, receive_, operation_.count);
    } else {
      for (uint32_t rank = 0; rank < ranks_; ++rank) {
        if (rank != rank_) send(rank, receive_, operation_.count);
      }
    }
    return exchangeAll();
  }

  aclError scatter() {
    if (rank_ == operation_.root) {
      for (uint32_t rank = 0; rank < ranks_; ++rank) {
        send(rank, send_ + rank * operation_.count * item_, operation_.count);
      }
    }
    receive(operation_.root, receive_, operation_.count);
    return exchangeAll();
  }

  aclError allToAll() {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      send(rank, send_ + operation_.send_offsets[rank] * item_, operation_.send_counts[rank]);
      receive(rank, receive_ + operation_.receive_offsets[rank] * item_, operation_.receive_counts[rank]);
    }
    return exchangeAll();
  }

  aclError sendAndReceive() {
    Buffers buffers;
    for (const HcclSendRecvItem &item : operation_.items) {
      const uint64_t bytes = item.count * sizeOf(item.dataType);
      char *data = buffers.find("buf", item.buf, bytes);
      transfers_.push_back({item.remoteRank, item.sendRecvType == HCCL_SEND, data, bytes});
    }
    if (buffers.error != ACL_SUCCESS) return buffers.error;
    return exchangeAll();
  }

  const Operation &operation_;
  Communicator &communicator_;
  const uint32_t ranks_;
  const uint32_t rank_;
  const uint64_t item_;
  Clock::duration patience_;
  Signature signature_;
  char *send_ = nullptr;
  char *receive_ = nullptr;
  std::vector<Transfer> transfers_;
};

}  // namespace

aclError perform(const Operation &operation) {
  Communicator &communicator = *operation.communicator;
  if (!communicator.enter()) {
    return simFail(ACL_ERROR_RT_STREAM_ABORT, "EI9999", "%s: Terminating operation due to external request",
                   communicator.settings.name.c_str());
  }
  aclError result = communicator.broken_;
  const uint64_t number = ++communicator.performed;
  const Tracing tracing(operation, number);
  if (result == ACL_SUCCESS) {
    delayOrDrop(communicator, number);
    if (communicator.size() > 1 || simNullKernels() == 0) result = Run(operation)();
  } else {
    simFail(result, "EI9999", "after a failure: %s", communicator.broken_text_.c_str());
  }
  tracing.end(result);
  communicator.leave();
  return result;
}

namespace {

// Nanoseconds of the modelled device (runtime/cost.cpp). In a pass each rank gives a piece to each other rank, or gets
// one: first within servers of eight devices, then between those of one place in all servers.
int64_t modelledTime(const Operation &operation) {
  constexpr double kDevicesOfServer = 8;
  const auto rate = static_cast<double>(simCost("hccl.rate"));
  const uint32_t size = operation.communicator->size();
  const double ranks = size > 1 ? size : environment().modelled_ranks;
  if (rate == 0 || ranks == 1) return 0;
  const double within = std::min(ranks, kDevicesOfServer);
  const double servers = std::ceil(ranks / kDevicesOfServer);
  const Extent extent = extentOf(operation);
  auto bytes = static_cast<double>(std::max(extent.sent, extent.received) * sizeOf(operation.data_type));
  for (const HcclSendRecvItem &item : operation.items) {
    if (item.sendRecvType == HCCL_SEND) bytes += static_cast<double>(item.count * sizeOf(item.dataType));
  }
  double time = static_cast<double>(simCost("hccl.latency")) + 1e9 * bytes * (within - 1) / within / rate;
  if (servers > 1) {
    const bool all_to_all = operation.type == HCCL_CMD_ALLTOALL || operation.type == HCCL_CMD_ALLTOALLV ||
                            operation.type == HCCL_CMD_ALLTOALLVC;
    const double crossing = bytes * (servers - 1) / servers / (all_to_all ? 1 : within);
    time += std::ceil(std::log2(servers)) * static_cast<double>(simCost("hccl.net.latency")) +
            1e9 * crossing / static_cast<double>(simCost("hccl.net.rate"));
  }
  const bool two_passes = operation.type == HCCL_CMD_ALLREDUCE || operation.type == HCCL_CMD_BARRIER;
  return static_cast<int64_t>(two_passes ? 2 * time : time);
}

}  // namespace

HcclResult enqueue(Operation operation, aclrtStream stream) {
  HCCL_TRY(operation.communicator->reserveBuffer(operation.function));
  const char *function = operation.function;
  SimTask task{};
  task.device_ns = modelledTime(operation);
  auto argument = std::make_unique<Operation>(std::move(operation));

  task.run = [](void *it) { return perform(*static_cast<Operation *>(it)); };
  task.drop = [](void *it) { delete static_cast<Operation *>(it); };
  task.argument = argument.get();
  task.name = function;
  if (simLaunchTask(stream, task) != ACL_SUCCESS) return HCCL_E_RUNTIME;
  argument.release();
  return HCCL_SUCCESS;
}

namespace {

HcclResult checkMemory(const char *function, const char *name, const void *address, uint64_t count, uint64_t item) {
  if (count == 0) return HCCL_SUCCESS;
  uint64_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(count, item, &bytes);
  if (!fits || simDeviceMemory(address, bytes) == nullptr) {
    return fail(HCCL_E_PARA, "EI0003", "%s: %s [%p, +%llu elements of %llu bytes) is not inside device memory",
                function, name, address, static_cast<unsigned long long>(count), static_cast<unsigned long long>(item));
  }
  const int32_t foreign = simForeignDevice(address);
  if (foreign < 0) return HCCL_SUCCESS;
  return fail(HCCL_E_PARA, "EI0003", "%s: %s is memory of device %d", function, name, foreign);
}

HcclResult checkState(const char *function, const Communicator &communicator) {
  if (communicator.suspended.load(std::memory_order_relaxed)) {
    return fail(HCCL_E_SUSPENDING, "EI0003", "%s: the communicator is suspended", function);
  }
  int32_t device = -1;
  if (aclrtGetDevice(&device) == ACL_SUCCESS && device == communicator.device) return HCCL_SUCCESS;
  return fail(HCCL_E_PARA, "EI0003", "%s: the communicator is of device %d, current is device %d", function,
              communicator.device, device);
}

bool reduces(HcclCMDType type) {
  return type == HCCL_CMD_ALLREDUCE || type == HCCL_CMD_REDUCE || type == HCCL_CMD_REDUCE_SCATTER ||
         type == HCCL_CMD_REDUCE_SCATTER_V;
}

// The checks that all calls share, once the pointers are known to be there.
HcclResult submit(Operation operation, aclrtStream stream) {
  const char *function = operation.function;
  const Communicator &communicator = *operation.communicator;
  if (operation.count > kMostElements) {
    return fail(HCCL_E_PARA, "EI0003", "%s: the count %llu is more than %llu", function,
                static_cast<unsigned long long>(operation.count), static_cast<unsigned long long>(kMostElements));
  }
  if (operation.type != HCCL_CMD_BATCH_SEND_RECV && operation.type != HCCL_CMD_BARRIER) {
    const bool known = reduces(operation.type) ? reducible(operation.type, operation.data_type, operation.reduce)
                                               : movable(operation.data_type);
    if (!known) {
      return fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: dataType %d, op %d is not supported on %s", function,
                  static_cast<int>(operation.data_type), static_cast<int>(operation.reduce), aclrtGetSocName());
    }
  }
  if (operation.root >= communicator.size()) {
    return fail(HCCL_E_PARA, "EI0003", "%s: root %u of %u ranks", function, operation.root, communicator.size());
  }
  HCCL_TRY(checkState(function, communicator));
  const Extent extent = extentOf(operation);
  const uint64_t item = sizeOf(operation.data_type);
  HCCL_TRY(checkMemory(function, "sendBuf", operation.send, extent.sent, item));
  HCCL_TRY(checkMemory(function, "recvBuf", operation.receive, extent.received, item));
  return inGroup() ? addToGroup(std::move(operation), stream) : enqueue(std::move(operation), stream);
}

// Declares `operation`; a call without elements does nothing, and checks nothing else.
#define HCCL_OPERATION(kind, elements, comm, stream)                \
  HCCL_REQUIRE_COMMUNICATOR(caller, comm);                          \
  if ((stream) == nullptr) return nullArgument(__func__, "stream"); \
  Operation operation;                                              \
  operation.function = __func__;                                    \
  operation.type = kind;                                            \
  operation.count = elements;                                       \
  operation.communicator = caller.communicator
#define HCCL_REQUIRE_POINTER(pointer) \
  if ((pointer) == nullptr) return nullArgument(__func__, #pointer)

std::vector<uint64_t> read(const void *values, uint32_t ranks) {
  const auto *first = static_cast<const uint64_t *>(values);
  return std::vector<uint64_t>(first, first + ranks);
}

HcclResult checkCounts(const char *function, const std::vector<uint64_t> &counts,
                       const std::vector<uint64_t> &offsets) {
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > kMostElements || offsets[i] > UINT64_MAX - counts[i]) {
      return fail(HCCL_E_PARA, "EI0003", "%s: count %llu at %llu, for rank %zu", function,
                  static_cast<unsigned long long>(counts[i]), static_cast<unsigned long long>(offsets[i]), i);
    }
  }
  return HCCL_SUCCESS;
}

HcclResult forbidSame(const char *function, const void *send, const void *receive) {
  if (send != receive) return HCCL_SUCCESS;
  return fail(HCCL_E_PARA, "EI0003", "%s: sendBuf is recvBuf", function);
}

HcclResult checkTypes(const char *function, HcclDataType sent, HcclDataType received) {
  if (sent == received) return HCCL_SUCCESS;
  return fail(HCCL_E_PARA, "EI0003", "%s: sendType is %d, recvType is %d", function, static_cast<int>(sent),
              static_cast<int>(received));
}

HcclResult notSupported(const char *function) {
  return fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: not supported on %s", function, aclrtGetSocName());
}

}  // namespace
}  // namespace sim::hccl

using namespace sim::hccl;

HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                         HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclAllReduce);
  if (count == 0) return HCCL_SUCCESS;
  HCCL_OPERATION(HCCL_CMD_ALLREDUCE, count, comm, stream);
  HCCL_REQUIRE_POINTER(sendBuf);
  HCCL_REQUIRE_POINTER(recvBuf);
  operation.send = sendBuf;
  operation.receive = recvBuf;
  operation.data_type = dataType;
  operation.reduce = op;
  return submit(std::move(operation), stream);
}

HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                      uint32_t root, HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclReduce);
  if (count == 0) return HCCL_SUCCESS;
  HCCL_OPERATION(HCCL_CMD_REDUCE, count, comm, stream);
  HCCL_REQUIRE_POINTER(sendBuf);
  HCCL_REQUIRE_POINTER(recvBuf);
  if (chip() == Chip::k310P) return notSupported(__func__);
  operation.send = sendBuf;
  operation.receive = recvBuf;
  operation.data_type = dataType;
  operation.reduce = op;
  operation.root = root;
  return submit(std::move(operation), stream);
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                         aclrtStream stream) {
  HCCL_ENTER(HcclBroadcast);
  if (count == 0) return HCCL_SUCCESS;
  HCCL_OPERATION(HCCL_CMD_BROADCAST, count, comm, stream);
  HCCL_REQUIRE_POINTER(buf);
  if (chip() == Chip::k310P) return notSupported(__func__);
  operation.receive = buf;
  operation.data_type = dataType;
  operation.root = root;
  return submit(std::move(operation), stream);
}

HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root,
                       HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclScatter);
  if (recvCount == 0) return HCCL_SUCCESS;
  HCCL_OPERATION(HCCL_CMD_SCATTER, recvCount, comm, stream);
  if (caller.communicator->rank == root) HCCL_REQUIRE_POINTER(sendBuf);
  HCCL_REQUIRE_POINTER(recvBuf);
  if (chip() == Chip::k310P) return notSupported(__func__);
  operation.send = sendBuf;
  operation.receive = recvBuf;
  operation.data_type = dataType;
  operation.root = root;
  return submit(std::move(operation), stream);
}

HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
                         aclrtStream stream) {
  HCCL_ENTER(HcclAllGather);
  if (sendCount == 0) return HCCL_SUCCESS;
  HCCL_OPERATION(HCCL_CMD_ALLGATHER, sendCount, comm, stream);
  HCCL_REQUIRE_POINTER(sendBuf);
  HCCL_REQUIRE_POINTER(recvBuf);
  operation.send = sendBuf;
  operation.receive = recvBuf;
  operation.data_type = dataType;
  return submit(std::move(operation), stream);
}

HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op,
                             HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclReduceScatter);
  if (recvCount == 0) return HCCL_SUCCESS;
  HCCL_OPERATION(HCCL_CMD_REDUCE_SCATTER, recvCount, comm, stream);
  HCCL_REQUIRE_POINTER(sendBuf);
  HCCL_REQUIRE_POINTER(recvBuf);
  operation.send = sendBuf;
  operation.receive = recvBuf;
  operation.data_type = dataType;
  operation.reduce = op;
  return submit(std::move(operation), stream);
}

HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts,
                          const void *recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclAllGatherV);
  HCCL_OPERATION(HCCL_CMD_ALLGATHER_V, sendCount, comm, stream);
  if (sendCount != 0) HCCL_REQUIRE_POINTER(sendBuf);
  HCCL_REQUIRE_POINTER(recvBuf);
  HCCL_REQUIRE_POINTER(recvCounts);
  HCCL_REQUIRE_POINTER(recvDispls);
  if (chip() == Chip::k910) return notSupported(__func__);
  HCCL_TRY(forbidSame(__func__, sendBuf, recvBuf));
  operation.send = sendBuf;
  operation.receive = recvBuf;
  operation.data_type = dataType;
  operation.receive_counts = read(recvCounts, caller.communicator->size());
  operation.receive_offsets = read(recvDispls, caller.communicator->size());
  HCCL_TRY(checkCounts(__func__, operation.receive_counts, operation.receive_offsets));
  if (operation.receive_counts[caller.communicator->rank] != sendCount) {
    return fail(HCCL_E_PARA, "EI0003", "%s: sendCount is %llu, recvCounts has %llu for this rank", __func__,
                static_cast<unsigned long long>(sendCount),
                static_cast<unsigned long long>(operation.receive_counts[caller.communicator->rank]));
  }
  return submit(std::move(operation), stream);
}

HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls, void *recvBuf,
                              uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                              aclrtStream stream) {
  HCCL_ENTER(HcclReduceScatterV);
  HCCL_OPERATION(HCCL_CMD_REDUCE_SCATTER_V, recvCount, comm, stream);
  HCCL_REQUIRE_POINTER(sendBuf);
  if (recvCount != 0) HCCL_REQUIRE_POINTER(recvBuf);
  HCCL_REQUIRE_POINTER(sendCounts);
  HCCL_REQUIRE_POINTER(sendDispls);
  if (chip() == Chip::k910) return notSupported(__func__);
  HCCL_TRY(forbidSame(__func__, sendBuf, recvBuf));
  operation.send = sendBuf;
  operation.receive = recvBuf;
  operation.data_type = dataType;
  operation.reduce = op;
  operation.send_counts = read(sendCounts, caller.communicator->size());
  operation.send_offsets = read(sendDispls, caller.communicator->size());
  HCCL_TRY(checkCounts(__func__, operation.send_counts, operation.send_offsets));
  if (operation.send_counts[caller.communicator->rank] != recvCount) {
    return fail(HCCL_E_PARA, "EI0003", "%s: recvCount is %llu, sendCounts has %llu for this rank", __func__,
                static_cast<unsigned long long>(recvCount),
                static_cast<unsigned long long>(operation.send_counts[caller.communicator->rank]));
  }
  return submit(std::move(operation), stream);
}

HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType, const void *recvBuf,
                        uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclAlltoAll);
  HCCL_OPERATION(HCCL_CMD_ALLTOALL, sendCount, comm, stream);
  HCCL_REQUIRE_POINTER(sendBuf);
  HCCL_REQUIRE_POINTER(recvBuf);
  HCCL_TRY(forbidSame(__func__, sendBuf, recvBuf));
  HCCL_TRY(checkTypes(__func__, sendType, recvType));
  if (sendCount != recvCount) {
    return fail(HCCL_E_PARA, "EI0003", "%s: sendCount is %llu, recvCount is %llu", __func__,
                static_cast<unsigned long long>(sendCount), static_cast<unsigned long long>(recvCount));
  }
  if (sendCount == 0) return HCCL_SUCCESS;
  if (sendCount > kMostElements) return checkCounts(__func__, {sendCount}, {0});
  const uint32_t ranks = caller.communicator->size();
  operation.send = const_cast<void *>(sendBuf);
  operation.receive = const_cast<void *>(recvBuf);
  operation.data_type = sendType;
  operation.send_counts.assign(ranks, sendCount);
  for (uint32_t rank = 0; rank < ranks; ++rank) operation.send_offsets.push_back(rank * sendCount);
  operation.receive_counts = operation.send_counts;
  operation.receive_offsets = operation.send_offsets;
  return submit(std::move(operation), stream);
}

HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls, HcclDataType sendType,
                         const void *recvBuf, const void *recvCounts, const void *rdispls, HcclDataType recvType,
                         HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclAlltoAllV);
  HCCL_OPERATION(HCCL_CMD_ALLTOALLV, 0, comm, stream);
  HCCL_REQUIRE_POINTER(sendCounts);
  HCCL_REQUIRE_POINTER(sdispls);
  HCCL_REQUIRE_POINTER(recvCounts);
  HCCL_REQUIRE_POINTER(rdispls);
  HCCL_TRY(checkTypes(__func__, sendType, recvType));
  const uint32_t ranks = caller.communicator->size();
  operation.send = const_cast<void *>(sendBuf);
  operation.receive = const_cast<void *>(recvBuf);
  operation.data_type = sendType;
  operation.send_counts = read(sendCounts, ranks);
  operation.send_offsets = read(sdispls, ranks);
  operation.receive_counts = read(recvCounts, ranks);
  operation.receive_offsets = read(rdispls, ranks);
  HCCL_TRY(checkCounts(__func__, operation.send_counts, operation.send_offsets));
  HCCL_TRY(checkCounts(__func__, operation.receive_counts, operation.receive_offsets));
  if (sumOf(operation.send_counts) != 0) HCCL_REQUIRE_POINTER(sendBuf);
  if (sumOf(operation.receive_counts) != 0) HCCL_REQUIRE_POINTER(recvBuf);
  if (sendBuf != nullptr) HCCL_TRY(forbidSame(__func__, sendBuf, recvBuf));
  return submit(std::move(operation), stream);
}

HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType, const void *recvBuf,
                          HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclAlltoAllVC);
  HCCL_OPERATION(HCCL_CMD_ALLTOALLVC, 0, comm, stream);
  HCCL_REQUIRE_POINTER(sendCountMatrix);
  HCCL_TRY(checkTypes(__func__, sendType, recvType));
  if (chip() == Chip::k910 || chip() == Chip::k310P) return notSupported(__func__);
  const uint32_t ranks = caller.communicator->size();
  const uint32_t own = caller.communicator->rank;
  const auto *matrix = static_cast<const uint64_t *>(sendCountMatrix);
  operation.send = const_cast<void *>(sendBuf);
  operation.receive = const_cast<void *>(recvBuf);
  operation.data_type = sendType;
  uint64_t sent = 0;
  uint64_t received = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    operation.send_counts.push_back(matrix[own * ranks + rank]);
    operation.send_offsets.push_back(sent);
    operation.receive_counts.push_back(matrix[rank * ranks + own]);
    operation.receive_offsets.push_back(received);
    sent += operation.send_counts.back();
    received += operation.receive_counts.back();
  }
  HCCL_TRY(checkCounts(__func__, operation.send_counts, operation.send_offsets));
  HCCL_TRY(checkCounts(__func__, operation.receive_counts, operation.receive_offsets));
  if (sent != 0) HCCL_REQUIRE_POINTER(sendBuf);
  if (received != 0) HCCL_REQUIRE_POINTER(recvBuf);
  if (sendBuf != nullptr) HCCL_TRY(forbidSame(__func__, sendBuf, recvBuf));
  return submit(std::move(operation), stream);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclBarrier);
  HCCL_OPERATION(HCCL_CMD_BARRIER, 0, comm, stream);
  return submit(std::move(operation), stream);
}

namespace {

HcclResult checkItem(const char *function, const HcclSendRecvItem &item, const Communicator &communicator) {
  if (item.sendRecvType != HCCL_SEND && item.sendRecvType != HCCL_RECV) {
    return fail(HCCL_E_PARA, "EI0003", "%s: sendRecvType is %d", function, static_cast<int>(item.sendRecvType));
  }
  if (item.buf == nullptr) return nullArgument(function, "buf");
  if (chip() == Chip::k310P) return notSupported(function);
  if (item.remoteRank >= communicator.size()) {
    return fail(HCCL_E_PARA, "EI0003", "%s: remoteRank is %u of %u ranks", function, item.remoteRank,
                communicator.size());
  }
  if (!movable(item.dataType)) {
    return fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: dataType %d is not supported on %s", function,
                static_cast<int>(item.dataType), aclrtGetSocName());
  }
  if (item.count > kMostElements) {
    return fail(HCCL_E_PARA, "EI0003", "%s: the count %llu is more than %llu", function,
                static_cast<unsigned long long>(item.count), static_cast<unsigned long long>(kMostElements));
  }
  return checkMemory(function, "buf", item.buf, item.count, sizeOf(item.dataType));
}

HcclResult sendOrReceive(const char *function, const HcclSendRecvItem &item, HcclComm comm, aclrtStream stream) {
  if (item.count == 0) return HCCL_SUCCESS;
  sim::hccl::Caller caller(function, comm);
  if (caller.result != HCCL_SUCCESS) return caller.result;
  if (stream == nullptr) return nullArgument(function, "stream");
  HCCL_TRY(checkItem(function, item, *caller.communicator));
  if (item.remoteRank == caller.communicator->rank) {
    return fail(HCCL_E_PARA, "EI0003", "%s: the rank's peer is itself", function);
  }
  Operation operation;
  operation.function = function;
  operation.type = HCCL_CMD_BATCH_SEND_RECV;
  operation.items = {item};
  operation.communicator = caller.communicator;
  return submit(std::move(operation), stream);
}

}  // namespace

HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
                    aclrtStream stream) {
  HCCL_ENTER(HcclSend);
  return sendOrReceive(__func__, {HCCL_SEND, sendBuf, count, dataType, destRank}, comm, stream);
}

HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
                    aclrtStream stream) {
  HCCL_ENTER(HcclRecv);
  return sendOrReceive(__func__, {HCCL_RECV, recvBuf, count, dataType, srcRank}, comm, stream);
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclBatchSendRecv);
  if (itemNum == 0) return HCCL_SUCCESS;
  HCCL_OPERATION(HCCL_CMD_BATCH_SEND_RECV, 0, comm, stream);
  HCCL_REQUIRE_POINTER(sendRecvInfo);
  if (inGroup()) return fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: not between HcclGroupStart and HcclGroupEnd", __func__);
  for (uint32_t i = 0; i < itemNum; ++i) HCCL_TRY(checkItem(__func__, sendRecvInfo[i], *caller.communicator));
  operation.items.assign(sendRecvInfo, sendRecvInfo + itemNum);
  return submit(std::move(operation), stream);
}
