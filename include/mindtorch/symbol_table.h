/* Names of the functions in CannApi, in the order of its members. */
#ifndef MINDTORCH_SYMBOL_TABLE_H_
#define MINDTORCH_SYMBOL_TABLE_H_
#include "aclnn/aclnn_base.h"
#include "mindtorch/cann_api.h"

/* A function pointer has the size of a data pointer wherever dlsym exists, so the struct is an array of them. */
#define X(function) #function,
static const char *const mindtorch_acl_names[] = {MINDTORCH_ACL_FUNCTIONS(X) NULL};
static const char *const mindtorch_nnopbase_names[] = {MINDTORCH_NNOPBASE_FUNCTIONS(X) NULL};
static const char *const mindtorch_optional_names[] = {MINDTORCH_OPTIONAL_FUNCTIONS(X) NULL};
#undef X

#endif
