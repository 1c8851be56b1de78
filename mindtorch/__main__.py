"""Runs a program as Python would, with `torch` meaning mindtorch."""
import builtins
import importlib.util
import os
import sys
import types
from importlib.machinery import BuiltinImporter, SourceFileLoader
from pkgutil import get_importer

USAGE = """usage: python -m mindtorch script.py [args]
       python -m mindtorch -m module [args]
       python -m mindtorch -c code [args]
       python -m mindtorch - [args]
       python -m mindtorch doctor [--json]

Runs a program as Python would, except that `import torch`, and that of its submodules, means mindtorch: in that
process and in those that multiprocessing starts from it. "-" reads the program from the standard input, and a folder
or zip file is run by its __main__.py. "doctor" examines how this machine and CANN fit mindtorch.

  --cuda-is-npu  before the script: "cuda", torch.cuda and .cuda() mean the NPU
  -h, --help     this text
  --version      the versions of mindtorch and of the torch that it stands for
"""


def _fail(message, status=1):
    print(f"{sys.executable}: {message}", file=sys.stderr)
    sys.exit(status)


def _set_up(argv, folder):
    """sys.argv, sys.path[0] and an empty __main__, as the program expects them. Returns __main__."""
    sys.argv[:] = argv
    if not sys.flags.safe_path:
        sys.path[0] = folder
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__builtins__ = builtins
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    return main


def _spec_of_module(name):
    """The spec of what `-m name` runs: the module, or the __main__ of a package."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            package, spec = spec, importlib.util.find_spec(f"{name}.__main__")
            if spec is None:
                _fail(f"No module named {name}.__main__; '{package.name}' is a package and cannot be directly executed")
    except (ModuleNotFoundError, ValueError) as error:
        _fail(f"Error while finding module specification for '{name}' ({type(error).__name__}: {error})")
    if spec is None:
        _fail(f"No module named {name}")
    return spec


def _code_of_spec(main, spec):
    code = spec.loader.get_code(spec.name)
    if code is None:
        _fail(f"No code object available for {spec.name}")
    main.__spec__, main.__loader__, main.__package__ = spec, spec.loader, spec.parent
    main.__file__, main.__cached__ = spec.origin, spec.cached
    return code


def _module(name, arguments):
    main = _set_up(["-m", *arguments], os.getcwd())
    spec = _spec_of_module(name)
    sys.argv[0] = spec.origin
    return main, lambda: _code_of_spec(main, spec)


def _command(source, arguments):
    main = _set_up(["-c", *arguments], "")
    main.__loader__ = BuiltinImporter
    return main, lambda: compile(source, "<string>", "exec")


def _standard_input(arguments):
    main = _set_up(["-", *arguments], "")
    main.__file__, main.__cached__ = "<stdin>", None
    main.__loader__ = SourceFileLoader("__main__", "<stdin>")
    source = sys.stdin.read()
    return main, lambda: compile(source, "<stdin>", "exec")


def _script(path, arguments):
    full = os.path.abspath(path)
    importer = get_importer(full)
    if importer is not None:                            # a folder or zip file
        main = _set_up([path, *arguments], full)
        spec = importer.find_spec("__main__")
        if spec is None:
            _fail(f"can't find '__main__' module in '{full}'")
        return main, lambda: _code_of_spec(main, spec)
    try:
        with open(full, "rb") as file:
            source = file.read()
    except OSError as error:
        _fail(f"can't open file '{full}': [Errno {error.errno}] {error.strerror}", 2)
    main = _set_up([path, *arguments], os.path.dirname(os.path.realpath(full)))
    main.__file__, main.__cached__ = full, None
    main.__loader__ = SourceFileLoader("__main__", full)
    return main, lambda: compile(source, full, "exec")


def _program(arguments):
    """(the module __main__, a function that compiles the program) as the command line says."""
    match arguments:
        case ["-h" | "--help", *_]:
            print(USAGE, end="")
            sys.exit(0)
        case ["--version", *_]:
            from mindtorch import __version__, version
            print(f"mindtorch {version.mindtorch} (torch {__version__})")
            sys.exit(0)
        case ["doctor", *rest]:
            from mindtorch.npu import doctor
            sys.exit(doctor.main(rest))
        case ["-m", name, *rest]:
            return _module(name, rest)
        case ["-c", source, *rest]:
            return _command(source, rest)
        case ["-", *rest]:
            return _standard_input(rest)
        case [path, *rest] if not path.startswith("-"):
            return _script(path, rest)
    print(USAGE, end="", file=sys.stderr)
    return _fail(f"unknown option {arguments[0]}, or nothing after it" if arguments else "no program is named", 2)


def run(arguments):
    """Runs the program that the command line `arguments` names. An error of the program is shown without our frames."""
    from mindtorch import alias_torch
    alias_torch()
    if arguments[:1] == ["--cuda-is-npu"]:
        from mindtorch.cuda._transfer import transfer_to_npu
        transfer_to_npu()
        arguments = arguments[1:]
    main, compiled = _program(arguments)
    try:
        exec(compiled(), vars(main))
    except Exception as error:  # noqa: BLE001 - it is the program's, and ends it as Python would
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_globals is globals():
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.exit(1)


if __name__ == "__main__":
    run(sys.argv[1:])
