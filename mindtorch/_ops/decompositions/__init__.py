"""Decompositions: operators that ACLNN lacks, in Python over operators that it has. They run on the device.

A row names one in its column `npu`, `fallback` or `graph`. Arguments come in the dtype that the row computes in,
float16 and bfloat16 in float32; results are cast and written to the row's outputs by the generated function, which also
keeps what runs here out of the autograd graph. Reading a value (`item`) waits for the device: few do. Equations are
those of dlmf.nist.gov.
"""
