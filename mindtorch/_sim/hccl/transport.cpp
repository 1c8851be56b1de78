// Links between ranks, and the one function that moves data over them.
#include "transport.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace sim::hccl {

namespace {

constexpr auto kPause = std::chrono::milliseconds(20);  // between looks whether the stream was aborted

bool waits() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN; }

}  // namespace

Link::~Link() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Link::disconnect() {
  close(descriptor_);
  descriptor_ = -1;
  state_ = State::kGone;
}

bool Link::establish() {
  if (established()) return true;
  if (communicator_.rank < peer_) {
    descriptor_ = communicator_.endpoint->take(communicator_.id, peer_);
    if (descriptor_ < 0) return false;
    state_ = State::kOpen;
    const char welcome = 1;
    if (send(descriptor_, &welcome, 1, MSG_NOSIGNAL) != 1) disconnect();
    return true;
  }
  if (state_ == State::kNone) {
    if (Clock::now() < next_try_) return false;
    next_try_ = Clock::now() + kPause;
    descriptor_ = connectTo(communicator_.peers[peer_].address);
    if (descriptor_ < 0) return false;
    state_ = State::kConnecting;
  }
  if (state_ == State::kConnecting) {
    Greeting greeting{};
    std::snprintf(greeting.communicator, sizeof(greeting.communicator), "%s", communicator_.id.c_str());
    greeting.rank = communicator_.rank;
    const ssize_t sent = send(descriptor_, &greeting, sizeof(greeting), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(sizeof(greeting))) {
      state_ = State::kGreeted;
    } else if (sent >= 0 || !waits()) {  // refused: the peer is gone, or not there yet
      close(descriptor_);
      descriptor_ = -1;
      state_ = State::kNone;
    }
  }
  if (state_ == State::kGreeted) {
    char welcome = 0;
    const ssize_t heard = recv(descriptor_, &welcome, 1, 0);
    if (heard == 1) state_ = State::kOpen;
    if (heard == 0 || (heard < 0 && !waits())) disconnect();
  }
  return established();
}

short Link::events(bool reads) const {
  if (!established()) return state_ == State::kConnecting ? POLLOUT : POLLIN;
  return static_cast<short>((reads ? POLLIN : 0) | (sending() ? POLLOUT : 0));
}

void Link::queue(const Header &header, const char *data) { out_.push_back({header, data}); }

void Link::flush() {
  while (!out_.empty() && !gone()) {
    Piece &piece = out_.front();
    const bool data = piece.header.kind == Header::kData;
    const uint64_t whole = sizeof(Header) + (data ? piece.header.bytes : 0);
    iovec parts[2];
    size_t count = 0;
    if (piece.sent < sizeof(Header)) {
      parts[count++] = {reinterpret_cast<char *>(&piece.header) + piece.sent, sizeof(Header) - piece.sent};
    }
    if (whole > sizeof(Header)) {
      const uint64_t done = piece.sent < sizeof(Header) ? 0 : piece.sent - sizeof(Header);
      parts[count++] = {const_cast<char *>(piece.data) + done, piece.header.bytes - done};
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(descriptor_, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (!waits()) disconnect();
      return;
    }
    piece.sent += static_cast<uint64_t>(sent);
    if (piece.sent < whole) return;
    out_.pop_front();
  }
}

ssize_t Link::receive(char *to, uint64_t bytes) {
  const ssize_t heard = recv(descriptor_, to, bytes, 0);
  if (heard == 0 || (heard < 0 && !waits())) disconnect();
  return heard;
}

bool Link::read(Header *header) {
  while (!gone()) {
    const bool data = data_left_ != 0;
    const ssize_t heard =
        data ? receive(data_, data_left_) : receive(header_ + header_read_, sizeof(Header) - header_read_);
    if (heard <= 0) return false;
    if (data) {
      data_ += heard;
      data_left_ -= static_cast<uint64_t>(heard);
      if (data_left_ == 0) return false;  // the message is complete, and with it perhaps the exchange
      continue;
    }
    header_read_ += static_cast<uint64_t>(heard);
    if (header_read_ < sizeof(Header)) continue;
    header_read_ = 0;
    std::memcpy(header, header_, sizeof(Header));
    return true;
  }
  return false;
}

namespace {

const char *nameOf(uint32_t type) {
  switch (type) {
    case HCCL_CMD_BROADCAST:
      return "Broadcast";
    case HCCL_CMD_ALLREDUCE:
      return "AllReduce";
    case HCCL_CMD_REDUCE:
      return "Reduce";
    case HCCL_CMD_ALLGATHER:
      return "AllGather";
    case HCCL_CMD_REDUCE_SCATTER:
      return "ReduceScatter";
    case HCCL_CMD_ALLTOALLV:
      return "AlltoAllV";
    case HCCL_CMD_ALLTOALLVC:
      return "AlltoAllVC";
    case HCCL_CMD_ALLTOALL:
      return "AlltoAll";
    case HCCL_CMD_SCATTER:
      return "Scatter";
    case HCCL_CMD_BATCH_SEND_RECV:
      return "Send/Recv";
    case HCCL_CMD_ALLGATHER_V:
      return "AllGatherV";
    case HCCL_CMD_REDUCE_SCATTER_V:
      return "ReduceScatterV";
    case HCCL_CMD_BARRIER:
      return "Barrier";
    default:
      return "?";
  }
}

// One exchange: what is still to be done with each rank.
class Exchange {
 public:
  Exchange(Communicator &communicator, const Signature &signature)
      : communicator_(communicator), signature_(signature), plans_(communicator.size()) {}

  void add(const Transfer &transfer) {
    Plan &plan = plans_[transfer.peer];
    (transfer.sends ? plan.sends : plan.receives).push_back(transfer);
  }

  aclError run(Clock::duration patience) {
    if (const aclError error = moveWithin(); error != ACL_SUCCESS) return error;
    for (uint32_t peer = 0; peer < plans_.size(); ++peer) {
      if (!plans_[peer].over()) partners_.push_back(peer);
    }
    // Links are made at the first exchange of two ranks, before the time of the operation counts.
    const auto linked = connectDeadline();
    bool moving = false;
    auto end = forever();
    while (!partners_.empty()) {
      if (communicator_.destroyed.load()) {
        return stop(HCCL_E_INTERNAL, ACL_ERROR_RT_STREAM_ABORT, "EI9999",
                    "Terminating operation due to external request");
      }
      if (simTaskCancelled())
        return stop(HCCL_E_INTERNAL, ACL_ERROR_RT_STREAM_ABORT, "EI9999", "the stream was aborted");
      if (const aclError error = step(); error != ACL_SUCCESS) return error;
      if (partners_.empty()) break;
      if (!moving && allLinked()) {
        moving = true;
        if (patience != Clock::duration::zero()) end = Clock::now() + patience;
      }
      if (!moving && Clock::now() >= linked) {
        return stop(HCCL_E_TIMEOUT, ACL_ERROR_RT_FFTS_PLUS_TIMEOUT, "EI0006",
                    "no link in time to " + listOf([&](uint32_t peer) { return !link(peer).established(); }));
      }
      if (Clock::now() >= end) {
        return stop(HCCL_E_TIMEOUT, ACL_ERROR_RT_FFTS_PLUS_TIMEOUT, "EI0002",
                    "Notify register waits in vain for " + listOf([](uint32_t) { return true; }));
      }
      wait();
    }
    return ACL_SUCCESS;
  }

 private:
  struct Plan {
    std::deque<Transfer> sends;  // that the peer was not ready for yet
    std::deque<Transfer> receives;
    bool announced = false;
    bool over() const { return sends.empty() && receives.empty(); }
  };

  Link &link(uint32_t peer) {
    std::unique_ptr<Link> &link = communicator_.links[peer];
    if (link == nullptr) link = std::make_unique<Link>(communicator_, peer);
    return *link;
  }

  bool allLinked() {
    return std::all_of(partners_.begin(), partners_.end(), [&](uint32_t peer) { return link(peer).established(); });
  }

  template <class Filter>
  std::string listOf(Filter filter) {
    std::string list;
    for (const uint32_t peer : partners_) {
      if (!filter(peer)) continue;
      list += (list.empty() ? "rank " : ", ") + std::to_string(peer);
      if (link(peer).gone()) list += " (its process has closed the link)";
    }
    return list;
  }

  aclError stop(HcclResult reason, aclError code, const char *id, const std::string &text) {
    const std::string whole = std::string(nameOf(signature_.type)) + " of " + communicator_.settings.name + ", rank " +
                              std::to_string(communicator_.rank) + ": " + text;
    simFail(code, id, "%s", whole.c_str());
    return communicator_.markBroken(code, reason, whole);
  }

  // What a rank sends to itself.
  aclError moveWithin() {
    Plan &plan = plans_[communicator_.rank];
    for (; !plan.sends.empty() && !plan.receives.empty(); plan.sends.pop_front(), plan.receives.pop_front()) {
      const Transfer &from = plan.sends.front();
      const Transfer &to = plan.receives.front();
      if (from.bytes != to.bytes) {
        return stop(HCCL_E_PARA, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION, "EI0005", "the rank sends itself another count");
      }
      if (from.bytes != 0 && from.data != to.data) std::memmove(to.data, from.data, from.bytes);
    }
    return ACL_SUCCESS;
  }

  aclError step() {
    for (const uint32_t peer : partners_) {
      Link &link = this->link(peer);
      Plan &plan = plans_[peer];
      if (!link.establish()) continue;
      if (!plan.announced) sendReady(link, plan);
      for (;;) {
        if (const aclError error = sendData(peer, link, plan); error != ACL_SUCCESS) return error;
        link.flush();
        Header header;
        if (plan.receives.empty() && plan.sends.empty()) break;  // the next header is of another exchange
        if (link.receiving()) {
          link.read(&header);
          if (link.receiving() || link.gone()) break;
          plan.receives.pop_front();
          continue;
        }
        if (!link.read(&header)) break;
        if (const aclError error = handleHeader(peer, link, plan, header); error != ACL_SUCCESS) return error;
      }
    }
    partners_.erase(std::remove_if(partners_.begin(), partners_.end(),
                                   [&](uint32_t peer) {
                                     return plans_[peer].over() && !link(peer).sending() && link(peer).established();
                                   }),
                    partners_.end());
    return ACL_SUCCESS;
  }

  void sendReady(Link &link, Plan &plan) {
    plan.announced = true;
    if (plan.receives.empty() && signature_.type != HCCL_CMD_BATCH_SEND_RECV) {
      link.queue({Header::kSendOnly, 0, 0, signature_}, nullptr);
    }
    for (const Transfer &transfer : plan.receives) {
      link.queue({Header::kReady, 0, transfer.bytes, signature_}, nullptr);
    }
  }

  // Sends what the peer is ready for.
  aclError sendData(uint32_t peer, Link &link, Plan &plan) {
    while (!link.ready.empty() && !plan.sends.empty()) {
      const Transfer transfer = plan.sends.front();
      const Header header = link.ready.front();
      link.ready.pop_front();
      if (const aclError error = compare(peer, header, transfer.bytes); error != ACL_SUCCESS) return error;
      plan.sends.pop_front();
      link.queue({Header::kData, 0, transfer.bytes, signature_}, transfer.data);
    }
    return ACL_SUCCESS;
  }

  aclError handleHeader(uint32_t peer, Link &link, Plan &plan, const Header &header) {
    if (header.kind == Header::kReady) {
      link.ready.push_back(header);  // with nothing to send now, it is for a later send
      return plan.sends.empty() ? compare(peer, header, header.bytes) : ACL_SUCCESS;
    }
    if (header.kind == Header::kSendOnly) return compare(peer, header, header.bytes);
    if (header.kind == Header::kRefused) {
      const aclError error = compare(peer, header, header.bytes);
      return error != ACL_SUCCESS ? error : mismatch(peer, "count", header.bytes, 0);
    }
    if (plan.receives.empty()) return mismatch(peer, "count", header.bytes, 0);
    if (const aclError error = compare(peer, header, plan.receives.front().bytes); error != ACL_SUCCESS) return error;
    link.expectData(plan.receives.front().data, header.bytes);
    if (header.bytes == 0) plan.receives.pop_front();
    return ACL_SUCCESS;
  }

  aclError compare(uint32_t peer, const Header &theirs, uint64_t bytes) {
    const Signature &other = theirs.signature;
    if (other.type != signature_.type) {
      return mismatch(peer, "operator", other.type, signature_.type);
    }
    if (other.data_type != signature_.data_type)
      return mismatch(peer, "dataType", other.data_type, signature_.data_type);
    if (other.reduce != signature_.reduce) return mismatch(peer, "op", other.reduce, signature_.reduce);
    if (other.root != signature_.root) return mismatch(peer, "root", other.root, signature_.root);
    if (other.count != signature_.count) return mismatch(peer, "count", other.count, signature_.count);
    if (theirs.bytes != bytes) return mismatch(peer, "count in bytes", theirs.bytes, bytes);
    return ACL_SUCCESS;
  }

  aclError mismatch(uint32_t peer, const char *parameter, uint64_t theirs, uint64_t ours) {
    for (const uint32_t partner : partners_) {  // so that no rank waits for what will not come
      Link &link = this->link(partner);
      if (!link.established() || link.gone() || link.sending()) continue;
      link.queue({Header::kRefused, 0, 0, signature_}, nullptr);
      link.flush();
    }
    const bool operators = std::strcmp(parameter, "operator") == 0;
    const auto shown = [&](uint64_t value) {
      return operators ? std::string(nameOf(static_cast<uint32_t>(value))) : std::to_string(value);
    };
    return stop(HCCL_E_PARA, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION, "EI0005",
                std::string(parameter) + " differs between ranks: " + shown(ours) + " on rank " +
                    std::to_string(communicator_.rank) + ", " + shown(theirs) + " on rank " + std::to_string(peer));
  }

  void wait() {
    std::vector<pollfd> waiting;
    for (const uint32_t peer : partners_) {
      const Link &link = this->link(peer);
      if (link.descriptor() >= 0) {
        waiting.push_back({link.descriptor(), link.events(!plans_[peer].over()), 0});
      } else if (!link.established() && communicator_.rank < peer) {
        waiting.push_back({communicator_.endpoint->listener(), POLLIN, 0});
      }
    }
    poll(waiting.data(), waiting.size(), static_cast<int>(kPause.count()));
  }

  Communicator &communicator_;
  const Signature signature_;
  std::vector<Plan> plans_;         // by rank
  std::vector<uint32_t> partners_;  // with whom something is left to do
};

}  // namespace

aclError exchange(Communicator &communicator, const std::vector<Transfer> &transfers, const Signature &signature,
                  Clock::duration patience) {
  delayTransfers(communicator, transfers);
  Exchange exchange(communicator, signature);
  for (const Transfer &transfer : transfers) exchange.add(transfer);
  return exchange.run(patience);
}

}  // namespace sim::hccl
