"""CUDA programs: on the CPU with a hint where there is an NPU, and on the NPU where CUDA is told to mean it."""
import pytest
from running import python

pytestmark = pytest.mark.one_mode

PROGRAM = """
import io, torch
import torch.cuda.memory
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.cuda.manual_seed_all(1)
model = nn.Linear(4, 4).cuda()
x = torch.randn(2, 4, device="cuda:0", generator=torch.Generator(device="cuda"))
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
scaler = torch.amp.GradScaler("cuda")
with torch.autocast("cuda", dtype=torch.bfloat16):
    y = model(x)
    inside = torch.is_autocast_enabled()
scaler.scale(y.float().square().mean()).backward()
scaler.step(optimizer)
scaler.update()
stream = torch.cuda.Stream()
with torch.cuda.stream(stream), torch.cuda.device(0):
    z = x + 1
torch.cuda.synchronize()
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
loaded = torch.load(file, map_location="cuda")["weight"]
graph = torch.cuda.CUDAGraph()
torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0, world_size=1)
torch.distributed.all_reduce(x)
torch.distributed.barrier()
print(torch.distributed.get_backend(), torch.Generator("cuda").device, torch.cuda.default_generators[0].device)
torch.distributed.destroy_process_group()
print(device, y.dtype, inside, scaler.is_enabled(), x.is_cuda, x.cpu().is_cuda, x.cpu().cuda(0).device, loaded.device)
print(isinstance(x, torch.cuda.FloatTensor), torch.cuda.device_count(), torch.cuda.get_device_properties(0).name)
print(torch.cuda.memory.memory_allocated() > 0, type(graph).__name__, torch.ones(2).pin_memory().is_pinned())
"""
PRINTED = """\
hccl npu:0 npu:0
npu torch.bfloat16 True True True False npu:0 npu:0
True 1 Ascend910B1 (simulated)
True NPUGraph True
"""


@pytest.mark.parametrize("way", ["option", "import"])
def test_a_cuda_program_runs_on_the_npu(way):
    arguments, start = ["--cuda-is-npu"], ""
    if way == "import":
        arguments, start = [], "import torch\nimport torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n"
    done = python("-m", "mindtorch", *arguments, "-c", start + PROGRAM)
    assert (done.stdout, done.returncode) == (PRINTED, 0), done.stderr
    assert done.stderr.count("torch.cuda means torch.npu in this process") == 1
    assert done.stderr.count("the device 'cuda' means 'npu' in this process") == 1
    assert done.stderr.count("backend 'nccl' is not part of mindtorch, 'hccl' takes its place") == 1


@pytest.mark.parametrize("line", ["x = torch.ones(2).cuda()", "x = torch.ones(2, device='cuda')",
                                  "x = torch.nn.Linear(2, 2).cuda()"])
def test_what_cuda_means_is_said_at_the_line_of_the_program(line, tmp_path):
    (tmp_path / "program.py").write_text(f"import torch\n{line}\n", encoding="utf-8")
    done = python("-m", "mindtorch", "--cuda-is-npu", "program.py", cwd=tmp_path)
    assert f"program.py:2: UserWarning: the device 'cuda' means 'npu' in this process\n  {line}\n" in done.stderr


def test_marks_for_profilers_are_those_of_the_npu():
    code = ("import torch\nfrom torch.cuda import nvtx\n"
            "print(nvtx.range_push('a'), torch.cuda.nvtx.range_push('b'), nvtx.range_pop(), nvtx.range_pop())\n"
            "nvtx.mark('c')\nnvtx.range_end(nvtx.range_start('d'))\n"
            "with nvtx.range('step {}', 1):\n    print(nvtx.range_push('e'), nvtx.range_pop())\n"
            "print(nvtx.range_pop())")
    done = python("-m", "mindtorch", "--cuda-is-npu", "-c", code)
    assert done.stdout == "0 1 1 0\n1 1\n-1\n", done.stderr


def test_a_default_type_of_cuda_is_one_of_the_npu():
    code = ("import torch\ntorch.set_default_tensor_type('torch.cuda.HalfTensor')\n"
            "print(torch.ones(1).device, torch.ones(1).dtype)\n"
            "torch.set_default_tensor_type(torch.FloatTensor)\nprint(torch.ones(1).device)\n"
            "torch.set_default_tensor_type(torch.npu.FloatTensor)\nprint(torch.ones(1).device)")
    done = python("-m", "mindtorch", "--cuda-is-npu", "-c", code)
    assert done.stdout == "npu:0 torch.float16\ncpu\nnpu:0\n", done.stderr


def test_a_type_of_cuda_moves_a_tensor_to_the_npu():
    code = ("import torch\nx = torch.ones(2, dtype=torch.float64)\n"
            "print(x.type(torch.cuda.FloatTensor).type(), x.type('torch.cuda.HalfTensor').type(),"
            " x.npu().type(torch.cuda.LongTensor).type(), x.npu().type(torch.FloatTensor).type())")
    done = python("-m", "mindtorch", "--cuda-is-npu", "-c", code)
    assert done.stdout == "torch.npu.FloatTensor torch.npu.HalfTensor torch.npu.LongTensor torch.FloatTensor\n", \
        done.stderr


def test_private_names_of_cuda_are_those_of_the_npu():
    code = ("import torch\nprint(torch.cuda._initialized, len(torch.cuda.default_generators))\n"
            "torch.cuda._lazy_init()\nprint(torch.cuda._initialized, len(torch.cuda.default_generators))\n"
            "torch.cuda._sleep(10)")
    done = python("-m", "mindtorch", "--cuda-is-npu", "-c", code)
    assert (done.returncode, done.stdout) == (0, "False 0\nTrue 1\n"), done.stderr


def test_without_an_npu_it_says_how_to_get_the_simulated_one():
    code = "import torch\nprint([torch.cuda.is_available() for _ in range(2)], torch.cuda.device_count())"
    done = python("-m", "mindtorch", "--cuda-is-npu", "-c", code, MINDTORCH_NPU="auto")
    assert done.stdout == "[False, False] 0\n"
    assert done.stderr.count("with MINDTORCH_NPU=sim it is True") == 1
    done = python("-m", "mindtorch", "--cuda-is-npu", "-c", code, MINDTORCH_NPU="off")
    assert (done.stdout, "MINDTORCH_NPU" in done.stderr) == ("[False, False] 0\n", False)


def test_a_checkpoint_of_cuda_is_restored_on_the_npu():
    code = ("import torch\n"
            "from torch.serialization import default_restore_location\n"
            "storage = torch.ones(3).untyped_storage()\n"
            "print(default_restore_location(storage, 'cuda:0').device)")
    done = python("-m", "mindtorch", "--cuda-is-npu", "-c", code)
    assert done.stdout == "npu:0\n", done.stderr


def test_spawned_children_read_cuda_as_the_npu_too(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import torch\nimport torch.multiprocessing as mp\n\n\ndef show(rank):\n"
                       "    print(torch.ones(2, device='cuda').device, flush=True)\n\n\n"
                       "if __name__ == '__main__':\n    mp.spawn(show, nprocs=1)\n")
    done = python("-m", "mindtorch", "--cuda-is-npu", str(program))
    assert done.stdout == "npu:0\n", done.stderr


ASK = "import torch\nprint([torch.cuda.is_available() for _ in range(2)], torch.ones(2).device)"


def test_without_it_a_cuda_program_runs_on_the_cpu_and_says_why():
    done = python("-m", "mindtorch", "-c", ASK)
    assert done.stdout == "[False, False] cpu\n"
    assert done.stderr.count("--cuda-is-npu") == 1
    done = python("-m", "mindtorch", "-c", ASK, MINDTORCH_NPU="off")
    assert (done.stdout, done.stderr) == ("[False, False] cpu\n", "")


WITHOUT_COUNTERPART = """
import torch
print(torch.cuda.is_available(), torch.cuda.CUDAPluggableAllocator.__name__, torch.cuda.CudaError.__base__.__name__)
for name in ("cudart", "list_gpu_processes", "temperature", "power_draw", "get_stream_from_external", "check_error"):
    try:
        getattr(torch.cuda, name)()
    except NotImplementedError as error:
        print(error)
print(torch.cuda.utilization() >= 0, torch.cuda.get_arch_list())
"""


def test_what_the_npu_lacks_does_not_say_that_cuda_is_absent():
    done = python("-m", "mindtorch", "--cuda-is-npu", "-c", WITHOUT_COUNTERPART)
    assert done.returncode == 0, done.stderr
    first, *lines, last = done.stdout.splitlines()
    assert (first, last) == ("True NPUPluggableAllocator RuntimeError", "True []")
    assert len(lines) == 6
    for line in lines:
        assert line.startswith("torch.cuda.")
        assert line.endswith(" has no counterpart on the NPU, which cuda means in this process")


MONITOR = """
import torch
for name in ("temperature", "power_draw", "clock_rate", "memory_usage", "device_memory_used", "utilization"):
    try:
        getattr(torch.cuda, name)()
    except ModuleNotFoundError as error:
        print(error)
print(torch.cuda.list_gpu_processes(), torch.cuda.caching_allocator_enable(), torch.cuda.CudaError.__mro__[1:],
      torch.cuda.DeferredCudaCallError.__mro__[1:])
"""


def test_monitors_of_a_gpu_find_what_torch_without_cuda_has():
    ours, theirs = python("-m", "mindtorch", "-c", MONITOR), python("-c", MONITOR)
    assert (ours.returncode, theirs.returncode) == (0, 0), ours.stderr + theirs.stderr
    assert ours.stdout == theirs.stdout
