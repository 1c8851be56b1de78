/* What is the same for calls that are launched alike. */
#ifndef MINDTORCH_SIM_OPAPI_CALL_KEY_H_
#define MINDTORCH_SIM_OPAPI_CALL_KEY_H_
#include <string>

#include "opapi/op.h"

namespace sim {

/* All of the arguments but where their memory is, or the key that the caller has set; empty: calls with lists. */
std::string cacheKeyOf(const OpRule &op, const Argument *arguments);

}  // namespace sim
#endif
