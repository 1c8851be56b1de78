"""Wrong calls from PyTorch's op database: they must be refused, with the type of exception that torch raises."""
import itertools
import warnings

import pytest
import torch
from opinfo import NotCarriedOver, carried_over, flattened, function_of, infos

# Ops that have wrong calls and exist here. Reflected operators are looked up on their left operand, which is Python's.
NAMES = [name for name, info in infos().items()
         if info.error_inputs_func and function_of(info) and not name.startswith("__r")]


# Indices are looked at by the device's kernel, whose fault comes late and ends the use of the device. To look at
# probabilities beforehand, the host would have to wait for them.
LOOKS_AT_VALUES = ("out of bounds", "probability tensor contains", "invalid multinomial distribution")


def refused(call):
    """The exception of a call, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as error:      # noqa: BLE001 - the exception is what is looked at
            return error
    return None


def wrong_calls(info):
    """(sample, torch's exception) for those that torch refuses on this machine."""
    for wrong in info.error_inputs("cpu"):
        sample = wrong.sample_input
        error = refused(lambda sample=sample: info.op(sample.input, *sample.args, **sample.kwargs))
        # What trips over a check inside torch itself has no type of its own.
        if error is not None and "Could this error message be improved" not in str(error):
            yield sample, error


def shares_memory(sample):
    """Whether tensors overlap, which is not carried over."""
    tensors = [t for t in flattened([sample.input, sample.args, sample.kwargs]) if isinstance(t, torch.Tensor)]
    storages = {t.untyped_storage().data_ptr() for t in tensors if t.numel()}
    return len(storages) < sum(t.numel() > 0 for t in tensors) or any(not t.is_contiguous() for t in tensors)


def differences(name, device):
    """Descriptions of the calls that mindtorch takes, or refuses with another type; and how many calls there were."""
    info, found, count = infos()[name], [], 0
    function = function_of(info)
    for number, (sample, expected) in enumerate(wrong_calls(info)):
        if shares_memory(sample) or (device == "npu" and any(words in str(expected) for words in LOOKS_AT_VALUES)):
            continue
        try:
            arguments = carried_over([sample.input, *sample.args], device)
            keywords = carried_over(sample.kwargs, device)
        except NotCarriedOver:
            continue
        count += 1
        given = refused(lambda a=arguments, k=keywords: function(*a, **k))
        no_kernel = device == "npu" and isinstance(given, NotImplementedError)
        if type(given).__name__ != type(expected).__name__ and not no_kernel:
            found.append(f"call {number}: torch raises {expected!r:.120}, here: {given!r:.120}")
    return found, count


@pytest.mark.parametrize("name", NAMES)
def test_wrong_calls(name, device):
    found, _ = differences(name, device)
    assert not found, "\n".join(found)


def test_there_are_many():
    """At least 200 wrong calls are looked at."""
    counts = itertools.accumulate(differences(name, "cpu")[1] for name in NAMES)
    assert any(count >= 200 for count in counts)
