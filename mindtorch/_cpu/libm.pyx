"""Functions of the C library that NumPy lacks, as ufuncs of float32 and float64."""
cimport numpy as cnp
from libc.math cimport erf as c_erf
from libc.math cimport erfc as c_erfc


cdef extern from "<math.h>" nogil:
    float erff(float)
    float erfcf(float)


cnp.import_array()
cnp.import_ufunc()

# What a ufunc reads as long as it lives.
cdef cnp.PyUFuncGenericFunction LOOPS[2]
cdef char TYPES[4]
cdef void *ERF[2]
cdef void *ERFC[2]
LOOPS[:] = [cnp.PyUFunc_f_f, cnp.PyUFunc_d_d]
TYPES[:] = [cnp.NPY_FLOAT, cnp.NPY_FLOAT, cnp.NPY_DOUBLE, cnp.NPY_DOUBLE]
ERF[:] = [<void *>erff, <void *>c_erf]
ERFC[:] = [<void *>erfcf, <void *>c_erfc]


cdef object of_one(const char *name, void **functions):
    return cnp.PyUFunc_FromFuncAndData(LOOPS, functions, TYPES, 2, 1, 1, cnp.PyUFunc_None, name, NULL, 0)


erf = of_one("erf", ERF)
erfc = of_one("erfc", ERFC)
