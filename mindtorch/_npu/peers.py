"""Which devices may reach each other's memory."""
from mindtorch._npu import acl, handles
from mindtorch._npu.errors import check_status

_opened = set()          # (device, peer): device may reach peer's memory


def can_access(device, peer):
    """Whether `device` can be let reach the memory of `peer`, another device."""
    can, ret = acl.rt.device_can_access_peer(device, peer)
    check_status(ret, "aclrtDeviceCanAccessPeer")
    return bool(can)


def open_access(device, peer):
    """Lets `device` reach the memory of `peer`; once is enough."""
    if (device, peer) not in _opened:
        handles.bind(device)
        check_status(acl.rt.device_enable_peer_access(peer, 0), "aclrtDeviceEnablePeerAccess")
        _opened.add((device, peer))


def close_access(device, peer):
    """Ends what open_access began."""
    if (device, peer) in _opened:
        handles.bind(device)
        check_status(acl.rt.device_disable_peer_access(peer), "aclrtDeviceDisablePeerAccess")
        _opened.discard((device, peer))


def connect(device, peer):
    """Opens both directions, which a copy needs; False where the devices have no link."""
    if not can_access(device, peer) or not can_access(peer, device):
        return False
    open_access(device, peer)
    open_access(peer, device)
    return True
