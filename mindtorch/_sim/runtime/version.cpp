// Versions: one CANN release for all packages that it is made of.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime.h"

using namespace sim;

namespace {

struct Version {
  int32_t major;
  int32_t minor;
  int32_t patch;
};
constexpr Version kCann{8, 5, 0};
constexpr Version kDriver{25, 5, 0};
constexpr Version kInterface{1, 16, 0};  // of the ACL interface, which CANN 8.5.0 has

// Names of packages as their folders under share/info have them, with "_" for "-".
constexpr const char *kPackages[] = {
    "cann",       "runtime",     "compiler",    "toolkit",          "opp",        "opp_kernel", "hccl",
    "hcomm",      "metadef",     "opbase",      "ops_math",         "ops_nn",     "ops_cv",     "ops_transformer",
    "ops_legacy", "ge_compiler", "ge_executor", "bisheng_compiler", "asc_devkit", "oam_tools"};

const Version *versionOf(const char *package) {
  std::string name(package);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : std::tolower(c); });
  if (name == "driver") return &kDriver;
  const auto found = std::find(std::begin(kPackages), std::end(kPackages), name);
  return found == std::end(kPackages) ? nullptr : &kCann;
}

aclError unknownPackage(const char *function, const char *package) {
  return simFail(ACL_ERROR_INVALID_FILE, "EE1001", "%s: no package \"%s\" in this CANN", function, package);
}

}  // namespace

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version) {
  SIM_ENTER(aclsysGetCANNVersion);
  SIM_REQUIRE_POINTER(version);
  if (name > ACL_PKG_NAME_DRIVER) return badValue(__func__, "name", name, "a member of aclCANNPackageName");
  const Version &found = name == ACL_PKG_NAME_DRIVER ? kDriver : kCann;
  *version = aclCANNPackageVersion{};
  std::snprintf(version->version, sizeof version->version, "%d.%d.%d", found.major, found.minor, found.patch);
  std::snprintf(version->majorVersion, sizeof version->majorVersion, "%d", found.major);
  std::snprintf(version->minorVersion, sizeof version->minorVersion, "%d", found.minor);
  std::snprintf(version->releaseVersion, sizeof version->releaseVersion, "%d", found.patch);
  return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char *pkgName, char *versionStr) {
  SIM_ENTER(aclsysGetVersionStr);
  SIM_REQUIRE_POINTER(pkgName);
  SIM_REQUIRE_POINTER(versionStr);
  const Version *found = versionOf(pkgName);
  if (found == nullptr) return unknownPackage(__func__, pkgName);
  std::snprintf(versionStr, ACL_PKG_VERSION_MAX_SIZE, "%d.%d.%d", found->major, found->minor, found->patch);
  return ACL_SUCCESS;
}

aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum) {
  SIM_ENTER(aclsysGetVersionNum);
  SIM_REQUIRE_POINTER(pkgName);
  SIM_REQUIRE_POINTER(versionNum);
  const Version *found = versionOf(pkgName);
  if (found == nullptr) return unknownPackage(__func__, pkgName);
  *versionNum = found->major * 10000000 + found->minor * 100000 + found->patch * 1000;
  return ACL_SUCCESS;
}

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion) {
  SIM_ENTER(aclrtGetVersion);
  SIM_REQUIRE_POINTER(majorVersion);
  SIM_REQUIRE_POINTER(minorVersion);
  SIM_REQUIRE_POINTER(patchVersion);
  *majorVersion = kInterface.major;
  *minorVersion = kInterface.minor;
  *patchVersion = kInterface.patch;
  return ACL_SUCCESS;
}
