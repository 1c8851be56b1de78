/* Everything of ACL that a program of plain runtime and ACLNN calls needs, under the vendor's header name. */
#ifndef MINDTORCH_ACL_ACL_H_
#define MINDTORCH_ACL_ACL_H_
#include "acl_rt.h"
#endif
