/* What the simulator's libraries share beyond the CANN API itself. libascendcl.so exports these with C linkage;
 * libnnopbase.so, libopapi.so and mindtorch/sim.py call them. No client of CANN ever does.
 *
 * Rules:
 *  1. Every exported CANN function begins with SIM_ENTER(function): faults on demand and the latency model.
 *  2. A rule broken is reported by `return simFail(code, "EXnnnn", "...")`: the text names function, argument, value.
 *  3. Every object handed to a caller is counted by simCount(kind, +1) and given back by simCount(kind, -1). */
#ifndef MINDTORCH_SIM_SIM_H_
#define MINDTORCH_SIM_SIM_H_
/* The libraries are compiled with hidden visibility: what a CANN header declares is what they export. */
#pragma GCC visibility push(default)
#include "acl/acl.h"
#pragma GCC visibility pop

#define SIM_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of live objects. simKindName gives the name that sim.live_objects() shows ("tensor", "stream", ...). */
typedef enum SimKind {
  SIM_CONTEXT,
  SIM_STREAM,
  SIM_EVENT,
  SIM_NOTIFY,
  SIM_DEVICE_MEMORY,
  SIM_HOST_MEMORY,
  SIM_PHYSICAL_MEMORY,
  SIM_RESERVED_ADDRESS,
  SIM_TENSOR,
  SIM_SCALAR,
  SIM_INT_ARRAY,
  SIM_FLOAT_ARRAY,
  SIM_BOOL_ARRAY,
  SIM_TENSOR_LIST,
  SIM_SCALAR_LIST,
  SIM_EXECUTOR,
  SIM_DATA_BUFFER,
  SIM_GRAPH,
  SIM_KIND_COUNT
} SimKind;

SIM_API void simCount(SimKind kind, int64_t change);
SIM_API int64_t simLive(SimKind kind);
SIM_API const char *simKindName(SimKind kind); /* NULL past the last kind */

/* Faults on demand: `function` fails with `code` at its `nth` call from now (1 = the next), `times` times running.
 * The code ACL_ERROR_NONE takes the fault away. simClearFaults forgets all. simCalls counts the calls of a function
 * since simCountCalls(1). simFunctions: the names of all functions called since then, separated by newlines. */
SIM_API void simInjectFault(const char *function, int64_t nth, int64_t times, aclError code);
SIM_API void simClearFaults(void);
SIM_API void simCountCalls(int32_t on);
SIM_API int64_t simCalls(const char *function);
SIM_API const char *simFunctions(void);
/* The next task that the device runs fails with `code` (507015, ...): it surfaces late, on a later call. */
SIM_API void simInjectDeviceFault(int32_t device, aclError code);
/* From now on aclrtGetMemUceInfo names these addresses of the device, until simClearFaults. */
SIM_API void simInjectMemoryError(int32_t device, void *address, uint64_t size);
/* Busy-wait of `nanoseconds` in every call of `function` (0 takes it away): models a real host's costs. */
SIM_API void simSetLatency(const char *function, int64_t nanoseconds);

/* Kernels are not run from the next launch on (1), or are again (0); at first as MINDTORCH_SIM_KERNELS says. */
SIM_API void simSetNullKernels(int32_t null_kernels);
SIM_API int32_t simNullKernels(void);
/* What copies from the device bring the host is put on record, from the first one on; or later copies bring what is on
 * record, one after the other and then again from the first, and fail where they ask for another number of bytes. So
 * null kernels can be given what kernels have computed. */
typedef enum { SIM_READS_PLAIN, SIM_READS_RECORD, SIM_READS_REPEAT } SimReads;
SIM_API void simSetReads(int32_t reads);

/* Non-zero while any fault, latency or call count is armed: one relaxed load on the fast path. */
extern SIM_API int32_t simArmed;
SIM_API aclError simEnterArmed(const char *function);
#define SIM_ENTER_OR(function, entered, result)                              \
  do {                                                                       \
    if (__builtin_expect(__atomic_load_n(&simArmed, __ATOMIC_RELAXED), 0)) { \
      aclError entered = simEnterArmed(#function);                           \
      if (entered != ACL_SUCCESS) return result;                             \
    }                                                                        \
  } while (0)
/* For functions that return a status. */
#define SIM_ENTER(function) SIM_ENTER_OR(function, simEntered, simEntered)
/* For functions that return something else: `failure` is what a failed call of them returns. */
#define SIM_ENTER_VALUE(function, failure) SIM_ENTER_OR(function, simEntered, failure)

/* Returns from the calling function with the status of `call` unless it is a success. */
#define SIM_TRY(call)                               \
  do {                                              \
    const aclError simStatus = (call);              \
    if (simStatus != ACL_SUCCESS) return simStatus; \
  } while (0)

/* Puts "<id>: <text>" on top of the calling thread's messages (aclGetRecentErrMsg) and returns `code`. */
SIM_API aclError simFail(aclError code, const char *id, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A brief task waits for nothing and calls nobody's code. A kernel is brief, and the time limit of
 * aclrtSetOpExecuteTimeOut holds for it. */
enum SimTaskKind { SIM_TASK_ANY = 0, SIM_TASK_BRIEF = 1, SIM_TASK_KERNEL = 2 };

/* A task of a stream. `run` is called in order, on the stream's thread or, where the task is brief, on one that waits
 * for the stream; a non-zero result is a device fault that surfaces on a later call. `drop` frees `argument`
 * afterwards, or when the task is never run. */
typedef struct SimTask {
  aclError (*run)(void *argument);
  void (*drop)(void *argument);
  void *argument;
  const char *name; /* static text, for messages */
  int32_t kind;     /* SimTaskKind; set by the runtime */
} SimTask;

/* Appends to `stream` (NULL: the current context's default stream); blocks while the queue is full. On failure the
 * task is not taken: the caller still owns `argument`. With kernels switched off (simNullKernels) and nothing ahead
 * of it, a kernel task is complete at once and `drop` is called before simLaunchKernel returns. */
SIM_API aclError simLaunchKernel(aclrtStream stream, SimTask task);

/* The host-side alias of [address, address + bytes) of device memory, or NULL where that range is not wholly inside
 * one live allocation (its 32-byte tail counts). Device addresses themselves cannot be read by the host. */
SIM_API void *simDeviceMemory(const void *address, uint64_t bytes);

/* Another device's memory, unless the current device was given access to it, is out of reach of kernels: the id of
 * that device, or -1. */
SIM_API int32_t simForeignDevice(const void *address);
SIM_API int32_t simDeviceTotal(void);

#ifdef __cplusplus
}
#endif
#endif
