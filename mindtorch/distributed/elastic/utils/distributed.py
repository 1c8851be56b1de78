"""torch.distributed.elastic.utils.distributed: ports and addresses of this machine."""
from __future__ import annotations

import socket

__all__ = ["get_free_port", "get_socket_with_port", "is_local_address"]


def get_socket_with_port() -> socket.socket:
    """A socket that is bound to a free port.

    Example:
        >>> with dist.elastic.utils.distributed.get_socket_with_port() as bound:
        ...     bound.getsockname()[1] > 0
        True
    """
    return socket.create_server(("", 0), backlog=1)


def get_free_port() -> int:
    """A free port. Another process may take it before the caller does.

    Example:
        >>> 0 < dist.elastic.utils.get_free_port() < 65536
        True
    """
    with get_socket_with_port() as listener:
        return listener.getsockname()[1]


def is_local_address(host: str) -> bool:
    """Whether `host` names this machine: only then a socket can be bound to its address.

    Example:
        >>> dist.elastic.utils.distributed.is_local_address("localhost")
        True
    """
    try:
        addresses = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in addresses:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.bind(address)
        except OSError:
            continue
        return True
    return False
