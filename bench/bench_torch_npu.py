"""Rung 6: the published torch_npu wheel on the same toolkit, in a process of the environment that has it."""
import subprocess

import pytest

from bench import client
from bench.operators import STATEMENTS
from bench.rungs import ROOT, measure


@pytest.fixture(scope="module")
def ask():
    if not client.PYTHON.exists():
        pytest.skip(client.LEFT_OUT)
    with subprocess.Popen(client.command(client.PYTHON, "torch_npu_rung.py"), cwd=ROOT, env=client.environment(),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        def run(op):
            print(op, file=child.stdin, flush=True)
            return client.receive(child.stdout)
        yield run
        child.stdin.close()


@pytest.mark.parametrize("op", STATEMENTS)
def bench_torch_npu(benchmark, ask, op):
    measure(benchmark, "torch_npu", op, lambda count: ask(op), lambda: None)
