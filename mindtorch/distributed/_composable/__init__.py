"""torch.distributed._composable: older names."""
