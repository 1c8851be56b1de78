// Shared by the files of libhccl: communicators, what they are asked to do, and the links between ranks.
//
// A rank is a thread or a process. Ranks are linked by sockets alone, so the ranks of one process, of one machine and
// of several machines take the same path, and the kernel frees what a killed rank had. A call moves no data: it puts an
// Operation on the stream, and perform() runs it when the stream gets there.
#ifndef MINDTORCH_SIM_HCCL_COMMUNICATOR_H_
#define MINDTORCH_SIM_HCCL_COMMUNICATOR_H_
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../runtime/signal.h"
#include "sim.h"
#pragma GCC visibility push(default)
#include "hccl/hccl.h"
#pragma GCC visibility pop

// Every exported function begins with this: fault injection and the latency model. A fault's code is an HcclResult.
#define HCCL_ENTER(function) SIM_ENTER_OR(function, simEntered, static_cast<HcclResult>(simEntered))
#define HCCL_TRY(call)                         \
  do {                                         \
    const HcclResult status = (call);          \
    if (status != HCCL_SUCCESS) return status; \
  } while (0)

namespace sim::hccl {

// Puts a message on top of the calling thread's (aclGetRecentErrMsg) and returns `code`.
HcclResult fail(HcclResult code, const char *id, const char *format, ...) __attribute__((format(printf, 3, 4)));
HcclResult nullArgument(const char *function, const char *argument);

// ---- environment.cpp
// Read at the first use. HCCL_CONNECT_TIMEOUT etc.; MINDTORCH_SIM_HCCL_TIMEOUT_SCALE shortens their seconds, for tests.
struct Environment {
  double connect_seconds = 120;     // HCCL_CONNECT_TIMEOUT
  double execute_seconds = 1836;    // HCCL_EXEC_TIMEOUT; 0: none
  uint32_t buffer_megabytes = 200;  // HCCL_BUFFSIZE
  int32_t deterministic = -1;       // HCCL_DETERMINISTIC; -1: not set
  uint16_t base_port = 0;           // HCCL_IF_BASE_PORT; 0: any free port
  double scale = 1;
  uint32_t modelled_ranks = 1;  // MINDTORCH_SIM_HCCL_RANKS: what a communicator of one rank costs the modelled device
  std::string problem;          // a variable whose value is not understood
};
const Environment &environment();
// Ranks wait longer than the rank that names the missing ones.
Clock::time_point connectDeadline(double more_seconds = 20);
std::string hostAddress();  // of the network interface that HCCL_IF_IP and HCCL_SOCKET_IFNAME choose

enum class Chip { k910, k910B, k910_93, k310P, k950 };
Chip chip();

// ---- sockets.cpp
struct Address {
  std::string ip;
  uint16_t port = 0;
};
int listenAt(Address *address);         // port 0: any; -1: errno says why
int connectTo(const Address &address);  // without blocking; -1: errno says why
int acceptFrom(int listener);           // -1: nobody is there

// ---- bootstrap.cpp
struct Peer {
  Address address;  // where the rank accepts links
  int32_t device = -1;
};

// Where a process accepts the links of a communicator and of its sub-communicators.
class Endpoint {
 public:
  Endpoint(int listener) : listener_(listener) {}
  ~Endpoint();
  Endpoint(const Endpoint &) = delete;
  Endpoint &operator=(const Endpoint &) = delete;
  int listener() const { return listener_; }
  // Accepts waiting connections, of any communicator; returns the link of this one's rank, or -1.
  int take(const std::string &communicator, uint32_t rank);
  void forget(const std::string &communicator);

 private:
  const int listener_;
  std::mutex mutex_;
  std::vector<std::pair<int, std::string>> greeting_;  // accepted, and what they have said so far
  std::map<std::pair<std::string, uint32_t>, int> arrived_;
};

// What every link begins with, sent by the rank that connects; the other answers with one byte.
struct Greeting {
  char communicator[256];
  uint32_t rank;
  uint32_t zero;
};

struct Membership {
  std::string id;
  std::vector<Peer> peers;
  std::shared_ptr<Endpoint> endpoint;
};
HcclResult makeRootInfo(const char *function, HcclRootInfo *info);
// All ranks of a communicator meet at the socket of `info`; the rank in whose process it is serves the others.
HcclResult rendezvous(const char *function, const HcclRootInfo &info, uint32_t ranks, uint32_t rank, int32_t device,
                      Membership *result);
// The same by a rank table, in JSON.
HcclResult rendezvousByTable(const char *function, const char *path, uint32_t rank, int32_t device, Membership *result);

// ---- communicator.cpp
struct Settings {
  uint32_t buffer_megabytes;
  int32_t deterministic;
  double execute_seconds;
  std::string name;
};
HcclResult readConfig(const char *function, const HcclCommConfig *config, Settings *settings);
int32_t deterministicSetting();  // of HcclSetConfig

class Link;

class Communicator {
 public:
  Communicator(Membership membership, uint32_t rank, int32_t device, Settings settings);
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  uint32_t size() const { return static_cast<uint32_t>(peers.size()); }
  // One operation at a time; false: cancelled or destroyed while waiting.
  bool enter();
  void leave();
  // A failed operation leaves links in the middle of messages, so all later ones fail, too.
  aclError markBroken(aclError code, HcclResult reason, const std::string &text);
  HcclResult reserveBuffer(const char *function);  // the device memory that a communicator owns from its first use

  const std::string id;  // the same on all ranks
  const uint32_t rank;
  const int32_t device;
  const std::vector<Peer> peers;
  const std::shared_ptr<Endpoint> endpoint;
  Settings settings;
  bool sub = false;
  std::vector<std::unique_ptr<Link>> links;  // by rank
  std::atomic<bool> destroyed{false};
  std::atomic<bool> suspended{false};
  std::atomic<HcclResult> async_error{HCCL_SUCCESS};
  std::atomic<int32_t> calls{0};  // under way
  uint64_t performed = 0;         // operations, of which one runs at a time

  std::mutex mutex;                                           // guards all below
  std::map<void *, uint64_t> windows;                         // HcclCommRegister: address -> size
  std::map<uintptr_t, std::pair<uint64_t, uint64_t>> ranges;  // HcclCommSetMemoryRange
  std::map<uintptr_t, uint64_t> active;                       // HcclCommActivateCommMemory
  void *buffer = nullptr;

 private:
  std::condition_variable idle_;
  bool busy_ = false;
  aclError broken_ = ACL_SUCCESS;
  std::string broken_text_;
  friend aclError perform(const struct Operation &operation);
};
using CommunicatorPtr = std::shared_ptr<Communicator>;

// A live communicator for the length of a call.
class Caller {
 public:
  Caller(const char *function, HcclComm handle);
  ~Caller();
  Caller(const Caller &) = delete;
  Caller &operator=(const Caller &) = delete;
  HcclResult result = HCCL_SUCCESS;
  CommunicatorPtr communicator;
};
#define HCCL_REQUIRE_COMMUNICATOR(caller, handle) \
  sim::hccl::Caller caller(__func__, handle);     \
  if (caller.result != HCCL_SUCCESS) return caller.result

// ---- transport.cpp
// One message to or from a rank; messages between two ranks pair in order.
struct Transfer {
  uint32_t peer;
  bool sends;
  char *data;
  uint64_t bytes;
};

// What ranks compare before data moves.
struct Signature {
  uint32_t type = 0;  // HcclCMDType
  uint32_t data_type = 0;
  uint32_t reduce = 0;
  uint32_t root = 0;
  uint64_t count = 0;
};

// Does all transfers, side by side, within `patience` (zero: without limit) once the ranks are linked. A failure is a
// device's, with its text among the thread's messages.
aclError exchange(Communicator &communicator, const std::vector<Transfer> &transfers, const Signature &signature,
                  Clock::duration patience);

// ---- reduce.cpp
uint64_t sizeOf(HcclDataType type);                                         // 0: there is no such type
bool reducible(HcclCMDType type, HcclDataType data_type, HcclReduceOp op);  // on this chip
bool movable(HcclDataType type);
// result[i] = op over the ranks' pieces, in the order of the ranks; each step is rounded to the data type.
void reduce(HcclDataType type, HcclReduceOp op, const std::vector<const char *> &pieces, char *result, uint64_t count);

// ---- collectives.cpp
struct Operation {
  const char *function = nullptr;
  HcclCMDType type = HCCL_CMD_INVALID;
  void *send = nullptr;
  void *receive = nullptr;
  uint64_t count = 0;  // of one rank
  HcclDataType data_type = HCCL_DATA_TYPE_RESERVED;
  HcclReduceOp reduce = HCCL_REDUCE_SUM;
  uint32_t root = 0;                                                                 // or the peer
  std::vector<uint64_t> send_counts, send_offsets, receive_counts, receive_offsets;  // in elements, by rank
  std::vector<HcclSendRecvItem> items;
  CommunicatorPtr communicator;
};
HcclResult enqueue(Operation operation, aclrtStream stream);

// ---- conditions.cpp: what the variables MINDTORCH_SIM_HCCL_* ask for
const std::string &problemOfConditions();                             // a value that is not understood
void delayOrDrop(const Communicator &communicator, uint64_t number);  // may pause, or kill the process
void delayTransfers(const Communicator &communicator,
                    const std::vector<Transfer> &transfers);  // slow ones take their time
class Tracing {                                               // of an operation from here to end()
 public:
  Tracing(const Operation &operation, uint64_t number);
  void end(aclError result) const;

 private:
  const Operation &operation_;
  const uint64_t number_;
  const double begun_;  // microseconds since 1970; 0: no trace
};

// ---- group.cpp
bool inGroup();
// In a group: keeps it until HcclGroupEnd.
HcclResult addToGroup(Operation operation, aclrtStream stream);
HcclResult addToGroup(const char *function, std::function<HcclResult()> creation);

}  // namespace sim::hccl
#endif
