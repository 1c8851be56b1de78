// libhccl: the one setting of the collective library that single-device clients make at start-up.
#include <cstdint>

#include "sim.h"

extern "C" {

typedef enum HcclResult { HCCL_SUCCESS = 0, HCCL_E_PARA = 1, HCCL_E_PTR = 2 } HcclResult;
typedef enum HcclConfig { HCCL_DETERMINISTIC = 0, HCCL_ACCELERATOR = 1, HCCL_CONFIG_RESERVED = 2 } HcclConfig;
typedef union HcclConfigValue {
  int32_t value;
} HcclConfigValue;

SIM_API HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue);
SIM_API HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue);

}  // extern "C"

namespace {
int32_t settings[HCCL_CONFIG_RESERVED] = {};
}

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  SIM_ENTER_VALUE(HcclSetConfig, HCCL_E_PARA);
  if (config >= HCCL_CONFIG_RESERVED) {
    simFail(ACL_ERROR_INVALID_PARAM, "EI0003", "HcclSetConfig: config %d is not a member of HcclConfig",
            static_cast<int>(config));
    return HCCL_E_PARA;
  }
  __atomic_store_n(&settings[config], configValue.value, __ATOMIC_RELAXED);
  return HCCL_SUCCESS;
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue) {
  SIM_ENTER_VALUE(HcclGetConfig, HCCL_E_PARA);
  if (configValue == nullptr) return HCCL_E_PTR;
  if (config >= HCCL_CONFIG_RESERVED) return HCCL_E_PARA;
  configValue->value = __atomic_load_n(&settings[config], __ATOMIC_RELAXED);
  return HCCL_SUCCESS;
}
