/* The kernel library (libmindtorch_kernels.so) as the CPU device calls it: a kernel by the name of its ACLNN operator,
 * on memory of the host, at once. Parameters stand in the order of the operator's prototype. */
#ifndef MINDTORCH_KERNELS_H_
#define MINDTORCH_KERNELS_H_
#include <stdint.h>

typedef struct Kernel Kernel;

typedef struct KernelTensor {
  void *data;   /* of the element with index 0 */
  int32_t type; /* aclDataType */
  int32_t rank; /* 8 at most */
  const int64_t *sizes;
  const int64_t *strides; /* in elements */
} KernelTensor;

typedef struct KernelNumber {
  int32_t kind; /* 0 bool, 1 int, 2 float, 3 complex */
  int64_t integer;
  double real, imaginary;
} KernelNumber;

typedef struct KernelInts { /* an aclIntArray, or an aclBoolArray of 0 and 1 */
  const int64_t *items;
  int64_t count;
} KernelInts;

typedef union KernelValue {
  const void *pointer; /* KernelTensor, KernelNumber, KernelInts, text; NULL: left out */
  int64_t integer;     /* every integer, bool and enum */
  double real;         /* double and float */
} KernelValue;

/* The status of a call, else 0. */
#define KERNEL_BAD_VALUES 1 /* elements that the operator refuses, as an index out of bounds */
#define KERNEL_ABSENT 2     /* there is no kernel for these types, or these sizes */
#define KERNEL_REFUSED 3    /* wrong arguments */

typedef struct KernelLibrary {
  const Kernel *(*find)(const char *name); /* NULL: there is none */
  int (*run)(const Kernel *kernel, const KernelValue *values);
  const char *(*message)(void);   /* why the calling thread's last call failed */
  void (*set_threads)(int count); /* of the BLAS */
  const int32_t *types;           /* aclDataType by torch's ScalarType, for the first 16; -1: none */
} KernelLibrary;

/* The library exports mindtorch_kernels, a KernelLibrary. */

#endif
