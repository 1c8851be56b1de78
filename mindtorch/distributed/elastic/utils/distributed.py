"""torch.distributed.elastic.utils.distributed: ports and addresses of this machine."""
from __future__ import annotations

import socket
from datetime import timedelta

from mindtorch.distributed._stores import DistError, TCPStore

__all__ = ["create_c10d_store", "get_free_port", "get_socket_with_port", "is_local_address"]


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

    Arguments:
        host: the name or address

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


def create_c10d_store(is_server: bool, server_addr: str, server_port: int = -1, world_size: int = 1,
                      timeout: float = 600, wait_for_workers: bool = True, retries: int = 3,
                      use_libuv: bool | None = None) -> TCPStore:
    """A TCPStore: the server takes a free port where none is given, again if another process has been faster.

    Arguments:
        is_server: whether this process serves the store
        server_addr: the host of the store
        server_port: the port of the store; -1 takes a free one
        world_size: the number of processes
        timeout: the longest wait in seconds
        wait_for_workers: whether the server waits until world_size processes are there
        retries: how often to try again
        use_libuv: not read: there is one server

    Example:
        >>> from mindtorch.distributed.elastic.utils.distributed import create_c10d_store
        >>> store = create_c10d_store(True, "localhost")
        >>> store.port > 0
        True
    """
    if server_port == -1 and world_size > 1:
        raise ValueError(f"server_port must be specified when world_size > 1, got server_port={server_port}, "
                         f"world_size={world_size}")
    for left in reversed(range(retries)):
        try:
            return TCPStore(server_addr, get_free_port() if server_port == -1 else server_port, world_size, is_server,
                            timeout=timedelta(seconds=timeout), wait_for_workers=wait_for_workers)
        except DistError:
            if server_port != -1 or not left:
                raise
    raise ValueError("create_c10d_store needs at least one try")
