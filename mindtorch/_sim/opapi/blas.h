/* The BLAS behind matrix products, loaded with the first of them: its threads and its memory cost nothing before. */
#ifndef MINDTORCH_SIM_OPAPI_BLAS_H_
#define MINDTORCH_SIM_OPAPI_BLAS_H_

namespace sim {

/* cblas_sgemm with 32-bit sizes. */
using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                       int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* NULL where the library cannot be loaded; `reason` then says why. */
Sgemm loadSgemm(const char **reason);

}  // namespace sim
#endif
