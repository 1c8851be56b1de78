/* OpenBLAS, loaded by the first matrix product, so that other programs do not pay for its threads and its memory. */
#ifndef MINDTORCH_SIM_OPAPI_BLAS_H_
#define MINDTORCH_SIM_OPAPI_BLAS_H_
#include <complex>

namespace sim {

/* cblas_sgemm with 32-bit sizes. */
using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                       int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* NULL where the library cannot be loaded; `reason` then says why. */
Sgemm loadSgemm(const char **reason);

/* How many threads it uses, now and when it is loaded later. */
void setBlasThreads(int count);

using LapackComplex = std::complex<double>;

/* LAPACK in the C interface that works in the caller's memory, and the BLAS' triangular solver. */
struct Lapack {
  int (*getrf)(int order, int m, int n, LapackComplex *a, int lda, int *pivots);
  int (*getri)(int order, int n, LapackComplex *a, int lda, const int *pivots, LapackComplex *work, int size);
  int (*potrf)(int order, char triangle, int n, LapackComplex *a, int lda);
  int (*geqrf)(int order, int m, int n, LapackComplex *a, int lda, LapackComplex *tau, LapackComplex *work, int size);
  int (*ungqr)(int order, int m, int n, int k, LapackComplex *a, int lda, const LapackComplex *tau, LapackComplex *work,
               int size);
  int (*gesdd)(int order, char job, int m, int n, LapackComplex *a, int lda, double *s, LapackComplex *u, int ldu,
               LapackComplex *vt, int ldvt, LapackComplex *work, int size, double *real_work, int *int_work);
  void (*trsm)(int order, int side, int triangle, int transpose, int diagonal, int m, int n, const void *alpha,
               const void *a, int lda, void *b, int ldb);
};

const Lapack *loadLapack(const char **reason); /* NULL as loadSgemm */

}  // namespace sim
#endif
