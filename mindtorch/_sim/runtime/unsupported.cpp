// What a CPU cannot do, refused by name; and dumps, which a client may switch on and off but which write nothing.
#include <fstream>

#include "runtime.h"

namespace {

std::atomic<bool> dumping{false};

aclError noDeviceBinaries(const char *function) {
  return simFail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "EE1001",
                 "%s: the simulator has no processor for device binaries; its operators are in libopapi", function);
}

}  // namespace

aclError aclrtBinaryLoadFromData(const void *, size_t, const aclrtBinaryLoadOptions *, aclrtBinHandle *) {
  SIM_ENTER(aclrtBinaryLoadFromData);
  return noDeviceBinaries(__func__);
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle, const char *, aclrtFuncHandle *) {
  SIM_ENTER(aclrtBinaryGetFunction);
  return noDeviceBinaries(__func__);
}

aclError aclrtGetFunctionAddr(aclrtFuncHandle, void **, void **) {
  SIM_ENTER(aclrtGetFunctionAddr);
  return noDeviceBinaries(__func__);
}

aclError aclmdlInitDump(void) {
  SIM_ENTER(aclmdlInitDump);
  SIM_REQUIRE_DEVICES();
  if (!dumping.exchange(true)) return ACL_SUCCESS;
  return simFail(ACL_ERROR_DUMP_ALREADY_RUN, "EE1001", "%s: called before", __func__);
}

aclError aclmdlSetDump(const char *dumpCfgPath) {
  SIM_ENTER(aclmdlSetDump);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(dumpCfgPath);
  if (!dumping) return simFail(ACL_ERROR_DUMP_NOT_RUN, "EE1001", "%s: aclmdlInitDump was not called", __func__);
  if (std::ifstream(dumpCfgPath)) return ACL_SUCCESS;
  return simFail(ACL_ERROR_INVALID_DUMP_CONFIG, "EE1001", "%s: dumpCfgPath \"%s\" cannot be read", __func__,
                 dumpCfgPath);
}

aclError aclmdlFinalizeDump(void) {
  SIM_ENTER(aclmdlFinalizeDump);
  SIM_REQUIRE_DEVICES();
  if (dumping.exchange(false)) return ACL_SUCCESS;
  return simFail(ACL_ERROR_DUMP_NOT_RUN, "EE1001", "%s: aclmdlInitDump was not called", __func__);
}
