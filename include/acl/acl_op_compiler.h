/* Compile options of the legacy operator path; clients ask for them at start-up.
 * mindtorch's own declarations of the CANN C API subset it calls or serves, under the vendor's header name. */
#ifndef MINDTORCH_ACL_ACL_OP_COMPILER_H_
#define MINDTORCH_ACL_ACL_OP_COMPILER_H_
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aclCompileOpt {
  ACL_PRECISION_MODE = 0,
  ACL_AICORE_NUM = 1,
  ACL_AUTO_TUNE_MODE = 2,
  ACL_OP_SELECT_IMPL_MODE = 3,
  ACL_OPTYPELIST_FOR_IMPLMODE = 4,
  ACL_OP_DEBUG_LEVEL = 5,
  ACL_DEBUG_DIR = 6,
  ACL_OP_COMPILER_CACHE_MODE = 7,
  ACL_OP_COMPILER_CACHE_DIR = 8,
  ACL_OP_PERFORMANCE_MODE = 9,
  ACL_OP_JIT_COMPILE = 10,
  ACL_OP_DETERMINISTIC = 11,
  ACL_CUSTOMIZE_DTYPES = 12,
  ACL_OP_PRECISION_MODE = 13,
  ACL_ALLOW_HF32 = 14,
  ACL_PRECISION_MODE_V2 = 15,
  ACL_OP_DEBUG_OPTION = 16,
} aclCompileOpt;

aclError aclSetCompileopt(aclCompileOpt opt, const char *value);
aclError aclGetCompileopt(aclCompileOpt opt, char *value, size_t length);
size_t aclGetCompileoptSize(aclCompileOpt opt);

#ifdef __cplusplus
}
#endif
#endif
