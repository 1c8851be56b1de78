"""torch._subclasses.fake_tensor."""
__all__ = ["is_fake"]


def is_fake(x):
    """False: every tensor has its data, but for those on `meta`, which torch does not count as fake either."""
    return False
