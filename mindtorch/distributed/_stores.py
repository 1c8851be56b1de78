"""The stores by which the processes of a job find each other: keys and queues that all of them read and write."""
from __future__ import annotations

import fcntl
import os
import socket
import struct
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from datetime import timedelta

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore", "HashStore",
           "PrefixStore", "QueueEmptyError", "Store", "TCPStore"]

_DEFAULT_TIMEOUT = timedelta(seconds=300)
_FILE_POLL = 0.01           # seconds between two looks at a file that another process writes
_REPLY_GRACE = 30           # seconds beyond a request's own time-out after which its server counts as dead
_LENGTH = struct.Struct("<I")
MAGIC = b"mts1"             # what a client sends first
READY, TIMED_OUT, FAILED = b"+", b"t", b"!"


class DistError(RuntimeError):
    """An error of torch.distributed.

    Example:
        >>> issubclass(dist.DistError, RuntimeError)
        True
    """


class DistBackendError(DistError):
    """An error of the library that moves the data.

    Example:
        >>> issubclass(dist.DistBackendError, dist.DistError)
        True
    """


class DistNetworkError(DistError):
    """A connection could not be made, or has been lost.

    Example:
        >>> issubclass(dist.DistNetworkError, dist.DistError)
        True
    """


class DistStoreError(DistError):
    """An error of a store, such as a time-out.

    Example:
        >>> issubclass(dist.DistStoreError, dist.DistError)
        True
    """


class QueueEmptyError(DistStoreError):
    """`queue_pop(key, block=False)` of an empty queue.

    Example:
        >>> store = dist.HashStore()
        >>> try:
        ...     store.queue_pop("jobs", block=False)
        ... except dist.QueueEmptyError:
        ...     print("nothing to do")
        nothing to do
    """


def _bytes(function, value):
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(f"{function}(): incompatible function arguments: expected str or bytes, got {value!r}")


def _key(function, key):
    if isinstance(key, str):
        return key
    raise TypeError(f"{function}(): incompatible function arguments: expected a str as key, got {key!r}")


def _keys(function, keys):
    if isinstance(keys, str) or not isinstance(keys, Sequence):
        raise TypeError(f"{function}(): incompatible function arguments: expected a sequence of str, got {keys!r}")
    return [_key(function, key) for key in keys]


def milliseconds(timeout: timedelta) -> int:
    """A time-out as messages state it."""
    return round(timeout.total_seconds() * 1000)


class Table:
    """What a store holds. A request is a name and arguments in bytes, so that a connection or a file can carry it.

    `missing` says for which key a request has to wait; a request that misses none is run by the method of its name.
    """

    CHANGES = {b"set", b"add", b"append", b"compare_set", b"delete", b"push", b"pop"}

    def __init__(self):
        self.values: dict[bytes, bytes] = {}
        self.queues: dict[bytes, deque[bytes]] = {}

    def _has(self, key):
        return key in self.values or key in self.queues

    def missing(self, name, arguments):
        """The first key that the request `name` needs and that is not there; None if it can run."""
        if name == b"get":
            return next((key for key in arguments if key not in self.values), None)
        if name == b"wait":
            return next((key for key in arguments if not self._has(key)), None)
        if name == b"pop" and arguments[0] not in self.queues:
            return arguments[0]
        return None

    def run(self, name, arguments):
        """The results, a list of bytes."""
        return getattr(self, "run_" + name.decode())(*arguments)

    def run_wait(self, *keys):
        return []

    def run_get(self, *keys):
        return [self.values[key] for key in keys]

    def run_set(self, *pairs):
        self.values.update(zip(pairs[::2], pairs[1::2], strict=True))
        return []

    def run_add(self, key, amount):
        self.values[key] = b"%d" % (int(self.values.get(key) or 0) + int(amount))
        return [self.values[key]]

    def run_append(self, key, value):
        self.values[key] = self.values.get(key, b"") + value
        return []

    def run_compare_set(self, key, expected, desired):
        present = self.values.get(key)
        if present is None and expected:
            return [expected]
        if present is None or present == expected:
            self.values[key] = desired
        return [self.values[key]]

    def run_delete(self, key):
        found = self._has(key)
        self.values.pop(key, None)
        self.queues.pop(key, None)
        return [b"%d" % found]

    def run_check(self, *keys):
        return [b"%d" % all(map(self._has, keys))]

    def run_list(self):
        return [*self.values, *self.queues]

    def run_push(self, key, value):
        self.queues.setdefault(key, deque()).append(value)
        return []

    def run_pop(self, key):
        queue = self.queues[key]
        value = queue.popleft()
        if not queue:
            del self.queues[key]
        return [value]

    def run_length(self, key):
        return [b"%d" % len(self.queues.get(key, ()))]


class Store:
    """Keys and values that the processes of a job share.

    The methods of this class raise an error, but for those that use others: `append`, `multi_get`, `multi_set` and
    `barrier`.

    Example:
        >>> store = dist.HashStore()
        >>> isinstance(store, dist.Store)
        True
        >>> store.set("step", "7")
        >>> store.get("step"), store.add("ready", 1)
        (b'7', 1)
    """

    _timeout = _DEFAULT_TIMEOUT

    @property
    def timeout(self) -> timedelta:
        """The default time-out of `get`, `wait`, `queue_pop` and `barrier`."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """How long `get` and `wait` wait from now on."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Set `key` to `value`, whatever it was."""
        raise RuntimeError("Not implemented.")

    def get(self, key: str) -> bytes:
        """The value of `key`, once there is one. DistStoreError after the time-out."""
        raise RuntimeError("Not implemented.")

    def add(self, key: str, amount: int) -> int:
        """Add to a counter, which begins at 0; the sum."""
        raise NotImplementedError("add support is not implemented.")

    def append(self, key: str, value: str | bytes) -> None:
        """Put `value` behind what `key` has."""
        found, wanted = self.compare_set(key, b"", _bytes("append", value)), _bytes("append", value)
        while found != wanted:      # another has set it
            wanted = found + _bytes("append", value)
            found = self.compare_set(key, found, wanted)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys have a value, or a queue that is not empty."""
        raise NotImplementedError("check support is not implemented.")

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set `key` if its value is `expected_value`, or if that is empty and there is none. The value afterwards."""
        raise RuntimeError("Not implemented.")

    def delete_key(self, key: str) -> bool:
        """Delete `key`; whether it was there."""
        raise NotImplementedError("deleteKey support is not implemented.")

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there. DistStoreError after the time-out."""
        raise NotImplementedError("wait support is not implemented.")

    def num_keys(self) -> int:
        """The number of keys, with those that the store itself keeps."""
        raise NotImplementedError("getNumKeys support is not implemented.")

    def list_keys(self) -> list[str]:
        """All keys."""
        raise NotImplementedError("listKeys support is not implemented.")

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of all keys, once they are there."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys at once."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put `value` at the end of a queue."""
        raise NotImplementedError("queue support is not implemented.")

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, once there is one; QueueEmptyError without `block`."""
        raise NotImplementedError("queue support is not implemented.")

    def queue_len(self, key: str) -> int:
        """How many values a queue holds."""
        raise NotImplementedError("queue support is not implemented.")

    def clone(self) -> Store:
        """A store of the same keys, for another thread."""
        raise NotImplementedError("clone support is not implemented.")

    def has_extended_api(self) -> bool:
        """Whether `append`, `multi_get` and `multi_set` are more than calls of other methods."""
        return False

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until `world_size` callers have come here with this key, which serves once."""
        last = f"{key}/last_member"
        if self.add(f"{key}/num_members", 1) % world_size == 0:
            self.set(last, "1")
        self.wait([last], self.timeout if timeout is None else timeout)


class _RequestStore(Store):
    """A store that makes each call a request to a Table. `_request` runs one; it waits for the key until `timeout`."""

    _prefix = ""            # stands before each key in the table

    def _request(self, timeout, name, *arguments):
        raise NotImplementedError

    def _stored(self, function, key):
        return (self._prefix + _key(function, key)).encode()

    def _stored_all(self, function, keys):
        return [self._stored(function, key) for key in _keys(function, keys)]

    def set(self, key: str, value: str | bytes) -> None:
        self._request(None, b"set", self._stored("set", key), _bytes("set", value))

    def get(self, key: str) -> bytes:
        return self._request(self.timeout, b"get", self._stored("get", key))[0]

    def add(self, key: str, amount: int) -> int:
        if not hasattr(amount, "__index__"):
            raise TypeError(f"add(): incompatible function arguments: expected an int, got {amount!r}")
        return int(self._request(None, b"add", self._stored("add", key), b"%d" % amount)[0])

    def append(self, key: str, value: str | bytes) -> None:
        self._request(None, b"append", self._stored("append", key), _bytes("append", value))

    def check(self, keys: Sequence[str]) -> bool:
        return self._request(None, b"check", *self._stored_all("check", keys)) == [b"1"]

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        return self._request(None, b"compare_set", self._stored("compare_set", key),
                             _bytes("compare_set", expected_value), _bytes("compare_set", desired_value))[0]

    def delete_key(self, key: str) -> bool:
        return self._request(None, b"delete", self._stored("delete_key", key)) == [b"1"]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._request(self.timeout if timeout is None else timeout, b"wait", *self._stored_all("wait", keys))

    def num_keys(self) -> int:
        return len(self._request(None, b"list"))

    def list_keys(self) -> list[str]:
        keys = [key.decode() for key in self._request(None, b"list")]
        return [key.removeprefix(self._prefix) for key in keys if key.startswith(self._prefix)]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._request(self.timeout, b"get", *self._stored_all("multi_get", keys))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        keys = self._stored_all("multi_set", keys)
        if len(keys) != len(values):
            raise ValueError(f"multi_set(): {len(keys)} keys, but {len(values)} values")
        pairs = zip(keys, (_bytes("multi_set", value) for value in values), strict=True)
        self._request(None, b"set", *(part for pair in pairs for part in pair))

    def queue_push(self, key: str, value: str | bytes) -> None:
        self._request(None, b"push", self._stored("queue_push", key), _bytes("queue_push", value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        timeout = self.timeout if block else timedelta(0)
        try:
            return self._request(timeout, b"pop", self._stored("queue_pop", key))[0]
        except DistStoreError:
            if block:
                raise
            raise QueueEmptyError("queue is empty") from None

    def queue_len(self, key: str) -> int:
        return int(self._request(None, b"length", self._stored("queue_len", key))[0])

    def has_extended_api(self) -> bool:
        return True


class HashStore(_RequestStore):
    """A store of the threads of one process.

    Example:
        >>> store = dist.HashStore()
        >>> store.set("step", "7")
        >>> store.get("step"), store.num_keys()
        (b'7', 1)
    """

    def __init__(self) -> None:
        self._table, self._changed = Table(), threading.Condition()

    def _request(self, timeout, name, *arguments):
        with self._changed:
            seconds = 0 if timeout is None else timeout.total_seconds()
            if not self._changed.wait_for(lambda: self._table.missing(name, arguments) is None, seconds):
                raise DistStoreError("Wait timeout")
            results = self._table.run(name, arguments)
            if name in Table.CHANGES:
                self._changed.notify_all()
            return results

    def clone(self) -> HashStore:
        copy = HashStore()
        copy._table, copy._changed, copy._timeout = self._table, self._changed, self._timeout
        return copy


class FileStore(_RequestStore):
    """A store in a file that all processes can lock, which must be new: a log of the requests that change keys.

    With a `world_size`, the last of so many stores deletes the file when it ends.

    Arguments:
        file_name: the path of the file, which all ranks can read and write
        world_size: the number of processes that use the file; -1 means any

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = dist.FileStore(f"{folder}/store", 1)
        ...     store.set("step", "7")
        ...     store.get("step")
        b'7'
    """

    _prefix = "/"           # so that no key of users is one of those that count the stores

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self.path, self._log = file_name, _FileLog(file_name)
        self._log.request(b"add", [b"count/opened", b"1"])
        weakref.finalize(self, _close_file_store, self._log, world_size)

    def _request(self, timeout, name, *arguments):
        deadline = time.monotonic() + (0 if timeout is None else timeout.total_seconds())
        while (results := self._log.request(name, arguments)) is None:
            if time.monotonic() >= deadline:
                if name == b"get" and len(arguments) == 1:
                    raise DistStoreError(f"Timeout waiting for key: {arguments[0].decode()[1:]} after "
                                         f"{milliseconds(timeout)} ms")
                raise DistStoreError("Wait timeout")
            time.sleep(_FILE_POLL)
        return results

    def clone(self) -> FileStore:
        copy = FileStore(self.path)
        copy._timeout = self._timeout
        return copy


class _FileLog:
    """The log of a FileStore, and the table that the requests read so far have made."""

    def __init__(self, path):
        self.path, self.position, self.table, self.lock = path, 0, Table(), threading.Lock()

    def request(self, name, arguments):
        """The results, or None where a key is missing."""
        changes = name in Table.CHANGES
        with self.lock:
            try:
                file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except OSError as error:
                raise DistStoreError(f"{self.path}: {os.strerror(error.errno)}") from None
            with open(file, "r+b", buffering=0) as log:
                fcntl.flock(log, fcntl.LOCK_EX if changes else fcntl.LOCK_SH)
                self._read(log)
                if self.table.missing(name, arguments) is not None:
                    return None
                results = self.table.run(name, arguments)
                if changes:
                    self._write(log, encode(name, *arguments))
                return results

    def _read(self, log):
        log.seek(self.position)
        buffer = bytearray(log.readall())
        size = len(buffer)
        for name, *arguments in decode(buffer):
            self.table.run(name, arguments)
        self.position += size - len(buffer)

    def _write(self, log, record):
        log.truncate(self.position)         # away with what a killed process has left of its record
        log.seek(self.position)
        self.position += len(record)
        view = memoryview(record)
        while view:
            view = view[log.write(view):]


def _close_file_store(log, world_size):
    """Called when a FileStore ends. The last one of a job deletes the file."""
    if os.path.exists(log.path):
        closed, = log.request(b"add", [b"count/closed", b"1"])
        opened, = log.request(b"get", [b"count/opened"])
        if 0 < world_size <= int(closed) and opened == closed:
            os.unlink(log.path)


def encode(*fields):
    """The bytes that a request or a reply of these fields has in a file or a connection."""
    body = b"".join(part for field in fields for part in (_LENGTH.pack(len(field)), field))
    return _LENGTH.pack(len(body)) + body


def decode(buffer: bytearray):
    """Takes the whole messages that `buffer` begins with out of it: a list of fields for each."""
    while len(buffer) >= 4 and len(buffer) >= (end := 4 + _LENGTH.unpack_from(buffer)[0]):
        fields, position = [], 4
        while position < end:
            size = _LENGTH.unpack_from(buffer, position)[0]
            fields.append(bytes(buffer[position + 4:position + 4 + size]))
            position += 4 + size
        del buffer[:end]
        yield fields


class TCPStore(_RequestStore):
    """A store that one process serves (`is_master`) and to which the others connect. Port 0 takes a free one.

    With `world_size` and `wait_for_workers` the master waits until so many stores have joined, itself included.

    Arguments:
        host_name: the host where the store is served
        port: the port where the store is served; 0 takes a free one
        is_master: whether this process serves the store
        wait_for_workers: whether the server waits until world_size processes are there
        multi_tenant: whether stores of one process at the same port share a server
        master_listen_fd: an open socket to listen on, in place of host and port
        use_libuv: not read: there is one server

    Example:
        >>> store = dist.TCPStore("127.0.0.1", 0, world_size=1, is_master=True)     # port 0: one that is free
        >>> client = dist.TCPStore("127.0.0.1", store.port, is_master=False)
        >>> client.set("step", "7")
        >>> store.get("step")
        b'7'
    """

    _prefix = "/"

    def __init__(self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
                 timeout: timedelta = _DEFAULT_TIMEOUT, wait_for_workers: bool = True, multi_tenant: bool = False,
                 master_listen_fd: int | None = None, use_libuv: bool = True) -> None:
        if not 0 <= port < 2**16:
            raise TypeError(f"__init__(): incompatible constructor arguments: port must be from 0 to 65535, got {port}")
        if world_size == 0:
            raise ValueError("TCPStore world size cannot be 0")
        self.libuvBackend = use_libuv       # what was asked for: here is one kind of server
        self._lock, self._timeout, self._server = threading.Lock(), timeout, None
        self._socket: socket.socket | None = None
        if is_master:
            from mindtorch.distributed._store_server import start_server
            self._server = start_server(port, multi_tenant, master_listen_fd)
            port = self._server.port
        self.host, self.port = host_name, port
        self._socket = _connect(host_name, port, timeout)
        if world_size is not None and wait_for_workers:
            self._join(world_size, is_master)

    @property
    def local_address(self) -> str:
        """The address of this machine at which the server sees it."""
        return self._socket.getsockname()[0]

    def _join(self, world_size, is_master):
        joined = int(self._request(None, b"add", b"init/", b"1")[0])
        if not is_master:
            if joined == world_size:
                self._request(None, b"push", b"init/all", b"")
        elif joined < world_size:
            try:
                self._request(self._timeout, b"pop", b"init/all")
            except DistStoreError:
                joined = int(self._request(None, b"get", b"init/")[0])
                raise DistStoreError(f"Timed out after {max(1, round(self._timeout.total_seconds()))} seconds waiting "
                                     f"for clients. {joined}/{world_size} clients joined.") from None

    def _request(self, timeout, name, *arguments):
        wait = 0 if timeout is None else max(0, milliseconds(timeout))
        with self._lock:
            try:
                self._socket.settimeout(wait / 1000 + _REPLY_GRACE)
                self._socket.sendall(encode(b"%d" % wait, name, *arguments))
                (state, *results), = self._receive()
            except OSError as error:
                self._socket.close()
                raise DistNetworkError(_connection_error(self.host, self.port, error)) from None
            except BaseException:
                self._socket.close()        # Ctrl-C: the reply that is still to come must not be the next one's
                raise
        if state == TIMED_OUT:
            keys = ", ".join(key.decode() for key in arguments)
            raise DistStoreError(f"wait timeout after {wait}ms, keys: {keys}")
        if state == FAILED:
            raise ValueError(results[0].decode())
        return results

    def _receive(self):
        buffer = bytearray()
        while True:
            part = self._socket.recv(1 << 20)
            if not part:
                raise ConnectionResetError("Connection was likely closed. Did the remote server shutdown or crash?")
            buffer += part
            if len(buffer) >= 4 and len(buffer) >= 4 + _LENGTH.unpack_from(buffer)[0]:
                return decode(buffer)

    def clone(self) -> TCPStore:
        copy = TCPStore(self.host, self.port, timeout=self._timeout)
        copy._server = self._server
        return copy

    def __repr__(self) -> str:
        server = f", server=TCPServer(port={self.port})" if self._server is not None else ""
        return f"TCPStore(client=TCPClient({self.host}:{self.port}){server})"

    def __del__(self) -> None:
        if getattr(self, "_socket", None) is not None:
            self._socket.close()


def _connection_error(host, port, error):
    if isinstance(error, TimeoutError):
        return f"The server of the store at {host}:{port} did not answer. Did it hang?"
    return f"Failed to reach the server of the store at {host}:{port}: {error}"


def _connect(host, port, timeout):
    """A connection to the server, for which it tries until `timeout` has passed."""
    deadline, pause = time.monotonic() + timeout.total_seconds(), 0.01
    while True:
        left = deadline - time.monotonic()
        try:
            connection = socket.create_connection((host, port), max(left, 0.01))
        except OSError as error:
            if left <= pause:
                raise DistNetworkError(f"The client socket has timed out after {milliseconds(timeout)}ms while trying "
                                       f"to connect to ({host}, {port}).") from error
            time.sleep(pause)
            pause = min(2 * pause, 1)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(MAGIC)
            return connection


class PrefixStore(Store):
    """A view of another store: each key gets `prefix` and "/" in front.

    Arguments:
        prefix: what comes before each key
        store: the store that has the keys

    Example:
        >>> store = dist.HashStore()
        >>> dist.PrefixStore("epoch3", store).set("loss", "0.5")
        >>> store.get("epoch3/loss")
        b'0.5'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        if store is None:
            raise ValueError("store argument cannot be None")
        if not isinstance(store, Store):
            raise TypeError(f"__init__(): incompatible constructor arguments: expected a Store, got {store!r}")
        self.prefix, self.underlying_store = prefix, store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store = self.underlying_store
        while isinstance(store, PrefixStore):
            store = store.underlying_store
        return store

    @property
    def timeout(self) -> timedelta:
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self.underlying_store.set_timeout(timeout)

    def _prefixed_key(self, function, key):
        return f"{self.prefix}/{_key(function, key)}"

    def _prefixed_keys(self, function, keys):
        return [self._prefixed_key(function, key) for key in _keys(function, keys)]

    def set(self, key: str, value: str | bytes) -> None:
        self.underlying_store.set(self._prefixed_key("set", key), _bytes("set", value))

    def get(self, key: str) -> bytes:
        return self.underlying_store.get(self._prefixed_key("get", key))

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._prefixed_key("add", key), amount)

    def append(self, key: str, value: str | bytes) -> None:
        self.underlying_store.append(self._prefixed_key("append", key), _bytes("append", value))

    def check(self, keys: Sequence[str]) -> bool:
        return self.underlying_store.check(self._prefixed_keys("check", keys))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        values = (_bytes("compare_set", value) for value in (expected_value, desired_value))
        return self.underlying_store.compare_set(self._prefixed_key("compare_set", key), *values)

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._prefixed_key("delete_key", key))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        keys = self._prefixed_keys("wait", keys)
        self.underlying_store.wait(*([keys] if timeout is None else [keys, timeout]))

    def num_keys(self) -> int:
        return self.underlying_store.num_keys()

    def list_keys(self) -> list[str]:
        start = f"{self.prefix}/"
        return [key.removeprefix(start) for key in self.underlying_store.list_keys() if key.startswith(start)]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self.underlying_store.multi_get(self._prefixed_keys("multi_get", keys))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        values = [_bytes("multi_set", value) for value in values]
        self.underlying_store.multi_set(self._prefixed_keys("multi_set", keys), values)

    def queue_push(self, key: str, value: str | bytes) -> None:
        self.underlying_store.queue_push(self._prefixed_key("queue_push", key), value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self.underlying_store.queue_pop(self._prefixed_key("queue_pop", key), block)

    def queue_len(self, key: str) -> int:
        return self.underlying_store.queue_len(self._prefixed_key("queue_len", key))

    def clone(self) -> PrefixStore:
        return PrefixStore(self.prefix, self.underlying_store.clone())

    def has_extended_api(self) -> bool:
        return self.underlying_store.has_extended_api()
