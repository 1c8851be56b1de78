/* Threads that add launches to a queue, wait for it and read it, under the thread sanitizer (test_launch_queue.py). A
 * mutex stands for the GIL; phase 2 writes its number to a log, which has to be in the order of the additions. Then
 * threads and a queue launch executors that mindtorch keeps, of equal calls. */
#include <stdio.h>

#include "mindtorch/launch_queue.h"

enum { THREADS = 4, LAUNCHES = 20000, REFUSED = 997, KEYS = 12, ROOM = 8, LONG_KEY = 300 };

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

/* With the GIL, which is released while the queue is full. */
static QueuedLaunch *nextLaunch(void) {
  QueuedLaunch *launch = mindtorch_next_launch(queue);
  while (launch == NULL) {
    pthread_mutex_unlock(&gil);
    mindtorch_wait_for_slot(queue);
    pthread_mutex_lock(&gil);
    launch = mindtorch_next_launch(queue);
  }
  launch->name = "aclnnCount";
  launch->executor = NULL;
  launch->kept_executor = NULL;
  launch->workspace_size = 0;
  launch->count = 0;
  return launch;
}

static void add(int by_key) {
  QueuedLaunch *launch = nextLaunch();
  launch->phase2 = phase2;
  if (!by_key) launch->executor = (aclOpExecutor *)&gil;
  if (!by_key) launch->workspace_size = added;
  launch->may_be_kept = added % 3 == 0;
  mindtorch_shorten_key(launch, &added, 1, NULL, NULL, 0);
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
      if (failed.words != 1 || failed.own_text[0] >= THREADS * LAUNCHES) abort();
    }
    RefusedHandle *entry = i % 100 == 0 ? mindtorch_take_refused() : NULL;
    if (entry != NULL && entry->kind != kind) abort();
    free(entry);
  }
  return NULL;
}

/* --- executors that are kept --- */

typedef struct Executor { /* of one launch at a time: the sanitizer sees where two write to it */
  void *address;
  int launches;
} Executor;

static atomic_int executors, launched;

static aclnnStatus setRepeatable(aclOpExecutor *executor) { return executor == NULL; }

static aclnnStatus setAddress(aclOpExecutor *executor, size_t index, aclTensor *tensor, void *address) {
  (void)index, (void)tensor;
  ((Executor *)executor)->address = address;
  return 0;
}

static int destroyKept(void *handle, int kind) {
  if (kind == MINDTORCH_EXECUTOR) {
    --executors;
    free(handle);
  }
  return 0;
}

/* The workspace is the address that the launch has set. */
static aclnnStatus phase2OfKept(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream) {
  Executor *kept = (Executor *)executor;
  (void)size, (void)stream;
  if (kept->address != workspace) abort();
  kept->launches++;
  ++launched;
  return kept->launches % 500 == 0; /* a failed launch: the executor goes */
}

static KeptExecutor *makeKept(const uint64_t *key, int words, int taken) {
  Executor *executor = (Executor *)calloc(1, sizeof *executor);
  void *handle = &gil;
  const unsigned char kind = 0;
  const TensorLocation location = {&gil, 0, -1};
  KeptExecutor *kept = mindtorch_make_repeatable((aclOpExecutor *)executor, words, 1, 1);
  if (kept == NULL) abort();
  ++executors;
  mindtorch_keep(kept, key, 0, &handle, &kind, &location, taken);
  return kept;
}

static int phase1OfKept(QueuedLaunch *launch) {
  launch->kept_executor = makeKept(launch->text, launch->words, 0);
  return 0;
}

static void *workWithKept(void *unused) {
  uint64_t key[LONG_KEY] = {0};
  unsigned short location = 0;
  (void)unused;
  for (int i = 0; i < LAUNCHES; ++i) {
    void *storage = &key[i % LONG_KEY];
    const int words = i % 3 == 0 ? 1 : LONG_KEY;
    key[0] = (uint64_t)(i * 7 % KEYS);
    if (i % 2 == 0) { /* this thread launches, with the executor of the call or with one that it does not keep */
      const int take = i % 4 == 0;
      KeptExecutor *kept = mindtorch_find_kept(key, words, take);
      if (kept == NULL) kept = makeKept(key, words, take);
      mindtorch_launch_kept(kept, take, &storage, phase2OfKept, storage, 0, NULL);
      mindtorch_release_kept(kept, 0);
      continue;
    }
    pthread_mutex_lock(&gil);
    KeptExecutor *kept = i % 5 == 0 ? mindtorch_find_kept(key, words, 0) : NULL;
    void *long_key = words <= MINDTORCH_QUEUE_WORDS ? NULL : mindtorch_copy_key(key, words, &storage, &location, 1);
    QueuedLaunch *launch = nextLaunch();
    launch->phase2 = phase2OfKept;
    launch->workspace = storage;
    launch->kept_executor = kept;
    launch->may_be_kept = 1;
    if (long_key != NULL) mindtorch_set_long_key(launch, long_key, words, 1);
    if (long_key == NULL) mindtorch_shorten_key(launch, key, words, &storage, &location, 1);
    mindtorch_add_launch(queue);
    pthread_mutex_unlock(&gil);
  }
  return NULL;
}

static void runThreads(void *(*run)(void *), void *argument) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, run, argument);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  mindtorch_stop_queue(0);
}

int main(void) {
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
  api.aclSetAclOpExecutorRepeatable = setRepeatable;
  api.aclSetTensorAddr = setAddress;
  mindtorch_order_calls(&api);
  if (api.aclrtMemcpy != NULL || api.aclrtSynchronizeDevice == synchronize) abort();
  mindtorch_add_known(key, 2, 77);
  if (!mindtorch_find_known(key, 2, &size) || size != 77 || mindtorch_find_known(key, 1, &size)) abort();
  queue = mindtorch_start_queue(0, &api, &(QueuedFunctions){phase1, destroy, mayLaunch});
  runThreads(work, &failures);
  if (made != THREADS * LAUNCHES || failures != 1 || mindtorch_find_queue(0) != NULL) abort();
  mindtorch_keep_executors(ROOM, destroyKept);
  queue = mindtorch_start_queue(0, &api, &(QueuedFunctions){phase1OfKept, destroyKept, mayLaunch});
  runThreads(workWithKept, NULL);
  const uint64_t kept = mindtorch_count_kept();
  if (launched != THREADS * LAUNCHES || kept > ROOM || executors != (int)kept) abort();
  mindtorch_drop_kept();
  if (executors != 0) abort();
  mindtorch_forget_queues();
  puts("right");
  return 0;
}
