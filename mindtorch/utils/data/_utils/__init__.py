"""Parts of DataLoader."""

MP_STATUS_CHECK_INTERVAL = 5.0      # seconds: how often a worker looks for its parent, how long it may take to end
