"""torch._dispatch."""
