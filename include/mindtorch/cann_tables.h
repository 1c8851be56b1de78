/* Names of CANN's functions and meanings of its statuses. Only acl.pyx includes this file. */
#ifndef MINDTORCH_CANN_TABLES_H_
#define MINDTORCH_CANN_TABLES_H_
#include "acl/acl_base_rt.h"
#include "aclnn/aclnn_base.h"
#include "mindtorch/cann_api.h"

/* The names of the functions in CannApi, in the order of its members. acl.pyx fills the struct as an array of pointers:
 * where dlsym exists, a function pointer has the size of a data pointer. */
#define X(function) #function,
static const char *const mindtorch_acl_names[] = {MINDTORCH_ACL_FUNCTIONS(X) NULL};
static const char *const mindtorch_nnopbase_names[] = {MINDTORCH_NNOPBASE_FUNCTIONS(X) NULL};
static const char *const mindtorch_optional_names[] = {MINDTORCH_OPTIONAL_FUNCTIONS(X) NULL};
#undef X

/* Every status that an ACL or ACLNN call can return. */
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
