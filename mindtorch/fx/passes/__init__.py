"""torch.fx.passes: passes over graphs."""
