// Versions, device properties, data types, unsupported functions.
#include <cmath>
#include <limits>

#include "../check.h"

namespace {

void testVersions() {
  aclCANNPackageVersion version{};
  for (int name = ACL_PKG_NAME_CANN; name <= ACL_PKG_NAME_OPP_KERNEL; ++name) {
    CHECK_OK(aclsysGetCANNVersion(static_cast<aclCANNPackageName>(name), &version));
    CHECK(std::string(version.version) == "8.5.0" && std::string(version.majorVersion) == "8");
  }
  CHECK_CODE(aclsysGetCANNVersion(static_cast<aclCANNPackageName>(20), &version), ACL_ERROR_RT_PARAM_INVALID);
  char text[ACL_PKG_VERSION_MAX_SIZE] = "";
  int32_t number = 0;
  for (const char *package : {"runtime", "ops_math", "ops-nn", "ops_transformer", "ops_cv", "ops_legacy", "CANN"}) {
    char name[32] = "";
    std::strcpy(name, package);
    CHECK_OK(aclsysGetVersionStr(name, text));
    CHECK(std::string(text) == "8.5.0");
    CHECK_OK(aclsysGetVersionNum(name, &number));
    CHECK(number == 80500000);
  }
  char unknown[] = "no_such_package";
  CHECK_CODE(aclsysGetVersionStr(unknown, text), ACL_ERROR_INVALID_FILE);
  int32_t major = 0;
  int32_t minor = 0;
  int32_t patch = 0;
  CHECK_OK(aclrtGetVersion(&major, &minor, &patch));
  CHECK(major == 1 && minor == 16 && patch == 0);
}

void testDevice() {
  int64_t value = 0;
  int32_t number = -1;
  size_t count = 0;
  aclrtRunMode mode = ACL_DEVICE;
  const aclCannAttr *attributes = nullptr;
  aclrtUuid uuid{};
  aclrtUtilizationInfo use{};
  aclrtFloatOverflowMode saturation = ACL_RT_OVERFLOW_MODE_UNDEF;
  CHECK(std::string(aclrtGetSocName()) == "Ascend910B3");
  CHECK_OK(aclrtGetRunMode(&mode));
  CHECK(mode == ACL_HOST);
  CHECK_OK(aclGetCannAttributeList(&attributes, &count));
  CHECK(count == 3);
  CHECK_OK(aclGetCannAttribute(ACL_CANN_ATTR_INF_NAN, &number));
  CHECK(number == 1);
  CHECK_CODE(aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &number), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &value));
  CHECK(value == 24);
  CHECK_OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &value));
  CHECK(value == 48);
  CHECK_CODE(aclGetDeviceCapability(7, ACL_DEVICE_INFO_L2_SIZE, &value), ACL_ERROR_RT_INVALID_DEVICEID);
  CHECK_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value));
  CHECK(value == int64_t{64} << 20);
  CHECK_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_PHY_CHIP_ID, &value));
  CHECK(value == 0);
  CHECK_CODE(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_WARP_SIZE, &value), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  CHECK_OK(aclrtGetDeviceCapability(0, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV, &number));
  CHECK(number == 0);
  CHECK_OK(aclrtDeviceGetUuid(0, &uuid));
  CHECK_OK(aclrtDeviceGetBareTgid(&number));
  CHECK(number > 0);
  CHECK_OK(aclrtGetDeviceUtilizationRate(0, &use));
  CHECK_OK(aclrtGetDeviceSatMode(&saturation));
  CHECK(saturation == ACL_RT_OVERFLOW_MODE_INFNAN);
  CHECK_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
  CHECK_OK(aclrtGetDeviceSatMode(&saturation));
  CHECK(saturation == ACL_RT_OVERFLOW_MODE_SATURATION);
  CHECK_CODE(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_RT_PARAM_INVALID);
}

void testCoreLimits() {
  uint32_t value = 0;
  aclrtStream stream = nullptr;
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &value));
  CHECK(value == 48);
  CHECK_OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 20));
  CHECK_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value));
  CHECK(value == 20);
  CHECK_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 7));
  CHECK_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
  CHECK(value == 20);
  CHECK_OK(aclrtUseStreamResInCurrentThread(stream));
  CHECK_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
  CHECK(value == 7);
  CHECK_OK(aclrtResetStreamResLimit(stream));
  CHECK_OK(aclrtUnuseStreamResInCurrentThread(stream));
  CHECK_OK(aclrtResetDeviceResLimit(0));
  CHECK_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
  CHECK(value == 24);
  CHECK_CODE(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 25), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtSetDeviceResLimit(7, ACL_RT_DEV_RES_CUBE_CORE, 1), ACL_ERROR_RT_INVALID_DEVICEID);
  CHECK_CODE(aclrtGetDeviceResLimit(0, static_cast<aclrtDevResLimitType>(2), &value), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtDestroyStream(stream));
}

void testMemoryErrors() {
  aclrtMemUceInfo found[2]{};
  size_t count = 9;
  CHECK_OK(aclrtGetMemUceInfo(0, found, 2, &count));
  CHECK(count == 0);
  for (int number = 0; number < 3; ++number) simInjectMemoryError(0, found + number, 64);
  CHECK_OK(aclrtGetMemUceInfo(0, found, 2, &count));
  CHECK(count == 2 && found[1].addr == found + 1 && found[1].len == 64);
  simClearFaults();
  CHECK_OK(aclrtGetMemUceInfo(0, found, 2, &count));
  CHECK(count == 0);
}

void testData() {
  CHECK(aclDataTypeSize(ACL_FLOAT) == 4 && aclDataTypeSize(ACL_BF16) == 2 && aclDataTypeSize(ACL_BOOL) == 1);
  CHECK(aclDataTypeSize(ACL_COMPLEX128) == 16 && aclDataTypeSize(ACL_DT_UNDEFINED) == 0);
  CHECK(aclDataTypeSize(ACL_INT64) == 8 && aclDataTypeSize(ACL_STRING) == 0);
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {  // every half survives the way there and back
    const auto half = static_cast<aclFloat16>(bits);
    const float wide = aclFloat16ToFloat(half);
    if (std::isnan(wide)) {
      CHECK((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0 && std::isnan(aclFloat16ToFloat(aclFloatToFloat16(wide))));
    } else {
      CHECK(aclFloatToFloat16(wide) == half);
    }
  }
  CHECK(aclFloatToFloat16(65519.0F) == 0x7bff && aclFloatToFloat16(65520.0F) == 0x7c00);
  CHECK(aclFloatToFloat16(1.0F + 0x1p-11F) == 0x3c00 && aclFloatToFloat16(1.0F + 0x3p-11F) == 0x3c02);  // ties to even
  CHECK(aclFloatToFloat16(0x1p-25F) == 0 && aclFloatToFloat16(0x1.8p-25F) == 1 && aclFloatToFloat16(0x3p-25F) == 2);
  CHECK(aclFloatToFloat16(-std::numeric_limits<float>::infinity()) == 0xfc00);

  int local = 0;
  aclDataBuffer *buffer = aclCreateDataBuffer(&local, sizeof local);
  CHECK(simLive(SIM_DATA_BUFFER) == 1);
  CHECK(aclGetDataBufferAddr(buffer) == &local && aclGetDataBufferSizeV2(buffer) == sizeof local);
  CHECK_OK(aclDestroyDataBuffer(buffer));
  CHECK_CODE(aclDestroyDataBuffer(buffer), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclDestroyDataBuffer(nullptr), ACL_ERROR_INVALID_PARAM);
}

void testRefused() {
  aclrtBinHandle binary = nullptr;
  CHECK_CODE(aclrtBinaryLoadFromData("x", 1, nullptr, &binary), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  CHECK(contains(lastMessage(), "aclrtBinaryLoadFromData"));
  CHECK_CODE(aclmdlFinalizeDump(), ACL_ERROR_DUMP_NOT_RUN);
  CHECK_OK(aclmdlInitDump());
  CHECK_CODE(aclmdlSetDump("/nonexistent"), ACL_ERROR_INVALID_DUMP_CONFIG);
  CHECK_OK(aclmdlFinalizeDump());
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  setenv("MINDTORCH_SIM_SOC", "Ascend910B3", 1);
  start();
  testVersions();
  testDevice();
  testCoreLimits();
  testMemoryErrors();
  testData();
  testRefused();
  return finalizeAndCheckLive();
}
