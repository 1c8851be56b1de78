/* How the arguments of an operator's phase 1 are handed on: one function for each C signature reads them from an array. */
#ifndef MINDTORCH_ACLNN_CALL_H_
#define MINDTORCH_ACLNN_CALL_H_
#include "aclnn/acl_meta.h"

typedef union AclnnValue {
  void *pointer;   /* descriptors, strings */
  int64_t integer; /* every integer, bool and enum */
  double real;     /* double and float */
} AclnnValue;

/* Calls `function`, the operator's ...GetWorkspaceSize. */
typedef aclnnStatus (*AclnnPhase1)(void *function, const AclnnValue *values, uint64_t *workspaceSize,
                                   aclOpExecutor **executor);

#endif
