"""`python -m mindtorch` runs a program as `python` does: arguments, paths, __main__, exit codes, tracebacks."""
import pytest
from running import python

pytestmark = pytest.mark.one_mode

SHOW = """
import sys
print(sys.argv, repr(sys.path[0]), __name__, __package__, globals().get("__file__"), getattr(__spec__, "name", None))
print(sorted(globals()), sys.modules["__main__"].__dict__ is globals())
"""
FILES = {
    "show.py": SHOW, "folder/__main__.py": SHOW, "package/__init__.py": "", "package/__main__.py": SHOW,
    "package/module.py": SHOW, "package/empty/__init__.py": "", "fails.py": "def f():\n    1 / 0\n\n\nf()\n",
    "syntax.py": "x = (\n", "words.py": "import sys\nsys.exit('no')\n",
    "hook.py": "import sys\nsys.excepthook = lambda *error: print('hook', error[:2])\nraise KeyError(1)\n",
    "late.py": "import atexit\natexit.register(lambda: print(f()))\n\n\ndef f():\n    return 'late'\n",
}
LINES = [
    ["show.py", "a", "-b"], ["folder", "x"], ["-m", "package", "--flag"], ["-m", "package.module"],
    ["-c", SHOW, "z"], ["-", "u"], ["fails.py"], ["syntax.py"], ["words.py"], ["hook.py"], ["late.py"],
    ["none.py"], ["-m", "none"], ["-m", "package.empty"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("programs")
    for name, text in FILES.items():
        root.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        root.joinpath(name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line).replace(SHOW, "SHOW"))
def test_programs_run_as_they_do_under_python(folder, line):
    own, theirs = (python(*start, *line, cwd=folder, text=SHOW) for start in (("-m", "mindtorch"), ()))
    assert (own.stdout, own.stderr, own.returncode) == (theirs.stdout, theirs.stderr, theirs.returncode)


@pytest.mark.parametrize(("arguments", "status", "stream", "end"), [
    (["--help"], 0, "stdout", "the torch that it stands for\n"), ([], 2, "stderr", ": no program is named\n"),
    (["-x"], 2, "stderr", ": unknown option -x, or nothing after it\n"),
    (["--cuda-is-npu"], 2, "stderr", ": no program is named\n")])
def test_usage(arguments, status, stream, end):
    done = python("-m", "mindtorch", *arguments)
    assert done.returncode == status
    assert getattr(done, stream).startswith("usage: python -m mindtorch script.py [args]\n")
    assert getattr(done, stream).endswith(end)
