"""What the module of a device that is not there consists of: answers, refusals, classes without instances."""

from collections import OrderedDict

__all__ = ["NoStreams", "answer", "class_without_instances", "common", "refusal"]

# What torch.cuda and torch.xpu both have: a value, made anew for each call, and the functions that answer with it.
_ANSWERS = (
    (bool, "is_available is_initialized is_bf16_supported is_tf32_supported _is_compiled"),
    (int, "device_count max_memory_allocated max_memory_reserved memory_allocated memory_reserved"),
    (str, "get_gencode_flags"),
    (list, "get_arch_list get_rng_state_all"),
    (OrderedDict, "memory_stats"),
    (dict, "memory_stats_as_nested_dict"),
    (lambda: None, "empty_cache manual_seed manual_seed_all seed seed_all set_rng_state set_rng_state_all"))
_REFUSED = (
    "can_device_access_peer", "current_device", "current_stream", "get_device_capability", "get_device_name",
    "get_device_properties", "get_per_process_memory_fraction", "get_rng_state", "init", "initial_seed",
    "mem_get_info", "set_device", "set_per_process_memory_fraction", "synchronize")


def _named(name, function, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def answer(name, make=lambda: None):
    """A function that takes anything and returns what `make()` does."""
    return _named(name, lambda *args, **kwargs: make(), f"{make()}: there is no such device.")


def refusal(name, error):
    """A function that takes anything and raises `error`, an exception with its words."""
    def refuse(*args, **kwargs):
        raise type(error)(*error.args)
    return _named(name, refuse, f"{type(error).__name__}: there is no such device.")


def class_without_instances(module, name, message=None):
    """A class for isinstance and annotations. RuntimeError where an instance is asked for."""
    def __new__(cls, *args, **kwargs):
        raise RuntimeError(message or f"Tried to instantiate dummy base class {cls.__name__}")
    return type(name, (), {"__new__": __new__, "__module__": module,
                           "__doc__": f"RuntimeError: {message or 'there is no such device'}."})


def common(error):
    """The functions that all such modules have, by name; those that need the device raise `error`."""
    answers = {name: answer(name, make) for make, names in _ANSWERS for name in names.split()}
    return answers | {name: refusal(name, error) for name in _REFUSED}


class NoStreams:
    """with torch.cuda.stream(stream): where no streams are, nothing is different."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return None

    def __exit__(self, *exception):
        return None
