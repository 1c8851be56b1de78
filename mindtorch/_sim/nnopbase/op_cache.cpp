/* The operator cache and the functions by which callers set their own keys. */
#include "nnopbase/op_cache.h"

#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "aclnn/op_cache.h"

namespace sim {
namespace {

struct Calls {
  std::unordered_set<std::string> kept;
  bool own_key = false;
  std::string key;
};

Calls &calls() {
  static thread_local Calls instance;
  return instance;
}

}  // namespace

int32_t simOpCache = 1;

bool readOpCacheSetting() {
  const char *setting = std::getenv("MINDTORCH_SIM_OP_CACHE");
  const bool kept = setting != nullptr && std::strcmp(setting, "1") == 0;
  __atomic_store_n(&simOpCache, kept ? 1 : 0, __ATOMIC_RELAXED);
  return kept;
}

const std::string *callerKey() { return calls().own_key ? &calls().key : nullptr; }

void cacheCall(aclOpExecutor *executor, std::string key) {
  executor->cached = !key.empty() && !calls().kept.insert(key).second;
  executor->call = std::move(key);
}

void uncacheCall(const aclOpExecutor &executor) { calls().kept.erase(executor.call); }

}  // namespace sim

using namespace sim;

extern "C" {

SIM_API void InitPTACacheThreadLocal(void) {
  SIM_ENTER_VALUE(InitPTACacheThreadLocal, );
  calls().own_key = true;
  calls().key.clear();
}

SIM_API void UnInitPTACacheThreadLocal(void) {
  SIM_ENTER_VALUE(UnInitPTACacheThreadLocal, );
  calls().own_key = false;
}

SIM_API void SetPTACacheHashKey(uint8_t *key, size_t len) {
  SIM_ENTER_VALUE(SetPTACacheHashKey, );
  calls().key.assign(reinterpret_cast<const char *>(key), key == nullptr ? 0 : len);
}

}  // extern "C"
