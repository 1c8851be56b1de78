// What a fork does to the locks of the simulator's libraries.
#ifndef MINDTORCH_SIM_FORK_H_
#define MINDTORCH_SIM_FORK_H_
#include <new>

namespace sim {

enum class Fork { kPrepare, kParent, kChild };

// Held from before the fork until after it, on both sides: what the lock guards is whole in the child.
template <class Mutex>
void atFork(Mutex &mutex, Fork stage) {
  if (stage == Fork::kPrepare) return mutex.lock();
  mutex.unlock();
  if (stage == Fork::kChild) new (&mutex) Mutex;  // it may still count threads that wait in the parent
}

}  // namespace sim
#endif
