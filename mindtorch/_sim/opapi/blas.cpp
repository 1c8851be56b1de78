#include "opapi/blas.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace sim {
namespace {

/* OpenBLAS as the Python package scipy-openblas32 brings it. The file that the variable names, or else the library of
 * this name: the run path of this library leads to the package beside mindtorch's own, or to a link to it. */
constexpr char kVariable[] = "MINDTORCH_SIM_BLAS";
constexpr char kLibrary[] = "libscipy_openblas.so";

/* Read-locked during calls of the library. OpenBLAS ends its threads before a fork, and a fork during a call breaks
 * parent and child. So a fork waits for running calls, and new calls wait for the fork. */
pthread_rwlock_t calls = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

void beforeFork() { pthread_rwlock_wrlock(&calls); }
void inParent() { pthread_rwlock_unlock(&calls); }
void inChild() { calls = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP; }

/* The functions of the library. */
struct Library : Lapack {
  Sgemm sgemm;
  void (*set_threads)(int);
} library;

std::atomic<int> threads{0}; /* 0: as the library decides */

struct Call {
  Call() { pthread_rwlock_rdlock(&calls); }
  ~Call() { pthread_rwlock_unlock(&calls); }
};

/* A function of the library that holds the read lock during the call. */
template <auto kFunction>
struct Guarded;
template <class Owner, class Result, class... Arguments, Result (*Owner::*kFunction)(Arguments...)>
struct Guarded<kFunction> {
  static Result call(Arguments... arguments) {
    const Call underway;
    return (library.*kFunction)(arguments...);
  }
};

/* The library stays loaded until the process ends. */
struct Loaded {
  std::string reason;

  Loaded() {
    const char *named = std::getenv(kVariable);
    void *handle = dlopen(named != nullptr ? named : kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reason =
          std::string(dlerror()) + ": install the Python package scipy-openblas32, or name the file in " + kVariable;
      return;
    }
    /* registered after OpenBLAS's handlers, so that it runs before them */
    pthread_atfork(beforeFork, inParent, inChild);
    find(handle, "scipy_cblas_sgemm", &library.sgemm);
    find(handle, "scipy_openblas_set_num_threads", &library.set_threads);
    find(handle, "scipy_LAPACKE_zgetrf_work", &library.getrf);
    find(handle, "scipy_LAPACKE_zgetri_work", &library.getri);
    find(handle, "scipy_LAPACKE_zpotrf_work", &library.potrf);
    find(handle, "scipy_LAPACKE_zgeqrf_work", &library.geqrf);
    find(handle, "scipy_LAPACKE_zungqr_work", &library.ungqr);
    find(handle, "scipy_LAPACKE_zgesdd_work", &library.gesdd);
    find(handle, "scipy_cblas_ztrsm", &library.trsm);
  }

  template <class Function>
  void find(void *handle, const char *name, Function *function) {
    *function = reinterpret_cast<Function>(dlsym(handle, name));
    if (*function == nullptr) reason = dlerror();
  }
};

bool setLibraryThreads() {
  if (threads > 0 && library.set_threads != nullptr) Guarded<&Library::set_threads>::call(threads);
  return true;
}

const Loaded &load(const char **reason) {
  static const Loaded &loaded = *new Loaded;
  static const bool limited = setLibraryThreads();
  (void)limited;
  *reason = loaded.reason.c_str();
  return loaded;
}

}  // namespace

void setBlasThreads(int count) {
  threads = count;
  setLibraryThreads();
}

Sgemm loadSgemm(const char **reason) {
  load(reason);
  return library.sgemm == nullptr ? nullptr : Guarded<&Library::sgemm>::call;
}

const Lapack *loadLapack(const char **reason) {
  static const Lapack guarded = {Guarded<&Lapack::getrf>::call, Guarded<&Lapack::getri>::call,
                                 Guarded<&Lapack::potrf>::call, Guarded<&Lapack::geqrf>::call,
                                 Guarded<&Lapack::ungqr>::call, Guarded<&Lapack::gesdd>::call,
                                 Guarded<&Lapack::trsm>::call};
  return load(reason).reason.empty() ? &guarded : nullptr;
}

}  // namespace sim
