"""torch.utils.cpp_extension: the guide's operator, modules, what is built again, and what does not build."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch.utils import cpp_extension

pytestmark = pytest.mark.one_mode

GUIDE = Path(__file__).parents[2] / "docs" / "extensions.md"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(GUIDE.parents[1]), "MINDTORCH_NPU": "sim"}
ANSWER = 'extern "C" int answer() { return 42; }'


@pytest.fixture(autouse=True)
def _folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))


def test_the_operator_of_the_guide(tmp_path):
    text = GUIDE.read_text(encoding="utf-8")
    source, program = (re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)[1] for language in ("c", "python"))
    (tmp_path / "add_relu.c").write_text(source, encoding="utf-8")
    printed = re.search(r"# (.*)$", program, re.MULTILINE)[1]
    program += "print(torch.library.opcheck(add_relu, (x, x)))\n"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True,
                          check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == printed
    assert set(re.findall(r": '(\w+)'", done.stdout)) == {"SUCCESS"}


def test_a_library_is_built_once_by_its_text(tmp_path):
    folder = tmp_path / "extensions" / "answering"
    assert cpp_extension.load_inline("answering", ANSWER, functions=["answer"]).answer() == 42
    (first,) = folder.iterdir()
    before = first.stat().st_mtime_ns
    assert cpp_extension.load_inline("answering", [ANSWER]).answer() == 42
    assert first.stat().st_mtime_ns == before
    assert cpp_extension.load_inline("answering", ANSWER.replace("42", "43"), extra_cflags=["-O1"]).answer() == 43
    assert len(list(folder.iterdir())) == 2


def test_a_python_module():
    module = cpp_extension.load_inline("doubling", """
        #include <Python.h>
        static PyObject *twice(PyObject *, PyObject *number) { return PyNumber_Add(number, number); }
        static PyMethodDef methods[] = {{"twice", twice, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
        static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "doubling", nullptr, -1, methods,
                                         nullptr, nullptr, nullptr, nullptr};
        PyMODINIT_FUNC PyInit_doubling() { return PyModule_Create(&definition); }
    """)
    assert module.twice(21) == 42
    assert module.twice(torch.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(("source", "options", "error", "said"), [
    ("int broken(", {}, RuntimeError, r"Error building extension 'wrong': (?s:.)*broken"),
    ("#include <torch/extension.h>", {}, RuntimeError, r"mindtorch has none of PyTorch's C\+\+ API"),
    ("void missing(); extern \"C\" void call() { missing(); }", {"extra_ldflags": ["-Wl,--no-undefined"]}, RuntimeError,
     "Error building extension 'wrong': (?s:.)*missing"),
    ("int answer() { return 1; }", {"functions": ["answer"]}, RuntimeError, "no function answer is exported"),
    ("", {"cuda_sources": ["x"]}, NotImplementedError, "no extensions for CUDA"),
    ("", {"with_cuda": True}, NotImplementedError, "no extensions for CUDA"),
])
def test_what_does_not_build_says_why(source, options, error, said):
    with pytest.raises(error, match=said):
        cpp_extension.load_inline("wrong", source, **options)


def test_a_package_with_an_extension(tmp_path):
    (tmp_path / "answering.cpp").write_text(
        "#include <Python.h>\nstatic PyModuleDef definition = {PyModuleDef_HEAD_INIT, \"answering\"};\n"
        "PyMODINIT_FUNC PyInit_answering() { return PyModule_Create(&definition); }")
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\nfrom mindtorch.utils.cpp_extension import BuildExtension, CppExtension\n"
        "setup(name='answering', ext_modules=[CppExtension('answering', ['answering.cpp'])],\n"
        "      cmdclass={'build_ext': BuildExtension.with_options(use_ninja=False)})\n")
    done = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=tmp_path, env=ENVIRONMENT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    subprocess.run([sys.executable, "-c", "import answering"], cwd=tmp_path, check=True)


def test_names_of_torch():
    assert cpp_extension.is_ninja_available() is False
    assert any(Path(folder, "aclnnop", "aclnn_add.h").exists() for folder in cpp_extension.include_paths())
    assert any(Path(folder, "libascendcl.so").exists() for folder in cpp_extension.library_paths())
    with pytest.raises(NotImplementedError, match=r"none of PyTorch's C\+\+ API"):
        cpp_extension.CUDAExtension("x", [])
