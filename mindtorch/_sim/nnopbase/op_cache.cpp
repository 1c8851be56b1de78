/* The operator cache and the functions by which callers set their own keys. */
#include "nnopbase/op_cache.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "aclnn/op_cache.h"

namespace sim {
namespace {

constexpr uint64_t kLimit = 10000, kMostLimit = 10000000;
constexpr int kDropped = 30;

/* First letter of a key: what it was made of. Keys of phase 1's own begin with a bracket. */
constexpr char kHash = '#', kCaller = '=';

/* What the calling thread has said by the functions below. */
struct Caller {
  bool own_key = false;
  std::string key;       /* under which phase 2 keeps the call */
  std::string wanted;    /* that it looks for */
  std::string operation; /* of CanUsePTACache */
  std::vector<void *> addresses;
};

/* Every hook asks for it, so it is found by one load after the first time. */
__attribute__((tls_model("initial-exec"))) thread_local Caller *known_caller = nullptr;

SIM_COLD Caller &newCaller() {
  static thread_local Caller instance;
  known_caller = &instance;
  return instance;
}

inline Caller &caller() { return known_caller != nullptr ? *known_caller : newCaller(); }

class OpCache {
 public:
  OpCache() {
    const char *text = std::getenv("ACLNN_CACHE_LIMIT");
    char *end = nullptr;
    const uint64_t limit = text == nullptr ? kLimit : std::strtoull(text, &end, 10);
    limit_ = text != nullptr && (end == text || *end != '\0') ? kLimit : std::min(limit, kMostLimit);
  }

  bool contains(const std::string &key) {
    std::lock_guard<std::mutex> guard(mutex_);
    return find(key) != nullptr;
  }

  /* An executor like the one that was kept, or NULL. */
  aclOpExecutor *get(const std::string &key, const std::string &operation) {
    std::lock_guard<std::mutex> guard(mutex_);
    const aclOpExecutor *kept = find(key);
    return kept == nullptr || kept->name != operation ? nullptr : copyExecutor(*kept);
  }

  void add(const aclOpExecutor &executor) {
    std::lock_guard<std::mutex> guard(mutex_);
    if (calls_.count(executor.call) != 0) return;
    if (hashes_ >= limit_) return;
    const bool by_hash = executor.call[0] == kHash;
    if (!by_hash && order_.size() >= limit_) {
      for (int i = 0; i < kDropped && !order_.empty(); ++i) drop();
    }
    Kept kept{copyExecutor(executor), order_.end()};
    hashes_ += by_hash;
    if (!by_hash) kept.place = order_.insert(order_.begin(), executor.call);
    calls_.emplace(executor.call, kept);
  }

  void atFork(Fork stage) { sim::atFork(mutex_, stage); }

 private:
  struct Kept {
    aclOpExecutor *executor;
    std::list<std::string>::iterator place; /* for keys that are not hashes */
  };

  const aclOpExecutor *find(const std::string &key) {
    const auto found = calls_.find(key);
    if (found == calls_.end()) return nullptr;
    if (key[0] != kHash) order_.splice(order_.begin(), order_, found->second.place);
    return found->second.executor;
  }

  void drop() {
    const auto found = calls_.find(order_.back());
    releaseExecutor(found->second.executor);
    calls_.erase(found);
    order_.pop_back();
  }

  std::mutex mutex_;
  uint64_t limit_;
  uint64_t hashes_ = 0;
  std::list<std::string> order_; /* keys that are not hashes, the latest used first */
  std::unordered_map<std::string, Kept> calls_;
};

OpCache &cache() {
  static OpCache &instance = *new OpCache; /* never destroyed: libraries may call in during process exit */
  return instance;
}

/* Into strings of the thread: a key is longer than what a string holds without memory of its own. */
void setKey(std::string *key, char kind, const void *bytes, size_t count) {
  key->clear();
  if (bytes != nullptr && count > 0) key->append(1, kind).append(static_cast<const char *>(bytes), count);
}

void setKey(std::string *key, uint64_t hash) { setKey(key, kHash, hash == 0 ? nullptr : &hash, sizeof hash); }

aclOpExecutor *getCall(const char *function, const Caller &own, const std::string &wanted, uint64_t *workspace_size) {
  if (workspace_size == nullptr) {
    simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "%s: workspaceSize is NULL", function);
    return nullptr;
  }
  aclOpExecutor *found = opCacheEnabled() && !wanted.empty() ? cache().get(wanted, own.operation) : nullptr;
  if (found == nullptr) return nullptr;
  for (Operand &operand : found->operands) {
    if (operand.tensor == nullptr || operand.given >= own.addresses.size()) continue;
    const uintptr_t base = reinterpret_cast<uintptr_t>(own.addresses[operand.given]);
    operand.address += base - operand.base;
    operand.base = base;
  }
  found->addresses = static_cast<uint32_t>(own.addresses.size());
  found->cached = found->by_address = true;
  found->header.magic = kExecutorMagic;
  simCount(SIM_EXECUTOR, 1);
  *workspace_size = found->workspace_size;
  return found;
}

}  // namespace

int32_t simOpCache = -1;

bool readOpCacheSetting() {
  const char *setting = std::getenv("MINDTORCH_SIM_OP_CACHE");
  const bool kept = setting == nullptr || std::strcmp(setting, "0") != 0;
  __atomic_store_n(&simOpCache, kept ? 1 : 0, __ATOMIC_RELAXED);
  return kept;
}

void opCacheAtFork(Fork stage) { cache().atFork(stage); }

const std::string *callerKey() { return caller().own_key ? &caller().key : nullptr; }

bool findCall(aclOpExecutor *executor, std::string key) {
  executor->call = std::move(key);
  executor->cached = !executor->call.empty() && cache().contains(executor->call);
  return executor->cached;
}

void keepCall(const aclOpExecutor &executor) {
  const bool kept = executor.call.empty() || executor.cached || executor.repeatable || executor.found[0] != nullptr;
  if (!kept) cache().add(executor);
}

aclOpExecutor *copyExecutor(const aclOpExecutor &executor) {
  aclOpExecutor *copy = allocateExecutor();
  copy->op = executor.op;
  copy->name = executor.name;
  copy->workspace_size = executor.workspace_size;
  copy->workspace_address = executor.workspace_address;
  copy->operands = executor.operands;
  copy->tensors = executor.tensors;
  copy->flops = executor.flops;
  copy->scalar_count = executor.scalar_count;
  std::copy(std::begin(executor.scalars), std::end(executor.scalars), copy->scalars); /* operators set more of them */
  copy->scalar_list = executor.scalar_list;
  copy->integers = executor.integers;
  copy->run = executor.run;
  copy->kernel = executor.kernel;
  std::memcpy(copy->attributes, executor.attributes, sizeof copy->attributes);
  std::copy(std::begin(executor.found), std::end(executor.found), copy->found);
  return copy;
}

}  // namespace sim

using namespace sim;

extern "C" {

SIM_API bool CanUsePTACache(const char *api) {
  SIM_ENTER_VALUE(CanUsePTACache, false);
  caller().operation = api == nullptr ? "" : api;
  return opCacheEnabled();
}

SIM_API void InitPTACacheThreadLocal(void) {
  SIM_ENTER_VALUE(InitPTACacheThreadLocal, );
  caller().own_key = true;
  caller().key.clear();
  caller().addresses.clear();
}

SIM_API void UnInitPTACacheThreadLocal(void) {
  SIM_ENTER_VALUE(UnInitPTACacheThreadLocal, );
  caller().own_key = false;
}

SIM_API void AddTensorAddrToCachedList(void *addr) {
  SIM_ENTER_VALUE(AddTensorAddrToCachedList, );
  caller().addresses.push_back(addr);
}

SIM_API void SetPTAHashKey(uint64_t hash) {
  SIM_ENTER_VALUE(SetPTAHashKey, );
  setKey(&caller().key, hash);
}

SIM_API void SetPTACacheHashKey(uint8_t *key, size_t len) {
  SIM_ENTER_VALUE(SetPTACacheHashKey, );
  setKey(&caller().key, kCaller, key, len);
}

SIM_API aclOpExecutor *PTAGetExecCache(uint64_t hash, uint64_t *workspaceSize) {
  SIM_ENTER_VALUE(PTAGetExecCache, nullptr);
  Caller &own = caller();
  setKey(&own.wanted, hash);
  return getCall("PTAGetExecCache", own, own.wanted, workspaceSize);
}

SIM_API aclOpExecutor *PTAFindExecCache(uint8_t *buf, size_t len, uint64_t *workspaceSize) {
  SIM_ENTER_VALUE(PTAFindExecCache, nullptr);
  Caller &own = caller();
  const bool set = buf != nullptr && own.key.size() == len + 1 && own.key[0] == kCaller &&
                   std::memcmp(own.key.data() + 1, buf, len) == 0; /* by SetPTACacheHashKey, as callers do */
  if (!set) setKey(&own.wanted, kCaller, buf, len);
  return getCall("PTAFindExecCache", own, set ? own.key : own.wanted, workspaceSize);
}

}  // extern "C"
