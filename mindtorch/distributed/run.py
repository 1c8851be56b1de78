"""torchrun, or python -m mindtorch.distributed.run: runs a program in several processes, on one node or on many."""
from __future__ import annotations

import argparse
import os
import runpy
import sys
import uuid
from collections.abc import Callable
from importlib import metadata

import mindtorch
from mindtorch._alias import is_active
from mindtorch._core.tensor.tensor import is_cuda_read_as_npu
from mindtorch.distributed.argparse_util import check_env, env
from mindtorch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException, Std
from mindtorch.distributed.elastic.multiprocessing.errors import ChildFailedError, record
from mindtorch.distributed.elastic.rendezvous import DEFAULT_PORT, RendezvousError
from mindtorch.distributed.elastic.rendezvous.utils import _parse_rendezvous_config
from mindtorch.distributed.launcher.api import LaunchConfig, launch_agent

__all__ = ["config_from_args", "determine_local_world_size", "get_args_parser", "main", "parse_args",
           "parse_min_max_nnodes", "run"]

_MASTER_PORT = 29500


class _Parser(argparse.ArgumentParser):
    """Takes --two-words also as --two_words, and its default from PET_TWO_WORDS."""

    def option(self, *names, **settings):
        long = next(name for name in names if name.startswith("--"))
        settings["action"] = check_env if settings.get("action") == "store_true" else env
        self.add_argument(*names, *({long.replace("-", "_").replace("__", "--", 1)} - {long}), **settings)


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of torchrun's arguments.

    Example:
        >>> parser = dist.run.get_args_parser()
        >>> parser.parse_args(["--nproc-per-node", "2", "train.py"]).nproc_per_node
        '2'
    """
    parser = _Parser("torchrun", description="Runs a program in several processes, on one node or on many.")
    add = parser.option
    add("--nnodes", default="1:1", help="number of nodes, or <minimum>:<maximum>")
    add("--nproc-per-node", default="1", help="processes of this node: a number, cpu, gpu, npu or auto")
    add("--rdzv-backend", default="static", help="how nodes meet: c10d or static")
    add("--rdzv-endpoint", default="", help="where nodes meet: <host>:<port>")
    add("--rdzv-id", default="none", help="name of the job")
    add("--rdzv-conf", default="", help="options of the rendezvous: <key>=<value>,...")
    add("--standalone", action="store_true", help="one node, on a free port")
    add("--max-restarts", type=int, default=0, help="how often the processes are started anew after a failure")
    add("--monitor-interval", type=float, default=0.1, help="seconds between two looks at the other nodes")
    add("--start-method", default="spawn", choices=["spawn", "fork", "forkserver"], help="for functions")
    add("--role", default="default", help="name of the processes")
    add("-m", "--module", action="store_true", help="the program is a module, as with python -m")
    add("--run-path", action="store_true", help="each process runs the script by runpy.run_path, as its program")
    add("--no-python", action="store_true", help="the program is a command, not a script of Python")
    add("--log-dir", default=None, help="folder of the logs")
    add("-r", "--redirects", default="0", help="streams that go to files: 1 stdout, 2 stderr, 3 both; or 0:1,1:2")
    add("-t", "--tee", default="0", help="streams that go to files and to the console")
    add("--logs-specs", default=None, help="where output goes: a class, by its name in the entry points of the group "
        "torchrun.logs_specs")
    add("--local-ranks-filter", default="", help="local ranks whose output is shown: 0,1")
    add("--node-rank", type=int, default=0, help="rank of this node (static)")
    add("--master-addr", default="127.0.0.1", help="address of the node of rank 0 (static)")
    add("--master-port", type=int, default=_MASTER_PORT, help="port on the node of rank 0 (static)")
    add("--local-addr", default=None, help="address of this node")
    add("--signals-to-handle", default="SIGTERM,SIGINT,SIGHUP,SIGQUIT", help="signals that end the job")
    add("--shutdown-timeout", type=float, default=None, help="seconds that processes have to end before SIGKILL")
    add("--virtual-local-rank", action="store_true", help="each process sees its own device alone, and LOCAL_RANK 0")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args=None) -> argparse.Namespace:
    """torchrun's arguments.

    Arguments:
        args: the arguments of the command as a list of str; None means sys.argv

    Example:
        >>> arguments = dist.run.parse_args(["--nproc-per-node=2", "train.py", "--lr=0.1"])
        >>> arguments.training_script, arguments.training_script_args
        ('train.py', ['--lr=0.1'])
    """
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """(minimum, maximum) of "2" or "1:4".

    Arguments:
        nnodes: the text

    Example:
        >>> dist.run.parse_min_max_nnodes("1:4")
        (1, 4)
    """
    parts = nnodes.split(":")
    if len(parts) > 2:
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return int(parts[0]), int(parts[-1])


def determine_local_world_size(nproc_per_node: str) -> int:
    """The number of processes that --nproc-per-node says.

    Arguments:
        nproc_per_node: a number, "auto", "gpu", "npu" or "cpu", as a str

    Example:
        >>> dist.run.determine_local_world_size("2")
        2
    """
    try:
        return int(nproc_per_node)
    except ValueError:
        pass
    devices = mindtorch.npu.device_count() if mindtorch.npu.is_available() else 0
    if nproc_per_node in ("gpu", "npu") and not devices:
        raise ValueError("NPU is not available.")
    if nproc_per_node not in ("gpu", "npu", "cpu", "auto"):
        raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}")
    return os.cpu_count() if nproc_per_node == "cpu" or not devices else devices


def get_rdzv_endpoint(args: argparse.Namespace) -> str:
    """Where the nodes meet: the endpoint, or for static nodes without one the master's address."""
    if args.rdzv_backend == "static" and not args.rdzv_endpoint:
        return f"{args.master_addr}:{args.master_port}"
    return args.rdzv_endpoint


def get_use_env(args: argparse.Namespace) -> bool:
    """Whether a worker finds its local rank in the environment alone. torch.distributed.launch passes it as well."""
    return getattr(args, "use_env", True)


def run_script_path(training_script: str, *training_script_args: str) -> None:
    """Run a file in this process, as its program."""
    sys.argv = [training_script, *training_script_args]
    runpy.run_path(training_script, run_name="__main__")


def config_from_args(args: argparse.Namespace) -> tuple[LaunchConfig, Callable | str, list[str]]:
    """(the configuration, the command or function, its arguments).

    Arguments:
        args: the parsed arguments

    Example:
        >>> arguments = dist.run.parse_args(["--nproc-per-node=2", "train.py"])
        >>> config, command, rest = dist.run.config_from_args(arguments)
        >>> config.nproc_per_node, rest[-1]
        (2, 'train.py')
    """
    min_nodes, max_nodes = parse_min_max_nnodes(args.nnodes)
    count = determine_local_world_size(args.nproc_per_node)
    if args.standalone:
        args.rdzv_backend, args.rdzv_endpoint, args.rdzv_id = "c10d", "localhost:0", str(uuid.uuid4())
    config = _parse_rendezvous_config(args.rdzv_conf)
    if args.rdzv_backend == "static":
        config["rank"] = args.node_rank
        args.rdzv_endpoint = get_rdzv_endpoint(args)
        if max_nodes == 1 and (args.master_addr, args.master_port) == ("127.0.0.1", _MASTER_PORT):
            args.rdzv_backend = "c10d"          # a single node without a given port takes a free one
    elif not args.rdzv_endpoint:
        args.rdzv_endpoint = f"localhost:{DEFAULT_PORT}"
    if args.rdzv_id == "none":
        args.rdzv_id = str(uuid.uuid4()) if max_nodes == 1 else "none"
    if "OMP_NUM_THREADS" not in os.environ and count > 1:
        os.environ["OMP_NUM_THREADS"] = "1"
        print("torchrun: each process computes with one thread (OMP_NUM_THREADS=1); set OMP_NUM_THREADS for another "
              "number", file=sys.stderr, flush=True)
    shown = {int(rank) for rank in args.local_ranks_filter.split(",") if rank} or None
    logs = _logs_class(args.logs_specs)(args.log_dir, Std.from_str(args.redirects), Std.from_str(args.tee), shown)
    launch = LaunchConfig(
        min_nodes, max_nodes, count, logs, args.rdzv_id, args.role, args.rdzv_endpoint, args.rdzv_backend, config,
        max_restarts=args.max_restarts, monitor_interval=args.monitor_interval, start_method=args.start_method,
        log_line_prefix_template=os.environ.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"), local_addr=args.local_addr,
        signals_to_handle=args.signals_to_handle, virtual_local_rank=args.virtual_local_rank,
        shutdown_timeout=args.shutdown_timeout)
    return launch, *_command(args)


def _logs_class(name):
    if name is None:
        return DefaultLogsSpecs
    for entry in metadata.entry_points().select(group="torchrun.logs_specs").select(name=name):
        return entry.load()
    raise ValueError(f"Could not find entrypoint under 'torchrun.logs_specs[{name}]' key")


def _command(args):
    if args.run_path:
        return run_script_path, [args.training_script, *args.training_script_args]
    if args.no_python:
        if args.module:
            raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
        command, options = args.training_script, []
    else:
        command, options = os.environ.get("PYTHON_EXEC", sys.executable), ["-u"]
        if is_active():         # the program of an aliased torchrun is aliased as well
            options += ["-m", "mindtorch", *(["--cuda-is-npu"] if is_cuda_read_as_npu() else [])]
        options += ["-m"] * args.module + [args.training_script]
    if not get_use_env(args):
        options.append("--local-rank=${local_rank}")
    return command, [*options, *args.training_script_args]


def run(args: argparse.Namespace) -> None:
    """Run a program as the arguments say.

    Arguments:
        args: the parsed arguments

    Example:
        >>> dist.run.run(dist.run.parse_args(["--standalone", "--no-python", "true"]))
    """
    config, command, arguments = config_from_args(args)
    launch_agent(config, command, arguments)


@record
def main(args=None) -> None:
    """What the command does. Its exit code is 1 after a failure, and 128 + the number of a signal that has ended it.

    Arguments:
        args: the arguments of the command as a list of str; None means sys.argv

    Example:
        >>> dist.run.main(["--standalone", "--no-python", "true"])      # as torchrun --standalone --no-python true
    """
    try:
        run(parse_args(args))
    except ChildFailedError as error:
        print(f"torchrun: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except RendezvousError as error:
        print(f"torchrun: the job has ended: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except SignalException as error:
        print(f"torchrun: {error}", file=sys.stderr)
        raise SystemExit(128 + error.sigval) from None


if __name__ == "__main__":
    main()
