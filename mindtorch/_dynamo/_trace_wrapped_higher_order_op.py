"""torch._dynamo._trace_wrapped_higher_order_op: what masks made by torch.vmap are written with."""

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex:
    """with TransformGetItemToIndex(): x[i] with a number `i` that vmap hands out, which is always possible here."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None
