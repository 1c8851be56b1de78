// How the ranks of a communicator find each other: at a socket whose address is in the root info. The rank whose
// process has that socket collects the introductions of all ranks and sends them to all.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "communicator.h"
#include "json.h"

namespace sim::hccl {

namespace {

constexpr size_t kIpBytes = 64;
constexpr size_t kIdBytes = 128;
constexpr size_t kTextBytes = 256;
constexpr auto kPause = std::chrono::milliseconds(20);

struct RootInfo {  // the first bytes of HcclRootInfo
  char ip[kIpBytes];
  uint32_t port;
  uint32_t nic_deploy;
  char identifier[kIdBytes];
  uint32_t rank_id;
};
static_assert(sizeof(RootInfo) <= HCCL_ROOT_INFO_BYTES, "it is part of the root info");

struct Introduction {
  char identifier[kIdBytes];
  uint32_t ranks;
  uint32_t rank;
  char ip[kIpBytes];
  int32_t device;
  uint32_t port;
};

struct Answer {
  uint32_t status;  // HcclResult
  char text[kTextBytes];
};

struct Row {
  char ip[kIpBytes];
  int32_t device;
  uint32_t port;
};

void copyText(char *to, size_t bytes, const std::string &text) { std::snprintf(to, bytes, "%s", text.c_str()); }
std::string textOf(const char *text, size_t bytes) { return std::string(text, strnlen(text, bytes)); }

int millisecondsUntil(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::min<Clock::duration>(std::max<Clock::duration>(end - Clock::now(), Clock::duration::zero()), kPause));
  return static_cast<int>(left.count()) + 1;
}

// Sends or receives all bytes; false: not before `end` (errno is ETIMEDOUT), or the other side has gone.
template <class Move>
bool moveAll(int descriptor, short event, size_t bytes, Clock::time_point end, Move move) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t moved = move(done);
    if (moved > 0) {
      done += static_cast<size_t>(moved);
      continue;
    }
    if (moved == 0) {
      errno = ECONNRESET;
      return false;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOTCONN) return false;
    if (Clock::now() >= end) {
      errno = ETIMEDOUT;
      return false;
    }
    pollfd waiting{descriptor, event, 0};
    poll(&waiting, 1, millisecondsUntil(end));
  }
  return true;
}

bool sendAll(int descriptor, const void *data, size_t bytes, Clock::time_point end) {
  const auto *from = static_cast<const char *>(data);
  return moveAll(descriptor, POLLOUT, bytes, end,
                 [&](size_t done) { return send(descriptor, from + done, bytes - done, MSG_NOSIGNAL); });
}

bool receiveAll(int descriptor, void *data, size_t bytes, Clock::time_point end) {
  auto *to = static_cast<char *>(data);
  return moveAll(descriptor, POLLIN, bytes, end,
                 [&](size_t done) { return recv(descriptor, to + done, bytes - done, 0); });
}

// The sockets that HcclGetRootInfo has opened, until a rank of this process serves there.
struct Roots {
  std::mutex mutex;
  std::map<std::string, int> listeners;
  uint32_t made = 0;
};
Roots &roots() {
  static Roots &all = *new Roots;
  return all;
}

int takeRoot(const std::string &identifier) {
  std::lock_guard<std::mutex> lock(roots().mutex);
  const auto found = roots().listeners.find(identifier);
  if (found == roots().listeners.end()) return -1;
  const int listener = found->second;
  roots().listeners.erase(found);
  return listener;
}

HcclResult cannotListen(const char *function, const Address &address) {
  const int error = errno;
  const char *const id = error == EADDRINUSE ? "EI0020" : "EI0019";
  return fail(HCCL_E_TCP_CONNECT, id, "%s: no socket at %s port %u: %s", function, address.ip.c_str(), address.port,
              std::strerror(error));
}

// A connection to the root. Its rank is known when the introduction is complete.
struct Client {
  int descriptor;
  size_t bytes_read = 0;
  Introduction introduction{};
};

class Server {
 public:
  Server(int listener, const Introduction &own) : listener_(listener), own_(own), rows_(own.ranks) {
    rows_[own.rank] = {{}, own.device, own.port};
    std::memcpy(rows_[own.rank].ip, own.ip, kIpBytes);
  }
  ~Server() {
    for (const Client &client : clients_) close(client.descriptor);
    close(listener_);
  }

  Answer serve(Clock::time_point end, std::vector<Row> *rows) {
    Answer answer{};
    while (answer.status == HCCL_SUCCESS && !complete()) {
      if (Clock::now() >= end) {
        answer = refusal(HCCL_E_TIMEOUT, "no rank has come from: " + missing());
      } else {
        answer = step(end);
      }
    }
    *rows = rows_;
    for (const Client &client : clients_) {
      const bool told = sendAll(client.descriptor, &answer, sizeof(answer), end + kPause);
      if (told && answer.status == HCCL_SUCCESS) {
        sendAll(client.descriptor, rows_.data(), rows_.size() * sizeof(Row), end + kPause);
      }
    }
    return answer;
  }

 private:
  static bool known(const Client &client) { return client.bytes_read == sizeof(Introduction); }
  bool complete() const {
    return std::count_if(clients_.begin(), clients_.end(), known) + 1 == static_cast<ptrdiff_t>(own_.ranks);
  }
  bool hasJoined(uint32_t rank) const {
    return rank == own_.rank || std::any_of(clients_.begin(), clients_.end(), [&](const Client &client) {
             return known(client) && client.introduction.rank == rank;
           });
  }
  std::string missing() const {
    std::string list;
    for (uint32_t rank = 0; rank < own_.ranks; ++rank) {
      if (!hasJoined(rank)) list += (list.empty() ? "rank " : ", ") + std::to_string(rank);
    }
    return list;
  }
  static Answer refusal(HcclResult status, const std::string &text) {
    Answer answer{};
    answer.status = status;
    copyText(answer.text, kTextBytes, text);
    return answer;
  }

  Answer step(Clock::time_point end) {
    std::vector<pollfd> waiting{{listener_, POLLIN, 0}};
    for (const Client &client : clients_) waiting.push_back({client.descriptor, POLLIN, 0});
    poll(waiting.data(), waiting.size(), millisecondsUntil(end));
    for (size_t i = waiting.size() - 1; i > 0; --i) {
      if (waiting[i].revents == 0) continue;
      const Answer answer = readIntroduction(i - 1);
      if (answer.status != HCCL_SUCCESS) return answer;
    }
    for (int client = acceptFrom(listener_); client >= 0; client = acceptFrom(listener_)) clients_.push_back({client});
    return {};
  }

  // A peer that closes its socket, or is of another communicator, is ignored.
  Answer readIntroduction(size_t index) {
    Client &client = clients_[index];
    auto *bytes = reinterpret_cast<char *>(&client.introduction);
    char more = 0;
    const bool whole = known(client);
    const ssize_t heard = recv(client.descriptor, whole ? &more : bytes + client.bytes_read,
                               whole ? 1 : sizeof(Introduction) - client.bytes_read, 0);
    if (heard < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (heard > 0 && !whole) client.bytes_read += static_cast<size_t>(heard);
    const Introduction &theirs = client.introduction;
    if (heard <= 0 || whole || (known(client) && std::memcmp(theirs.identifier, own_.identifier, kIdBytes) != 0)) {
      close(client.descriptor);
      clients_.erase(clients_.begin() + static_cast<ptrdiff_t>(index));
      return {};
    }
    return known(client) ? addPeer(index) : Answer{};
  }

  Answer addPeer(size_t index) {
    const Introduction &theirs = clients_[index].introduction;
    if (theirs.ranks != own_.ranks) {
      return refusal(HCCL_E_PARA, "rank " + std::to_string(theirs.rank) + " counts " + std::to_string(theirs.ranks) +
                                      " ranks, rank " + std::to_string(own_.rank) + " counts " +
                                      std::to_string(own_.ranks));
    }
    bool twice = theirs.rank == own_.rank;
    for (size_t i = 0; i < clients_.size(); ++i) {
      twice |= i != index && known(clients_[i]) && clients_[i].introduction.rank == theirs.rank;
    }
    if (twice) return refusal(HCCL_E_PARA, "rank " + std::to_string(theirs.rank) + " is there twice");
    Row &row = rows_[theirs.rank];
    std::memcpy(row.ip, theirs.ip, kIpBytes);
    row.device = theirs.device;
    row.port = theirs.port;
    return {};
  }

  const int listener_;
  const Introduction own_;
  std::vector<Row> rows_;
  std::vector<Client> clients_;
};

// Sends the root this rank's number and waits for the answer. Tries again while the root does not listen yet.
Answer joinRoot(const Address &root, const Introduction &own, Clock::time_point end, std::vector<Row> *rows) {
  Answer answer{};
  for (;;) {
    const int descriptor = connectTo(root);
    bool sent = descriptor >= 0 && sendAll(descriptor, &own, sizeof(own), end);
    bool heard = sent && receiveAll(descriptor, &answer, sizeof(answer), end);
    if (heard && answer.status == HCCL_SUCCESS) {
      rows->resize(own.ranks);
      heard = receiveAll(descriptor, rows->data(), rows->size() * sizeof(Row), end);
    }
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    if (heard) return answer;
    answer.status = sent ? HCCL_E_TCP_TRANSFER : HCCL_E_TIMEOUT;
    if (error == ETIMEDOUT || Clock::now() >= end) answer.status = HCCL_E_TIMEOUT;
    copyText(answer.text, kTextBytes,
             "the root at " + root.ip + " port " + std::to_string(root.port) + ": " + std::strerror(error));
    if (sent || Clock::now() >= end) return answer;
    poll(nullptr, 0, millisecondsUntil(end));
  }
}

HcclResult rendezvousAt(const char *function, const Address &root, int listener, Introduction own, Membership *result) {
  Address here{hostAddress(), 0};
  if (root.ip == "127.0.0.1") here.ip = root.ip;
  const int links = listenAt(&here);
  if (links < 0) {
    if (listener >= 0) close(listener);
    return cannotListen(function, here);
  }
  result->endpoint = std::make_shared<Endpoint>(links);
  copyText(own.ip, kIpBytes, here.ip);
  own.port = here.port;
  std::vector<Row> rows;
  const Answer answer = listener >= 0 ? Server(listener, own).serve(connectDeadline(0), &rows)
                                      : joinRoot(root, own, connectDeadline(), &rows);
  if (answer.status != HCCL_SUCCESS) {
    return fail(static_cast<HcclResult>(answer.status), "EI0015", "%s: rank %u of %u: %s", function, own.rank,
                own.ranks, textOf(answer.text, kTextBytes).c_str());
  }
  for (const Row &row : rows) {
    result->peers.push_back({{textOf(row.ip, kIpBytes), static_cast<uint16_t>(row.port)}, row.device});
  }
  return HCCL_SUCCESS;
}

HcclResult badTable(const char *function, const char *path, const std::string &problem) {
  return fail(HCCL_E_PARA, "EI0014", "%s: the rank table %s %s", function, path, problem.c_str());
}

}  // namespace

HcclResult makeRootInfo(const char *function, HcclRootInfo *info) {
  Address address{hostAddress(), 0};
  int32_t device = 0;
  aclrtGetDevice(&device);
  if (environment().base_port != 0) address.port = static_cast<uint16_t>(environment().base_port + device);
  const int listener = listenAt(&address);
  if (listener < 0) return cannotListen(function, address);
  RootInfo root{};
  copyText(root.ip, kIpBytes, address.ip);
  root.port = address.port;
  {
    std::lock_guard<std::mutex> lock(roots().mutex);
    // No other process can guess the time, so only processes with the identifier can connect.
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    std::snprintf(root.identifier, kIdBytes, "%s%%eth_%u_%u_%lld", root.ip, root.port, roots().made++,
                  static_cast<long long>(now));
    roots().listeners[root.identifier] = listener;
  }
  std::memset(info, 0, sizeof(*info));
  std::memcpy(info->internal, &root, sizeof(root));
  return HCCL_SUCCESS;
}

HcclResult rendezvous(const char *function, const HcclRootInfo &info, uint32_t ranks, uint32_t rank, int32_t device,
                      Membership *result) {
  RootInfo root{};
  std::memcpy(&root, info.internal, sizeof(root));
  Introduction own{};
  std::memcpy(own.identifier, root.identifier, kIdBytes);
  own.ranks = ranks;
  own.rank = rank;
  own.device = device;
  result->id = textOf(root.identifier, kIdBytes);
  if (result->id.empty()) return fail(HCCL_E_PARA, "EI0003", "%s: rootInfo is none of HcclGetRootInfo", function);
  const Address address{textOf(root.ip, kIpBytes), static_cast<uint16_t>(root.port)};
  return rendezvousAt(function, address, takeRoot(result->id), own, result);
}

HcclResult rendezvousByTable(const char *function, const char *path, uint32_t rank, int32_t device,
                             Membership *result) {
  std::ifstream file(path);
  if (!file) return fail(HCCL_E_OPEN_FILE_FAILURE, "EI0004", "%s: the rank table %s cannot be read", function, path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Json table;
  if (!JsonReader(text).read(&table)) return badTable(function, path, "is no JSON");
  if (table.string("status") != "completed") return badTable(function, path, "has another status than completed");
  const Json *servers = table.find("server_list");
  if (servers == nullptr) return badTable(function, path, "has no server_list");
  struct Entry {
    std::string server;
    int32_t device;
    uint32_t port;
  };
  std::map<uint32_t, Entry> entries;
  for (const Json &server : servers->items) {
    const Json *devices = server.find("device");
    if (devices == nullptr) return badTable(function, path, "has a server without device");
    for (const Json &one : devices->items) {
      const std::string id = one.string("rank_id");
      if (id.empty() || one.string("device_id").empty())
        return badTable(function, path, "has a device without rank_id");
      const auto port = static_cast<uint32_t>(std::strtoul(one.string("device_port").c_str(), nullptr, 10));
      const Entry entry{server.string("server_id"), std::atoi(one.string("device_id").c_str()), port};
      if (!entries.emplace(static_cast<uint32_t>(std::strtoul(id.c_str(), nullptr, 10)), entry).second) {
        return badTable(function, path, "has rank " + id + " twice");
      }
    }
  }
  const auto ranks = static_cast<uint32_t>(entries.size());
  if (ranks == 0 || entries.rbegin()->first != ranks - 1)
    return badTable(function, path, "has not all ranks from 0 on");
  if (rank >= ranks) return badTable(function, path, "has no rank " + std::to_string(rank));
  if (entries[rank].device != device) {
    return badTable(function, path,
                    "has rank " + std::to_string(rank) + " on device " + std::to_string(entries[rank].device) +
                        ", current is device " + std::to_string(device));
  }
  // The simulator's devices have no network of their own: ranks meet at a port of the first rank's host.
  const Entry &first = entries[0];
  const uint16_t base = environment().base_port == 0 ? 60000 : environment().base_port;
  Address root{servers->items.size() == 1 ? "127.0.0.1" : first.server,
               static_cast<uint16_t>(first.port == 0 ? base + static_cast<uint32_t>(first.device) : first.port)};
  Introduction own{};
  std::snprintf(own.identifier, kIdBytes, "hccl_world_group_%zx", std::hash<std::string>()(text));
  own.ranks = ranks;
  own.rank = rank;
  own.device = device;
  result->id = own.identifier;
  int listener = -1;
  if (rank == 0) {
    listener = listenAt(&root);
    if (listener < 0) return cannotListen(function, root);
  }
  return rendezvousAt(function, root, listener, own, result);
}

Endpoint::~Endpoint() {
  for (const auto &one : greeting_) close(one.first);
  for (const auto &one : arrived_) close(one.second);
  close(listener_);
}

int Endpoint::take(const std::string &communicator, uint32_t rank) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (int descriptor = acceptFrom(listener_); descriptor >= 0; descriptor = acceptFrom(listener_)) {
    greeting_.emplace_back(descriptor, "");
  }
  for (size_t i = greeting_.size(); i-- > 0;) {
    auto &[descriptor, said] = greeting_[i];
    char bytes[sizeof(Greeting)];
    const ssize_t heard = recv(descriptor, bytes, sizeof(Greeting) - said.size(), 0);
    if (heard < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (heard > 0) said.append(bytes, static_cast<size_t>(heard));
    if (heard > 0 && said.size() < sizeof(Greeting)) continue;
    if (heard <= 0) {
      close(descriptor);
    } else {
      Greeting greeting{};
      std::memcpy(&greeting, said.data(), sizeof(greeting));
      const std::string name = textOf(greeting.communicator, sizeof(greeting.communicator));
      const auto added = arrived_.emplace(std::make_pair(name, greeting.rank), descriptor);
      if (!added.second) close(descriptor);
    }
    greeting_.erase(greeting_.begin() + static_cast<ptrdiff_t>(i));
  }
  const auto found = arrived_.find({communicator, rank});
  if (found == arrived_.end()) return -1;
  const int descriptor = found->second;
  arrived_.erase(found);
  return descriptor;
}

void Endpoint::forget(const std::string &communicator) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = arrived_.begin(); it != arrived_.end();) {
    if (it->first.first != communicator) {
      ++it;
      continue;
    }
    close(it->second);
    it = arrived_.erase(it);
  }
}

}  // namespace sim::hccl
