"""torch.fx.passes.utils: what passes over graphs have in common."""
