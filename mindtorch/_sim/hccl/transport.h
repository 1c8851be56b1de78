// The connection of two ranks.
#ifndef MINDTORCH_SIM_HCCL_TRANSPORT_H_
#define MINDTORCH_SIM_HCCL_TRANSPORT_H_
#include <deque>

#include "communicator.h"

namespace sim::hccl {

// A receiver says that it is ready for a message, and the sender then sends it: so a sender is held until the receiver
// is there, and both compare what they mean to do before data moves. In a collective, one who has nothing to receive
// says so: two that both think they are the root find out.
struct Header {
  enum Kind : uint32_t { kReady = 1, kData = 2, kRefused = 3, kSendOnly = 4 };
  uint32_t kind;
  uint32_t zero;
  uint64_t bytes;
  Signature signature;
};

class Link {
 public:
  Link(Communicator &communicator, uint32_t peer) : communicator_(communicator), peer_(peer) {}
  ~Link();
  Link(const Link &) = delete;
  Link &operator=(const Link &) = delete;

  // The rank with the higher number connects, the other accepts. True once both have.
  bool establish();
  bool established() const { return state_ == State::kOpen || state_ == State::kGone; }
  bool gone() const { return state_ == State::kGone; }
  int descriptor() const { return descriptor_; }
  short events(bool reads) const;  // to wait for

  void queue(const Header &header, const char *data);
  bool sending() const { return !out_.empty(); }
  void flush();
  // Reads one header, or what has come of a message's data. True: a header is complete.
  bool read(Header *header);
  void expectData(char *data, uint64_t bytes) { data_ = data, data_left_ = bytes; }
  bool receiving() const { return data_left_ != 0; }

  std::deque<Header> ready;  // what the peer is ready for

 private:
  enum class State { kNone, kConnecting, kGreeted, kOpen, kGone };
  struct Piece {
    Header header;
    const char *data;
    uint64_t sent = 0;
  };
  ssize_t receive(char *to, uint64_t bytes);
  void disconnect();

  Communicator &communicator_;
  const uint32_t peer_;
  State state_ = State::kNone;
  int descriptor_ = -1;
  Clock::time_point next_try_{};
  std::deque<Piece> out_;
  char header_[sizeof(Header)];
  uint64_t header_read_ = 0;
  char *data_ = nullptr;
  uint64_t data_left_ = 0;
};

}  // namespace sim::hccl
#endif
