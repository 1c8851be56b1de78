"""python -m torch.utils.collect_env: what a report of a bug needs to say of the machine and its software.

The rows about CUDA, ROCm and compilers of torch's own page are left out; the findings of `python -m mindtorch doctor`
about CANN and the devices take their place.
"""
import importlib.metadata
import platform
import subprocess
import sys
from typing import NamedTuple

from mindtorch import version
from mindtorch.npu import doctor

__all__ = ["SystemEnv", "get_cpu_info", "get_env_info", "get_pip_packages", "get_pretty_env_info", "main"]

PATTERNS = ("mindtorch", "numpy", "scipy", "torch", "mypy", "flake8", "onnx", "mpi4py", "safetensors", "transformers",
            "accelerate")


class SystemEnv(NamedTuple):
    """The result of `get_env_info`: torch's fields, and `npu`, the doctor's findings as text.

    Arguments:
        torch_version: the version
        is_debug_build: whether it is a debug build
        cuda_compiled_version: None: there is no CUDA
        os: the operating system
        libc_version: the C library
        python_version: the Python
        python_platform: the platform as Python names it
        is_cuda_available: False
        pip_version: the pip
        pip_packages: the packages that matter
        cpu_info: the processor
        npu: the NPUs and their toolkit
    """
    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str | None
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    pip_version: str
    pip_packages: str
    cpu_info: str
    npu: str


def get_pip_packages():
    """The installed packages that matter to torch programs, a line each: "numpy==2.2.0".

    Example:
        >>> lines = torch.utils.collect_env.get_pip_packages().splitlines()
        >>> any("numpy==" in line for line in lines)
        True
    """
    found = {f"{package.metadata['Name']}=={package.version}" for package in importlib.metadata.distributions()
             if any(pattern in (package.metadata["Name"] or "").lower() for pattern in PATTERNS)}
    return "\n".join(sorted(found))


def get_cpu_info():
    """The output of lscpu, or the architecture if there is no lscpu.

    Example:
        >>> print(torch.utils.collect_env.get_cpu_info().partition(":")[0])
        Architecture
    """
    try:
        done = subprocess.run(["lscpu"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return f"Architecture: {platform.machine()}"
    return done.stdout.strip()


def get_env_info():
    """A SystemEnv of this machine. Starts a child process, which opens CANN and tries the devices.

    Example:
        >>> torch.utils.collect_env.get_env_info().torch_version == torch.__version__
        True
    """
    return SystemEnv(
        torch_version=str(version.__version__), is_debug_build=str(version.debug), cuda_compiled_version=version.cuda,
        os=platform.platform(), libc_version="-".join(platform.libc_ver()),
        python_version=f"{sys.version} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=platform.platform(), is_cuda_available="False",
        pip_version=f"pip {importlib.metadata.version('pip')}" if _has("pip") else "N/A",
        pip_packages=get_pip_packages(), cpu_info=get_cpu_info(), npu=doctor.report(doctor.examine()))


def _has(name):
    return any(importlib.metadata.distributions(name=name))


def get_pretty_env_info():
    """What get_env_info finds, as text, to be pasted into a report.

    Example:
        >>> text = torch.utils.collect_env.get_pretty_env_info()
        >>> "numpy==" in text
        True
    """
    env = get_env_info()
    packages = "\n".join(f"[{env.pip_version}] {line}" for line in env.pip_packages.splitlines())
    return f"""\
PyTorch version: {env.torch_version}
Is debug build: {env.is_debug_build}
CUDA used to build PyTorch: {env.cuda_compiled_version or 'N/A'}

OS: {env.os}
Libc version: {env.libc_version}
Python version: {env.python_version}
Python platform: {env.python_platform}
Is CUDA available: {env.is_cuda_available}

CPU:
{env.cpu_info}

Versions of relevant libraries:
{packages}

NPU:
{env.npu}"""


def main():
    """Prints the report.

    Example:
        >>> import contextlib, io
        >>> with contextlib.redirect_stdout(io.StringIO()) as text:
        ...     torch.utils.collect_env.main()
        >>> "PyTorch version: 2.13" in text.getvalue()
        True
    """
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
