"""torch.distributed.elastic.rendezvous.utils: what the options of a rendezvous say."""
from __future__ import annotations

import random
import re
import time

from mindtorch.distributed.elastic.utils.distributed import is_local_address

__all__ = ["parse_rendezvous_endpoint"]


def _parse_rendezvous_config(config_str: str) -> dict[str, str]:
    """The options of "key=value,key=value", in quotes, too, which a shell may have left."""
    config: dict[str, str] = {}
    config_str = config_str.strip("'\"")
    for pair in config_str.split(",") if config_str.strip() else ():
        key, _, value = (part.strip() for part in pair.partition("="))
        if not key:
            raise ValueError("The rendezvous configuration string must be in format "
                             "<key1>=<value1>,...,<keyN>=<valueN>.")
        if not value:
            raise ValueError(f"The rendezvous configuration option '{key}' must have a value specified.")
        config[key] = value
    return config


def _try_parse_port(port_str: str) -> int | None:
    """The number of a port; None where it is none."""
    return int(port_str) if re.fullmatch("[0-9]+", port_str) else None


def parse_rendezvous_endpoint(endpoint: str | None, default_port: int) -> tuple[str, int]:
    """(host, port) of "host", "host:port" or "[IPv6 address]:port"; localhost where there is none.

    Arguments:
        endpoint: the text, such as "host:29400"
        default_port: the port where the text has none

    Example:
        >>> from mindtorch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint
        >>> parse_rendezvous_endpoint("[::1]:29500", 29400), parse_rendezvous_endpoint("node0", 29400)
        (('::1', 29500), ('node0', 29400))
    """
    endpoint = (endpoint or "").strip()
    if not endpoint:
        return "localhost", default_port
    host, colon, text = endpoint.rpartition(":")
    if not colon or endpoint.endswith("]"):
        host, text = endpoint, str(default_port)
    port = _try_parse_port(text)
    if port is None or port >= 1 << 16:
        raise ValueError(f"The port number of the rendezvous endpoint '{endpoint}' must be an integer between 0 and "
                         "65536.")
    host = host.removeprefix("[").removesuffix("]")
    if not re.fullmatch(r"[\w.:-]+", host):
        raise ValueError(f"The hostname of the rendezvous endpoint '{endpoint}' must be a dot-separated list of "
                         "labels, an IPv4 address, or an IPv6 address.")
    return host, port


def _matches_machine_hostname(host: str) -> bool:
    """Whether a name or an address is that of this machine."""
    return host not in ("0.0.0.0", "::") and is_local_address(host)


def _delay(seconds: float | tuple[float, float]) -> None:
    """Sleep so long, or for a time within an interval."""
    time.sleep(random.uniform(*seconds) if isinstance(seconds, tuple) else seconds)
