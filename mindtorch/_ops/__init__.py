"""The op table, and what is written by hand over it. torch._ops has OpOverload: it is in _library/overloads.py."""


def __getattr__(name):
    if name in ("OpOverload", "OpOverloadPacket", "ops"):
        from mindtorch._library import overloads
        return getattr(overloads, name)
    if name == "HigherOrderOperator":
        from mindtorch._library import higher_order
        return higher_order.HigherOrderOperator
    raise AttributeError(f"module 'torch._ops' has no attribute '{name}'")
