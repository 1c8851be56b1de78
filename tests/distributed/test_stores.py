"""Stores and rendezvous, beside torch's own."""
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import torch.distributed as theirs

from mindtorch import distributed
from mindtorch.distributed import _stores as ours
from mindtorch.distributed._store_server import start_server
from mindtorch.distributed.rendezvous import rendezvous

pytestmark = pytest.mark.one_mode

SHORT, LONG = timedelta(milliseconds=50), timedelta(seconds=60)
KINDS = ["hash", "file", "tcp", "prefix"]


def make(package, kind, folder):
    match kind:
        case "hash":
            return package.HashStore()
        case "file":
            return package.FileStore(str(folder / package.__name__), 1)
        case "tcp":
            return package.TCPStore("localhost", 0, None, True)
        case "prefix":
            return package.PrefixStore("outer", package.PrefixStore("inner", package.HashStore()))


def outcome(call, store):
    try:
        return call(store)
    except Exception as error:      # noqa: BLE001 - the two kinds of errors are compared
        return type(error).__name__


CALLS = [
    lambda s: s.timeout,
    lambda s: (s.set("a", "1"), s.set("a", b"\xff1"), s.get("a")),
    lambda s: (s.add("n", 5), s.add("n", -7), s.get("n")),
    lambda s: (s.append("ap", "x"), s.append("ap", b"y"), s.get("ap")),
    lambda s: (s.check(["a"]), s.check(["a", "none"]), s.check([])),
    lambda s: (s.compare_set("c", "e", "w"), s.check(["c"])),
    lambda s: (s.compare_set("c", "", "w"), s.compare_set("c", "", "v"), s.get("c")),
    lambda s: (s.compare_set("c", "w", "z"), s.compare_set("c", "w", "y"), s.get("c")),
    lambda s: (s.delete_key("a"), s.check(["a"])),
    lambda s: (s.multi_set(["m1", "m2"], ["x", b"y"]), s.multi_get(["m1", "m2"])),
    lambda s: (s.set("e", ""), s.get("e"), s.check(["e"])),
    lambda s: (s.wait(["m1", "m2"]), s.wait(["e"], SHORT)),
    lambda s: (s.barrier("b", 1), s.check(["b/last_member"])),
    lambda s: (s.clone().get("m1"), type(s.clone()) is type(s)),
    lambda s: (s.set_timeout(SHORT), s.timeout),
    lambda s: s.set("i", 1),
    lambda s: s.get(1),
    lambda s: s.add("i", 1.5),
    lambda s: s.wait("text"),
    lambda s: sorted(s.list_keys())[-4:],
]
QUEUES = [
    lambda s: (s.queue_push("q", "1"), s.queue_push("q", b"2"), s.queue_len("q"), s.check(["q"]), s.wait(["q"])),
    lambda s: (s.queue_pop("q"), s.queue_pop("q", False), s.queue_len("q"), s.check(["q"])),
    lambda s: s.queue_pop("q", block=False),
    lambda s: s.queue_pop("q"),
    lambda s: s.get("none"),
    lambda s: s.multi_get(["m1", "none"]),
    lambda s: s.wait(["m1", "none"]),
    lambda s: s.wait(["none"], SHORT),
    lambda s: s.barrier("half", 2, SHORT),
]


@pytest.mark.parametrize("kind", KINDS)
def test_methods(kind, tmp_path):
    if kind == "tcp":       # torch's answers another key for a barrier
        calls = [call for call in CALLS if call is not CALLS[12]] + QUEUES
    else:
        calls = CALLS[:-1] if kind == "file" else CALLS + QUEUES      # torch's file has no queues
    mine, torchs = make(ours, kind, tmp_path), make(theirs, kind, tmp_path)
    for number, call in enumerate(calls):
        assert outcome(call, mine) == outcome(call, torchs), number


def test_errors_are_torchs_classes():
    for name in ("DistBackendError", "DistNetworkError", "DistStoreError", "QueueEmptyError"):
        assert [cls.__name__ for cls in getattr(ours, name).__mro__] == [
            cls.__name__ for cls in getattr(theirs, name).__mro__]


@pytest.mark.parametrize("kind", KINDS)
def test_threads_wait_for_one_another(kind, tmp_path):
    store = make(ours, kind, tmp_path)
    seen = []

    def rank(number, store):
        store.wait(["go"], LONG)
        store.queue_push("work", str(number))
        store.barrier("met", 4, LONG)
        seen.append((store.add("count", 1), store.multi_get(["value", "go"])))

    threads = [threading.Thread(target=rank, args=(number, store.clone())) for number in range(4)]
    for thread in threads:
        thread.start()
    store.multi_set(["value", "go"], ["v", "1"])
    assert sorted(store.queue_pop("work") for _ in range(4)) == [b"0", b"1", b"2", b"3"]
    for thread in threads:
        thread.join()
    assert sorted(seen) == [(number, [b"v", b"1"]) for number in range(1, 5)]


RANK = """
import sys
from datetime import timedelta
from mindtorch.distributed._stores import FileStore, TCPStore
number, timeout = int(sys.argv[1]), timedelta(seconds=60)
store = FileStore(sys.argv[2], 3) if len(sys.argv) == 3 else TCPStore(sys.argv[2], int(sys.argv[3]), 4)
store.set(f"from {number}", bytes(3_000_000))
store.barrier("met", 3, timeout)
assert len(store.get(f"from {(number + 1) % 3}")) == 3_000_000
for _ in range(100):
    store.add("sum", number)
store.barrier("summed", 3, timeout)
assert store.get("sum") == b"300"
"""


@pytest.mark.parametrize("kind", ["file", "tcp"])
def test_processes_share_the_store(kind, tmp_path):
    if kind == "tcp":
        server = ours.TCPStore("localhost", 0, 4, True, wait_for_workers=False)
        arguments = ["localhost", str(server.port)]
    else:
        arguments = [str(tmp_path / "store")]
    processes = [subprocess.Popen([sys.executable, "-c", RANK, str(number), *arguments]) for number in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert list(tmp_path.iterdir()) == []       # the last has deleted the file


def test_a_file_goes_with_the_last_of_its_stores(tmp_path):
    path = tmp_path / "store"
    stores = [ours.FileStore(str(path), 2) for _ in range(2)]
    stores[0].set("a", "1")
    stores.pop()
    assert path.exists()
    stores.pop()
    assert not path.exists()


def test_a_record_that_a_killed_process_has_begun_is_dropped(tmp_path):
    path = tmp_path / "store"
    store = ours.FileStore(str(path))
    store.set("a", "1")
    whole = path.stat().st_size
    store.set("b", "22222")
    os.truncate(path, path.stat().st_size - 3)
    other = ours.FileStore(str(path))
    other.set("c", "3")
    last = ours.FileStore(str(path))
    assert last.get("c") == b"3"
    assert not last.check(["b"])
    assert path.stat().st_size > whole


def test_the_master_waits_for_all():
    with pytest.raises(ours.DistStoreError, match=r"Timed out after 1 seconds waiting for clients\. 1/2 clients"):
        ours.TCPStore("localhost", 0, 2, True, SHORT)
    listener = socket.create_server(("localhost", 0))
    port, clients = listener.getsockname()[1], []
    thread = threading.Thread(target=lambda: clients.append(ours.TCPStore("localhost", port, 2, False, LONG)))
    thread.start()
    master = ours.TCPStore("localhost", port, 2, True, LONG, master_listen_fd=listener.detach())
    thread.join()
    clients[0].set("a", "1")
    assert master.get("a") == b"1"
    assert master.num_keys() == 2       # with the count of the stores


@pytest.mark.parametrize(("make_store", "error", "message"), [
    (lambda port: ours.TCPStore("localhost", 1, timeout=SHORT), ours.DistNetworkError,
     r"The client socket has timed out after 50ms while trying to connect to \(localhost, 1\)"),
    (lambda port: ours.TCPStore("localhost", port, 1, True), ours.DistNetworkError, f"port: .*{os.strerror(98)}"),
    (lambda port: ours.TCPStore("localhost", 70000, 1, True), TypeError, "incompatible constructor arguments"),
    (lambda port: ours.TCPStore("localhost", port, 1, True, master_listen_fd=socket.create_server(("", 0)).detach()),
     ours.DistStoreError, "is bound to port .*, expected to be bound to port"),
    (lambda port: ours.TCPStore("localhost", port, 1, True, master_listen_fd=99999), ours.DistNetworkError,
     "Failed to open existing socket"),
    (lambda port: ours.FileStore("/no such folder/file"), ours.DistStoreError, "No such file"),
    (lambda port: ours.PrefixStore("a", {}), TypeError, "incompatible constructor arguments"),
])
def test_a_store_that_cannot_be_made(make_store, error, message):
    server = ours.TCPStore("localhost", 0, 1, True)
    with pytest.raises(error, match=message):
        make_store(server.port)


def test_tenants_share_a_server():
    first = ours.TCPStore("localhost", 0, 1, True, multi_tenant=True)
    second = ours.TCPStore("localhost", first.port, 1, True, multi_tenant=True)
    first.set("a", "1")
    assert second.get("a") == b"1"
    del first
    assert second.get("a") == b"1"
    port = second.port
    del second
    assert ours.TCPStore("localhost", port, 1, True).list_keys() == []      # the port is free again


def test_a_server_may_end_while_it_starts(monkeypatch):
    errors = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    for _ in range(20):
        start_server(0, False, None)
    assert errors == []


def test_a_server_that_is_gone_is_an_error():
    server = ours.TCPStore("localhost", 0, 1, True)
    client = ours.TCPStore("localhost", server.port, 1)
    waiting, errors = threading.Event(), []

    def wait():
        waiting.set()
        try:
            client.get("never")
        except ours.DistNetworkError as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    waiting.wait()
    del server
    thread.join()
    assert len(errors) == 1
    with pytest.raises(ours.DistNetworkError):
        client.set("a", "1")


def test_a_client_that_has_gone_takes_nothing():
    server = ours.TCPStore("localhost", 0, 1, True)
    with socket.create_connection(("localhost", server.port)) as dead:
        dead.sendall(ours.MAGIC + ours.encode(b"1000000", b"pop", b"/q") + ours.encode(b"0", b"list"))
    with socket.create_connection(("localhost", server.port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert stranger.recv(1) == b""
    server.queue_push("q", "1")
    assert server.queue_pop("q", block=False) == b"1"


@pytest.mark.parametrize("library", [ours, theirs])
def test_a_store_in_python_serves_behind_a_prefix(library):
    class Dictionary(library.Store):
        def __init__(self):
            super().__init__()
            self.values = {}

        def set(self, key, value):
            self.values[key] = value

        def get(self, key):
            return self.values[key]

        def compare_set(self, key, expected, value):
            if self.values.get(key, b"") == expected:
                self.values[key] = value
            return self.values[key]

    store = Dictionary()
    prefixed = library.PrefixStore("p", store)
    prefixed.set("k", "v")
    assert store.values == {"p/k": b"v"}
    prefixed.append("k", "w")
    prefixed.append("new", b"x")
    prefixed.multi_set(["a", "b"], ["1", b"2"])
    assert prefixed.compare_set("a", "1", "3") == b"3"
    assert prefixed.multi_get(["k", "new", "a", "b"]) == [b"vw", b"x", b"3", b"2"]
    assert not prefixed.has_extended_api()
    with pytest.raises(NotImplementedError, match="queue support is not implemented"):
        prefixed.queue_push("k", "v")
    for call in (lambda: library.Store().set("k", "v"), lambda: library.Store().get("k"),
                 lambda: library.Store().append("k", "v"), lambda: library.Store().multi_get(["k"])):
        with pytest.raises(RuntimeError, match=r"Not implemented\."):
            call()


@pytest.mark.parametrize("library", [ours, theirs])
def test_arguments_of_stores(library):
    with pytest.raises(ValueError, match="TCPStore world size cannot be 0"):
        library.TCPStore("localhost", 0, world_size=0)
    with pytest.raises(ValueError, match="store argument cannot be None"):
        library.PrefixStore("p", None)
    store = library.TCPStore("localhost", 0, is_master=True, use_libuv=False)
    store.set("k", "v")
    assert not store.libuvBackend


def test_rendezvous(tmp_path, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE"):
        monkeypatch.delenv(name, raising=False)
    store, rank, size = next(rendezvous(f"file://{tmp_path}/store?rank=1&world_size=2"))
    assert (type(store), rank, size) == (ours.FileStore, 1, 2)
    agent = ours.TCPStore("localhost", 0, None, True, multi_tenant=True)
    store, rank, size = next(rendezvous(f"tcp://localhost:{agent.port}", 0, 1))
    assert (type(store), rank, size, store._server is agent._server) == (ours.TCPStore, 0, 1, True)
    for name, value in {"RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "localhost", "MASTER_PORT": agent.port,
                        "TORCHELASTIC_USE_AGENT_STORE": True}.items():
        monkeypatch.setenv(name, str(value))
    store, rank, size = next(rendezvous("env://", timeout=LONG))
    assert (rank, size, store.timeout, store._server) == (0, 1, LONG, None)


@pytest.mark.parametrize("url", ["tcp://localhost", "tcp://localhost:1", "tcp://localhost:1?rank=0", "file://",
                                 "file:///x", "env://", "env://?rank=0", "no://", 3, "tcp://localhost:1?rank=0&x=1"])
def test_rendezvous_refuses_what_torch_refuses(url, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)

    def refusal(rendezvous):
        with pytest.raises((ValueError, RuntimeError)) as error:
            next(rendezvous(url))
        return type(error.value), str(error.value)

    assert refusal(rendezvous) == refusal(theirs.rendezvous)


def test_collectives_by_a_store():
    """Threads are the ranks; torch has the same class."""
    def rank(number):
        made = dist._StoreCollectives(store, number, 3)
        made.barrier("barrier")
        if number:
            made.gather_send("gather", str(number))
            gathered, sent, part = None, made.broadcast_recv("broadcast"), made.scatter_recv("scatter")
        else:
            gathered = made.gather_recv("gather", "0")
            made.broadcast_send("broadcast", "news")
            sent, part = b"news", made.scatter_send("scatter", ["a", "b", "c"])
        return gathered, sent, part, made.all_gather("all", str(number)), made.all_sum("sum", number + 1)

    for dist in (distributed, theirs):
        store = dist.HashStore()
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(rank, range(3)))
        assert [each[:3] for each in found] == [([b"0", b"1", b"2"], b"news", b"a"), (None, b"news", b"b"),
                                                (None, b"news", b"c")]
        assert [each[3:] for each in found] == [([b"0", b"1", b"2"], 6)] * 3
        alone = dist._StoreCollectives(store, 1, 3)
        with pytest.raises(Exception, match="all_gather failed -- missing ranks: 0, 2"):
            alone.all_gather("late", "1", timedelta(milliseconds=1))
        with pytest.raises(Exception, match="Key late has already been used"):
            alone.barrier("late")
