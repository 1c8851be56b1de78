/* The workspaces of the running kernels. */
#ifndef MINDTORCH_SIM_OPAPI_WORKSPACES_H_
#define MINDTORCH_SIM_OPAPI_WORKSPACES_H_
#include "opapi/op.h"

namespace sim {

/* Registers an executor's workspace while its kernel runs. A stream runs one kernel at a time, so an overlapping
 * workspace belongs to another stream, and the two kernels are not ordered. */
class WorkspaceUse {
 public:
  explicit WorkspaceUse(const aclOpExecutor &executor);
  ~WorkspaceUse();
  WorkspaceUse(const WorkspaceUse &) = delete;
  WorkspaceUse &operator=(const WorkspaceUse &) = delete;
  /* The operator whose workspace overlaps, or NULL. */
  const char *other() const { return other_; }

 private:
  const uintptr_t start_, end_;
  const char *const name_;
  const char *other_ = nullptr;
  WorkspaceUse *next_ = nullptr;
};

}  // namespace sim
#endif
