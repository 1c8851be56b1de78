// Capturing streams: which tasks they store, what joins them, and what may not be called meanwhile.
#ifndef MINDTORCH_SIM_RUNTIME_CAPTURE_H_
#define MINDTORCH_SIM_RUNTIME_CAPTURE_H_
#include <memory>
#include <mutex>

#include "graph.h"

namespace sim {

// What the record of an event on a capturing stream stands for.
struct CapturePoint;
using CapturePointPtr = std::shared_ptr<const CapturePoint>;

// Guards captures, updates of task groups and the graphs behind handles. Taken before the mutex of a graph.
std::mutex &captureMutex();

CapturePointPtr pointOf(Stream &stream);  // nullptr where the stream does not capture

// A wait of `stream` for an event: `point` is its latest record where that was captured, `recorded` says whether it was
// recorded otherwise. True: it was dealt with here, with the result *error.
bool waitCaptured(const char *function, Stream &stream, const CapturePointPtr &point, bool recorded, aclError *error);

// Refusals. Queries and waits of the host, which leave the capture as it was:
aclError refuseCapturing(const char *function, Stream &stream);
aclError refuseCapturing(const char *function, const Context &context);
aclError refuseCaptured(const char *function, const CapturePointPtr &point);  // of events
// Whoever makes such a call spoils the capture that forbids it:
aclError refusePageable(const char *function, Stream &stream);  // copies that the host takes part in
aclError refuseUnsafe(const char *function);                    // copies and fills outside of streams
aclError invalidateCapture(Stream &stream, aclError code);      // returns `code`

// A stream, or all streams of a context, are about to go.
void discardCaptures(const Stream &stream);
void discardCaptures(const Context &context);

}  // namespace sim
#endif
