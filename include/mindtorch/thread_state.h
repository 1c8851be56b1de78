/* The device and the streams of a thread. The functions for it are in threads.h. */
#ifndef MINDTORCH_THREAD_STATE_H_
#define MINDTORCH_THREAD_STATE_H_
#define MINDTORCH_MAX_DEVICES 16

typedef struct ThreadState {
  int device;                           /* torch.npu.current_device() */
  int bound;                            /* the device whose context is current for this thread in the driver, or -1 */
  void *streams[MINDTORCH_MAX_DEVICES]; /* the current StreamSlot of each device; NULL before the first use */
  void *limits;                         /* the driver's stream whose limits of cores the thread's operators have, or NULL */
} ThreadState;

#endif
