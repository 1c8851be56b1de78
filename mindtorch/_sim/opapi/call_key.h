/* Keys of the operator cache. */
#ifndef MINDTORCH_SIM_OPAPI_CALL_KEY_H_
#define MINDTORCH_SIM_OPAPI_CALL_KEY_H_
#include <string>

#include "opapi/op.h"

namespace sim {

/* A key made of all arguments except addresses, or the key that the caller has set. Empty for calls with lists, which
 * are not cached. */
std::string cacheKeyOf(const OpRule &op, const Argument *arguments);

}  // namespace sim
#endif
