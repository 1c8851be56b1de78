"""torchrun: environment, failures, restarts, several nodes, and that no process is left however a job ends."""
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from importlib import metadata

import pytest
import torch.distributed.elastic.multiprocessing.errors

from mindtorch.distributed import run
from mindtorch.distributed.elastic import guard
from mindtorch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std, errors
from mindtorch.distributed.elastic.multiprocessing.errors import ChildFailedError, record
from mindtorch.distributed.elastic.rendezvous import RendezvousClosedError, RendezvousParameters, RendezvousTimeoutError
from mindtorch.distributed.elastic.utils.distributed import get_free_port
from mindtorch.distributed.launcher import LaunchConfig, elastic_launch

pytestmark = pytest.mark.one_mode

WAIT = 60       # seconds after which a test gives up

# Reports rank, pid, pid of a child, count of restarts and world size, and on SIGUSR1 does what it is told for its rank;
# "wait" ends on SIGUSR2. The child has left the process group.
WORKER = """
import os, signal, subprocess, sys
env = os.environ
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2])
child = subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"], start_new_session=True)
with open(sys.argv[1], "w") as pipe:
    pipe.write(f"{env['RANK']} {os.getpid()} {child.pid} {env['TORCHELASTIC_RESTART_COUNT']} {env['WORLD_SIZE']}\\n")
ends = dict(pair.split("=") for pair in sys.argv[2:])
end = ends.get(env["RANK"] + "." + env["TORCHELASTIC_RESTART_COUNT"], ends.get(env["RANK"], ends.get("all")))
signal.sigwaitinfo([signal.SIGUSR1])
if end == "wait":
    signal.sigwaitinfo([signal.SIGUSR2])
    end = 0
elif end == "ignore":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(sys.argv[1], "w") as pipe:
        pipe.write(f"{env['RANK']} {os.getpid()} {child.pid} 0 ignores\\n")
    while True:
        signal.pause()
elif end == "raise":
    raise ValueError("of rank " + env["RANK"])
sys.exit(int(end))
"""


class Reports:
    """What the workers of a test have reported, and descriptors that tell when they are gone."""

    def __init__(self, folder):
        self.path = folder / "reports"
        os.mkfifo(self.path)
        self._pipe, self._text = os.open(self.path, os.O_RDWR), b""
        self._descriptors = []
        self.script = folder / "worker.py"
        self.script.write_text(WORKER, encoding="utf-8")

    def read(self, count):
        """{rank: (pid, what else)} of the next `count` reports."""
        found = {}
        for _ in range(count):
            while b"\n" not in self._text:
                assert select.select([self._pipe], [], [], WAIT)[0], "a worker has not started"
                self._text += os.read(self._pipe, 4096)
            line, self._text = self._text.split(b"\n", 1)
            rank, pid, child, *rest = line.decode().split()
            for process in (pid, child):
                with contextlib.suppress(ProcessLookupError):       # gone already
                    self._descriptors.append(os.pidfd_open(int(process)))
            found[int(rank)] = (int(pid), *rest)
        for pid, *_ in found.values():
            os.kill(pid, signal.SIGUSR1)
        return found

    def all_are_gone(self):
        """Whether all reported processes end."""
        return all(select.select([descriptor], [], [], WAIT)[0] for descriptor in self._descriptors)

    def close(self):
        for descriptor in self._descriptors:
            os.close(descriptor)
        os.close(self._pipe)


@pytest.fixture
def reports(tmp_path):
    made = Reports(tmp_path)
    yield made
    made.close()


class Launch(threading.Thread):
    """elastic_launch in a thread: `result` waits for what it returns or raises."""

    def __init__(self, entrypoint, *args, nodes=(1, 1), count=2, **config):
        super().__init__(daemon=True)
        config = LaunchConfig(*nodes, count, **{"run_id": "test", "rdzv_endpoint": "localhost:0", "max_restarts": 0,
                                                "shutdown_timeout": WAIT} | config)
        self._launch, self._args, self._result = elastic_launch(config, entrypoint), args, None
        self.start()

    def run(self):
        try:
            self._result = self._launch(*self._args)
        except Exception as error:      # noqa: BLE001 - result() returns it
            self._result = error

    def result(self):
        self.join(WAIT)
        assert not self.is_alive()
        return self._result


def launch(reports, *ends, **config):
    return Launch(sys.executable, "-S", str(reports.script), str(reports.path), *ends, **config)


@pytest.mark.parametrize(("ends", "kill", "exitcode"), [
    (["0=wait", "1=wait"], signal.SIGKILL, -9),
    (["0=wait", "1=wait"], signal.SIGTERM, -15),
    (["0=wait", "1=raise"], None, 1),
    (["0=wait", "1=7"], None, 7),
    (["0=0", "1=7"], None, 7),
])
def test_a_failed_rank_ends_the_others_and_is_named(reports, ends, kill, exitcode):
    job = launch(reports, *ends)
    ranks = reports.read(2)
    if kill is not None:
        os.kill(ranks[1][0], kill)
    error = job.result()
    assert isinstance(error, ChildFailedError)
    rank, failure = error.get_first_failure()
    assert (rank, failure.exitcode, failure.pid) == (1, exitcode, ranks[1][0])
    assert f"rank      : 1 (local_rank: 1)\n  exitcode  : {exitcode} (pid: {failure.pid})" in str(error)
    assert reports.all_are_gone()


def test_a_rank_that_ignores_sigterm_is_killed(reports):
    job = launch(reports, "0=ignore", "1=wait", shutdown_timeout=0.2)
    ranks = reports.read(2)
    assert reports.read(1)[0][-1] == "ignores"
    os.kill(ranks[1][0], signal.SIGKILL)
    assert job.result().failures[0].exitcode == -9
    assert reports.all_are_gone()


def test_nothing_is_left_of_a_job_that_succeeds(reports):
    job = launch(reports, "all=0")
    reports.read(2)
    assert job.result() == {0: None, 1: None}
    assert reports.all_are_gone()


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_torchrun_is_killed(reports, kill, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")
    agent = subprocess.Popen([sys.executable, "-m", "mindtorch.distributed.run", "--standalone", "--nproc-per-node",
                              "2", str(reports.script), str(reports.path), "all=wait"], stderr=subprocess.PIPE)
    reports.read(2)
    agent.send_signal(kill)
    _, text = agent.communicate(timeout=WAIT)
    assert agent.returncode == (-9 if kill == signal.SIGKILL else 128 + kill)
    assert kill == signal.SIGKILL or kill.name in text.decode()
    assert text.decode().count("OMP_NUM_THREADS=1") == 1
    assert reports.all_are_gone()


def test_torchrun_killed_while_it_starts_workers(reports):
    """The second worker is never reported to the guard: its mark gives it away."""
    agent = subprocess.Popen([sys.executable, "-c", """if True:
        import os, signal, sys
        from mindtorch.distributed import run
        from mindtorch.distributed.elastic.guard import Guard
        Guard.watch = lambda self, pids: os.kill(os.getpid(), signal.SIGKILL) if input() else None
        run.main(sys.argv[1:])""", "--nproc-per-node", "2", str(reports.script), str(reports.path), "all=wait"],
        stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    reports.read(2)
    agent.communicate(b"now\n", timeout=WAIT)
    assert reports.all_are_gone()


def test_a_process_without_an_environment_yet_is_looked_at_again(tmp_path):
    """Its parent goes on when the kernel has begun to start it: it has neither arguments nor environment then."""
    def process(pid, environ, cmdline, stat):
        tmp_path.joinpath(str(pid)).mkdir(exist_ok=True)
        for name, text in (("environ", environ), ("cmdline", cmdline), ("stat", stat)):
            tmp_path.joinpath(str(pid), name).write_bytes(text)

    process(10, b"A=1\0MARK=x\0", b"python\0", b"10 (python) S 1 1")
    process(11, b"MARK=y\0", b"python\0", b"11 (python) S 1 1")
    process(12, b"", b"", b"12 (kthread (x)) S 2 0")
    process(13, b"", b"", b"13 (python) Z 1 1")
    process(14, b"", b"init\0", b"14 (init) S 1 1")
    assert guard._marked(b"MARK=x", str(tmp_path)) == ([10], False)
    process(15, b"", b"", b"15 (python) R 11 1")
    assert guard._marked(b"MARK=x", str(tmp_path)) == ([10], True)
    process(15, b"MARK=x\0", b"python\0", b"15 (python) R 11 1")
    found, is_unsure = guard._marked(b"MARK=x", str(tmp_path))
    assert (sorted(found), is_unsure) == ([10, 15], False)


def test_restarts_are_counted(reports, capfd):
    job = launch(reports, "0=wait", "1=wait", "1.0=3", "1.1=4", "0.2=0", "1.2=0", max_restarts=2)
    counts = [{report[1] for report in reports.read(2).values()} for _ in range(3)]
    assert job.result() == {0: None, 1: None}
    assert counts == [{"0"}, {"1"}, {"2"}]
    assert "rank 1 failed (exit code 4); restart 2 of at most 2" in capfd.readouterr().err
    assert reports.all_are_gone()


def test_a_failed_rank_restarts_the_other_node(reports):
    endpoint = f"localhost:{get_free_port()}"
    nodes = [launch(reports, "all=wait", nodes=(2, 2), rdzv_endpoint=endpoint, max_restarts=1) for _ in range(2)]
    first = reports.read(4)
    assert sorted(first) == [0, 1, 2, 3]
    os.kill(first[3][0], signal.SIGKILL)
    second = reports.read(4)
    assert sorted(second) == [0, 1, 2, 3]
    assert sorted(report[1] for report in second.values()) == ["0", "0", "1", "1"]      # one node counts a restart
    for pid, *_ in second.values():
        os.kill(pid, signal.SIGUSR2)
    assert sorted(rank for node in nodes for rank in node.result()) == [0, 1, 2, 3]
    assert reports.all_are_gone()


def test_a_failed_node_ends_the_other_one_which_names_its_rank(reports):
    endpoint = f"localhost:{get_free_port()}"
    nodes = [launch(reports, "0=wait", "1=wait", "2=wait", "3=5", nodes=(2, 2), rdzv_endpoint=endpoint)
             for _ in range(2)]
    reports.read(4)
    errors = sorted((node.result() for node in nodes), key=lambda error: type(error).__name__)
    assert isinstance(errors[0], ChildFailedError)
    assert isinstance(errors[1], RendezvousClosedError)
    assert "rank 3 failed on" in str(errors[1])
    assert reports.all_are_gone()


def test_static_ranks_are_those_of_the_nodes(reports):
    endpoint = f"localhost:{get_free_port()}"
    nodes = [launch(reports, "all=0", nodes=(2, 2), rdzv_endpoint=endpoint, rdzv_backend="static",
                    rdzv_configs={"rank": rank}, count=1 + rank) for rank in (1, 0)]
    assert {report[-1] for report in reports.read(3).values()} == {"3"}
    assert [node.result() for node in nodes] == [{1: None, 2: None}, {0: None}]


def test_a_node_that_dies_is_noticed_and_one_that_comes_takes_its_place(reports):
    conf = {"keep_alive_interval": 0.1, "last_call_timeout": 0.3}
    endpoint = f"localhost:{get_free_port()}"
    stays = launch(reports, "all=wait", "0.1=0", nodes=(1, 2), count=1, rdzv_endpoint=endpoint, rdzv_configs=dict(conf),
                   max_restarts=1)
    alone = reports.read(1)
    assert alone[0][-1] == "1"
    dies = subprocess.Popen([sys.executable, "-m", "mindtorch.distributed.run", "--nnodes", "1:2", "--rdzv-backend",
                             "c10d", "--rdzv-endpoint", endpoint, "--rdzv-id", "test", "--rdzv-conf",
                             "keep_alive_interval=0.1,last_call_timeout=0.3", str(reports.script), str(reports.path),
                             "all=wait"], stderr=subprocess.DEVNULL)
    both = reports.read(2)
    assert {report[-1] for report in both.values()} == {"2"}
    dies.kill()
    dies.wait()
    again = reports.read(1)
    assert again[0][-1] == "1"
    os.kill(again[0][0], signal.SIGKILL)        # its own failure is counted, unlike what the other node did
    assert reports.read(1)[0][1] == "1"
    assert stays.result() == {0: None}
    assert reports.all_are_gone()


def test_too_few_nodes(reports):
    job = launch(reports, "all=0", nodes=(2, 2), rdzv_endpoint=f"localhost:{get_free_port()}",
                 rdzv_configs={"timeout": 0.1})
    assert isinstance(job.result(), RendezvousTimeoutError)


ENVIRONMENT = """
import json, os, sys
print(json.dumps([dict(os.environ), sys.argv[1:]]))
print("to stderr", file=sys.stderr)
"""


def test_environment(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "0")
    script = tmp_path / "script.py"
    script.write_text(ENVIRONMENT, encoding="utf-8")
    run.main(["--nproc_per_node=2", "--log-dir", str(tmp_path / "logs"), "-r", "0:3", "-t", "1:1", "--rdzv-id", "job",
              "--role", "trainer", str(script), "--lr", "${local_rank}"])
    shown = capfd.readouterr()
    prefix, text = shown.out.split("]:", 1)
    assert prefix == "[trainer1"
    env, arguments = json.loads(text)
    assert arguments == ["--lr", "1"]
    expected = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0",
                "GROUP_WORLD_SIZE": "1", "ROLE_RANK": "1", "ROLE_NAME": "trainer", "ROLE_WORLD_SIZE": "2",
                "MASTER_ADDR": "localhost", "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
                "TORCHELASTIC_RUN_ID": "job", "TORCHELASTIC_USE_AGENT_STORE": "True",
                "OMP_NUM_THREADS": os.environ["OMP_NUM_THREADS"]}
    assert {name: env[name] for name in expected} == expected
    files = {str(path.relative_to(tmp_path / "logs")).split("/", 1)[1]: path.read_text(encoding="utf-8")
             for path in (tmp_path / "logs").rglob("*.log")}
    assert sorted(files) == ["attempt_0/0/stderr.log", "attempt_0/0/stdout.log", "attempt_0/1/stdout.log"]
    assert json.loads(files["attempt_0/0/stdout.log"])[0]["RANK"] == "0"
    assert files["attempt_0/0/stderr.log"] == "to stderr\n"
    assert shown.err == "to stderr\n"


def _rank_of(name):
    return name, int(os.environ["RANK"])


@record
def _fails():
    if os.environ["RANK"] == "1":
        raise ValueError("of this rank")
    signal.pause()


def test_functions():
    assert Launch(_rank_of, "x", start_method="fork").result() == {0: ("x", 0), 1: ("x", 1)}


def test_the_error_of_a_function_is_in_the_report_and_in_the_error_file(tmp_path, monkeypatch):
    job = Launch(_fails, start_method="fork").result()
    assert "ValueError: of this rank" in str(job)
    assert "in _fails" in str(job)
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))

    @record
    def agent():
        raise job
    with pytest.raises(ChildFailedError):
        agent()
    message = json.loads((tmp_path / "error.json").read_text(encoding="utf-8"))["message"]
    assert message["message"] == "ValueError: of this rank"
    assert message["extraInfo"].keys() == {"py_callstack", "timestamp"}


@pytest.mark.parametrize("errors", [errors, torch.distributed.elastic.multiprocessing.errors],
                         ids=["mindtorch", "torch"])
def test_error_files_and_record(errors, tmp_path, monkeypatch):
    path = tmp_path / "error.json"
    for data in ({"message": "m", "timestamp": "10"},
                 {"message": {"message": "m", "extraInfo": {"py_callstack": "at", "timestamp": "10"}}}):
        path.write_text(json.dumps(data), encoding="utf-8")
        failure = errors.ProcessFailure(local_rank=0, pid=1, exitcode=1, error_file=str(path))
        assert (failure.message, failure.timestamp) == (data["message"], 10)
    path.unlink()
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    without_file = errors.ProcessFailure(local_rank=0, pid=1, exitcode=1, error_file="none")
    assert errors.record(lambda: sys.exit(0))() is None
    with pytest.raises(SystemExit):
        errors.record(sys.exit)()

    @errors.record
    def agent():
        raise errors.ChildFailedError("x", {0: without_file})
    with pytest.raises(errors.ChildFailedError):
        agent()
    assert not path.exists()


def test_local_ranks_filter(tmp_path):
    specs = DefaultLogsSpecs(str(tmp_path), tee=Std.OUT, local_ranks_filter={1})
    logs = specs.reify({0: {}, 1: {}})
    assert [bool(logs.stdouts[rank]) for rank in (0, 1)] == [True, True]
    assert [bool(logs.stderrs[rank]) for rank in (0, 1)] == [True, False]
    assert list(logs.tee_stdouts) == [1]


@pytest.mark.parametrize(("arguments", "expected"), [
    (["--nnodes=1:4", "x.py"], (1, 4, "static", "127.0.0.1:29500")),
    (["--standalone", "x.py"], (1, 1, "c10d", "localhost:0")),
    (["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv_endpoint", "host:1", "x.py"], (2, 2, "c10d", "host:1")),
    (["--master-port", "5", "x.py"], (1, 1, "static", "127.0.0.1:5")),
])
def test_arguments(arguments, expected):
    config, command, rest = run.config_from_args(run.parse_args(arguments))
    assert (config.min_nodes, config.max_nodes, config.rdzv_backend, config.rdzv_endpoint) == expected
    assert (command, rest) == (sys.executable, ["-u", "x.py"])


def test_a_script_by_its_path(tmp_path, capfd):
    script = tmp_path / "script.py"
    script.write_text("import os, sys\nprint(os.environ['RANK'], sys.argv[1:], __name__)", encoding="utf-8")
    run.main(["--run-path", "--standalone", "--start-method", "fork", str(script), "--lr", "1"])
    assert capfd.readouterr().out == "0 ['--lr', '1'] __main__\n"


def test_the_class_of_logs_is_an_entry_point(monkeypatch):
    entry = metadata.EntryPoint("mine", "mindtorch.distributed.elastic.multiprocessing:DefaultLogsSpecs",
                                "torchrun.logs_specs")
    monkeypatch.setattr(metadata, "entry_points", lambda: metadata.EntryPoints([entry]))
    config, *_ = run.config_from_args(run.parse_args(["--logs-specs", "mine", "x.py"]))
    assert type(config.logs_specs) is DefaultLogsSpecs
    with pytest.raises(ValueError, match=r"Could not find entrypoint under 'torchrun.logs_specs\[none\]' key"):
        run.config_from_args(run.parse_args(["--logs-specs", "none", "x.py"]))


def test_options_of_the_rendezvous_in_quotes():
    config, *_ = run.config_from_args(run.parse_args(["--rdzv-backend=c10d", "--rdzv-conf='join_timeout=5,timeout=6'",
                                                      "x.py"]))
    assert config.rdzv_configs == {"join_timeout": "5", "timeout": "6"}


@pytest.mark.parametrize(("arguments", "rest"), [
    (["-m", "package.module", "-x"], ["-u", "-m", "package.module", "-x"]),
    (["--no-python", "sh", "-c", "true"], ["-c", "true"]),
])
def test_commands(arguments, rest):
    assert run.config_from_args(run.parse_args(arguments))[2] == rest


def test_arguments_may_stand_in_the_environment(monkeypatch):
    monkeypatch.setenv("PET_NPROC_PER_NODE", "3")
    monkeypatch.setenv("PET_STANDALONE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    config = run.config_from_args(run.parse_args(["x.py"]))[0]
    assert (config.nproc_per_node, config.rdzv_backend) == (3, "c10d")


def test_number_of_processes(monkeypatch):
    monkeypatch.setattr("mindtorch.npu.is_available", lambda: False)
    assert run.determine_local_world_size("auto") == run.determine_local_world_size("cpu") == os.cpu_count()
    with pytest.raises(ValueError, match="NPU is not available"):
        run.determine_local_world_size("npu")
    with pytest.raises(ValueError, match="Unsupported nproc_per_node value: many"):
        run.determine_local_world_size("many")


@pytest.mark.parametrize(("changed", "message"), [
    ({"backend": ""}, "non-empty"), ({"min_nodes": 0}, "greater than zero"), ({"max_nodes": 1}, "or equal"),
])
def test_parameters_are_checked(changed, message):
    with pytest.raises(ValueError, match=message):
        RendezvousParameters(**{"backend": "c10d", "endpoint": "x:1", "run_id": "a", "min_nodes": 2, "max_nodes": 2}
                             | changed)


def test_nothing_stays_in_the_folder_for_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert Launch("/bin/true").result() == {0: None, 1: None}
    assert list(tmp_path.iterdir()) == []


def test_defaults_come_from_the_environment(monkeypatch):
    import argparse

    from mindtorch.distributed import argparse_util
    from mindtorch.distributed.run import get_args_parser

    def parsed(*arguments, **options):
        parser = argparse.ArgumentParser()
        parser.add_argument("--foo", **options)
        return parser.parse_args(arguments).foo

    assert parsed(action=argparse_util.env, default="bar") == "bar"
    assert parsed(action=argparse_util.check_env) is False
    assert parsed("--foo", action=argparse_util.check_env) is True
    monkeypatch.setenv("PET_FOO", "3")
    assert parsed(action=argparse_util.env, type=int, required=True) == 3
    assert parsed("--foo", "4", action=argparse_util.env, type=int) == 4
    assert parsed(action=argparse_util.check_env) is True
    monkeypatch.setenv("PET_FOO", "0")
    assert parsed(action=argparse_util.check_env) is False
    monkeypatch.setenv("PET_MAX_RESTARTS", "2")
    monkeypatch.setenv("PET_STANDALONE", "1")
    arguments = get_args_parser().parse_args(["--nproc_per_node", "2", "program.py"])
    assert [arguments.max_restarts, arguments.standalone, arguments.nproc_per_node] == [2, True, "2"]
