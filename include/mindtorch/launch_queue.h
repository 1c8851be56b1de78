/* A queue of launches for each device, and the thread that makes them (TASK_QUEUE_ENABLE).
 *
 * Threads add launches one at a time, as they hold the GIL; the queue's thread makes them in order. It yields for some
 * microseconds before it sleeps, and an empty queue costs nothing. A thread that waits for a queue makes launches
 * itself while the queue's thread makes none: waking that one takes longer than most launches.
 *
 * What depends on the order of a stream's work waits until the queues are empty: `api` has the functions below in place
 * of CANN's own. They are called without the GIL, which a host function in a full stream may need. A launch that fails
 * is kept; the next function that waits for the device returns MINDTORCH_FAILED_LAUNCH.
 *
 * The variables are static, so only one module (acl.pyx) may include this file. */
#ifndef MINDTORCH_LAUNCH_QUEUE_H_
#define MINDTORCH_LAUNCH_QUEUE_H_
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mindtorch/cann_api.h"
#include "mindtorch/kept_executors.h"
#include "mindtorch/queued_launch.h"
#include "mindtorch/thread_state.h"

typedef struct RefusedHandle { /* CANN has failed to destroy it */
  void *handle;
  int kind;
  struct RefusedHandle *next;
} RefusedHandle;

struct LaunchQueue {
  int device;
  aclrtContext context;
  QueuedFunctions functions;
  pthread_t thread;
  pthread_mutex_t making; /* held by who makes a launch */
  pthread_mutex_t lock;
  pthread_cond_t work, progress;
  atomic_int stopping;
  atomic_ullong dropped;            /* launches before this number are not made: the device's work was aborted */
  _Alignas(64) atomic_ullong added; /* launches since the start */
  atomic_int asleep;
  _Alignas(64) atomic_ullong done;
  atomic_ullong wanted; /* sleeping threads wait until so many are done; ULLONG_MAX: there are none */
  _Alignas(64) QueuedLaunch launches[MINDTORCH_QUEUE_LENGTH];
};

static LaunchQueue *_Atomic mindtorch_queues[MINDTORCH_MAX_DEVICES];
static atomic_int mindtorch_has_queues;

static pthread_mutex_t mindtorch_failure_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the following */
static struct {
  atomic_int there;
  int status;
  char message[4096];
  QueuedLaunch launch;
} mindtorch_failure;
static atomic_ullong mindtorch_missed; /* look-ups of queues that have found nothing */
static RefusedHandle *_Atomic mindtorch_refused;

/* --- launches --- */

/* Copies the key to the launch, the first tensors of one for which that has no room. */
static void mindtorch_shorten_key(QueuedLaunch *launch, const uint64_t *text, int words, void *const *storages,
                                  const unsigned short *offsets, int tensors) {
  launch->words = words < MINDTORCH_QUEUE_WORDS ? words : MINDTORCH_QUEUE_WORDS;
  launch->tensors = tensors < MINDTORCH_QUEUE_TENSORS ? tensors : MINDTORCH_QUEUE_TENSORS;
  while (launch->tensors != 0) {
    const int offset = offsets[launch->tensors - 1];
    if (offset < launch->words && offset + (int)(text[offset] >> 8 & 255) < launch->words) break;
    --launch->tensors;
  }
  launch->text = launch->own_text;
  launch->storages = launch->own_storages;
  launch->offsets = launch->own_offsets;
  launch->long_key = NULL;
  memcpy(launch->text, text, (size_t)launch->words * sizeof *text);
  memcpy(launch->storages, storages, (size_t)launch->tensors * sizeof *storages);
  memcpy(launch->offsets, offsets, (size_t)launch->tensors * sizeof *offsets);
}

/* Copies the whole key to a block, NULL if the host has no memory left. */
static void *mindtorch_copy_key(const uint64_t *text, int words, void *const *storages, const unsigned short *offsets,
                                int tensors) {
  const size_t bytes = (size_t)words * sizeof *text, room = (size_t)tensors * sizeof *storages;
  char *block = (char *)malloc(bytes + room + (size_t)tensors * sizeof *offsets);
  if (block == NULL) return NULL;
  memcpy(block, text, bytes);
  memcpy(block + bytes, storages, room);
  memcpy(block + bytes + room, offsets, (size_t)tensors * sizeof *offsets);
  return block;
}

static void mindtorch_set_long_key(QueuedLaunch *launch, void *block, int words, int tensors) {
  launch->words = words;
  launch->tensors = tensors;
  launch->text = (uint64_t *)block;
  launch->storages = (void **)(launch->text + words);
  launch->offsets = (unsigned short *)(launch->storages + tensors);
  launch->long_key = block;
}

static void mindtorch_keep_failure(const QueuedLaunch *launch, int status) {
  const char *message = mindtorch_own_api.aclGetRecentErrMsg();
  pthread_mutex_lock(&mindtorch_failure_lock);
  if (!mindtorch_failure.there) {
    mindtorch_failure.status = status;
    mindtorch_failure.launch = *launch;
    mindtorch_shorten_key(&mindtorch_failure.launch, launch->text, launch->words, launch->storages, launch->offsets,
                          launch->tensors);
    mindtorch_failure.message[0] = '\0';
    if (message != NULL) strncat(mindtorch_failure.message, message, sizeof mindtorch_failure.message - 1);
    mindtorch_failure.there = 1;
  }
  pthread_mutex_unlock(&mindtorch_failure_lock);
}

static inline void mindtorch_refuse(void *handle, int kind) {
  RefusedHandle *entry = (RefusedHandle *)malloc(sizeof *entry);
  mindtorch_own_api.aclGetRecentErrMsg(); /* clears the message, which would show up in that of a failed launch */
  if (entry == NULL) return;              /* the host has no memory left: the object leaks */
  entry->handle = handle;
  entry->kind = kind;
  pthread_mutex_lock(&mindtorch_failure_lock);
  entry->next = mindtorch_refused;
  mindtorch_refused = entry;
  pthread_mutex_unlock(&mindtorch_failure_lock);
}

/* Finds the executor, or makes it. */
static int mindtorch_look_up_kept(const LaunchQueue *queue, QueuedLaunch *launch) {
  launch->kept_executor = mindtorch_find_kept(launch->text, launch->words, 0);
  if (launch->kept_executor == NULL) {
    mindtorch_missed++;
    return queue->functions.phase1(launch);
  }
  launch->workspace_size = mindtorch_workspace_of_kept(launch->kept_executor);
  return 0;
}

/* The same with CANN's cache. */
static int mindtorch_look_up(const LaunchQueue *queue, QueuedLaunch *launch) {
  const size_t length = (size_t)launch->words * sizeof launch->text[0];
  uint8_t *key = (uint8_t *)launch->text;
  const CannApi *own = &mindtorch_own_api;
  int status = 0;
  own->CanUsePTACache(launch->name);
  own->InitPTACacheThreadLocal();
  for (int i = 0; i < launch->tensors; ++i) own->AddTensorAddrToCachedList(launch->storages[i]);
  own->SetPTACacheHashKey(key, length);
  launch->executor = own->PTAFindExecCache(key, length, &launch->workspace_size);
  if (launch->executor == NULL) {
    mindtorch_missed++;
    status = queue->functions.phase1(launch);
  }
  own->UnInitPTACacheThreadLocal();
  return status;
}

static int mindtorch_get_executor(const LaunchQueue *queue, QueuedLaunch *launch) {
  const uint64_t room = launch->workspace_size;
  const int status = !launch->may_be_kept ? queue->functions.phase1(launch)
                     : mindtorch_keeps()  ? mindtorch_look_up_kept(queue, launch)
                                          : mindtorch_look_up(queue, launch);
  launch->in_phase1 = status != 0;
  if (status == 0 && launch->workspace_size > room) return ACL_ERROR_FAILURE; /* an equal call needed less */
  return status;
}

static void mindtorch_destroy(const LaunchQueue *queue, void *handle, int kind) {
  if (queue->functions.destroy(handle, kind) != 0) mindtorch_refuse(handle, kind);
}

static void mindtorch_make_launch(const LaunchQueue *queue, QueuedLaunch *launch, unsigned long long number) {
  int status = 0;
  launch->in_phase1 = 0;
  if (number < queue->dropped) {
    status = ACL_ERROR_RT_DEVICE_TASK_ABORT;
  } else if (launch->executor == NULL && launch->kept_executor == NULL) {
    status = mindtorch_get_executor(queue, launch);
  }
  if (status == 0 && launch->kept_executor != NULL) {
    status = mindtorch_launch_kept(launch->kept_executor, 0, launch->storages, launch->phase2, launch->workspace,
                                   launch->workspace_size, launch->stream);
  } else if (status == 0) {
    status = launch->phase2(launch->workspace, launch->workspace_size, launch->executor, launch->stream);
    launch->executor = NULL; /* phase 2 frees it, even if it fails */
  }
  if (status != 0) mindtorch_keep_failure(launch, status);
  if (launch->kept_executor != NULL) mindtorch_release_kept(launch->kept_executor, 0);
  free(launch->long_key);
  if (launch->executor != NULL) mindtorch_destroy(queue, launch->executor, MINDTORCH_EXECUTOR);
  for (int i = 0; i < launch->count; ++i) mindtorch_destroy(queue, launch->handles[i], launch->kinds[i]);
}

/* Makes the next launch; false: there is none. `making` is held. */
static int mindtorch_make_next(LaunchQueue *queue) {
  const unsigned long long next = queue->done;
  if (next == queue->added) return 0;
  mindtorch_make_launch(queue, &queue->launches[next % MINDTORCH_QUEUE_LENGTH], next);
  queue->done = next + 1;
  if (next + 1 < queue->wanted) return 1;
  pthread_mutex_lock(&queue->lock);
  queue->wanted = ULLONG_MAX; /* those who wait for more say so again */
  pthread_cond_broadcast(&queue->progress);
  pthread_mutex_unlock(&queue->lock);
  return 1;
}

static inline int mindtorch_has_launches(LaunchQueue *queue) { return queue != NULL && queue->done < queue->added; }

/* --- the queue's thread --- */

/* False: the queue ends. */
static int mindtorch_wait_for_work(LaunchQueue *queue) {
  for (int i = 0; i < MINDTORCH_QUEUE_YIELDS; ++i) {
    if (mindtorch_has_launches(queue)) return 1;
    sched_yield();
  }
  pthread_mutex_lock(&queue->lock);
  queue->asleep = 1;
  while (!mindtorch_has_launches(queue) && !queue->stopping) pthread_cond_wait(&queue->work, &queue->lock);
  queue->asleep = 0;
  pthread_mutex_unlock(&queue->lock);
  return mindtorch_has_launches(queue);
}

static void *mindtorch_run_queue(void *argument) {
  LaunchQueue *queue = (LaunchQueue *)argument;
  int status = mindtorch_own_api.aclrtSetCurrentContext(queue->context);
  while (mindtorch_wait_for_work(queue)) {
    if (status != 0) status = mindtorch_own_api.aclrtSetCurrentContext(queue->context);
    pthread_mutex_lock(&queue->making);
    while (mindtorch_make_next(queue)) {
    }
    pthread_mutex_unlock(&queue->making);
  }
  return NULL;
}

/* --- other threads --- */

/* Makes a launch, if this thread may and no other is making one. */
static int mindtorch_help(LaunchQueue *queue) {
  if (!queue->functions.may_launch(queue->device) || pthread_mutex_trylock(&queue->making) != 0) return 0;
  mindtorch_make_next(queue);
  pthread_mutex_unlock(&queue->making);
  return 1;
}

/* The slot of the next launch, NULL while the queue is full. */
static inline QueuedLaunch *mindtorch_next_launch(LaunchQueue *queue) {
  const unsigned long long added = queue->added;
  return added - queue->done < MINDTORCH_QUEUE_LENGTH ? &queue->launches[added % MINDTORCH_QUEUE_LENGTH] : NULL;
}

static inline void mindtorch_add_launch(LaunchQueue *queue) {
  queue->added++;
  if (!queue->asleep) return;
  pthread_mutex_lock(&queue->lock);
  pthread_cond_signal(&queue->work);
  pthread_mutex_unlock(&queue->lock);
}

static void mindtorch_wait_for_launches(LaunchQueue *queue, unsigned long long count) {
  for (int i = 0; i < MINDTORCH_QUEUE_YIELDS && queue->done < count;) {
    if (mindtorch_help(queue)) continue;
    sched_yield();
    ++i;
  }
  if (queue->done >= count) return;
  pthread_mutex_lock(&queue->lock);
  for (;;) {
    if (count < queue->wanted) queue->wanted = count;
    if (queue->done >= count) break; /* read when `wanted` was said, so that no wake-up is missed */
    pthread_cond_wait(&queue->progress, &queue->lock);
  }
  pthread_mutex_unlock(&queue->lock);
}

/* Waits until all launches that were added are made; the GIL need not be held. */
static inline void mindtorch_drain(LaunchQueue *queue) {
  if (queue != NULL) mindtorch_wait_for_launches(queue, queue->added);
}

static inline void mindtorch_wait_for_slot(LaunchQueue *queue) {
  mindtorch_wait_for_launches(queue, queue->added - MINDTORCH_QUEUE_LENGTH / 2);
}

static inline void mindtorch_drain_all(void) {
  if (!mindtorch_has_queues) return;
  for (int i = 0; i < MINDTORCH_MAX_DEVICES; ++i) mindtorch_drain(mindtorch_queues[i]);
}

static LaunchQueue *mindtorch_start_queue(int device, aclrtContext context, const QueuedFunctions *functions) {
  LaunchQueue *queue = (LaunchQueue *)aligned_alloc(64, sizeof(LaunchQueue));
  if (queue == NULL) return NULL;
  memset(queue, 0, offsetof(LaunchQueue, launches));
  queue->device = device;
  queue->context = context;
  queue->functions = *functions;
  queue->wanted = ULLONG_MAX;
  pthread_mutex_init(&queue->making, NULL);
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->work, NULL);
  pthread_cond_init(&queue->progress, NULL);
  if (pthread_create(&queue->thread, NULL, mindtorch_run_queue, queue) != 0) {
    free(queue);
    return NULL;
  }
  mindtorch_queues[device] = queue;
  mindtorch_has_queues = 1;
  return queue;
}

/* Makes what was added, and ends the thread. Nobody adds launches meanwhile. */
static void mindtorch_stop_queue(int device) {
  LaunchQueue *queue = mindtorch_queues[device];
  if (queue == NULL) return;
  pthread_mutex_lock(&queue->lock);
  queue->stopping = 1;
  pthread_cond_signal(&queue->work);
  pthread_mutex_unlock(&queue->lock);
  pthread_join(queue->thread, NULL);
  mindtorch_queues[device] = NULL; /* threads that wait may still read it: it stays */
}

/* In the child of a fork, which has no device and none of the threads. */
static void mindtorch_forget_queues(void) {
  for (int i = 0; i < MINDTORCH_MAX_DEVICES; ++i) mindtorch_queues[i] = NULL;
  mindtorch_has_queues = 0;
  mindtorch_failure.there = 0;
  pthread_mutex_init(&mindtorch_failure_lock, NULL);
  mindtorch_forget_kept();
}

static inline LaunchQueue *mindtorch_find_queue(int device) { return mindtorch_queues[device]; }

/* The caller frees it. NULL: there is none. */
static RefusedHandle *mindtorch_take_refused(void) {
  if (mindtorch_refused == NULL) return NULL;
  pthread_mutex_lock(&mindtorch_failure_lock);
  RefusedHandle *entry = mindtorch_refused;
  if (entry != NULL) mindtorch_refused = entry->next;
  pthread_mutex_unlock(&mindtorch_failure_lock);
  return entry;
}

static int mindtorch_take_failure(int *status, char *message, size_t room, QueuedLaunch *launch) {
  pthread_mutex_lock(&mindtorch_failure_lock);
  const int there = mindtorch_failure.there;
  *status = mindtorch_failure.status;
  if (there) *launch = mindtorch_failure.launch;
  message[0] = '\0';
  if (there) strncat(message, mindtorch_failure.message, room - 1);
  mindtorch_failure.there = 0;
  pthread_mutex_unlock(&mindtorch_failure_lock);
  return there;
}

/* --- calls that were made before, with their workspaces; guarded by the GIL --- */

static struct {
  uint64_t *text; /* NULL: the bucket is free */
  int words;
  uint64_t workspace_size;
} mindtorch_known[MINDTORCH_KNOWN_CALLS];

static inline int mindtorch_find_known(const uint64_t *text, int words, uint64_t *workspace_size) {
  const size_t bucket = mindtorch_bucket_of(text, words);
  if (mindtorch_known[bucket].text == NULL || mindtorch_known[bucket].words != words) return 0;
  if (memcmp(mindtorch_known[bucket].text, text, (size_t)words * sizeof *text) != 0) return 0;
  *workspace_size = mindtorch_known[bucket].workspace_size;
  return 1;
}

/* Replaces a call with the same hash. */
static void mindtorch_add_known(const uint64_t *text, int words, uint64_t workspace_size) {
  const size_t bucket = mindtorch_bucket_of(text, words);
  uint64_t *copy = (uint64_t *)malloc((size_t)words * sizeof *text);
  if (copy == NULL) return;
  memcpy(copy, text, (size_t)words * sizeof *text);
  free(mindtorch_known[bucket].text);
  mindtorch_known[bucket].text = copy;
  mindtorch_known[bucket].words = words;
  mindtorch_known[bucket].workspace_size = workspace_size;
}

/* --- functions of CANN that come after the launches before them --- */

/* An error of the device is more than that of a launch, which it may have caused. */
static inline aclError mindtorch_or_failure(aclError status) {
  if (status != 0) mindtorch_failure.there = 0;
  return mindtorch_failure.there ? (aclError)MINDTORCH_FAILED_LAUNCH : status;
}

#define MINDTORCH_ORDERED(name, parameters, arguments) \
  static aclError mindtorch_##name parameters {        \
    mindtorch_drain_all();                             \
    return mindtorch_own_api.name arguments;           \
  }
/* Those that wait for the device. */
#define MINDTORCH_WAITING(name, parameters, arguments)             \
  static aclError mindtorch_##name parameters {                    \
    mindtorch_drain_all();                                         \
    return mindtorch_or_failure(mindtorch_own_api.name arguments); \
  }

MINDTORCH_WAITING(aclrtSynchronizeDevice, (void), ())
MINDTORCH_WAITING(aclrtSynchronizeStream, (aclrtStream stream), (stream))
MINDTORCH_WAITING(aclrtSynchronizeEvent, (aclrtEvent event), (event))
MINDTORCH_WAITING(aclrtMemcpy, (void *dst, size_t room, const void *src, size_t count, aclrtMemcpyKind kind),
                  (dst, room, src, count, kind))
MINDTORCH_ORDERED(aclrtMemcpyAsync,
                  (void *dst, size_t room, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream stream),
                  (dst, room, src, count, kind, stream))
MINDTORCH_ORDERED(aclrtRecordEvent, (aclrtEvent event, aclrtStream stream), (event, stream))
MINDTORCH_ORDERED(aclrtStreamWaitEvent, (aclrtStream stream, aclrtEvent event), (stream, event))
MINDTORCH_ORDERED(aclrtResetEvent, (aclrtEvent event, aclrtStream stream), (event, stream))
MINDTORCH_ORDERED(aclrtLaunchHostFunc, (aclrtStream stream, aclrtHostFunc function, void *argument),
                  (stream, function, argument))
MINDTORCH_ORDERED(aclrtDestroyStream, (aclrtStream stream), (stream))
MINDTORCH_ORDERED(aclrtFree, (void *address), (address))
MINDTORCH_ORDERED(aclrtUnmapMem, (void *address), (address))
MINDTORCH_ORDERED(aclrtCtxSetSysParamOpt, (aclSysParamOpt option, int64_t value), (option, value))
MINDTORCH_ORDERED(aclrtSetDeviceResLimit, (int32_t device, aclrtDevResLimitType kind, uint32_t value),
                  (device, kind, value))
MINDTORCH_ORDERED(aclrtSetOpExecuteTimeOutWithMs, (uint32_t timeout), (timeout))
MINDTORCH_ORDERED(aclmdlInitDump, (void), ())
MINDTORCH_ORDERED(aclmdlSetDump, (const char *path), (path))
MINDTORCH_ORDERED(aclmdlFinalizeDump, (void), ())
MINDTORCH_ORDERED(aclmdlRICaptureBegin, (aclrtStream stream, aclmdlRICaptureMode mode), (stream, mode))
MINDTORCH_ORDERED(aclmdlRICaptureTaskUpdateBegin, (aclrtStream stream, aclrtTaskGrp group), (stream, group))
MINDTORCH_ORDERED(aclmdlRIExecuteAsync, (aclmdlRI graph, aclrtStream stream), (graph, stream))

/* Ends the device's work before the launches in the queue, which may wait for it; these are dropped. */
static aclError mindtorch_aclrtDeviceTaskAbort(int32_t device, uint32_t timeout) {
  LaunchQueue *queue = device >= 0 && device < MINDTORCH_MAX_DEVICES ? mindtorch_queues[device] : NULL;
  if (queue != NULL) queue->dropped = queue->added;
  const aclError status = mindtorch_own_api.aclrtDeviceTaskAbort(device, timeout);
  if (queue != NULL && status != 0) queue->dropped = 0;
  if (status == 0) mindtorch_drain(queue);
  return status;
}

#define MINDTORCH_ORDERED_FUNCTIONS(X)                                                                      \
  X(aclrtSynchronizeDevice)                                                                                 \
  X(aclrtSynchronizeStream) X(aclrtSynchronizeEvent) X(aclrtMemcpy) X(aclrtMemcpyAsync) X(aclrtRecordEvent) \
      X(aclrtStreamWaitEvent) X(aclrtResetEvent) X(aclrtLaunchHostFunc) X(aclrtDestroyStream) X(aclrtFree)  \
          X(aclrtUnmapMem) X(aclrtDeviceTaskAbort) X(aclrtCtxSetSysParamOpt) X(aclrtSetDeviceResLimit)      \
              X(aclrtSetOpExecuteTimeOutWithMs) X(aclmdlInitDump) X(aclmdlSetDump) X(aclmdlFinalizeDump)    \
                  X(aclmdlRICaptureBegin) X(aclmdlRICaptureTaskUpdateBegin) X(aclmdlRIExecuteAsync)

/* Called when CANN has been loaded: from now on `api` waits for queues. What the toolkit lacks stays NULL. */
static void mindtorch_order_calls(CannApi *api) {
  if (api->aclSetTensorAddr == NULL) api->aclSetTensorAddr = api->AclSetTensorAddr;
  if (api->aclSetDynamicTensorAddr == NULL) api->aclSetDynamicTensorAddr = api->AclSetDynamicTensorAddr;
  mindtorch_own_api = *api;
#define X(name) \
  if (api->name != NULL) api->name = mindtorch_##name;
  MINDTORCH_ORDERED_FUNCTIONS(X)
#undef X
}

#endif
