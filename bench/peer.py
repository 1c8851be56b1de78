"""The allocator of the published torch_npu wheel, in a process of its own that answers requests of bench.allocator.

Started by tests/clients/run.py with the interpreter of the clients' environment. A request is a line of JSON: the name
of a function and its arguments.
"""
import json
import sys

import torch
import torch_npu  # noqa: F401 - it adds the device npu to torch

from bench.client import say
from bench.pairs import Subject, addresses


def main(library):
    torch.empty(1, device="npu")
    subject = Subject(*addresses(library, "take", "give"), torch.npu.empty_cache)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        say(getattr(subject, name)(*arguments))


if __name__ == "__main__":
    main(sys.argv[1])
