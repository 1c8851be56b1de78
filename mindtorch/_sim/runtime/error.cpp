// Messages and last errors, per thread (or per process where the configuration of aclInit asks for it).
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "runtime.h"

namespace {

constexpr size_t kMessageLimit = 16384;  // a client that never reads its messages must not grow without end

struct Messages {
  std::string pending;   // newest on top
  std::string returned;  // what the last aclGetRecentErrMsg gave out; lives until the next one
};

thread_local Messages thread_messages;
thread_local aclError last_error = ACL_SUCCESS;

std::atomic<bool> shared_mode{false};
std::mutex shared_mutex;
Messages &sharedMessages() {
  static Messages &instance = *new Messages;
  return instance;
}

bool isRuntimeCode(aclError code) {
  const int group = code % 100000 / 1000;
  return group == 0 || group == 7 || group == 45 || group == 48;  // 161xxx, 361xxx and 561xxx are aclnn's
}

void prependMessage(Messages &messages, const std::string &text) {
  messages.pending.insert(0, text);
  if (messages.pending.size() > kMessageLimit) messages.pending.resize(kMessageLimit);
}

const char *take(Messages &messages) {
  if (messages.pending.empty()) return nullptr;
  messages.returned.swap(messages.pending);
  messages.pending.clear();
  return messages.returned.c_str();
}

}  // namespace

namespace sim {

void setSharedMessages(bool shared) { shared_mode.store(shared); }

void TaskErrorScope::exchange() {
  pending_.swap(thread_messages.pending);
  returned_.swap(thread_messages.returned);
  std::swap(last_error_, last_error);
}

void messagesAtFork(Fork stage) { atFork(shared_mutex, stage); }

aclError nullArgument(const char *function, const char *argument) {
  return simFail(ACL_ERROR_INVALID_PARAM, "EE1001", "%s: %s is NULL", function, argument);
}

aclError badValue(const char *function, const char *argument, int64_t value, const char *expected) {
  return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1003", "%s: %s is %lld, expected %s", function, argument,
                 static_cast<long long>(value), expected);
}

aclError badHandle(const char *function, const char *argument, const void *handle) {
  return simFail(ACL_ERROR_RT_INVALID_HANDLE, "EE1001",
                 "%s: %s %p is not a live handle: it was destroyed, released with its device, or never created",
                 function, argument, handle);
}

}  // namespace sim

using namespace sim;

aclError simFail(aclError code, const char *id, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::string message = std::string(id) + ": " + text + "\n";
  if (isRuntimeCode(code)) last_error = code;
  if (shared_mode.load(std::memory_order_relaxed)) {
    std::lock_guard<std::mutex> lock(shared_mutex);
    prependMessage(sharedMessages(), message);
  } else {
    prependMessage(thread_messages, message);
  }
  return code;
}

const char *aclGetRecentErrMsg(void) {
  SIM_ENTER_VALUE(aclGetRecentErrMsg, nullptr);
  if (!shared_mode.load(std::memory_order_relaxed)) return take(thread_messages);
  std::lock_guard<std::mutex> lock(shared_mutex);
  return take(sharedMessages());
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  SIM_ENTER(aclrtPeekAtLastError);
  if (level != ACL_RT_THREAD_LEVEL) return badValue(__func__, "level", level, "ACL_RT_THREAD_LEVEL");
  return last_error;
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  SIM_ENTER(aclrtGetLastError);
  if (level != ACL_RT_THREAD_LEVEL) return badValue(__func__, "level", level, "ACL_RT_THREAD_LEVEL");
  const aclError error = last_error;
  last_error = ACL_SUCCESS;
  return error;
}

void aclAppLog(aclLogLevel level, const char *func, const char *file, uint32_t line, const char *fmt, ...) {
  SIM_ENTER_VALUE(aclAppLog, );
  static const char *const kLevels[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
  const char *to_stdout = std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT");
  const char *threshold = std::getenv("ASCEND_GLOBAL_LOG_LEVEL");
  if (to_stdout == nullptr || std::strcmp(to_stdout, "1") != 0 || fmt == nullptr ||
      static_cast<uint32_t>(level) > ACL_ERROR) {
    return;
  }
  if (static_cast<int>(level) < (threshold == nullptr ? ACL_ERROR : std::atoi(threshold))) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, fmt);
  vsnprintf(text, sizeof text, fmt, arguments);
  va_end(arguments);
  std::printf("[%s] APP %s:%u %s: %s\n", kLevels[level], file == nullptr ? "" : file, line, func == nullptr ? "" : func,
              text);
}
