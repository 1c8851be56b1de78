"""torch.distributed.elastic.events: what happens to a job, as lines of JSON in a log.

`record` writes an event to the logger of a destination: "null" drops it, "console" shows it.
"""
from __future__ import annotations

import json
import logging
import os
import socket
import traceback
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Event", "EventMetadataValue", "EventSource", "NodeState", "RdzvEvent", "construct_and_record_rdzv_event",
           "get_logging_handler", "record", "record_rdzv_event"]

_OF_RENDEZVOUS = "dynamic_rendezvous"       # the destination of its events
EventMetadataValue = str | int | float | bool | None


class EventSource(StrEnum):
    """Who has recorded an event."""

    AGENT = "AGENT"
    WORKER = "WORKER"


class NodeState(StrEnum):
    """The state of a node in a rendezvous."""

    INIT = "INIT"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


class _Serialized:
    """An event as JSON."""

    def serialize(self) -> str:
        """The fields as a JSON object."""
        return json.dumps(asdict(self))

    @classmethod
    def deserialize(cls, data: Any) -> Any:
        """The event of such a text, or `data` itself if it is an event."""
        return data if isinstance(data, cls) else cls(**json.loads(data))

    def __str__(self) -> str:
        return self.serialize()


@dataclass
class Event(_Serialized):
    """Something that happened at `timestamp`, in seconds since 1970.

    Arguments:
        name: the name
        source: who records it, an EventSource
        timestamp: the time in seconds since 1970
        metadata: further facts, as a dict

    Example:
        >>> from mindtorch.distributed.elastic.events import Event, EventSource
        >>> event = Event("started", EventSource.WORKER, metadata={"rank": 0})
        >>> Event.deserialize(event.serialize()) == event
        True
    """

    name: str
    source: EventSource
    timestamp: int = 0
    metadata: dict[str, EventMetadataValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.source = EventSource(self.source)


@dataclass
class RdzvEvent(_Serialized):
    """Something that happened in a rendezvous, on the node `hostname`, in the process `pid`.

    A node_state that NodeState does not have raises ValueError.

    Arguments:
        name: the name
        run_id: the name of the job
        message: what has happened
        hostname: the name of the node
        pid: the number of the process
        node_state: a NodeState
        master_endpoint: host:port of the store, where it is known
        rank: the rank of this process or node
        local_id: the number of the process on its node
        error_trace: the traceback as a str; empty for none

    Example:
        >>> from mindtorch.distributed.elastic.events import NodeState, RdzvEvent
        >>> event = RdzvEvent("join", "run1", "joined", "host1", 17, NodeState.RUNNING)
        >>> RdzvEvent.deserialize(event.serialize()) == event
        True
    """

    name: str
    run_id: str
    message: str
    hostname: str
    pid: int
    node_state: NodeState
    master_endpoint: str = ""
    rank: int | None = None
    local_id: int | None = None
    error_trace: str = ""

    def __post_init__(self) -> None:
        self.node_state = NodeState(self.node_state)


def get_logging_handler(destination: str = "null") -> logging.Handler:
    """A new handler of a destination: "console" writes to stderr, "null" and "dynamic_rendezvous" drop what they get.

    Another name raises KeyError.

    Arguments:
        destination: "console", "null" or "dynamic_rendezvous"

    Example:
        >>> from mindtorch.distributed.elastic.events import get_logging_handler
        >>> type(get_logging_handler("console")).__name__
        'StreamHandler'
        >>> get_logging_handler("none")
        Traceback (most recent call last):
        KeyError: 'none'
    """
    handlers = {"null": logging.NullHandler, _OF_RENDEZVOUS: logging.NullHandler, "console": logging.StreamHandler}
    if destination not in handlers:
        raise KeyError(destination)
    return handlers[destination]()


@cache
def _get_or_create_logger(destination="null"):
    logger = logging.getLogger(f"mindtorch.elastic.events.{destination}")
    logger.setLevel(os.environ.get("LOGLEVEL", "INFO"))
    logger.propagate = False
    logger.addHandler(get_logging_handler(destination))
    return logger


def record(event: Event, destination: str = "null") -> None:
    """Write an event to the log of `destination`, which is one of get_logging_handler.

    Arguments:
        event: the event
        destination: "console", "null" or "dynamic_rendezvous"

    Example:
        >>> from mindtorch.distributed.elastic.events import Event, EventSource, record
        >>> record(Event("started", EventSource.WORKER), destination="null")
    """
    _get_or_create_logger(destination).info(event.serialize())


def record_rdzv_event(event: RdzvEvent) -> None:
    """Write an event of a rendezvous to the log of dynamic rendezvous, which is dropped.

    Arguments:
        event: the event

    Example:
        >>> from mindtorch.distributed.elastic.events import NodeState, RdzvEvent, record_rdzv_event
        >>> record_rdzv_event(RdzvEvent("join", "run1", "joined", "host1", 17, NodeState.RUNNING))
    """
    _get_or_create_logger(_OF_RENDEZVOUS).info(event.serialize())


def construct_and_record_rdzv_event(run_id: str, message: str, node_state: NodeState, name: str = "",
                                    hostname: str = "", pid: int | None = None, master_endpoint: str = "",
                                    local_id: int | None = None, rank: int | None = None) -> None:
    """Record an event of a rendezvous of this process, with the traceback of an exception that is being handled, if its
    destination has a handler.

    Arguments:
        run_id: the name of the rendezvous
        message: what happened
        node_state: the state of this node
        name: the file and function of the caller unless given
        hostname: the name of the node
        pid: the number of the process
        master_endpoint: the address of the store
        local_id: the number of the process on its node
        rank: the rank of this process or node
        hostname, pid: this machine and process unless given
        local_id, rank: the number of this process on its node, and that of the node

    Example:
        >>> from mindtorch.distributed.elastic.events import NodeState, construct_and_record_rdzv_event
        >>> construct_and_record_rdzv_event("run1", "joined", NodeState.RUNNING)
    """
    if isinstance(get_logging_handler(_OF_RENDEZVOUS), logging.NullHandler):
        return
    caller = traceback.extract_stack(limit=2)[0]
    record_rdzv_event(RdzvEvent(
        name=name or f"{Path(caller.filename).stem}:{caller.name}", run_id=run_id, message=message,
        hostname=hostname or socket.getfqdn(), pid=pid or os.getpid(), node_state=node_state,
        master_endpoint=master_endpoint, rank=rank, local_id=local_id,
        error_trace=traceback.format_exc() if node_state is NodeState.FAILED else ""))
