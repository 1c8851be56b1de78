// Locks across fork().
#ifndef MINDTORCH_SIM_FORK_H_
#define MINDTORCH_SIM_FORK_H_
#include <new>

namespace sim {

enum class Fork { kPrepare, kParent, kChild };

// Holds a lock during a fork, so that the data that it guards is consistent in the child. The child gets a new lock.
template <class Mutex>
void atFork(Mutex &mutex, Fork stage) {
  if (stage == Fork::kPrepare) return mutex.lock();
  mutex.unlock();
  if (stage == Fork::kChild) new (&mutex) Mutex;  // it may still count threads that wait in the parent
}

}  // namespace sim
#endif
