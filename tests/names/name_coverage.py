"""docs/names.md: which of torch's public names mindtorch has.

`python tests/names/name_coverage.py` writes the page from torch_names.txt, the names of torch 2.13, and from what
mindtorch offers; with `--torch` it asks the installed torch for its names first and writes that file.
"""
import pkgutil
import re
import sys
from importlib import import_module
from pathlib import Path
from textwrap import fill
from types import ModuleType

NAMES = Path(__file__).with_name("torch_names.txt")
PAGE = Path(__file__).parents[2] / "docs" / "names.md"

# The share of names that must be there, in per cent. These namespaces come first on the page.
REQUIRED = {
    "torch.nn": 99, "torch.nn.functional": 97, "torch.optim": 100, "torch.Tensor": 94, "torch": 0, "torch.linalg": 0,
    "torch.fft": 0, "torch.special": 100, "torch.nn.init": 0, "torch.nn.utils": 0, "torch.nn.utils.rnn": 0,
    "torch.nn.utils.parametrize": 0, "torch.nn.utils.parametrizations": 0, "torch.optim.lr_scheduler": 0,
    "torch.autograd": 0, "torch.autograd.functional": 0, "torch.amp": 0, "torch.utils.data": 0,
    "torch.serialization": 0, "torch.accelerator": 0, "torch.signal.windows": 0, "torch.masked": 0, "torch.testing": 0,
    "torch.distributions": 0, "torch.func": 0, "torch.library": 0}

# Packages and modules of torch that mindtorch has not, with all that is below them, and why. Some of their names are
# there all the same, for programs that import them: the table of mindtorch/_refusals/names.py.
ABSENT = {
    "torch.ao torch.quantization torch.nn.intrinsic torch.nn.qat torch.nn.quantizable torch.nn.quantized":
        "there are no quantized dtypes",
    "torch.cuda torch.xpu torch.mps torch.mtia torch.backends.xeon torch.profiler.itt torch.utils.mkldnn "
    "torch.sparse.semi_structured torch.utils.backend_registration":
        "they are for other devices and libraries; questions are answered with no",
    "torch.export torch.onnx torch.package": "programs are not exported; torch.save keeps the state",
    "torch.jit.annotations torch.jit.frontend torch.jit.generate_bytecode torch.jit.mobile torch.jit.quantized "
    "torch.jit.unsupported_tensor_ops torch.utils.jit torch.utils.mobile_optimizer torch.utils.bundled_inputs "
    "torch.utils.model_dump": "there is no TorchScript",
    "torch.fx.experimental torch.fx.passes torch.backends.python_native":
        "there is no compiler that would lower a graph; what programs import of them is there",
    "torch.masked.maskedtensor": "there are no masked tensors; the functions of torch.masked take the mask",
    "torch.utils.data.datapipes torch.utils.data.graph torch.utils.data.graph_settings "
    "torch.utils.data.backward_compatibility": "there are no data pipes; IterableDataset is there",
    "torch.utils.benchmark.op_fuzzers torch.utils.benchmark.utils.compile torch.utils.benchmark.utils.cpp_jit "
    "torch.utils.benchmark.utils.fuzzer torch.utils.benchmark.utils.sparse_fuzzer "
    "torch.utils.benchmark.utils.valgrind_wrapper torch.utils.throughput_benchmark": "Timer and Compare are there",
    "torch.nn.cpp torch.utils.hipify torch.utils.file_baton torch.utils.cpp_backtrace":
        "they are for PyTorch's C++ API, which is not there",
    "torch.nn.parallel.comm": "DataParallel moves tensors itself; between processes torch.distributed does",
    "torch.multiprocessing.pool torch.multiprocessing.queue":
        "those of the standard library take tensors: torch.multiprocessing.Pool and Queue",
    "torch.signal.windows.windows": "torch.signal.windows has its functions",
    "torch.monitor torch.utils.tensorboard.summary torch.utils.show_pickle torch.utils.debug_log":
        "they look inside PyTorch",
    "torch.testing": "its tools are for PyTorch's own tests; assert_close and make_tensor are there",
}
_DISTRIBUTED = "torch.distributed"      # test_refused_names.py looks at all its modules: each public name is there
# Names that are absent from a module that is there, and why.
ABSENT_NAMES = {
    "helpers that write torch's report, of which the whole is there": "torch.utils.collect_env",
    "how a tensor goes through a queue or pipe, which is another way here": "torch.multiprocessing.reductions",
    "records and formats of PyTorch's profiler": "torch.autograd.profiler torch.autograd.profiler_util torch.profiler "
                                                 "torch.profiler.profiler",
    "for the tools of other devices": "torch.backends.cuda torch.backends.cusparselt torch.backends.mkl "
                                      "torch.backends.mps torch.cpu.get_capabilities torch.utils.benchmark",
    "what torch has deprecated": "torch.autograd.function torch.autograd.gradcheck torch.autograd.variable "
                                 "torch.utils.backcompat",
    "where gradients lie in memory, and streams that wait for them": "torch.autograd.grad_mode torch.autograd.graph",
    "for a compiler's guards and traces": "torch.compiler torch.fx.graph_module torch.fx.proxy torch.fx.traceback "
                                          "torch.overrides torch.utils.checkpoint.GraphExecGroup",
    "for other implementations of attention": "torch.nn.attention",
    "for PyTorch's C++ API": "torch.utils.get_cpp_backtrace torch.utils.ThroughputBenchmark",
    "for devices that a C++ extension of PyTorch adds": "torch.utils.rename_privateuse1_backend "
                                                         "torch.utils.generate_methods_for_privateuse1_backend",
    "what is done for all these classes already": "torch.return_types.pytree_register_structseq",
    "what torch's module merely imports": "torch.utils.tensorboard",
}

_RULE = """# Names

Which of the public names of torch {version} mindtorch has. Written by `python tests/names/name_coverage.py`; a test
keeps this page current, and the names equal to those of torch.

What counts: the names in a module's `__all__`, where it has one; else the functions and classes that torch defines in
that module or below it, and its operators bound from C++; of `torch.Tensor` all attributes. Names that begin with an
underscore, modules, and what a file merely imports do not count. `torch.__all__` lists whatever `torch._C` holds: of
those, the classes of TorchScript's compiler and of the runtime are left out. A name that torch has for other kinds of
tensors or devices (`Tensor.indices`, `Tensor.cuda`) is present where, of a strided tensor in a build without them, it
says what torch says: an error of the same type. Of the other modules of torch.distributed each public name works or
refuses; a test looks at all of them.
"""

# What a missing name is about, by the first pattern found in it. A name that is absent needs one, as its reason.
_SUBJECTS = {
    "quantized tensors": "quant|qparams|fbgemm|q_per_channel|q_scale|q_zero|qscheme|int_repr|^q?u?int[0-9]+x[0-9]"
                         "|^qu?int|fused_moving_avg",
    "sparse tensors": "sparse|coalesce|ccol_ind|crow_ind|col_ind|row_ind|^(ds|hs|s|sp|hsp|ssp)?a?d?d?mm$|^h?spmm$"
                      "|^indices|^values|slice_inverse|_sparse",
    "libraries of other devices": "cudnn|miopen|mkldnn|_gpu_|_ipu_|_xla_|vulkan|^validate_"
                                  "|^(is_)?(cuda|ipu|xpu|mtia|maia|xla)$",
    "dtypes that mindtorch lacks": "^float[48]|^(u?int[1-7]|uint16|uint32|uint64|bits?[0-9x]*|complex32|chalf)$",
    "tracing, TorchScript and symbolic shapes": "^sym_|^Sym|[Ss]cript|parse_|import_ir|unify_type|merge_type|^fork$"
                                                "|^wait$|^DisableTorch",
    "what torch's module merely imports": "^(Tensor|mkdtemp)$",
    "old constructors and storages": "^(Bool|Byte|Char|Double|Float|Int|Long|Short|Typed|Untyped)(Tensor|Storage)$",
}


def belongs(owner, name, value):
    """Whether a name that a module holds is its own, not something it imported or took from torch._C in bulk."""
    home = getattr(value, "__module__", None) or ""
    if isinstance(value, ModuleType) or name.startswith("_"):
        return False
    if owner.__name__ == "torch":
        return not any(type(part).__name__ == "pybind11_type" for part in (value, type(value))) and home != "torch.jit"
    if hasattr(owner, "__all__"):
        return True
    within = home == owner.__name__ or home.startswith(f"{owner.__name__}.")
    operator = (home == "torch" or home.startswith("torch._C._")) and not isinstance(value, type)
    return callable(value) and (within or operator)


def found(library, place):
    """The module or class of `library` that torch calls `place`; None where there is none."""
    if place == "torch.Tensor":
        return import_module(library).Tensor
    try:
        return import_module(library + place.removeprefix("torch"))
    except ModuleNotFoundError:
        return None


def public(owner):
    """The public names of one of torch's modules, or of a class."""
    if isinstance(owner, type):
        return sorted(name for name in dir(owner) if not name.startswith("_"))
    return sorted({name for name in getattr(owner, "__all__", dir(owner))
                   if belongs(owner, name, getattr(owner, name, None))})


def is_absent(place):
    """Whether a module of torch is one of ABSENT, or below one. torch.testing itself is there."""
    return place not in REQUIRED and any(place == name or place.startswith(f"{name}.")
                                         for names in ABSENT for name in names.split())


def torch_modules():
    """The public modules of torch that have names, without those that are absent here."""
    import torch
    for module in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        private = any(part.startswith("_") or part in ("examples", "tests") for part in module.name.split("."))
        known = module.name in REQUIRED or is_absent(module.name) or module.name.startswith(_DISTRIBUTED)
        if not private and not known:
            yield module.name


def torch_names():
    """Text of torch_names.txt, from the torch that is installed."""
    import torch
    parts = [torch.__version__.split("+")[0]]
    names = {place: public(found("torch", place)) for place in (*REQUIRED, *sorted(torch_modules()))}
    parts += [f"[{place}]\n" + _wrapped(found_there) for place, found_there in names.items() if found_there]
    return "\n".join(parts) + "\n"


def _wrapped(names):
    return fill(" ".join(names), 116, break_long_words=False, break_on_hyphens=False)


def read_names():
    """Torch's version, and its public names: place -> names."""
    version, *parts = NAMES.read_text(encoding="utf-8").split("[")
    return version.strip(), {place: text.split() for place, text in (part.split("]") for part in parts)}


def missing(place, names):
    """The names that are not there, or there to say why they refuse."""
    owner = found("mindtorch", place)
    return [name for name in names if not hasattr(owner, name) or refuses(place, name)]


def refuses(place, name):
    return hasattr(getattr(found("mindtorch", place), name, None), "refuses")


def subject(place, name):
    """What a missing name is about; "" if nothing says why it is missing."""
    by_name = next((subject for subject, pattern in _SUBJECTS.items() if re.search(pattern, name)), "")
    by_place = next((reason for reason, places in ABSENT_NAMES.items()
                     if place in places.split() or f"{place}.{name}" in places.split()), "")
    return by_place or by_name


def share(place, names):
    """Names present, in per cent."""
    return 100 * (1 - len(missing(place, names)) / len(names))


def page():
    """Text of docs/names.md."""
    version, places = read_names()
    lines = [_RULE.format(version=version), "| namespace | names | present | |", "|---|---|---|---|"]
    for place, names in places.items():
        present = len(names) - len(missing(place, names))
        if place in REQUIRED:
            lines.append(f"| `{place}` | {len(names)} | {present} | {share(place, names):.1f} % |")
    others = {place: names for place, names in places.items() if place not in REQUIRED}
    count, lacking = sum(map(len, others.values())), sum(len(missing(*each)) for each in others.items())
    lines.append(f"| {len(others)} modules more | {count} | {count - lacking} | {100 * (1 - lacking / count):.1f} % |")
    for title, chosen in (("There, and refusing when they are called", True), ("Missing", False)):
        lines += ["", f"## {title}"]
        for place, names in places.items():
            shown = [name for name in missing(place, names) if refuses(place, name) is chosen]
            if shown:
                lines += ["", f"**{place}**", "", *_by_subject(place, shown)]
    lines += ["", "## Packages and modules that are absent, with all below them", ""]
    for names, reason in ABSENT.items():
        listed = ", ".join(f"`{name}`" for name in names.split())
        lines.append(fill(f"- {listed}: {reason}.", 118, subsequent_indent="  ", break_on_hyphens=False,
                          break_long_words=False))
    return "\n".join(lines) + "\n"


def _by_subject(place, names):
    groups = {}
    for name in names:
        groups.setdefault(subject(place, name), []).append(f"`{name}`")
    for about in dict.fromkeys(("", *_SUBJECTS, *ABSENT_NAMES)):
        if about in groups:
            head = f"{about}: " if about else ""
            yield fill(f"- {head}{', '.join(groups[about])}", 118, subsequent_indent="  ", break_on_hyphens=False)


def main(arguments):
    if arguments == ["--torch"]:
        NAMES.write_text(torch_names(), encoding="utf-8")
    elif arguments:
        raise SystemExit("usage: python tests/names/name_coverage.py [--torch]")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
