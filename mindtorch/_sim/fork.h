// What a fork does to the locks of the simulator's libraries.
#ifndef MINDTORCH_SIM_FORK_H_
#define MINDTORCH_SIM_FORK_H_
#include <new>

namespace sim {

enum class Fork { kBefore, kInParent, kInChild };

// Held from before the fork until after it, on both sides: what the lock guards is whole in the child.
template <class Mutex>
void carryOver(Mutex &mutex, Fork stage) {
  if (stage == Fork::kBefore) return mutex.lock();
  mutex.unlock();
  if (stage == Fork::kInChild) new (&mutex) Mutex;  // it may still count threads that wait in the parent
}

}  // namespace sim
#endif
