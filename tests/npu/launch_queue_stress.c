/* Threads that add launches to a queue, wait for it and read it, under the thread sanitizer (test_launch_queue.py). A
 * mutex stands for the GIL; phase 2 writes its number to a log, which has to be in the order of the additions. */
#include <stdio.h>

#include "mindtorch/launch_queue.h"

enum { THREADS = 4, LAUNCHES = 20000, REFUSED = 997 };

static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER;
static CannApi api;
static LaunchQueue *queue;
static uint64_t added, made; /* by the GIL; by the queue's thread */
static atomic_int found, phases, refused;

static aclError setContext(aclrtContext context) { return context == NULL; }
static aclError synchronize(void) { return ACL_SUCCESS; }
static const char *message(void) { return "a message"; }
static bool canUse(const char *name) { return name != NULL; }
static void nothing(void) {}
static void addAddress(void *address) { (void)address; }
static void setKey(uint8_t *key, size_t length) { (void)key, (void)length; }

static aclOpExecutor *findExecutor(uint8_t *key, size_t length, uint64_t *workspace_size) {
  (void)key, (void)length;
  *workspace_size = 0;
  return ++found % 2 == 0 ? (aclOpExecutor *)&found : NULL;
}

static int phase1(QueuedLaunch *launch) {
  launch->executor = (aclOpExecutor *)&phases;
  launch->handles[launch->count] = &phases;
  launch->kinds[launch->count++] = 0;
  return ++phases < 0;
}

static int mayLaunch(int device) { return device == 0 && pthread_self() % 128 != 0; }

static int destroy(void *handle, int kind) {
  (void)handle;
  return kind == 0 && ++refused % REFUSED == 0;
}

static aclnnStatus phase2(void *workspace, uint64_t number, aclOpExecutor *executor, aclrtStream stream) {
  (void)workspace, (void)stream;
  if (executor == NULL || (number != 0 && number != made)) abort();
  made++;
  return made == THREADS * LAUNCHES / 2 ? 361001 : 0;
}

static void add(int by_key) {
  QueuedLaunch *launch = mindtorch_next_launch(queue);
  while (launch == NULL) {
    pthread_mutex_unlock(&gil);
    mindtorch_wait_for_place(queue);
    pthread_mutex_lock(&gil);
    launch = mindtorch_next_launch(queue);
  }
  launch->phase2 = phase2;
  launch->name = "aclnnCount";
  launch->executor = by_key ? NULL : (aclOpExecutor *)&gil;
  launch->found = NULL;
  launch->all_storages = NULL;
  launch->workspace_size = by_key ? 0 : added;
  launch->kept = added % 3 == 0;
  launch->count = launch->words = launch->tensors = 0;
  added++;
  mindtorch_add_launch(queue);
}

static void *work(void *failures) {
  int status, kind = 0;
  char text[100];
  QueuedLaunch failed;
  for (int i = 0; i < LAUNCHES; ++i) {
    pthread_mutex_lock(&gil);
    add(i % 3 == 0);
    pthread_mutex_unlock(&gil);
    if (i % 1000 == 7 && api.aclrtSynchronizeDevice() == MINDTORCH_FAILED_LAUNCH &&
        mindtorch_take_failure(&status, text, sizeof text, &failed)) {
      ++*(atomic_int *)failures;
      if (status != 361001 || strcmp(text, "a message") != 0 || strcmp(failed.name, "aclnnCount") != 0) abort();
    }
    RefusedHandle *entry = i % 100 == 0 ? mindtorch_take_refused() : NULL;
    if (entry != NULL && entry->kind != kind) abort();
    free(entry);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  atomic_int failures = 0;
  uint64_t key[2] = {1, 2}, size = 0;
  api.aclrtSetCurrentContext = setContext;
  api.aclrtSynchronizeDevice = synchronize;
  api.aclGetRecentErrMsg = message;
  api.aclInit = (__typeof__(api.aclInit))setContext;
  api.CanUsePTACache = canUse;
  api.InitPTACacheThreadLocal = api.UnInitPTACacheThreadLocal = nothing;
  api.AddTensorAddrToCachedList = addAddress;
  api.SetPTACacheHashKey = setKey;
  api.PTAFindExecCache = findExecutor;
  mindtorch_order_calls(&api);
  if (api.aclrtMemcpy != NULL || api.aclrtSynchronizeDevice == synchronize) abort();
  mindtorch_add_known(key, 2, 77);
  if (!mindtorch_find_known(key, 2, &size) || size != 77 || mindtorch_find_known(key, 1, &size)) abort();
  const QueuedFunctions functions = {phase1, destroy, mayLaunch};
  queue = mindtorch_start_queue(0, &api, &functions);
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, &failures);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  mindtorch_stop_queue(0);
  if (made != THREADS * LAUNCHES || failures != 1 || mindtorch_find_queue(0) != NULL) abort();
  mindtorch_forget_queues();
  puts("right");
  return 0;
}
