/* What phase 1 keeps of calls, by thread: MINDTORCH_SIM_OP_CACHE=1. Of CANN's cache only what callers can tell is here:
   an executor that comes from it cannot be made repeatable. */
#ifndef MINDTORCH_SIM_NNOPBASE_OP_CACHE_H_
#define MINDTORCH_SIM_NNOPBASE_OP_CACHE_H_
#include <string>

#include "nnopbase/executor.h"

namespace sim {

/* 0: no call is kept; 1: not asked yet, or they are. */
extern SIM_API int32_t simOpCache;
SIM_API bool readOpCacheSetting();
inline bool opCacheEnabled() {
  return __builtin_expect(__atomic_load_n(&simOpCache, __ATOMIC_RELAXED), 0) && readOpCacheSetting();
}

/* The key that the caller has set for the call, instead of its arguments; NULL: none. */
SIM_API const std::string *callerKey();
/* At the end of phase 1: whether an equal call is kept already, else it is from now on. An empty key is not kept. */
SIM_API void cacheCall(aclOpExecutor *executor, std::string key);
/* Another call that is equal makes an executor of its own again. */
void uncacheCall(const aclOpExecutor &executor);

}  // namespace sim
#endif
