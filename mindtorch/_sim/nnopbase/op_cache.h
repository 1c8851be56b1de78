/* The operator cache (MINDTORCH_SIM_OP_CACHE=1), one for each thread. It models what callers of CANN's cache can
 * observe: an executor from the cache cannot be made repeatable. */
#ifndef MINDTORCH_SIM_NNOPBASE_OP_CACHE_H_
#define MINDTORCH_SIM_NNOPBASE_OP_CACHE_H_
#include <string>

#include "nnopbase/executor.h"

namespace sim {

/* 0: the cache is off; 1: it is on, or the setting was not read yet */
extern SIM_API int32_t simOpCache;
SIM_API bool readOpCacheSetting();
inline bool opCacheEnabled() {
  return __builtin_expect(__atomic_load_n(&simOpCache, __ATOMIC_RELAXED), 0) && readOpCacheSetting();
}

/* The key that the caller has set for its next call, or NULL. */
SIM_API const std::string *callerKey();
/* At the end of phase 1: marks the executor as cached if the key is in the cache, else adds the key. An empty key is
 * not cached. */
SIM_API void cacheCall(aclOpExecutor *executor, std::string key);
/* The next equal call creates a new executor. */
void uncacheCall(const aclOpExecutor &executor);

}  // namespace sim
#endif
