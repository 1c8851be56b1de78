/* A uniform way to call phase 1 (...GetWorkspaceSize) of any operator: the arguments stand in an array, and for each C
 * signature there is one generated function that reads them from it. */
#ifndef MINDTORCH_ACLNN_CALL_H_
#define MINDTORCH_ACLNN_CALL_H_
#include "aclnn/acl_meta.h"

typedef union AclnnValue {
  void *pointer;   /* descriptors, strings */
  int64_t integer; /* every integer, bool and enum */
  double real;     /* double and float */
} AclnnValue;

/* Calls `function`, which is the operator's ...GetWorkspaceSize, with `values`. */
typedef aclnnStatus (*AclnnPhase1)(void *function, const AclnnValue *values, uint64_t *workspaceSize,
                                   aclOpExecutor **executor);

#endif
