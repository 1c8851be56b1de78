"""Access of devices to each other's memory."""
from mindtorch._npu import acl, streams
from mindtorch._npu.acl import check_status

_enabled = set()          # (device, peer): device can access peer's memory


def can_access(device, peer):
    """Whether `device` can access the memory of `peer`, another device."""
    can, ret = acl.rt.device_can_access_peer(device, peer)
    check_status(ret, "aclrtDeviceCanAccessPeer")
    return bool(can)


def enable_access(device, peer):
    """Lets `device` access the memory of `peer`. Repeated calls do nothing."""
    if (device, peer) not in _enabled:
        streams.make_current(device)
        check_status(acl.rt.device_enable_peer_access(peer, 0), "aclrtDeviceEnablePeerAccess")
        _enabled.add((device, peer))


def disable_access(device, peer):
    """Undoes enable_access."""
    if (device, peer) in _enabled:
        streams.make_current(device)
        check_status(acl.rt.device_disable_peer_access(peer), "aclrtDeviceDisablePeerAccess")
        _enabled.discard((device, peer))


def connect(device, peer):
    """Enables both directions, which a copy needs. False if the devices are not linked."""
    if not can_access(device, peer) or not can_access(peer, device):
        return False
    enable_access(device, peer)
    enable_access(peer, device)
    return True
