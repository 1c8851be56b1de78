/* CANN's runtime API, as libascendcl.so exports it: the libraries are compiled with hidden visibility. */
#ifndef MINDTORCH_SIM_RUNTIME_API_H_
#define MINDTORCH_SIM_RUNTIME_API_H_
#pragma GCC visibility push(default)
#include "acl/acl.h"
#pragma GCC visibility pop
#endif
