"""Importing this module makes CUDA mean the NPU in this process, as it does with torch_npu."""
from mindtorch.cuda._transfer import transfer_to_npu

transfer_to_npu()
