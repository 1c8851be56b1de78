// Calls functions with invalid arguments: NULL, objects of another kind, destroyed handles, extreme integers. A
// function must return a declared code, name itself in the message, and not crash.
#ifndef MINDTORCH_TESTS_SIM_ARGUMENTS_H_
#define MINDTORCH_TESTS_SIM_ARGUMENTS_H_
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "check.h"

namespace arguments {

// Output buffer, zeroed before each call; it holds no object of any kind.
alignas(64) inline unsigned char room[1 << 16];

// Destroyed handles, typed as `void *`; a folder's test adds its own.
inline std::vector<void *> &dead() {
  static std::vector<void *> handles;
  return handles;
}

// Handle types are incomplete; other pointers are outputs or values.
template <class T, class = void>
struct IsOpaque : std::is_class<T> {};
template <class T>
struct IsOpaque<T, std::void_t<decltype(sizeof(T))>> : std::false_type {};

// The values to try for a parameter of type T; the first is used while another parameter is tried.
template <class T>
std::vector<T> choices() {
  using Plain = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Plain, bool>) {
    return {false, true};
  } else if constexpr (std::is_floating_point_v<Plain>) {
    return {T{1}, std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()};
  } else if constexpr (std::is_enum_v<Plain>) {
    return {static_cast<T>(0), static_cast<T>(1), static_cast<T>(-1), static_cast<T>(0x7fffffff)};
  } else if constexpr (std::is_integral_v<Plain>) {
    return {T{1},
            T{0},
            static_cast<T>(-1),
            std::numeric_limits<T>::max(),
            std::numeric_limits<T>::min(),
            static_cast<T>(std::numeric_limits<T>::max() / 2 + 1)};
  } else if constexpr (std::is_class_v<Plain>) {
    return {T{}};
  } else if constexpr (std::is_function_v<std::remove_pointer_t<Plain>>) {
    return {[](void *) {}, nullptr};
  } else {
    static_assert(std::is_pointer_v<Plain>);
    std::vector<T> all{reinterpret_cast<T>(room), nullptr};
    using Target = std::remove_cv_t<std::remove_pointer_t<Plain>>;
    if constexpr (std::is_void_v<Target> || IsOpaque<Target>::value) {
      for (void *handle : dead()) all.push_back(static_cast<T>(handle));
    }
    return all;
  }
}

inline bool declared(int code) {
  switch (code) {
#define X(name, meaning) case name:
#include "mindtorch/error_codes.def"
#undef X
    return true;
    default:
      return false;
  }
}

inline void checkResult(const char *function, int code) {
  const std::string message = lastMessage(), name(function);
  const std::string subject = name.substr(0, name.find("GetWorkspaceSize"));  // phase 1 speaks of the operator
  const bool named = contains(message, subject.c_str()) || contains(name, "LastError");
  if (code == ACL_SUCCESS || (declared(code) && named)) return;
  std::fprintf(stderr, "%s returned %d: %s\n", function, code, message.c_str());
  std::_Exit(1);
}

// A status that is a member of an enumeration; a folder's test has the overload for its own.
template <class Result>
void checkEnum(const char *function, Result result) = delete;

// Objects that a call has created in spite of its arguments.
inline void drop(const void *) {}
inline void drop(const char *) {}
inline void drop(aclDataBuffer *buffer) {
  if (buffer != nullptr) CHECK_OK(aclDestroyDataBuffer(buffer));
}

// The values of one parameter as bytes, so that one loop serves parameters of all types: a loop for each of some
// thousand functions takes the compiler four times as long.
class Values {
 public:
  template <class T>
  static Values of() {
    Values values(sizeof(T));
    for (const T value : choices<T>()) {
      const auto *bytes = reinterpret_cast<const unsigned char *>(&value);
      values.bytes_.insert(values.bytes_.end(), bytes, bytes + sizeof(T));
    }
    return values;
  }

  const void *at(size_t choice) const { return &bytes_[choice * size_ % bytes_.size()]; }

 private:
  explicit Values(size_t size) : size_(size) {}

  size_t size_;
  std::vector<unsigned char> bytes_;
};

using AnyFunction = void (*)();
using Call = void (*)(const char *name, AnyFunction function, const void *const *values);

inline void sweepValues(const char *name, void (*prepare)(), AnyFunction function, Call call,
                        const std::vector<Values> &parameters) {
  std::vector<const void *> picked(parameters.size() + 1);
  for (size_t choice = 0; choice < 16; ++choice) {
    // Each value for each parameter in turn, then the same value for all.
    for (size_t turn = 0; turn <= parameters.size(); ++turn) {
      for (size_t i = 0; i < parameters.size(); ++i) {
        picked[i] = parameters[i].at(i == turn || turn == parameters.size() ? choice : 0);
      }
      prepare();
      lastMessage();
      std::memset(room, 0, sizeof room);
      call(name, function, picked.data());
    }
  }
}

// Calls functions of one type.
template <class Function, class Result, class... Parameters>
struct Signature {
  static void call(const char *name, AnyFunction function, const void *const *values) {
    call(name, reinterpret_cast<Function>(function), values, std::index_sequence_for<Parameters...>{});
  }

 private:
  template <size_t... Index>
  static void call(const char *name, Function function, [[maybe_unused]] const void *const *values,
                   std::index_sequence<Index...>) {
    if constexpr (std::is_void_v<Result>) {
      function(*static_cast<const Parameters *>(values[Index])...);
    } else {
      const Result result = function(*static_cast<const Parameters *>(values[Index])...);
      if constexpr (std::is_same_v<Result, int>) checkResult(name, result);
      if constexpr (std::is_enum_v<Result>) checkEnum(name, result);
      if constexpr (std::is_pointer_v<Result>) drop(result);
    }
  }
};

template <class Result, class... Parameters>
void sweep(const char *name, void (*prepare)(), Result (*function)(Parameters...)) {
  sweepValues(name, prepare, reinterpret_cast<AnyFunction>(function),
              Signature<Result (*)(Parameters...), Result, Parameters...>::call, {Values::of<Parameters>()...});
}

template <class Result, class... Parameters>
void sweep(const char *name, void (*prepare)(), Result (*function)(Parameters..., ...)) {
  sweepValues(name, prepare, reinterpret_cast<AnyFunction>(function),
              Signature<Result (*)(Parameters..., ...), Result, Parameters...>::call, {Values::of<Parameters>()...});
}

}  // namespace arguments
#endif
