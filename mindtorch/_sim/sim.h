/* What the simulator's libraries share beyond the CANN API. libascendcl.so exports these functions with C linkage;
 * libnnopbase.so, libopapi.so and mindtorch/sim.py call them, clients of CANN never do. Rules: (1) Every exported
 * CANN function begins with SIM_ENTER(function): fault injection and the latency model. (2) A violated rule is
 * reported by `return simFail(code, "EXnnnn", "...")`; the text names function, argument and value. (3) Every object
 * handed to a caller is counted by simCount(kind, +1), and by simCount(kind, -1) when it is destroyed. */
#ifndef MINDTORCH_SIM_SIM_H_
#define MINDTORCH_SIM_SIM_H_
/* The libraries are compiled with hidden visibility: what a CANN header declares is what they export. The runtime API
 * is in runtime/api.h: kernels do not see it, nor are they compiled again when it changes. */
#pragma GCC visibility push(default)
#include "acl/acl_base_rt.h"
#pragma GCC visibility pop

#define SIM_API __attribute__((visibility("default")))
/* For functions of failures and first uses: the compiler keeps them, and the branches to them, out of the way. */
#define SIM_COLD __attribute__((cold, noinline))

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
  SIM_COMMUNICATOR,
  SIM_KIND_COUNT
} SimKind;

SIM_API void simCount(SimKind kind, int64_t change);
SIM_API int64_t simLive(SimKind kind);
SIM_API const char *simKindName(SimKind kind); /* NULL past the last kind */

/* Fault injection: `function` fails with `code` from its `nth` call from now (1 = the next) for `times` calls. The
 * code ACL_ERROR_NONE removes the fault. simClearFaults removes all. simCalls returns the number of calls of a
 * function since simCountCalls(1); simFunctions the names of all functions called since then, separated by newlines. */
SIM_API void simInjectFault(const char *function, int64_t nth, int64_t times, aclError code);
SIM_API void simClearFaults(void);
SIM_API void simCountCalls(int32_t on);
SIM_API int64_t simCalls(const char *function);
SIM_API const char *simFunctions(void);
/* The next task of the device fails with `code` (507015, ...); a later call reports it. */
SIM_API void simInjectDeviceFault(int32_t device, aclError code);
/* From now on aclrtGetMemUceInfo names these addresses of the device, until simClearFaults. */
SIM_API void simInjectMemoryError(int32_t device, void *address, uint64_t size);
/* Every call of `function` takes `nanoseconds` longer (0 takes it away), as simClearFaults does. */
SIM_API void simSetLatency(const char *function, int64_t nanoseconds);
/* The calling thread spends the time of a line of MINDTORCH_SIM_COST that names no function, which is counted as a
 * call: "phase1", "phase1.hit", "phase2". */
#define SIM_SPEND(what)                                                                     \
  do {                                                                                      \
    if (__builtin_expect(__atomic_load_n(&simArmed, __ATOMIC_RELAXED) & SIM_MODELLED, 0)) { \
      static void *simSite = 0;                                                             \
      simEnterArmed(what, &simSite);                                                        \
    }                                                                                       \
  } while (0)
/* Nanoseconds that the modelled device takes for a kernel; 0 where nothing is modelled. */
SIM_API int64_t simKernelTime(int64_t bytes, double flops);

/* Switches null kernels on (1) or off (0): kernels are launched, but compute nothing. MINDTORCH_SIM_KERNELS sets the
 * initial state. */
SIM_API void simSetNullKernels(int32_t null_kernels);
SIM_API int32_t simNullKernels(void);
/* Copies from device to host can be recorded, and later copies can return the recorded bytes in the same order, from
 * the first again after the last. A copy of another size fails. So programs that read results can run with null
 * kernels. */
typedef enum { SIM_READS_PLAIN, SIM_READS_RECORD, SIM_READS_REPEAT } SimReads;
SIM_API void simSetReads(int32_t reads);

/* Bits: SIM_WATCHED while any fault, latency or call count is set, SIM_MODELLED with MINDTORCH_SIM_COST. While both are
 * off, SIM_ENTER costs one relaxed load. `site` is where a caller with one name keeps what is known of it, or NULL. */
enum { SIM_WATCHED = 1, SIM_MODELLED = 2 };
extern SIM_API int32_t simArmed;
SIM_API SIM_COLD aclError simEnterArmed(const char *function, void **site);
#define SIM_ENTER_OR(function, entered, result)                              \
  do {                                                                       \
    if (__builtin_expect(__atomic_load_n(&simArmed, __ATOMIC_RELAXED), 0)) { \
      static void *simSite = 0;                                              \
      aclError entered = simEnterArmed(#function, &simSite);                 \
      if (entered != ACL_SUCCESS) return result;                             \
    }                                                                        \
  } while (0)
/* For functions that return a status. */
#define SIM_ENTER(function) SIM_ENTER_OR(function, simEntered, simEntered)
/* For functions that return no status: a failed call returns `failure`. */
#define SIM_ENTER_VALUE(function, failure) SIM_ENTER_OR(function, simEntered, failure)

/* Returns from the calling function with the status of `call` unless it is a success. */
#define SIM_TRY(call)                               \
  do {                                              \
    const aclError simStatus = (call);              \
    if (simStatus != ACL_SUCCESS) return simStatus; \
  } while (0)

/* Puts "<id>: <text>" on top of the calling thread's messages (aclGetRecentErrMsg) and returns `code`. */
SIM_API SIM_COLD aclError simFail(aclError code, const char *id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A brief task never waits and never calls the program's functions. A kernel is brief, and aclrtSetOpExecuteTimeOut
 * limits its time. */
enum SimTaskKind { SIM_TASK_ANY = 0, SIM_TASK_BRIEF = 1, SIM_TASK_KERNEL = 2 };

/* A task of a stream. `run` is called in stream order, on the stream's thread or, for brief tasks, on a thread that
 * synchronizes the stream. A non-zero result is a device fault that a later call reports. `drop` frees `argument`
 * afterwards, or if the task is never run. */
typedef struct SimTask {
  aclError (*run)(void *argument);
  void (*drop)(void *argument);
  void *argument;
  const char *name;  /* static text, for messages */
  int32_t kind;      /* SimTaskKind; set by the runtime */
  int64_t device_ns; /* of the modelled device; 0: no time */
} SimTask;

/* Appends to `stream` (NULL: the current context's default stream); blocks while the queue is full. On failure the
 * task is not taken: the caller still owns `argument`. With kernels switched off (simNullKernels) and nothing ahead
 * of it, a kernel task is complete at once and `drop` is called before simLaunchKernel returns. */
SIM_API aclError simLaunchKernel(aclrtStream stream, SimTask task);
/* The same for work that may wait for other streams and processes: it always runs on the stream's thread, and it ends
 * when simTaskCancelled() says that its stream was aborted or destroyed. */
SIM_API aclError simLaunchTask(aclrtStream stream, SimTask task);
SIM_API int32_t simTaskCancelled(void);

/* The host address of [address, address + bytes) of device memory, or NULL if the range is not inside one live
 * allocation, including its 32-byte tail. The host cannot read device addresses themselves. */
SIM_API void *simDeviceMemory(const void *address, uint64_t bytes);

/* The id of the device whose memory the current device cannot access, or -1. */
SIM_API int32_t simForeignDevice(const void *address);
SIM_API int32_t simDeviceTotal(void);

#ifdef __cplusplus
}
#endif
#endif
