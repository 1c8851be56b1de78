"""A spin lock for a few dozen instructions that neither wait nor call the driver, with or without the GIL.

A thread that holds the lock does not acquire another lock or the GIL, so there is no deadlock.
"""

cdef extern from * nogil:
    """
    #include <sched.h>
    #include <stdatomic.h>

    typedef _Atomic int mindtorch_spin_lock;
    typedef _Atomic int mindtorch_atomic_int;

    static inline void mindtorch_acquire(mindtorch_spin_lock *lock) {
      while (atomic_exchange_explicit(lock, 1, memory_order_acquire)) sched_yield();
    }

    static inline void mindtorch_release(mindtorch_spin_lock *lock) {
      atomic_store_explicit(lock, 0, memory_order_release);
    }
    """
    ctypedef int SpinLock "mindtorch_spin_lock"
    ctypedef int AtomicInt "mindtorch_atomic_int"
    void acquire "mindtorch_acquire"(SpinLock *lock) noexcept
    void release "mindtorch_release"(SpinLock *lock) noexcept
