/* What each thread remembers about devices. Included by one module only (handles.pyx), which hands out the address. */
#ifndef MINDTORCH_THREAD_STATE_H_
#define MINDTORCH_THREAD_STATE_H_
#define MINDTORCH_MAX_DEVICES 16

typedef struct ThreadState {
  int device;                           /* torch.npu.current_device() */
  int bound;                            /* device whose context the driver has current for this thread; -1: none */
  void *streams[MINDTORCH_MAX_DEVICES]; /* current StreamSlot of each device; NULL: not asked for yet */
} ThreadState;

static inline ThreadState *mindtorch_thread_state(void) {
  static __thread ThreadState state = {0, -1, {0}};
  return &state;
}

#endif
