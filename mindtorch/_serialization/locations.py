"""Locations of storages in files: tags such as "npu:0", and the functions that write and restore them."""
import mindtorch

_packages = []          # (priority, tagger, deserializer), the lowest priority first


def register_package(priority, tagger, deserializer):
    """Registers `tagger(storage)` -> tag for torch.save, and `deserializer(storage, tag)` -> storage for torch.load.

    They are called in the order of their priority (CPU 10, NPU 20, meta 22) until one does not return None. A storage
    is passed as a tensor of bytes.

    Arguments:
        priority: a number: the lowest is asked first
        tagger: a function of a storage that gives its location, or None
        deserializer: a function of storage and location that gives the moved storage, or None

    Example:
        >>> torch.serialization.register_package(50, lambda storage: None, lambda storage, location: None)
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage):
    """The tag of a storage's or tensor's device.

    Arguments:
        storage: the storage

    Example:
        >>> torch.serialization.location_tag(torch.ones(2, device="npu").untyped_storage())
        'npu:0'
    """
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError(f"don't know how to determine data location of {mindtorch.typename(storage)}")


def default_restore_location(storage, location):
    """Moves the bytes of a storage, a CPU tensor, to `location`. RuntimeError for an unknown tag.

    Arguments:
        storage: the storage
        location: the location, such as "npu:0"

    Example:
        >>> storage = torch.ones(2).untyped_storage()
        >>> torch.serialization.default_restore_location(storage, "npu:0").device
        device(type='npu', index=0)
    """
    for _, _, deserializer in _packages:
        restored = deserializer(storage, location)
        if restored is not None:
            return restored
    kind = location.partition(":")[0]
    if kind in ("cuda", "xpu"):
        raise RuntimeError(f"Attempting to deserialize object on a {kind.upper()} device but "
                           f"torch.{kind}.is_available() is False. If you are running on a CPU-only machine, please "
                           "use torch.load with map_location=torch.device('cpu') to map your storages to the CPU.")
    raise RuntimeError(f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
                       f"{location}). Please use torch.load with map_location, such as torch.device('cpu'), to map "
                       "your storages to a device of this machine.")


def restorer(map_location):
    """The function (bytes on the CPU, location in the file) -> bytes on the device of `map_location`."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, mindtorch.device)):
        return lambda storage, location: default_restore_location(storage, str(map_location))
    if not callable(map_location):
        raise TypeError(f"map_location is a device, a string, a dict or a function, not {type(map_location)}")

    def restore(storage, location):
        moved = map_location(storage, location)
        return default_restore_location(storage, location) if moved is None else moved
    return restore


def _to_npu(storage, location):
    kind, _, index = location.partition(":")
    if kind not in ("npu", "cuda") or not (index.isdecimal() or not index) or mindtorch.device(kind).type != "npu":
        return None
    from mindtorch.npu.device import _existing_devices
    count = _existing_devices()
    if int(index or 0) >= count:
        raise RuntimeError(f"Attempting to deserialize object on NPU device {index or 0} but "
                           f"torch.npu.device_count() is {count}. Please use torch.load with map_location to map "
                           "your storages to an existing device.")
    return storage.to(device=location)


def _tag_of(kind):
    return lambda storage: str(storage.device) if storage.device.type == kind else None


register_package(10, _tag_of("cpu"), lambda storage, location: storage if location.partition(":")[0] == "cpu" else None)
register_package(20, _tag_of("npu"), _to_npu)
register_package(22, _tag_of("meta"),
                 lambda storage, location: storage.to(device="meta") if location == "meta" else None)
