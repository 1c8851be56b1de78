#include "opapi/blas.h"

#include <dlfcn.h>

#include <string>

namespace sim {
namespace {

/* OpenBLAS as scipy-openblas32 builds it, beside this library. */
constexpr char kLibrary[] = "libscipy_openblas.so";
constexpr char kSymbol[] = "scipy_cblas_sgemm";

struct Loaded {
  Sgemm sgemm = nullptr;
  std::string reason;

  Loaded() {
    Dl_info own;
    std::string path(kLibrary);
    if (dladdr(reinterpret_cast<void *>(&loadSgemm), &own) != 0 && own.dli_fname != nullptr) {
      const std::string library(own.dli_fname);
      path = library.substr(0, library.find_last_of('/') + 1) + kLibrary;
    }
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) sgemm = reinterpret_cast<Sgemm>(dlsym(handle, kSymbol));
    if (sgemm == nullptr) reason = dlerror();
  }
};

}  // namespace

Sgemm loadSgemm(const char **reason) {
  static const Loaded &loaded = *new Loaded;
  *reason = loaded.reason.c_str();
  return loaded.sgemm;
}

}  // namespace sim
