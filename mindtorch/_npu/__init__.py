"""The NPU backend: Cython over the CANN C API. Only mindtorch._backend and mindtorch.npu lead here."""
