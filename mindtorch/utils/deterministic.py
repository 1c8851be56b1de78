"""torch.utils.deterministic."""

fill_uninitialized_memory = True        # kept for who asks: uninitialised memory is never filled
