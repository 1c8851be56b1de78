"""How a process finds its job's store, its rank and the number of ranks: by env://, tcp:// and file://."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mindtorch.distributed._stores import FileStore, Store, TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

_TIMEOUT = timedelta(minutes=30)
_handlers: dict[str, Callable[..., Iterator[tuple[Store, int, int]]]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[tuple[Store, int, int]]]) -> None:
    """Have `rendezvous("scheme://...")` call `handler(url, timeout=...)`, which yields (store, rank, world size).

    Arguments:
        scheme: the part of the address before "://"
        handler: a function of the address, which yields (store, rank, world size)

    Example:
        >>> def alone(url, timeout=None, **options):
        ...     yield dist.HashStore(), 0, 1
        >>> dist.register_rendezvous_handler("alone", alone)
        >>> store, rank, size = next(dist.rendezvous("alone://"))
        >>> rank, size
        (0, 1)
    """
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[tuple[Store, int, int]]:
    """An iterator of (store, rank, world size). The arguments have precedence over what `url` says.

    Arguments:
        url: the address
        **kwargs: options for the handler

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store, rank, size = next(dist.rendezvous(f"file://{folder}/store", rank=0, world_size=1))
        ...     rank, size
        (0, 1)
    """
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, int):
        raise RuntimeError(f"`rank` must be an integer. {rank}")
    if not isinstance(world_size, int):
        raise RuntimeError(f"`world_size` must be an integer. {world_size}")
    return _with_options(url, rank, world_size, **kwargs)


def _with_options(url, rank, world_size, **kwargs):
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    given = {"rank": rank, "world_size": world_size}
    given = {name: str(value) for name, value in given.items() if value not in (None, -1)}
    if given:
        if options.keys() & {"rank", "world_size"}:
            raise AssertionError(f"The url: {url} has node-specific arguments(rank, world_size) already.")
        options |= given
        url = parts._replace(query="&".join(f"{name}={value}" for name, value in options.items())).geturl()
    if parts.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    return _handlers[parts.scheme](url, **kwargs)


def _error(scheme, message):
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {message}")


def _rank_and_size(scheme, url):
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    if "rank" not in options:
        raise _error(scheme, "rank parameter missing")
    if "world_size" not in options:
        raise _error(scheme, "world size parameter missing")
    return parts, int(options["rank"]), int(options["world_size"])


def _tcp_store(host, port, rank, world_size, timeout):
    """The store at this address: rank 0 serves it, or the agent that has started the ranks."""
    if not 0 <= port < 2**16:
        raise ValueError(f"port must have value from 0 to 65535 but was {port}.")
    by_agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    return TCPStore(host, port, world_size, is_master=rank == 0 and not by_agent, timeout=timeout,
                    multi_tenant=not by_agent)


def _from_file(url, **_):
    if not urlsplit(url).path:
        raise _error("file", "path missing")
    parts, rank, world_size = _rank_and_size("file", url)
    yield FileStore(parts.path, world_size), rank, world_size
    raise RuntimeError("Unable to perform rerendezvous using file:// method")


def _from_tcp(url, timeout=_TIMEOUT, **_):
    if urlsplit(url).port is None:
        raise _error("tcp", "port number missing")
    parts, rank, world_size = _rank_and_size("tcp", url)
    if parts.hostname is None:
        raise AssertionError("hostname cannot be None")
    yield _tcp_store(parts.hostname, parts.port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using tcp:// method")


def _from_environment(url, timeout=_TIMEOUT, **_):
    options = dict(parse_qsl(urlsplit(url).query))

    def variable(name):
        if not os.environ.get(name):
            raise _error("env", f"environment variable {name} expected, but not set")
        return os.environ[name]

    rank = int(options["rank"] if "rank" in options else variable("RANK"))
    world_size = int(options["world_size"] if "world_size" in options else variable("WORLD_SIZE"))
    host, port = variable("MASTER_ADDR"), int(variable("MASTER_PORT"))
    yield _tcp_store(host, port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


for _scheme, _handler in (("tcp", _from_tcp), ("env", _from_environment), ("file", _from_file)):
    register_rendezvous_handler(_scheme, _handler)
