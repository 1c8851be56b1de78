"""python -m torch.distributed.launch: torchrun under its older name, which also passes --local-rank to the script."""
from __future__ import annotations

from mindtorch.distributed.run import get_args_parser, run

__all__ = ["get_args_parser", "launch", "main", "parse_args"]


def parse_args(args=None):
    """The arguments; with --use-env the script gets no --local-rank.

    Arguments:
        args: the arguments of the command as a list of str; None means sys.argv

    Example:
        >>> dist.launch.parse_args(["--use-env", "train.py"]).training_script
        'train.py'
    """
    parser = get_args_parser()
    parser.add_argument("--use-env", "--use_env", action="store_true", help="do not pass --local-rank to the script")
    return parser.parse_args(args)


def launch(args):
    """Run a script as the arguments say.

    Arguments:
        args: the parsed arguments

    Example:
        >>> dist.launch.launch(dist.launch.parse_args(["--use-env", "--no-python", "true"]))
    """
    run(args)


def main(args=None):
    """What the command does.

    Arguments:
        args: the arguments of the command as a list of str; None means sys.argv

    Example:
        >>> dist.launch.main(["--use-env", "--no-python", "true"])
    """
    launch(parse_args(args))


if __name__ == "__main__":
    main()
