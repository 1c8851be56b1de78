#include "opapi/blas.h"

#include <dlfcn.h>

#include <string>

namespace sim {
namespace {

/* OpenBLAS as scipy-openblas32 builds it, beside this library. */
constexpr char kLibrary[] = "libscipy_openblas.so";

/* The library stays loaded until the process ends. */
struct Loaded {
  Sgemm sgemm = nullptr;
  Lapack lapack{};
  std::string reason;

  Loaded() {
    Dl_info own;
    std::string path(kLibrary);
    if (dladdr(reinterpret_cast<void *>(&loadSgemm), &own) != 0 && own.dli_fname != nullptr) {
      const std::string library(own.dli_fname);
      path = library.substr(0, library.find_last_of('/') + 1) + kLibrary;
    }
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reason = dlerror();
      return;
    }
    find(handle, "scipy_cblas_sgemm", &sgemm);
    find(handle, "scipy_LAPACKE_zgetrf_work", &lapack.getrf);
    find(handle, "scipy_LAPACKE_zgetri_work", &lapack.getri);
    find(handle, "scipy_LAPACKE_zpotrf_work", &lapack.potrf);
    find(handle, "scipy_LAPACKE_zgeqrf_work", &lapack.geqrf);
    find(handle, "scipy_LAPACKE_zungqr_work", &lapack.ungqr);
    find(handle, "scipy_LAPACKE_zgesdd_work", &lapack.gesdd);
    find(handle, "scipy_cblas_ztrsm", &lapack.trsm);
  }

  template <class Function>
  void find(void *handle, const char *name, Function *function) {
    *function = reinterpret_cast<Function>(dlsym(handle, name));
    if (*function == nullptr) reason = dlerror();
  }
};

const Loaded &load(const char **reason) {
  static const Loaded &loaded = *new Loaded;
  *reason = loaded.reason.c_str();
  return loaded;
}

}  // namespace

Sgemm loadSgemm(const char **reason) { return load(reason).sgemm; }

const Lapack *loadLapack(const char **reason) {
  const Loaded &loaded = load(reason);
  return loaded.reason.empty() ? &loaded.lapack : nullptr;
}

}  // namespace sim
