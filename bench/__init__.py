"""Host cost of ops, one file a rung, from the C floor up to torch on the CPU. `make bench` runs them all."""
