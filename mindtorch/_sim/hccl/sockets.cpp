// Sockets that never block.
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "communicator.h"

namespace sim::hccl {

namespace {

struct Resolved {
  addrinfo *found = nullptr;
  explicit Resolved(const Address &address) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    const std::string port = std::to_string(address.port);
    if (getaddrinfo(address.ip.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
    if (found == nullptr) errno = EADDRNOTAVAIL;
  }
  ~Resolved() {
    if (found != nullptr) freeaddrinfo(found);
  }
  Resolved(const Resolved &) = delete;
  Resolved &operator=(const Resolved &) = delete;
};

int openSocket(const addrinfo &where) { return socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

int closeAfterError(int descriptor) {
  const int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

void sendAtOnce(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

int listenAt(Address *address) {
  const Resolved where(*address);
  if (where.found == nullptr) return -1;
  const int descriptor = openSocket(*where.found);
  if (descriptor < 0) return -1;
  const int on = 1;
  if (address->port != 0) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (bind(descriptor, where.found->ai_addr, where.found->ai_addrlen) != 0 || listen(descriptor, 1024) != 0 ||
      getsockname(descriptor, reinterpret_cast<sockaddr *>(&bound), &length) != 0) {
    return closeAfterError(descriptor);
  }
  address->port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&bound)->sin6_port
                                                    : reinterpret_cast<sockaddr_in *>(&bound)->sin_port);
  return descriptor;
}

int connectTo(const Address &address) {
  const Resolved where(address);
  if (where.found == nullptr) return -1;
  const int descriptor = openSocket(*where.found);
  if (descriptor < 0) return -1;
  sendAtOnce(descriptor);
  if (connect(descriptor, where.found->ai_addr, where.found->ai_addrlen) != 0 && errno != EINPROGRESS) {
    return closeAfterError(descriptor);
  }
  return descriptor;
}

int acceptFrom(int listener) {
  const int descriptor = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor >= 0) sendAtOnce(descriptor);
  return descriptor;
}

}  // namespace sim::hccl
