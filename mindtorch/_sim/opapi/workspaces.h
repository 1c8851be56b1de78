/* Workspaces of the kernels that run at this moment. */
#ifndef MINDTORCH_SIM_OPAPI_WORKSPACES_H_
#define MINDTORCH_SIM_OPAPI_WORKSPACES_H_
#include "opapi/op.h"

namespace sim {

/* Holds an executor's workspace while its kernel runs. A stream runs one kernel at a time, so whoever else holds a part
 * of the range runs on another stream, and nothing orders the two. */
class WorkspaceUse {
 public:
  explicit WorkspaceUse(const aclOpExecutor &executor);
  ~WorkspaceUse();
  WorkspaceUse(const WorkspaceUse &) = delete;
  WorkspaceUse &operator=(const WorkspaceUse &) = delete;
  /* The operator that uses a part of the range already; NULL where there is none. */
  const char *other() const { return other_; }

 private:
  const uintptr_t start_, end_;
  const char *const name_;
  const char *other_ = nullptr;
  WorkspaceUse *next_ = nullptr;
};

}  // namespace sim
#endif
