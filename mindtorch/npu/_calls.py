"""Calls of CANN's runtime for the rarer functions of torch.npu."""


def bound(index):
    """acl.rt, with device `index` started and bound to the calling thread."""
    from mindtorch._npu import acl, handles
    handles.bind(index)
    return acl.rt


def check(status, function):
    """RuntimeError for a status that is no success."""
    from mindtorch._npu.errors import check_status
    check_status(status, function)
