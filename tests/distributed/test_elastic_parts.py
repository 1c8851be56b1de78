"""torch.distributed.elastic's parts that programs use beside torchrun, and collective_utils."""
import importlib
import io
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ranks import run_ranks

import mindtorch
from mindtorch.distributed import HashStore, collective_utils
from mindtorch.distributed._stores import DistStoreError
from mindtorch.distributed.elastic import events, metrics, timer
from mindtorch.distributed.elastic.multiprocessing import redirects, tail_log
from mindtorch.distributed.elastic.utils import api, distributed, store
from mindtorch.distributed.elastic.utils.data import CyclingIterator, ElasticDistributedSampler

pytestmark = pytest.mark.one_mode


def test_events_are_lines_of_json(capfd, monkeypatch):
    event = events.Event("started", events.EventSource.AGENT, 5, {"rank": 1})
    assert event.serialize() == ('{"name": "started", "source": "AGENT", "timestamp": 5, "metadata": {"rank": 1}}')
    assert events.Event.deserialize(str(event)) == event
    events.record(event)
    assert capfd.readouterr() == ("", "")
    events.record(event, "console")
    assert capfd.readouterr().err == event.serialize() + "\n"
    events.construct_and_record_rdzv_event("job", "joined", events.NodeState.RUNNING)       # its log is dropped
    monkeypatch.setattr(events, "get_logging_handler", lambda destination: logging.StreamHandler())
    recorded = []
    monkeypatch.setattr(events, "record_rdzv_event", recorded.append)
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        events.construct_and_record_rdzv_event("job", "joined", events.NodeState.FAILED, rank=1)
    monkeypatch.undo()
    found, = recorded
    assert found.name == "test_elastic_parts:test_events_are_lines_of_json"
    assert events.RdzvEvent.deserialize(found.serialize()) == found
    assert (found.run_id, found.rank, "ZeroDivisionError" in found.error_trace) == ("job", 1, True)
    with pytest.raises(KeyError):
        events.get_logging_handler("nowhere")


def test_metrics_go_to_the_handler_of_their_group():
    class Kept(metrics.MetricHandler):
        def __init__(self):
            self.values = []

        def emit(self, metric_data):
            self.values.append((metric_data.group_name, metric_data.name, metric_data.value))

    kept = Kept()
    metrics.configure(kept, "timed")

    @metrics.prof(group="timed")
    def work(fails):
        if fails:
            raise ZeroDivisionError

    work(False)
    with pytest.raises(ZeroDivisionError):
        work(True)
    metrics.publish_metric("other", "dropped", 1)
    names = [name.rpartition("work.")[2] for _, name, _ in kept.values]
    assert names == ["success", "duration.ms", "failure", "duration.ms"]


def hang(requests, seconds):
    timer.configure(timer.LocalTimerClient(requests))
    with timer.expires(after=seconds):
        time.sleep(0.5)


def test_a_worker_whose_timer_runs_out_is_killed():
    context = multiprocessing.get_context("spawn")
    requests = context.Queue()
    server = timer.LocalTimerServer(requests, max_interval=0.02)
    server.start()
    workers = [context.Process(target=hang, args=(requests, seconds)) for seconds in (0.1, 60)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    server.stop()
    assert [worker.exitcode for worker in workers] == [-9, 0]
    with pytest.raises(RuntimeError, match="Configure timer client"), timer.expires(after=1):
        pass


def test_stores_synchronize_and_name_who_is_missing():
    shared = HashStore()
    assert store.synchronize(shared, b"a", 0, 1, "x") == [b"a"]
    store.barrier(shared, 1, "alone")

    def error_of(rank):
        with pytest.raises(DistStoreError) as caught:
            store.barrier(shared, 3, "together", 0.1, rank, lambda rank: f"host{rank}", 0.3)
        return str(caught.value)

    with ThreadPoolExecutor() as pool:
        first, second = pool.map(error_of, range(2))
    assert mindtorch._C._DistStoreError is DistStoreError
    assert "missing_ranks=[host2]" in first
    assert "check rank 0 (host0) for missing rank info" in second


def test_create_c10d_store():
    server = distributed.create_c10d_store(True, "localhost")
    client = distributed.create_c10d_store(False, "localhost", server.port)
    client.set("key", "value")
    assert server.get("key") == b"value"
    with pytest.raises(ValueError, match="server_port must be specified"):
        distributed.create_c10d_store(True, "localhost", world_size=2)


def test_small_helpers(monkeypatch):
    monkeypatch.setenv("NAME", "value")
    assert api.get_env_variable_or_raise("NAME") == "value"
    with pytest.raises(ValueError, match="NO_SUCH_NAME expected, but not set"):
        api.get_env_variable_or_raise("NO_SUCH_NAME")
    assert api.macros.substitute(["--rank=${local_rank}", 3], "1") == ["--rank=1", 3]
    process_state = importlib.import_module("mindtorch.distributed.elastic.utils.process_state")
    assert process_state.read_proc_state(os.getpid()) == "R"
    assert list(CyclingIterator(3, lambda epoch: iter(range(epoch)), 1)) == [0, 0, 1]


@pytest.mark.parametrize(("start", "replicas"), [(0, 2), (3, 2), (5, 4)])
def test_elastic_samplers_have_torchs_samples(start, replicas):
    import torch.distributed.elastic.utils.data as theirs
    for rank in range(replicas):
        ours, other = (kind(range(10), replicas, rank, start)
                       for kind in (ElasticDistributedSampler, theirs.ElasticDistributedSampler))
        for epoch in range(2):
            ours.set_epoch(epoch)
            other.set_epoch(epoch)
            assert (list(ours), len(ours)) == (list(other), len(other))


def together(torch, rank, size):
    group = torch.distributed.group.WORLD
    out = [collective_utils.broadcast(lambda: rank + 5, rank=1, pg=group), collective_utils.all_gather(rank, pg=group)]
    for call in (lambda: collective_utils.broadcast(lambda: 1 // (rank - 1), rank=1, pg=group),
                 lambda: collective_utils.all_gather(lambda: 1 // rank, "load", group),
                 lambda: collective_utils.all_gather_object_enforce_type(group, [None] * size, 1.0 if rank else 1)):
        try:
            call()
        except (RuntimeError, TypeError) as error:
            out.append(str(error))
    return out


def test_what_fails_on_one_rank_fails_on_all(tmp_path):
    results = run_ranks("test_elastic_parts:together", 2, tmp_path)
    assert results[0] == results[1] == [
        6, [0, 1], "Rank 1 failed: integer division or modulo by zero",
        "all_gather failed with exceptions stage load: rank 0: ZeroDivisionError('integer division or modulo by zero')",
        "Object type at index 0 is <class 'int'>, and at another rank <class 'float'>"]


def test_a_parameter_is_updated_in_the_backward_pass():
    from mindtorch.distributed.optim import _apply_optimizer_in_backward, _get_in_backward_optimizers
    mindtorch.manual_seed(0)
    models = [mindtorch.nn.Linear(3, 2) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    _apply_optimizer_in_backward(mindtorch.optim.AdamW, models[0].parameters(), {"lr": 0.1})
    plain = mindtorch.optim.AdamW(models[1].parameters(), lr=0.1)
    for _ in range(3):
        x = mindtorch.randn(4, 3)
        for model in models:
            model(x).pow(2).sum().backward()
        plain.step()
        plain.zero_grad()
    assert all(mindtorch.equal(*pair) for pair in zip(*(model.parameters() for model in models), strict=True))
    assert [value.grad for value in models[0].parameters()] == [None, None]
    assert len(_get_in_backward_optimizers(models[0])) == 2


def test_options_of_a_rendezvous():
    utils = importlib.import_module("mindtorch.distributed.elastic.rendezvous.utils")
    assert utils._parse_rendezvous_config(" timeout = 5,a=b=c") == {"timeout": "5", "a": "b=c"}
    for text, message in ((",", "must be in format"), ("a", "option 'a' must have a value")):
        with pytest.raises(ValueError, match=message):
            utils._parse_rendezvous_config(text)
    for text, message in (("host:", "port number"), ("host:70000", "port number"), ("a b:1", "hostname")):
        with pytest.raises(ValueError, match=message):
            utils.parse_rendezvous_endpoint(text, 1)
    assert utils.parse_rendezvous_endpoint("", 1) == ("localhost", 1)
    assert utils._matches_machine_hostname("127.0.0.1")
    assert not utils._matches_machine_hostname("0.0.0.0")


def test_timers_of_a_pipe_end_processes_of_any_origin(tmp_path):
    path, events = str(tmp_path / "pipe"), []
    with pytest.raises(BrokenPipeError):
        timer.FileTimerClient(path).acquire("step", 0)
    server = timer.FileTimerServer(path, "job", 0.01, log_event=lambda name, request: events.append(name))
    server.start()
    script = textwrap.dedent(f"""
        import time
        from mindtorch.distributed.elastic import timer
        timer.configure(timer.FileTimerClient({path!r}))
        with timer.expires(after=60):
            pass
        with timer.expires(after=0.1):
            time.sleep(600)
    """)
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    server.run_once()
    assert server.get_expired_timers(time.time() + 1000) == {}
    server.stop()
    assert events == ["watchdog started", "kill worker process", "watchdog stopped"]
    assert not os.path.exists(path)


def test_streams_of_a_process_go_to_files(tmp_path, capfd):
    """What Python, C and other programs write."""
    with pytest.raises(ValueError, match="unknown standard stream <none>"), redirects.redirect("none", "file"):
        pass
    print("before", flush=True)
    with redirects.redirect_stdout(str(tmp_path / "out")), redirects.redirect_stderr(str(tmp_path / "err")):
        print("from Python")
        print("an error", file=sys.stderr)
        redirects.get_libc().printf(b"from C\n")
        subprocess.run(["echo", "from a program"], check=True)
    print("after", flush=True)
    assert sorted((tmp_path / "out").read_text().splitlines()) == ["from C", "from Python", "from a program"]
    assert (tmp_path / "err").read_text() == "an error\n"
    assert capfd.readouterr() == ("before\nafter\n", "")


def test_logs_are_shown_while_they_are_written(tmp_path, monkeypatch):
    shown, files = io.StringIO(), {rank: str(tmp_path / f"{rank}.log") for rank in range(2)}
    tail = tail_log.TailLog("worker", files, shown, {1: "[one] "}, 0.001, lambda line: "noise" not in line).start()
    for rank in files:
        Path(files[rank]).write_text("step\nnoise\n")
    tail.stop()
    assert tail.stopped()
    assert sorted(shown.getvalue().splitlines()) == ["[one] step", "[worker0]:step"]
    tail_log.TailLog("worker", {0: str(tmp_path / "never.log")}, shown).start().stop()
    errors = []
    monkeypatch.setattr(tail_log.logger, "error", lambda *message: errors.append(message))
    tail_log.TailLog("worker", {0: str(tmp_path)}, shown).start().stop()
    (_, rank, path, error), = errors
    assert (rank, path, type(error)) == (0, str(tmp_path), IsADirectoryError)
