"""PYTORCH_NPU_ALLOC_CONF: the settings of the allocator as text, with the errors of torch 2.13 and torch_npu."""
import os
import re
import warnings
from dataclasses import dataclass, replace

VARIABLES = ("PYTORCH_NPU_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
CLASSES = 16            # sizes from 1 MiB on, by powers of two
DEFAULT_LARGE_SEGMENT = 20
_UINT64 = 1 << 64


@dataclass(frozen=True)
class AllocConfig:
    """The settings, each in its own unit. None means unlimited."""
    text: str = ""
    max_split_size_mb: int | None = None
    max_non_split_rounding_mb: int = 20
    large_segment_size_mb: int = DEFAULT_LARGE_SEGMENT
    garbage_collection_threshold: float = 0.0
    roundup_power2_divisions: tuple = (0,) * CLASSES
    expandable_segments: bool = False
    base_addr_aligned_kb: int = 16
    page_size: str = ""
    multi_stream_lazy_reclaim: bool = False
    release_lock_on_npumalloc: bool = False      # accepted: the lock is never held during a driver call
    throw_on_npumalloc_oom: bool = False
    per_process_memory_fraction: float | None = None
    pinned_use_background_threads: bool = False
    pinned_max_round_threshold_mb: int | None = None
    pinned_max_cached_size_mb: int | None = None
    pinned_mem_register: bool = False
    pinned_reserve_segment_size_mb: int = 0
    pin_memory_expandable_segments: bool = False


class Tokens:
    """The tokens of a setting, split at `, : [ ]`. White space is ignored."""

    def __init__(self, text):
        self.words = re.findall(r"[,:\[\]]|[^,:\[\]]+", "".join(text.split()))
        self.at = 0

    def __getitem__(self, index):
        if index >= len(self.words):
            raise RuntimeError(f"the allocator's settings end too early: {''.join(self.words)!r}")
        return self.words[index]

    def more(self):
        return self.at < len(self.words)

    def next(self):
        self.at += 1
        return self[self.at - 1]

    def expect(self, word):
        if self.next() != word:
            raise ValueError(f"Expected '{word}' at index {self.at - 1} in ConfigTokenizer but got "
                             f"'{self[self.at - 1]}'")


def _unsigned(tokens):
    word = tokens.next()
    digits = re.match(r"[+-]?\d+", word)
    if digits is None:
        raise ValueError(f"stoull: {word!r} is no number")
    value = int(digits.group())
    if abs(value) >= _UINT64:
        raise IndexError(f"stoull: {word!r} is too large")
    return value % _UINT64


def _real(tokens):
    word = tokens.next()
    digits = re.match(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", word)
    if digits is None:
        raise ValueError(f"stod: {word!r} is no number")
    return float(digits.group())


def _boolean(tokens):
    word = tokens.next()
    if word not in ("True", "False"):
        raise ValueError(f"Expected 'True' or 'False' at index {tokens.at - 1} in ConfigTokenizer but got '{word}'")
    return word == "True"


def _at_least(name, minimum, tokens):
    value = _unsigned(tokens)
    if value < minimum:
        raise ValueError(f"CachingAllocator option {name} too small, must be >= {minimum}")
    return value


def _checked(read, accepts, refusal, error=RuntimeError):
    """A reader that raises for values `accepts` rejects: RuntimeError for torch_npu's own keys, else ValueError."""
    def read_checked(config, tokens):
        value = read(tokens)
        if not accepts(value):
            raise error(refusal.format(value))
        return value
    return read_checked


def _power_of_two(value):
    return value != 0 and value & (value - 1) == 0


def _divisions(config, tokens):
    if tokens[tokens.at] != "[":
        value = _unsigned(tokens)
        if not _power_of_two(value):
            raise ValueError("For roundups, the divisions has to be power of 2")
        return (value,) * CLASSES
    divisions, filled = list(config.roundup_power2_divisions), 0
    tokens.expect("[")
    while tokens[tokens.at] != "]":
        filled = _interval(divisions, filled, tokens)
        if tokens[tokens.at] != "]":
            tokens.expect(",")
    tokens.expect("]")
    return tuple(divisions)


def _interval(divisions, filled, tokens):
    """Reads one `256:2`, or `>:2` for all larger sizes; returns how many size classes are covered so far."""
    last = tokens[tokens.at] == ">"
    limit = 0 if last else _unsigned(tokens)
    if last:
        tokens.expect(">")
    elif not _power_of_two(limit):
        raise ValueError("For roundups, the intervals have to be power of 2")
    tokens.expect(":")
    value = _unsigned(tokens)
    if value and not _power_of_two(value):
        raise ValueError("For roundups, the divisions has to be power of 2 or 0 to disable roundup")
    start, end = (filled, CLASSES) if last else (0 if filled == 0 else limit.bit_length() - 1, limit.bit_length())
    for number in range(min(start, CLASSES - 1), min(max(end, 1), CLASSES)):
        divisions[number] = value
    return max(filled, min(end, CLASSES))


def _lower_limit(name, field):
    return lambda config, tokens: _at_least(name, getattr(config, field), tokens)


def _plain(read):
    return lambda config, tokens: read(tokens)


# Key -> (field, how to read its value).
KEYS = {
    "max_split_size_mb": ("max_split_size_mb", _lower_limit("max_split_size_mb", "large_segment_size_mb")),
    "max_non_split_rounding_mb": ("max_non_split_rounding_mb",
                                  _lower_limit("max_non_split_rounding_mb", "large_segment_size_mb")),
    "garbage_collection_threshold": ("garbage_collection_threshold", _checked(
        _real, lambda value: 0 < value < 1, "garbage_collect_threshold is invalid, set it in (0.0, 1.0)",
        ValueError)),
    "per_process_memory_fraction": ("per_process_memory_fraction", _checked(
        _real, lambda value: 0 <= value <= 1, "per_process_memory_fraction is invalid, set it in [0.0, 1.0], got {}")),
    "large_segment_size_mb": ("large_segment_size_mb", _checked(
        _unsigned, lambda value: value > 10, "CachingAllocator option large_segment_size_mb must be > 10 MB",
        ValueError)),
    "segment_size_mb": ("large_segment_size_mb", _checked(
        _unsigned, lambda value: 20 <= value <= 512,
        "CachingAllocator option segment_size_mb is {}, expected 20 to 512")),
    "base_addr_aligned_kb": ("base_addr_aligned_kb", _checked(
        _unsigned, lambda value: value <= 16, "CachingAllocator option base_addr_aligned_kb is {}, expected 0 to 16")),
    "page_size": ("page_size", _checked(
        Tokens.next, lambda value: value == "1g", "CachingAllocator option page_size is {!r}, expected '1g'")),
    "roundup_power2_divisions": ("roundup_power2_divisions", _divisions),
}
KEYS |= {name: (name, _plain(_boolean)) for name in (
    "expandable_segments", "multi_stream_lazy_reclaim", "release_lock_on_npumalloc", "throw_on_npumalloc_oom",
    "pinned_use_background_threads", "pinned_mem_register", "pin_memory_expandable_segments")}
KEYS |= {name: (name, _plain(_unsigned)) for name in (
    "pinned_max_round_threshold_mb", "pinned_max_cached_size_mb", "pinned_reserve_segment_size_mb")}
# Settings that a running program can change (torch.npu.memory._set_allocator_settings).
CHANGEABLE = ("expandable_segments", "max_split_size_mb", "max_non_split_rounding_mb", "release_lock_on_npumalloc",
              "throw_on_npumalloc_oom", "per_process_memory_fraction", "pinned_max_round_threshold_mb",
              "pinned_max_cached_size_mb")


def parse(text, base=None, changeable=None):
    """An AllocConfig from "key:value,key:value"; what it does not name is as in `base`.

    As in torch, ValueError for an invalid key or value, RuntimeError for a text that ends early and for torch_npu's own
    checks. UserWarning for the one setting that has no effect.
    """
    if not isinstance(text, str):
        raise TypeError(f"the allocator's settings must be str, not {type(text).__name__}")
    config = replace(base or AllocConfig(), text=text)
    tokens = Tokens(text)
    while tokens.more():
        key = tokens.next()
        tokens.expect(":")
        if key not in KEYS:
            raise ValueError(f"Unrecognized key '{key}' in NPU allocator config")
        if changeable is not None and key not in changeable:
            raise ValueError(f"torch.npu.memory._set_allocator_settings() unsupported setting: {key}")
        field, read = KEYS[key]
        config = replace(config, **{field: read(config, tokens)})
        if tokens.more():
            tokens.expect(",")
    _check_combination(config)
    return config


def _check_combination(config):
    if config.pin_memory_expandable_segments:
        warnings.warn("pin_memory_expandable_segments:True in the allocator's settings changes nothing: pinned memory "
                      "is taken from the driver block by block", stacklevel=3)
    for key in ("max_split_size_mb", "garbage_collection_threshold"):
        if config.expandable_segments and getattr(config, key):
            raise RuntimeError(f"`{key}` cannot be enabled with `expandable_segments`")


def from_environment():
    """The AllocConfig of the process's environment; None where it says nothing."""
    given = [name for name in VARIABLES if os.environ.get(name)]
    if len(given) > 1:
        raise RuntimeError(f"{' and '.join(given)} are both set: use one of them")
    return parse(os.environ[given[0]]) if given else None
