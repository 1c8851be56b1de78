"""Wrong calls of torch.npu's memory functions: the exception that they raise, and that nothing else comes of them."""
import ast

import pytest
from process import run

NO_DEVICE = "NPU error: invalid device ordinal {}: 2 device(s) available"
NOT_NPU = "Expected a npu device, but got: cpu"
OF_TYPE = "Argument '{}' has incorrect type (expected mindtorch._"

# Of a process with two devices, one MemPool, one tensor on each device.
WRONG = {
    "devices": {
        f"npu.{function}({first}{device!r})": (error, message)
        for device, error, message in (("cpu", "ValueError", NOT_NPU), (9, "RuntimeError", NO_DEVICE.format(9)),
                                       (-1, "RuntimeError", NO_DEVICE.format(-1)),
                                       ("npu:9", "RuntimeError", NO_DEVICE.format(9)),
                                       ("gpu", "RuntimeError", "Expected one of cpu"))
        for function, first in (
            ("memory_stats", ""), ("memory_stats_as_nested_dict", ""), ("memory_allocated", ""),
            ("max_memory_reserved", ""), ("reset_peak_memory_stats", ""), ("reset_accumulated_memory_stats", ""),
            ("memory_summary", ""), ("caching_allocator_alloc", "100, "), ("get_per_process_memory_fraction", ""),
            ("set_per_process_memory_fraction", "0.5, "), ("current_stream", ""), ("default_stream", ""),
            ("Stream", ""), ("SyncLaunchStream", ""))},
    "devices that are asked about": {
        f"npu.{function}({device!r})": (error, message)
        for device, error, message in (("cpu", "ValueError", NOT_NPU), (2, "AssertionError", "Invalid device id"),
                                       (-1, "AssertionError", "Invalid device id"))
        for function in ("mem_get_info", "utilization", "get_device_name", "get_device_properties", "get_rng_state")},
    "devices that become current": {
        "npu.set_device(2)": ("RuntimeError", NO_DEVICE.format(2)),
        "npu.set_device('cpu')": ("ValueError", NOT_NPU),
        "npu.device('cpu')": ("ValueError", NOT_NPU),
        "npu.device(2).__enter__()": ("RuntimeError", NO_DEVICE.format(2)),
        "npu.synchronize('cpu')": ("ValueError", NOT_NPU),
        "npu.synchronize(2)": ("RuntimeError", NO_DEVICE.format(2)),
        "npu.can_device_access_peer(2, 0)": ("AssertionError", "Invalid device id"),
        "npu.can_device_access_peer(0, -1)": ("AssertionError", "Invalid peer device id"),
        "npu.enable_peer_access(0)": ("RuntimeError", "peer access from npu:0 to npu:0 is not possible"),
        "npu.device_of(3)": ("AttributeError", "'int' object has no attribute 'device'"),
    },
    "memory by address": {
        "npu.caching_allocator_alloc(-1)": ("OverflowError", "can't convert negative value to size_t"),
        "npu.caching_allocator_alloc(1 << 64)": ("OverflowError", "Python int too large"),
        "npu.caching_allocator_alloc(1.5)": ("TypeError", "'float' object cannot be interpreted as an integer"),
        "npu.caching_allocator_alloc('x')": ("TypeError", "'str' object cannot be interpreted as an integer"),
        "npu.caching_allocator_alloc(None)": ("TypeError", "'NoneType' object cannot be interpreted as an integer"),
        "npu.caching_allocator_alloc(100, stream='x')": ("TypeError", "Invalid type for stream argument"),
        "npu.caching_allocator_alloc(100, stream=1.5)": ("TypeError", "Invalid type for stream argument"),
        "npu.caching_allocator_alloc(100, stream=12345)": ("ValueError", "0x3039 is no stream of npu:0"),
        "npu.caching_allocator_alloc(100, 1, stream)": ("ValueError", "0x"),
        "npu.caching_allocator_alloc(100, stream=1 << 70)": ("OverflowError", ""),
        "npu.caching_allocator_delete(12345)": ("RuntimeError", "invalid device pointer: 0x3039"),
        "npu.caching_allocator_delete(freed)": ("RuntimeError", "invalid device pointer: 0x"),
        "npu.caching_allocator_delete(kept + 512)": ("RuntimeError", "invalid device pointer: 0x"),
        "npu.caching_allocator_delete(tensor.data_ptr())": ("RuntimeError", "invalid device pointer: 0x"),
        "npu.caching_allocator_delete(pinned.data_ptr())": ("RuntimeError", "invalid device pointer: 0x"),
        "npu.caching_allocator_delete(-1)": ("RuntimeError", "invalid device pointer: -0x1"),
        "npu.caching_allocator_delete('x')": ("TypeError", ""),
        "npu.caching_allocator_delete(None)": ("TypeError", ""),
    },
    "fractions": {
        **{f"npu.set_per_process_memory_fraction({value})": ("TypeError", "Invalid type for fraction argument")
           for value in ("1", "True", "'0.5'", "None")},
        **{f"npu.set_per_process_memory_fraction(float('{value}'))": (
            "ValueError", f"Invalid fraction value: {value}. Allowed range: 0~1")
            for value in ("1.5", "-0.1", "nan", "inf", "-inf")},
    },
    "pools": {
        "npu.MemPool(3)": ("TypeError", "allocator must be NPUPluggableAllocator, not int"),
        "npu.MemPool(use_on_oom='x')": ("TypeError", "use_on_oom must be bool, not str"),
        "npu.MemPool(no_split=None)": ("TypeError", "no_split must be bool, not NoneType"),
        "npu.MemPool(other=1)": ("TypeError", "MemPool.__init__() got an unexpected keyword argument 'other'"),
        "npu.use_mem_pool(None).__enter__()": ("AttributeError", "'NoneType' object has no attribute 'id'"),
        "npu.use_mem_pool(pool.id).__enter__()": ("AttributeError", "'tuple' object has no attribute 'id'"),
        "npu.use_mem_pool(pool, 2).__enter__()": ("RuntimeError", NO_DEVICE.format(2)),
        "npu.use_mem_pool(pool, 'cpu').__enter__()": ("ValueError", NOT_NPU),
        "enter_twice(npu.use_mem_pool(pool), npu.use_mem_pool(pool))": (
            "RuntimeError", "memory is allocated to pool (0, "),
        "closed.__enter__()": ("AttributeError", "'_GeneratorContextManager' object has no attribute"),
        "npu.memory_snapshot(5)": ("TypeError", "mempool_id must be a pair of ints"),
        "npu.memory_snapshot('ab')": ("TypeError", "mempool_id must be a pair of ints"),
        "npu.memory_snapshot((1,))": ("TypeError", "mempool_id must be a pair of ints"),
        "npu.NPUPluggableAllocator('/no/such.so', 'a', 'b')": ("OSError", "/no/such.so: cannot open"),
        "npu.NPUPluggableAllocator(library, 'aclrtMalloc', 'none')": ("AttributeError", ""),
        "npu.change_current_allocator(None)": ("AttributeError", "'NoneType' object has no attribute 'allocator'"),
        "npu.change_current_allocator(npu.NPUPluggableAllocator(library, 'aclrtMalloc', 'aclrtFree'))": (
            "RuntimeError", "Can't swap an already initialized allocator"),
    },
    "history": {
        "memory._record_memory_history('on')": ("RuntimeError", "expected enabled to be"),
        "memory._record_memory_history(context='x')": ("RuntimeError", "expected context to be"),
        "memory._record_memory_history(stacks=None)": ("RuntimeError", "expected stacks to be"),
        "memory._record_memory_history(device='cpu')": ("ValueError", NOT_NPU),
        "memory._record_memory_history(max_entries=-1)": ("ValueError", "max_entries is -1"),
        "memory._record_memory_history(max_entries='x')": ("ValueError", "max_entries is 'x'"),
        "memory._dump_snapshot('/no/such/folder/file')": ("FileNotFoundError", ""),
        "memory._save_memory_usage('/no/such/folder/file')": ("FileNotFoundError", ""),
        "memory._save_segment_usage('/dev/null', 3)": ("TypeError", "'int' object is not iterable"),
        "memory._attach_out_of_memory_observer(3)": ("TypeError", "'int' object is not callable"),
    },
    "settings": {
        "memory._set_allocator_settings('unknown:1')": ("ValueError", "Unrecognized key 'unknown' in NPU allocator"),
        "memory._set_allocator_settings('expandable_segments:True,unknown:1')": ("ValueError", "Unrecognized key"),
        "memory._set_allocator_settings('garbage_collection_threshold:0.5')": ("ValueError", "torch.npu.memory._set_a"),
        "memory._set_allocator_settings('max_split_size_mb:10')": ("ValueError", "CachingAllocator option max_split"),
        "memory._set_allocator_settings('expandable_segments:true')": ("ValueError", "Expected 'True' or 'False'"),
        "memory._set_allocator_settings('per_process_memory_fraction:2')": ("RuntimeError", "per_process_memory_frac"),
        "memory._set_allocator_settings('max_split_size_mb')": ("RuntimeError", "the allocator's settings end too"),
        "memory._set_allocator_settings(None)": ("TypeError", "the allocator's settings must be str, not NoneType"),
        "npu.empty_virt_addr_cache()": ("RuntimeError", "empty_virt_addr_cache needs expandable_segments:True"),
        "npu.empty_cache(1)": ("TypeError", "empty_cache() takes 0 positional arguments"),
        "npu.host_empty_cache(1)": ("TypeError", "host_empty_cache() takes 0 positional arguments"),
    },
    "tensors": {
        "torch.empty(-1, device='npu')": ("RuntimeError", "Trying to create tensor with negative dimension -1: [-1]"),
        "torch.empty(1 << 62, device='npu')": ("RuntimeError", "Storage size calculation overflowed"),
        "torch.empty(1 << 63, device='npu')": ("ValueError", "Overflow when unpacking long long"),
        "torch.empty(3, device='npu:2')": ("RuntimeError", NO_DEVICE.format(2)),
        "torch.empty(3, device=1.5)": ("TypeError", "empty(): argument 'device' must be torch.device, not float"),
        "torch.empty(3, device='npu', pin_memory=True)": ("RuntimeError", "Only dense CPU tensors can be pinned"),
        "torch.ones_like(tensor, pin_memory=True)": ("RuntimeError", "Only dense CPU tensors can be pinned"),
        "torch.tensor([1], device='npu', pin_memory=True)": ("RuntimeError", "Only dense CPU tensors can be pinned"),
        "torch.empty(1 << 50, pin_memory=True)": ("RuntimeError", ""),
        "tensor.pin_memory()": ("RuntimeError", "cannot pin 'npuFloatType' only dense CPU tensors can be pinned"),
        "npu.pin_memory(3)": ("TypeError", OF_TYPE.format("tensor")),
        "npu.is_pinned(3)": ("TypeError", OF_TYPE.format("tensor")),
        "tensor.record_stream(1)": ("RuntimeError", "unknown parameter type"),
        "tensor.record_stream(None)": ("RuntimeError", "unknown parameter type"),
        "host.record_stream(stream)": ("NotImplementedError", "Could not run 'aten::record_stream'"),
        "npu._erase_stream(3, stream)": ("TypeError", OF_TYPE.format("tensor")),
        "npu._erase_stream(tensor, 3)": ("TypeError", OF_TYPE.format("stream")),
        "npu._erase_stream(tensor, None)": ("TypeError", OF_TYPE.format("stream")),
    },
    "streams and events": {
        "npu.Stream(priority='x')": ("TypeError", ""),
        "npu.ExternalStream(0)": ("RuntimeError", "ExternalStream needs the handle of a stream"),
        "npu.ExternalStream('x')": ("TypeError", ""),
        "npu.stream(3).__enter__()": ("AttributeError", "'int' object has no attribute 'device_index'"),
        "npu.set_stream(3)": ("TypeError", OF_TYPE.format("stream")),
        "stream.wait_stream(3)": ("TypeError", OF_TYPE.format("stream")),
        "stream.wait_event(3)": ("AttributeError", "'int' object has no attribute 'wait'"),
        "stream.record_event(3)": ("AttributeError", "'int' object has no attribute 'record'"),
        "npu.Event().record(3)": ("TypeError", "Cannot convert int to "),
        "npu.Event().wait(3)": ("TypeError", "Cannot convert int to "),
        "event.record(there)": ("RuntimeError", "Event device npu:0 does not match recording"),
        "npu._launch_host_func(stream, 3)": ("TypeError", "'int' object is not callable"),
        "npu._launch_host_func(3, print)": ("TypeError", OF_TYPE.format("stream")),
        "npu.set_sync_debug_mode('loud')": ("RuntimeError", "invalid value of debug_mode"),
        "npu.set_task_queue_enable(3)": ("RuntimeError", "mode must be 0, 1, or 2, but got 3"),
    },
}

CODE = """
import mindtorch as torch
from mindtorch import npu, sim
from mindtorch._npu import allocator, segments
memory = npu.memory
tensor, other, host = (torch.ones(1000, device=device) for device in ("npu:0", "npu:1", "cpu"))
pinned, stream, there, pool = torch.ones(5, pin_memory=True), npu.Stream(), npu.Stream(1), npu.MemPool()
event = stream.record_event()
library = f"{npu.toolkit().root}/lib64/libascendcl.so"
kept, freed = npu.caching_allocator_alloc(5000), npu.caching_allocator_alloc(100)
npu.caching_allocator_delete(freed)
freed = npu.caching_allocator_alloc(9000)           # an address whose block has become part of another
npu.caching_allocator_delete(freed)
with npu.use_mem_pool(pool) as _, (closed := npu.use_mem_pool(npu.MemPool())):
    inside = torch.ones(10, device="npu")
def enter_twice(first, second):
    with first, second:
        pass
def state():
    npu.synchronize(0), npu.synchronize(1)
    return ([npu.memory_stats(index) for index in (0, 1)], npu.host_memory_stats(), sim.live_objects(),
            [npu.get_per_process_memory_fraction(index) for index in (0, 1)], npu.memory_snapshot(), pool.use_count(),
            segments.current_settings, npu.current_stream(), npu.current_device(), len(allocator.OOM_OBSERVERS),
            allocator.get_allocator(0).get_history(), npu.get_sync_debug_mode(), npu.get_task_queue_enable())
for call in CALLS:
    before, outcome = state(), ("", "")
    try:
        eval(call)
    except Exception as error:
        outcome = type(error).__name__, str(error)
    after = state()
    print(repr((call, *outcome, [number for number, part in enumerate(before) if part != after[number]])))
"""


@pytest.fixture(scope="module")
def outcomes():
    """{call: (exception, its text, what has changed)}; all calls in one process, one after the other."""
    calls = [call for group in WRONG.values() for call in group]
    shown = run(f"CALLS = {calls!r}\n{CODE}", MINDTORCH_SIM_DEVICES="2").stdout
    return {call: outcome for call, *outcome in map(ast.literal_eval, shown.splitlines())}


@pytest.mark.parametrize("group", WRONG)
def test_wrong_calls_raise_and_change_nothing(group, outcomes):
    unlike = {}
    for call, (kind, message) in WRONG[group].items():
        raised, text, changed = outcomes[call]
        if raised != kind or not text.startswith(message) or changed:
            unlike[call] = raised, text, changed
    assert not unlike
