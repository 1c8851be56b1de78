/* Executors that mindtorch keeps, where the toolkit has no hooks for CANN's own cache of them (aclnn/op_cache.h).
 *
 * Each is found by the key of its call (_npu/launch.pxd). It is repeatable, and lives with the arguments of its call. A
 * launch sets the addresses of its tensors and runs phase 2, and nobody else uses the executor meanwhile. Where there
 * is no room for another one, that goes which was not used for longest.
 *
 * The variables are static, so only launch_queue.h may include this file. */
#ifndef MINDTORCH_KEPT_EXECUTORS_H_
#define MINDTORCH_KEPT_EXECUTORS_H_
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mindtorch/cann_api.h"
#include "mindtorch/queued_launch.h"

struct KeptExecutor {
  KeptExecutor *next;          /* with the same hash */
  KeptExecutor *newer, *older; /* by their last use */
  int listed;                  /* calls find it */
  int users;                   /* launches that have found it; the table's lock guards the members above and this one */
  atomic_int taken;            /* by a launch; MINDTORCH_AWAITED: and another launch waits for it */
  aclOpExecutor *executor;
  uint64_t workspace_size;
  int words, tensors, count;
  /* Behind the struct: */
  uint64_t *text;
  void **handles;
  TensorLocation *locations;
  unsigned char *kinds;
};

enum { MINDTORCH_TAKEN = 1, MINDTORCH_AWAITED = 2 };

static CannApi mindtorch_own_api; /* CANN's functions */

static struct {
  pthread_mutex_t lock;
  pthread_cond_t left; /* by a launch, of an executor that another launch awaits */
  uint64_t limit, size;
  int (*destroy)(void *handle, int kind);
  KeptExecutor *newest, *oldest;
  KeptExecutor *buckets[MINDTORCH_KNOWN_CALLS];
} mindtorch_kept = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static inline size_t mindtorch_bucket_of(const uint64_t *text, int words) {
  uint64_t hash = (uint64_t)words;
  for (int i = 0; i < words; ++i) {
    hash = (hash ^ text[i]) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash % MINDTORCH_KNOWN_CALLS;
}

/* Whether mindtorch keeps executors. */
static inline int mindtorch_keeps(void) { return mindtorch_kept.limit != 0; }

static inline uint64_t mindtorch_workspace_of_kept(const KeptExecutor *kept) { return kept->workspace_size; }

static inline int mindtorch_is_key(const KeptExecutor *kept, const uint64_t *text, int words) {
  return kept->words == words && memcmp(kept->text, text, (size_t)words * sizeof *text) == 0;
}

/* --- with the lock --- */

static void mindtorch_unlink_kept(KeptExecutor *kept) {
  *(kept->newer == NULL ? &mindtorch_kept.newest : &kept->newer->older) = kept->older;
  *(kept->older == NULL ? &mindtorch_kept.oldest : &kept->older->newer) = kept->newer;
}

static void mindtorch_link_kept(KeptExecutor *kept) {
  kept->newer = NULL;
  kept->older = mindtorch_kept.newest;
  *(kept->older == NULL ? &mindtorch_kept.oldest : &kept->older->newer) = kept;
  mindtorch_kept.newest = kept;
}

static KeptExecutor *mindtorch_search_kept(const uint64_t *text, int words) {
  KeptExecutor *kept = mindtorch_kept.buckets[mindtorch_bucket_of(text, words)];
  while (kept != NULL && !mindtorch_is_key(kept, text, words)) kept = kept->next;
  return kept;
}

static void mindtorch_unlist_kept(KeptExecutor *kept) {
  KeptExecutor **link = &mindtorch_kept.buckets[mindtorch_bucket_of(kept->text, kept->words)];
  while (*link != kept) link = &(*link)->next;
  *link = kept->next;
  mindtorch_unlink_kept(kept);
  kept->listed = 0;
  --mindtorch_kept.size;
}

/* --- without the lock --- */

static void mindtorch_refuse(void *handle, int kind); /* of launch_queue.h */

static void mindtorch_destroy_kept(KeptExecutor *kept) {
  if (mindtorch_kept.destroy(kept->executor, MINDTORCH_EXECUTOR) != 0) {
    mindtorch_refuse(kept->executor, MINDTORCH_EXECUTOR);
  }
  for (int i = 0; i < kept->count; ++i) {
    if (mindtorch_kept.destroy(kept->handles[i], kept->kinds[i]) != 0) {
      mindtorch_refuse(kept->handles[i], kept->kinds[i]);
    }
  }
  free(kept);
}

/* Called when CANN has been loaded, if at all. */
static void mindtorch_keep_executors(uint64_t limit, int (*destroy)(void *handle, int kind)) {
  mindtorch_kept.limit = limit;
  mindtorch_kept.destroy = destroy;
}

/* The executor of an equal call, NULL if there is none. `take`: also NULL while a launch has taken it, else this one
 * has taken it. Each launch that has found an executor releases it. */
static KeptExecutor *mindtorch_find_kept(const uint64_t *text, int words, int take) {
  pthread_mutex_lock(&mindtorch_kept.lock);
  KeptExecutor *kept = mindtorch_search_kept(text, words);
  if (kept != NULL && take) {
    int free = 0;
    if (!atomic_compare_exchange_strong(&kept->taken, &free, MINDTORCH_TAKEN)) kept = NULL;
  }
  if (kept != NULL) {
    ++kept->users;
    if (kept != mindtorch_kept.newest) {
      mindtorch_unlink_kept(kept);
      mindtorch_link_kept(kept);
    }
  }
  pthread_mutex_unlock(&mindtorch_kept.lock);
  return kept;
}

/* Sleeps until no other launch has the executor. */
static void mindtorch_take(KeptExecutor *kept) {
  int free = 0;
  if (atomic_compare_exchange_strong(&kept->taken, &free, MINDTORCH_TAKEN)) return;
  pthread_mutex_lock(&mindtorch_kept.lock);
  while (atomic_exchange(&kept->taken, MINDTORCH_AWAITED) != 0) {
    pthread_cond_wait(&mindtorch_kept.left, &mindtorch_kept.lock);
  }
  pthread_mutex_unlock(&mindtorch_kept.lock);
}

static void mindtorch_leave(KeptExecutor *kept) {
  if (atomic_exchange(&kept->taken, 0) != MINDTORCH_AWAITED) return;
  pthread_mutex_lock(&mindtorch_kept.lock);
  pthread_cond_broadcast(&mindtorch_kept.left);
  pthread_mutex_unlock(&mindtorch_kept.lock);
}

static void mindtorch_release_kept(KeptExecutor *kept, int taken) {
  if (taken) mindtorch_leave(kept);
  pthread_mutex_lock(&mindtorch_kept.lock);
  const int unused = --kept->users == 0 && !kept->listed;
  pthread_mutex_unlock(&mindtorch_kept.lock);
  if (unused) mindtorch_destroy_kept(kept);
}

/* Makes the executor of a call repeatable. NULL: CANN refuses, or the host has no memory left. */
static KeptExecutor *mindtorch_make_repeatable(aclOpExecutor *executor, int words, int tensors, int count) {
  const size_t bytes = sizeof(KeptExecutor) + (size_t)words * sizeof(uint64_t) + (size_t)count * sizeof(void *) +
                       (size_t)tensors * sizeof(TensorLocation) + (size_t)count;
  KeptExecutor *kept = (KeptExecutor *)calloc(1, bytes);
  if (kept == NULL) return NULL;
  if (mindtorch_own_api.aclSetAclOpExecutorRepeatable(executor) != 0) {
    mindtorch_own_api.aclGetRecentErrMsg(); /* clears the message, which would show up in the next exception */
    free(kept);
    return NULL;
  }
  kept->executor = executor;
  kept->words = words;
  kept->tensors = tensors;
  kept->count = count;
  kept->text = (uint64_t *)(kept + 1);
  kept->handles = (void **)(kept->text + words);
  kept->locations = (TensorLocation *)(kept->handles + count);
  kept->kinds = (unsigned char *)(kept->locations + tensors);
  return kept;
}

/* Hands over the arguments of the call, which has found the executor from now on, and perhaps has taken it. */
static void mindtorch_keep(KeptExecutor *kept, const uint64_t *text, uint64_t workspace_size, void *const *handles,
                           const unsigned char *kinds, const TensorLocation *locations, int taken) {
  KeptExecutor *evicted = NULL;
  memcpy(kept->text, text, (size_t)kept->words * sizeof *text);
  memcpy(kept->handles, handles, (size_t)kept->count * sizeof *handles);
  memcpy(kept->kinds, kinds, (size_t)kept->count);
  memcpy(kept->locations, locations, (size_t)kept->tensors * sizeof *locations);
  kept->workspace_size = workspace_size;
  kept->users = 1;
  kept->taken = taken;
  pthread_mutex_lock(&mindtorch_kept.lock);
  if (mindtorch_search_kept(text, kept->words) == NULL) { /* else another thread was faster */
    if (mindtorch_kept.size == mindtorch_kept.limit) {
      evicted = mindtorch_kept.oldest;
      mindtorch_unlist_kept(evicted);
      if (evicted->users != 0) evicted = NULL; /* who uses it destroys it */
    }
    KeptExecutor **first = &mindtorch_kept.buckets[mindtorch_bucket_of(text, kept->words)];
    kept->next = *first;
    *first = kept;
    mindtorch_link_kept(kept);
    kept->listed = 1;
    ++mindtorch_kept.size;
  }
  pthread_mutex_unlock(&mindtorch_kept.lock);
  if (evicted != NULL) mindtorch_destroy_kept(evicted);
}

static aclnnStatus mindtorch_set_addresses(const KeptExecutor *kept, void *const *storages) {
  const CannApi *own = &mindtorch_own_api;
  aclnnStatus status = 0;
  for (int i = 0; i < kept->tensors && status == 0; ++i) {
    const TensorLocation *location = &kept->locations[i];
    status =
        location->element < 0
            ? own->aclSetTensorAddr(kept->executor, (size_t)location->index, (aclTensor *)location->handle, storages[i])
            : own->aclSetDynamicTensorAddr(kept->executor, (size_t)location->index, (size_t)location->element,
                                           (aclTensorList *)location->handle, storages[i]);
  }
  return status;
}

/* Phase 2, with the addresses of the storages. An executor whose launch fails is not found again. */
static aclnnStatus mindtorch_launch_kept(KeptExecutor *kept, int taken, void *const *storages, QueuedPhase2 phase2,
                                         void *workspace, uint64_t workspace_size, aclrtStream stream) {
  if (!taken) mindtorch_take(kept);
  aclnnStatus status = mindtorch_set_addresses(kept, storages);
  if (status == 0) status = phase2(workspace, workspace_size, kept->executor, stream);
  mindtorch_leave(kept);
  if (status == 0) return status;
  pthread_mutex_lock(&mindtorch_kept.lock);
  if (kept->listed) mindtorch_unlist_kept(kept);
  pthread_mutex_unlock(&mindtorch_kept.lock);
  return status;
}

static inline uint64_t mindtorch_count_kept(void) { return mindtorch_kept.size; }

/* Those that launches have found go with these. */
static void mindtorch_drop_kept(void) {
  for (;;) {
    pthread_mutex_lock(&mindtorch_kept.lock);
    KeptExecutor *kept = mindtorch_kept.oldest;
    if (kept != NULL) mindtorch_unlist_kept(kept);
    const int unused = kept != NULL && kept->users == 0;
    pthread_mutex_unlock(&mindtorch_kept.lock);
    if (kept == NULL) return;
    if (unused) mindtorch_destroy_kept(kept);
  }
}

/* In the child of a fork: the executors are of its parent's device. */
static void mindtorch_forget_kept(void) {
  pthread_mutex_init(&mindtorch_kept.lock, NULL);
  pthread_cond_init(&mindtorch_kept.left, NULL);
  memset(mindtorch_kept.buckets, 0, sizeof mindtorch_kept.buckets);
  mindtorch_kept.newest = mindtorch_kept.oldest = NULL;
  mindtorch_kept.size = 0;
}

#endif
