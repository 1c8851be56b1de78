"""The server of TCPStore: one thread that answers the requests of all clients."""
from __future__ import annotations

import asyncio
import os
import socket
import threading
import weakref

from mindtorch.distributed._stores import (
    FAILED,
    MAGIC,
    READY,
    TIMED_OUT,
    DistNetworkError,
    DistStoreError,
    Table,
    decode,
    encode,
)

__all__ = ["StoreServer", "start_server"]

_shared: weakref.WeakValueDictionary[int, StoreServer] = weakref.WeakValueDictionary()     # multi_tenant, by port
_shared_lock = threading.Lock()


def start_server(port, multi_tenant, listen_fd):
    """A server on `port`: one that this process has there, if both are `multi_tenant`, or a new one."""
    with _shared_lock:
        server = _shared.get(port) if multi_tenant and port else None
        if server is None:
            server = StoreServer(_listen(port) if listen_fd is None else _existing_listener(listen_fd, port))
            if multi_tenant:
                _shared[server.port] = server
        return server


def _listen(port):
    try:
        if socket.has_dualstack_ipv6():
            return socket.create_server(("", port), family=socket.AF_INET6, backlog=4096, dualstack_ipv6=True)
        return socket.create_server(("", port), backlog=4096)
    except OSError as error:
        raise DistNetworkError("The server socket has failed to listen on any local network address. "
                               f"port: {port}, code: -{error.errno}, message: {os.strerror(error.errno)}") from None


def _existing_listener(descriptor, port):
    try:
        listener = socket.socket(fileno=descriptor)
    except OSError as error:
        raise DistNetworkError(f"Failed to open existing socket. socket: {descriptor}, code: -{error.errno}, "
                               f"message: {os.strerror(error.errno)}") from None
    bound = listener.getsockname()[1]
    if bound != port:
        listener.close()
        raise DistStoreError(f"listen fd {descriptor} is bound to port {bound}, expected to be bound to port {port}")
    return listener


class StoreServer:
    """Serves a Table until it is deleted. Its thread does not keep it alive."""

    def __init__(self, listener):
        self.port = listener.getsockname()[1]
        loop, stopped = asyncio.new_event_loop(), asyncio.Event()
        thread = threading.Thread(target=_run_server, args=(loop, listener, stopped), name="TCPStore server",
                                  daemon=True)
        thread.start()
        self._stop = weakref.finalize(self, _stop, loop, stopped, thread)
        self._stop.atexit = False           # the thread ends with the process: other ranks may still ask


def _stop(loop, stopped, thread):
    loop.call_soon_threadsafe(stopped.set)
    if thread is not threading.current_thread():
        thread.join()


def _run_server(loop, listener, stopped):
    loop.run_until_complete(_serve(_Requests(loop), listener, stopped))
    loop.close()


async def _serve(requests, listener, stopped):
    server = await requests.loop.create_server(lambda: _Connection(requests), sock=listener)
    await stopped.wait()
    server.close()
    for connection in list(requests.connections):
        connection.transport.abort()
    await asyncio.sleep(0)


class _Requests:
    """The table, and the connections whose request waits for a key."""

    def __init__(self, loop):
        self.loop, self.table, self.connections = loop, Table(), set()
        self.waiting = {}                   # key -> connections, in the order in which they came

    def run(self, connection, name, arguments):
        """Answer a request, or keep it until its key is there."""
        missing = self.table.missing(name, arguments)
        if missing is not None:
            self.waiting.setdefault(missing, {})[connection] = name, arguments
            connection.waits_for = missing
            return
        try:
            connection.answer(READY, *self.table.run(name, arguments))
        except ValueError as error:
            connection.answer(FAILED, str(error).encode())
        if name in Table.CHANGES:
            for key in arguments[::2] if name == b"set" else arguments[:1]:
                self._answer_waiting(key)

    def _answer_waiting(self, key):
        for connection, request in self.waiting.pop(key, {}).items():
            connection.waits_for = None
            self.run(connection, *request)

    def forget(self, connection):
        """Drop the waiting request of this connection."""
        key, connection.waits_for = connection.waits_for, None
        waiting = self.waiting.get(key, {})
        waiting.pop(connection, None)
        if not waiting:
            self.waiting.pop(key, None)


class _Connection(asyncio.Protocol):
    """A client: it sends a request (milliseconds to wait, name, arguments) and reads the answer before the next."""

    def __init__(self, requests):
        self.requests, self.buffer, self.greeted = requests, bytearray(), False
        self.waits_for, self.timer = None, None

    def connection_made(self, transport):
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.requests.connections.add(self)

    def data_received(self, data):
        self.buffer += data
        if not self.greeted:
            if not MAGIC.startswith(self.buffer[:4]):
                self.transport.abort()      # no TCPStore
                return
            if len(self.buffer) < 4:
                return
            self.greeted = True
            del self.buffer[:4]
        for wait, name, *arguments in decode(self.buffer):
            self.requests.run(self, name, arguments)
            if self.waits_for is not None:
                self.timer = self.requests.loop.call_later(int(wait) / 1000, self.time_out)

    def time_out(self):
        self.timer = None
        self.requests.forget(self)
        self.answer(TIMED_OUT)

    def answer(self, *fields):
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        self.transport.write(encode(*fields))

    def connection_lost(self, error):
        self.requests.forget(self)
        if self.timer is not None:
            self.timer.cancel()
        self.requests.connections.discard(self)
