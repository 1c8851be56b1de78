"""torch.utils.cpp_extension: extensions in C and C++ over ACL, ACLNN and the C API of Python.

mindtorch has none of PyTorch's C++ API: an extension takes the addresses of tensors (`data_ptr()`) and of the stream
(`torch.npu.current_stream().npu_stream`), and calls CANN itself. docs/extensions.md has an operator from start to end.
"""
from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindtorch._submodules import module_getattr
from mindtorch.npu import _development

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BuildExtension", "CppExtension", "get_cxx_compiler", "get_default_build_root", "include_paths",  # noqa: F822
           "is_ninja_available", "library_paths", "load", "load_inline"]

_NO_API = ("mindtorch has none of PyTorch's C++ API (torch/extension.h, ATen): write the extension over ACL and ACLNN, "
           "and pass the addresses of tensors")


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The folders with the declarations of ACL and ACLNN: the toolkit's, where it has them, and the simulator's.

    Arguments:
        device_type: not read
        torch_include_dirs: not read

    Example:
        >>> import os
        >>> any(os.path.exists(f"{path}/acl/acl.h") for path in torch.utils.cpp_extension.include_paths())
        True
    """
    return [str(folder) for folder in _development.include_folders()]


def library_paths(device_type: str = "cpu", torch_include_dirs: bool = True,
                  cross_target_platform: str | None = None) -> list[str]:
    """The folders with CANN's libraries.

    Arguments:
        device_type: not read
        torch_include_dirs: not read
        cross_target_platform: not read

    Example:
        >>> import os
        >>> any(os.path.exists(f"{path}/libascendcl.so") for path in torch.utils.cpp_extension.library_paths())
        True
    """
    return [str(folder) for folder in _development.library_folders()]


def get_default_build_root() -> str:
    """Where extensions are built: TORCH_EXTENSIONS_DIR, or a folder in the user's cache.

    Example:
        >>> isinstance(torch.utils.cpp_extension.get_default_build_root(), str)
        True
    """
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return os.environ.get("TORCH_EXTENSIONS_DIR") or str(Path(cache, "mindtorch_extensions").expanduser())


def get_cxx_compiler() -> str:
    """The compiler of C++.

    Example:
        >>> isinstance(torch.utils.cpp_extension.get_cxx_compiler(), str)
        True
    """
    return os.environ.get("CXX", "c++")


def is_ninja_available() -> bool:
    """False: extensions are built without ninja.

    Example:
        >>> torch.utils.cpp_extension.is_ninja_available()
        False
    """
    return False


def _run(name: str, command: list[str], verbose: bool) -> None:
    if verbose:
        print(shlex.join(command))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        remedy = f"\n{_NO_API}" if "torch/" in done.stderr or "ATen/" in done.stderr else ""
        raise RuntimeError(f"Error building extension '{name}': {done.stderr}{remedy}")


def load(name: str, sources: str | Sequence[str | os.PathLike[str]], extra_cflags: Sequence[str] | None = None,
         extra_cuda_cflags: Sequence[str] | None = None, extra_sycl_cflags: Sequence[str] | None = None,
         extra_ldflags: Sequence[str] | None = None,
         extra_include_paths: Sequence[str | os.PathLike[str]] | None = None,
         build_directory: str | os.PathLike[str] | None = None, verbose: bool = False, with_cuda: bool | None = None,
         with_sycl: bool | None = None, is_python_module: bool = True, is_standalone: bool = False,
         keep_intermediates: bool = True) -> Any:
    """Compile sources in C (.c) and C++, link them with CANN, and load the result.

    What is built is kept in `build_directory`, by the text of the sources and by the options, and taken from there the
    next time. Returns the Python module where the sources define PyInit_<name>, else the library as ctypes has it; with
    `is_standalone` the path of the library.

    Arguments:
        name: the name of the module
        sources: the paths of the files
        extra_cflags: options of the compiler
        extra_cuda_cflags: refused: there is no CUDA
        extra_sycl_cflags: refused: there is no SYCL
        extra_ldflags: options of the linker
        extra_include_paths: folders of further headers
        build_directory: where it is built; None means a folder of the user
        verbose: whether the compiler's output is shown
        with_cuda: refused: there is no CUDA
        with_sycl: refused: there is no SYCL
        is_python_module: whether the library is a module of Python; False loads it for its operators
        is_standalone: whether a program is built
        keep_intermediates: not read

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> source = pathlib.Path(folder.name, "twice.c")
        >>> _ = source.write_text("int twice(int x) { return 2 * x; }")
        >>> torch.utils.cpp_extension.load("twice", str(source), build_directory=folder.name).twice(21)
        42
        >>> folder.cleanup()
    """
    if with_cuda or extra_cuda_cflags or with_sycl or extra_sycl_cflags:
        raise NotImplementedError("mindtorch builds no extensions for CUDA or SYCL. Write them over ACL and ACLNN")
    paths = [Path(source) for source in ([sources] if isinstance(sources, (str, os.PathLike)) else sources)]
    includes = [*map(str, extra_include_paths or ()), *include_paths(), sysconfig.get_path("include")]
    options = ["-O2", "-fPIC", *(f"-I{folder}" for folder in includes), *(extra_cflags or ())]
    link = [*_development.link_options(), *(extra_ldflags or ())]
    digest = hashlib.sha256(repr((options, link, [(path.name, path.read_bytes()) for path in paths])).encode())
    folder = Path(build_directory or Path(get_default_build_root(), name))
    library = folder / f"{name}-{digest.hexdigest()[:16]}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:      # whole or not at all, for other processes
            objects = []
            for at, path in enumerate(paths):
                compiler = [os.environ.get("CC", "cc")] if path.suffix == ".c" else [get_cxx_compiler(), "-std=c++17"]
                objects.append(str(Path(place, f"{at}.o")))
                _run(name, [*shlex.split(compiler[0]), *compiler[1:], *options, "-c", str(path), "-o", objects[-1]],
                     verbose)
            made = str(Path(place, "library.so"))
            _run(name, [*shlex.split(get_cxx_compiler()), "-shared", *objects, "-o", made, *link], verbose)
            os.replace(made, library)
    if is_standalone:
        return str(library)
    loaded = ctypes.CDLL(str(library))
    if not is_python_module or not hasattr(loaded, f"PyInit_{name}"):
        return loaded
    spec = importlib.util.spec_from_file_location(name, library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_inline(name: str, cpp_sources: str | Sequence[str], cuda_sources: Any = None, sycl_sources: Any = None,
                functions: Sequence[str] | dict[str, str] | str | None = None,
                build_directory: str | os.PathLike[str] | None = None, **options: Any) -> Any:
    """The same for sources in strings, in C++. `functions` names what the library must export, as extern "C".

    Arguments:
        name: the name of the module
        cpp_sources: the source, a str or several
        cuda_sources: refused: there is no CUDA
        sycl_sources: refused: there is no SYCL
        functions: the names of functions that Python calls; or name -> docstring
        build_directory: where it is built; None means a folder of the user
        **options: as of load

    Example:
        >>> code = 'extern "C" int thrice(int x) { return 3 * x; }'
        >>> torch.utils.cpp_extension.load_inline("thrice", code, functions=["thrice"]).thrice(14)
        42
    """
    if cuda_sources or sycl_sources:
        raise NotImplementedError("mindtorch builds no extensions for CUDA or SYCL. Write them over ACL and ACLNN")
    folder = Path(build_directory or Path(get_default_build_root(), name))
    folder.mkdir(parents=True, exist_ok=True)
    texts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        source = Path(place, "main.cpp")
        source.write_text("\n".join(texts), encoding="utf-8")
        loaded = load(name, [source], build_directory=folder, **options)
    for function in [functions] if isinstance(functions, str) else functions or ():
        if not hasattr(loaded, function):
            raise RuntimeError(f"Error building extension '{name}': no function {function} is exported; declare it "
                               'extern "C"')
    return loaded


def _build_extension() -> type:
    from setuptools.command.build_ext import build_ext

    class BuildExtension(build_ext):
        """setuptools' build_ext; the options are those of torch's, which chooses compilers by them.

        Arguments:
            dist: the distribution of setuptools
            **kw: as of setuptools' build_ext

        Example:
            >>> from setuptools import Distribution
            >>> torch.utils.cpp_extension.BuildExtension(Distribution()).get_finalized_command("build").build_base
            'build'
        """

        @classmethod
        def with_options(cls, **options: Any) -> type:
            return cls

    return BuildExtension


_refused = module_getattr(__name__)


def __getattr__(name: str) -> Any:
    if name == "BuildExtension":        # only builds import setuptools
        globals()[name] = _build_extension()
        return globals()[name]
    return _refused(name)


def CppExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """A setuptools.Extension that is compiled against CANN's declarations and linked with its libraries.

    Arguments:
        name: the name of the module
        sources: the paths of the files
        *args: as of setuptools.Extension
        **kwargs: as of setuptools.Extension

    Example:
        >>> torch.utils.cpp_extension.CppExtension("mine", ["mine.cpp"]).libraries
        []
    """
    from setuptools import Extension
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", ()), *include_paths()]
    kwargs["extra_link_args"] = [*kwargs.get("extra_link_args", ()), *_development.link_options()]
    kwargs.setdefault("language", "c++")
    return Extension(name, sources, *args, **kwargs)
