"""Why a test fails: a few words, by which failures are counted."""
import re

# What is missing -> what the test's name, its error or the line that raised it is recognised by. The first that fits.
_MISSING = [(cause, re.compile(pattern)) for cause, pattern in (
    ("no __torch_dispatch__", r"_make_wrapper_subclass|TorchDispatchMode|_python_dispatch|object layout differs|"
                              r"Mode' object does not support the context manager|create_selective_checkpoint"),
    ("no device meta", r"device 'meta'|'Meta' device|fake_tensor|_meta_cpu|_meta_npu|meta_consistency"),
    ("no sparse tensors", r"no sparse tensors|sparse_(coo|cs[rc]|bs[rc])|to_sparse|sparse gradients"),
    ("no forward mode", r"forward_ad|dual_level|check_forward|_fwd_grad|_WeakTensorRef|ForwardMode"),
    ("no vmap that batches", r"_vmap_internals|batched_grad|vmap"),
    ("no complex32", r"complex32|chalf|ComplexHalf"),
    ("no quantized dtypes", r"quantiz|\bqu?int\d|qengine|affine_quantized"),
    ("no nested tensors", r"torch.nested|nested_tensor|'nested'"),
    ("no rare dtypes", r"MissingDtype|Float8|bits8|uint[1-7]\b"),
    ("no lazily copied or negated tensors", r"lazily|_lazy_clone|_neg_view|cow_"),
    ("uninitialised memory is not filled", r"deterministic_(empty|resize|fill)"),
    ("no alert of what is not deterministic", r"nondeterministic_alert"),
    ("no saved variables of nodes", r"_raw_saved|_saved_|saved_variables"),
    ("names of functions", r"^test_overrides\.py .* absent"),
    ("dtypes that ACLNN lacks", r"not supported on npu by CANN"),
    ("more than 8 dimensions", r"at most 8 dimensions"),
    ("an index out of bounds is not named on the NPU", r"AICORE_EXCEPTION"),
    ("no TorchScript", r"torch\.jit|TorchScript|'_fork'"),
    ("crash", r": signal "),
    ("too slow", r"Timeout|timeout: "),
)]


def cause(file, name, record):
    """The cause of a failure, from the record that worker.py wrote."""
    text = " ".join(record.get("message", "").partition("To execute this test")[0].split())
    told = f"{record.get('type', record['status'])}: {text}"
    everything = f"{file} {name} {told} {record.get('line', '')}"
    for known, pattern in _MISSING:
        if pattern.search(everything):
            return known
    found = re.search(r"module '([\w.]+)' has no attribute '(\w+)'", text)
    if found:
        return f"missing name {found[1].replace('mindtorch', 'torch')}.{found[2]}"
    found = re.search(r"'?([\w.]+)'? (?:object )?has no attribute '(\w+)'", text)
    if found:
        return f"missing attribute {found[1]}.{found[2]}"
    if text.startswith("missing name: "):
        return f"missing name {text.removeprefix('missing name: ')}"
    return re.sub(r"0x[0-9a-f]+|\d{5,}", "N", re.sub(r"/[\w./-]*/", "", told))[:110].strip()
