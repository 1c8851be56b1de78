/* The ThreadStates of all threads that use devices. Included by one module only (handles.pyx), as thread_state.h is. */
#ifndef MINDTORCH_THREAD_LIST_H_
#define MINDTORCH_THREAD_LIST_H_
#include <pthread.h>
#include <stdlib.h>

#include "mindtorch/thread_state.h"

typedef struct ListedThread {
  ThreadState *state;
  struct ListedThread *next;
} ListedThread;

static ListedThread *mindtorch_threads;
static pthread_mutex_t mindtorch_threads_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t mindtorch_thread_end; /* its value is the thread's own entry */
static pthread_once_t mindtorch_threads_begin = PTHREAD_ONCE_INIT;

/* A thread ends: without the GIL. */
static void mindtorch_unlist_thread(void *entry) {
  ListedThread **link = &mindtorch_threads;
  pthread_mutex_lock(&mindtorch_threads_lock);
  while (*link != NULL && *link != entry) link = &(*link)->next;
  if (*link != NULL) *link = (*link)->next;
  pthread_mutex_unlock(&mindtorch_threads_lock);
  free(entry);
}

static void mindtorch_make_thread_end(void) { pthread_key_create(&mindtorch_thread_end, mindtorch_unlist_thread); }

/* Enters the calling thread, once; -1 where there is no memory. */
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

/* Has every thread bind its device anew before the next use. With the GIL, which all others need for reading. */
static inline void mindtorch_unbind_threads(void) {
  pthread_mutex_lock(&mindtorch_threads_lock);
  for (ListedThread *entry = mindtorch_threads; entry != NULL; entry = entry->next) entry->state->bound = -1;
  pthread_mutex_unlock(&mindtorch_threads_lock);
}

#endif
