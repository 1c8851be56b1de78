// Stream capture: storing tasks, adding streams to a capture, and calls that are forbidden during a capture.
#ifndef MINDTORCH_SIM_RUNTIME_CAPTURE_H_
#define MINDTORCH_SIM_RUNTIME_CAPTURE_H_
#include <memory>
#include <mutex>

#include "graph.h"

namespace sim {

// A record of an event on a capturing stream.
struct CapturePoint;
using CapturePointPtr = std::shared_ptr<const CapturePoint>;

// Guards captures, updates of task groups and graph handles. Locked before the mutex of a graph.
std::mutex &captureMutex();

CapturePointPtr pointOf(Stream &stream);  // nullptr where the stream does not capture

// Handles a wait of `stream` for an event that was captured, or by a capturing stream: sets *error and returns true.
// `point` is the latest record if it was captured; `recorded` tells whether the event was recorded outside of captures.
bool waitCaptured(const char *function, Stream &stream, const CapturePointPtr &point, bool recorded, aclError *error);

// Errors for queries and host waits, which leave the capture valid:
aclError refuseCapturing(const char *function, Stream &stream);
aclError refuseCapturing(const char *function, const Context &context);
aclError refuseCaptured(const char *function, const CapturePointPtr &point);  // of events
// Errors for calls that invalidate the capture:
aclError refusePageable(const char *function, Stream &stream);  // copies of pageable host memory
aclError refuseUnsafe(const char *function);                    // copies and fills outside of streams
aclError invalidateCapture(Stream &stream, aclError code);      // returns `code`

// Before a stream, or all streams of a context, are destroyed.
void discardCaptures(const Stream &stream);
void discardCaptures(const Context &context);

}  // namespace sim
#endif
