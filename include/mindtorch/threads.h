/* The ThreadState of the calling thread, and the list of all of them.
 *
 * The variables are static, so only one module (streams.pyx) may include this file. */
#ifndef MINDTORCH_THREADS_H_
#define MINDTORCH_THREADS_H_
#include <pthread.h>
#include <stdlib.h>

#include "mindtorch/thread_state.h"

static inline ThreadState *mindtorch_thread_state(void) {
  static __thread ThreadState state = {0, -1, {0}};
  return &state;
}

typedef struct ListedThread {
  ThreadState *state;
  struct ListedThread *next;
} ListedThread;

static ListedThread *mindtorch_threads;
static pthread_mutex_t mindtorch_threads_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t mindtorch_thread_end; /* holds the thread's entry; its destructor removes it from the list */
static pthread_once_t mindtorch_threads_begin = PTHREAD_ONCE_INIT;

/* pthread calls this when a thread ends; the GIL is not held. */
static void mindtorch_unlist_thread(void *entry) {
  ListedThread **link = &mindtorch_threads;
  pthread_mutex_lock(&mindtorch_threads_lock);
  while (*link != NULL && *link != entry) link = &(*link)->next;
  if (*link != NULL) *link = (*link)->next;
  pthread_mutex_unlock(&mindtorch_threads_lock);
  free(entry);
}

static void mindtorch_make_thread_end(void) { pthread_key_create(&mindtorch_thread_end, mindtorch_unlist_thread); }

/* Adds the calling thread to the list, unless it is there. Returns -1 if memory runs out. */
static inline int mindtorch_list_thread(ThreadState *state) {
  ListedThread *entry;
  pthread_once(&mindtorch_threads_begin, mindtorch_make_thread_end);
  if (pthread_getspecific(mindtorch_thread_end) != NULL) return 0;
  entry = (ListedThread *)malloc(sizeof *entry);
  if (entry == NULL || pthread_setspecific(mindtorch_thread_end, entry) != 0) {
    free(entry);
    return -1;
  }
  entry->state = state;
  pthread_mutex_lock(&mindtorch_threads_lock);
  entry->next = mindtorch_threads;
  mindtorch_threads = entry;
  pthread_mutex_unlock(&mindtorch_threads_lock);
  return 0;
}

/* Makes every thread bind its device again before its next use. The caller holds the GIL, which all readers hold. */
static inline void mindtorch_unbind_threads(void) {
  pthread_mutex_lock(&mindtorch_threads_lock);
  for (ListedThread *entry = mindtorch_threads; entry != NULL; entry = entry->next) entry->state->bound = -1;
  pthread_mutex_unlock(&mindtorch_threads_lock);
}

#endif
