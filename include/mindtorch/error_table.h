/* Name and meaning of every status that an ACL or ACLNN call can return. */
#ifndef MINDTORCH_ERROR_TABLE_H_
#define MINDTORCH_ERROR_TABLE_H_
#include "acl/acl_base_rt.h"
#include "aclnn/aclnn_base.h"

typedef struct StatusText {
  int status;
  const char *name;
  const char *meaning;
} StatusText;

static const StatusText mindtorch_statuses[] = {
#define X(name, meaning) {name, #name, meaning},
#include "mindtorch/error_codes.def"
#undef X
    {0, NULL, NULL}};

#endif
