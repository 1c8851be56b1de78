#include "opapi/workspaces.h"

#include <mutex>

namespace sim {
namespace {

std::mutex mutex;
WorkspaceUse *first = nullptr; /* one for each running kernel */

}  // namespace

WorkspaceUse::WorkspaceUse(const aclOpExecutor &executor)
    : start_(executor.workspace_address), end_(start_ + executor.workspace_size), name_(executor.op->name) {
  if (start_ == end_) return;
  std::lock_guard<std::mutex> guard(mutex);
  for (const WorkspaceUse *use = first; use != nullptr; use = use->next_) {
    if (use->start_ < end_ && start_ < use->end_) other_ = use->name_;
  }
  next_ = first;
  first = this;
}

WorkspaceUse::~WorkspaceUse() {
  if (start_ == end_) return;
  std::lock_guard<std::mutex> guard(mutex);
  WorkspaceUse **link = &first;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

}  // namespace sim
