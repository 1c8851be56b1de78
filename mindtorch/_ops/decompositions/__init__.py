"""Decompositions: operators that ACLNN lacks, in Python over operators that it has. They run on the device.

A row names one in its column `npu`, `fallback` or `graph_capture`. Arguments have the dtype in which the row computes,
float16 and bfloat16 in float32. `run_decomposition` (aclnn_call.pyx) casts the results, writes them to the row's
outputs, and keeps the operators out of the autograd graph. Few decompositions read a value (`item`), which waits for
the device. Equations are those of dlmf.nist.gov.
"""
