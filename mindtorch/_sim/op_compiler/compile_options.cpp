// libacl_op_compiler: the compile options that clients set and ask for at start-up. Nothing is compiled here; values
// are kept, and checked where the option has a list of them. The library needs libascendcl, so that a look-up through
// it finds the runtime as well.
#include "fork.h"
#include "sim.h"

#pragma GCC visibility push(default)
#include "acl/acl_op_compiler.h"
#pragma GCC visibility pop

#include <pthread.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

struct Options {
  std::mutex mutex;
  std::map<aclCompileOpt, std::string> values{
      {ACL_PRECISION_MODE, "allow_fp32_to_fp16"},
      {ACL_OP_SELECT_IMPL_MODE, "high_precision"},
      {ACL_OP_DEBUG_LEVEL, "0"},
      {ACL_OP_COMPILER_CACHE_MODE, "enable"},
      {ACL_OP_JIT_COMPILE, "disable"},  // the default of the Ascend 910B family
      {ACL_OP_DETERMINISTIC, "0"},
      {ACL_ALLOW_HF32, "10"},
  };
};

Options &options() {
  static Options &instance = *new Options;
  return instance;
}

aclError badOption(const char *function, aclCompileOpt opt) {
  return simFail(ACL_ERROR_INVALID_PARAM, "EE1001", "%s: opt %d is not a member of aclCompileOpt", function,
                 static_cast<int>(opt));
}

bool allowed(aclCompileOpt opt, const std::string &value) {
  switch (opt) {
    case ACL_OP_JIT_COMPILE:
      return value == "enable" || value == "disable";
    case ACL_OP_DETERMINISTIC:
      return value == "0" || value == "1";
    case ACL_OP_COMPILER_CACHE_MODE:
      return value == "enable" || value == "disable" || value == "force";
    default:
      return true;
  }
}

template <sim::Fork stage>
void runForkHandlers() {
  sim::atFork(options().mutex, stage);
}

[[maybe_unused]] const int registered = pthread_atfork(
    runForkHandlers<sim::Fork::kPrepare>, runForkHandlers<sim::Fork::kParent>, runForkHandlers<sim::Fork::kChild>);

}  // namespace

aclError aclSetCompileopt(aclCompileOpt opt, const char *value) {
  SIM_ENTER(aclSetCompileopt);
  if (opt > ACL_OP_DEBUG_OPTION) return badOption(__func__, opt);
  if (value == nullptr) return simFail(ACL_ERROR_INVALID_PARAM, "EE1001", "%s: value is NULL", __func__);
  if (!allowed(opt, value)) {
    return simFail(ACL_ERROR_INVALID_PARAM, "EE1001", "%s: opt %d cannot be \"%s\"", __func__, static_cast<int>(opt),
                   value);
  }
  std::lock_guard<std::mutex> lock(options().mutex);
  options().values[opt] = value;
  return ACL_SUCCESS;
}

size_t aclGetCompileoptSize(aclCompileOpt opt) {
  SIM_ENTER_VALUE(aclGetCompileoptSize, 0);
  if (opt > ACL_OP_DEBUG_OPTION) return 0;
  std::lock_guard<std::mutex> lock(options().mutex);
  return options().values[opt].size() + 1;
}

aclError aclGetCompileopt(aclCompileOpt opt, char *value, size_t length) {
  SIM_ENTER(aclGetCompileopt);
  if (opt > ACL_OP_DEBUG_OPTION) return badOption(__func__, opt);
  if (value == nullptr) return simFail(ACL_ERROR_INVALID_PARAM, "EE1001", "%s: value is NULL", __func__);
  std::lock_guard<std::mutex> lock(options().mutex);
  const std::string &text = options().values[opt];
  if (length < text.size() + 1) {
    return simFail(ACL_ERROR_INVALID_PARAM, "EE1001", "%s: length is %zu, opt %d needs %zu", __func__, length,
                   static_cast<int>(opt), text.size() + 1);
  }
  std::memcpy(value, text.c_str(), text.size() + 1);
  return ACL_SUCCESS;
}
