/* A launch that the thread of a queue makes (launch_queue.h). */
#ifndef MINDTORCH_QUEUED_LAUNCH_H_
#define MINDTORCH_QUEUED_LAUNCH_H_
#include "aclnn/acl_meta.h"

enum {
  MINDTORCH_FAILED_LAUNCH = -10001, /* no status of CANN's */
  MINDTORCH_QUEUE_LENGTH = 2048,
  MINDTORCH_QUEUE_HANDLES = 24,
  MINDTORCH_QUEUE_TENSORS = 24, /* of a key without a block of its own */
  MINDTORCH_QUEUE_YIELDS = 100,
  MINDTORCH_QUEUE_WORDS = 128,
  MINDTORCH_KNOWN_CALLS = 4096,
  MINDTORCH_EXECUTOR = 4, /* the Kind (streams.pxd) of executors */
};

typedef aclnnStatus (*QueuedPhase2)(void *, uint64_t, aclOpExecutor *, aclrtStream);

typedef struct KeptExecutor KeptExecutor; /* kept_executors.h */

typedef struct TensorLocation { /* a tensor of a call */
  void *handle;                 /* its descriptor, or the list that it is in */
  int index;                    /* of the argument, among those that are tensors or lists of tensors */
  int element;                  /* of the list; -1: there is none */
} TensorLocation;

typedef struct QueuedLaunch {
  QueuedPhase2 phase2;
  void *workspace;
  uint64_t workspace_size;
  aclOpExecutor *executor; /* both NULL: the queue's thread finds or makes it by the key */
  KeptExecutor *kept_executor;
  aclrtStream stream;
  const char *name;
  const char *line; /* of the program that called the operator; NULL: not recorded */
  int may_be_kept;  /* the executor of the call */
  int in_phase1;    /* set by the queue's thread */
  int count;        /* of the arguments, which are destroyed when phase 2 has returned */
  void *handles[MINDTORCH_QUEUE_HANDLES];
  unsigned char kinds[MINDTORCH_QUEUE_HANDLES];
  /* The key (_npu/launch.pxd), to find or make the executor and for messages of errors. */
  int words; /* 0: there is none */
  int tensors;
  uint64_t *text;
  void **storages;
  unsigned short *offsets; /* of the tensors in the text */
  void *long_key;          /* a block with these three, where they have no room below; the launch frees it */
  uint64_t own_text[MINDTORCH_QUEUE_WORDS];
  void *own_storages[MINDTORCH_QUEUE_TENSORS];
  unsigned short own_offsets[MINDTORCH_QUEUE_TENSORS];
} QueuedLaunch;

/* Functions of Cython code for a queue, which itself knows no tensors and no Python threads. */
typedef struct QueuedFunctions {
  /* Runs phase 1 of a launch by its key; sets executor and workspace_size, and the arguments, also where it fails. */
  int (*phase1)(QueuedLaunch *launch);
  int (*destroy)(void *handle, int kind); /* of arguments and executors */
  int (*may_launch)(int device);          /* whether the calling thread may make launches of the device */
} QueuedFunctions;

typedef struct LaunchQueue LaunchQueue;

#endif
