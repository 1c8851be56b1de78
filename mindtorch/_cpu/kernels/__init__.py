"""Kernels of the CPU that are no single NumPy call; the column `cpu` of a row calls them by name."""
