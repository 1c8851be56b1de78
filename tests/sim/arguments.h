// Calls functions with invalid arguments: NULL, objects of another kind, destroyed handles, extreme integers. A
// function must return a declared code, name itself in the message, and not crash. destroyed, the ends of the integers.
// Whatever comes, a function returns a code that is declared, says its name, and lets the program live.
#ifndef MINDTORCH_TESTS_SIM_ARGUMENTS_H_
#define MINDTORCH_TESTS_SIM_ARGUMENTS_H_
#include <limits>
#include <tuple>
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

template <class Result, class... Parameters>
class Sweep {
 public:
  template <class Function>
  Sweep(const char *name, void (*prepare)(), Function function) : name_(name), prepare_(prepare) {
    for (size_t choice = 0; choice < 16; ++choice) {
      // Each value for each parameter in turn, then the same value for all.
      for (size_t parameter = 0; parameter <= sizeof...(Parameters); ++parameter) {
        choice_ = choice;
        parameter_ = parameter;
        call(function, std::index_sequence_for<Parameters...>{});
      }
    }
  }

 private:
  template <size_t Index>
  auto pick() const {
    const auto &all = std::get<Index>(choices_);
    return all[Index == parameter_ || parameter_ == sizeof...(Parameters) ? choice_ % all.size() : 0];
  }

  template <class Function, size_t... Index>
  void call(Function function, std::index_sequence<Index...>) {
    prepare_();
    lastMessage();
    std::memset(room, 0, sizeof room);
    if constexpr (std::is_void_v<Result>) {
      function(pick<Index>()...);
    } else {
      const Result result = function(pick<Index>()...);
      if constexpr (std::is_same_v<Result, int>) checkResult(name_, result);
      if constexpr (std::is_enum_v<Result>) checkEnum(name_, result);
      if constexpr (std::is_pointer_v<Result>) drop(result);
    }
  }

  const char *const name_;
  void (*const prepare_)();
  const std::tuple<std::vector<Parameters>...> choices_{choices<Parameters>()...};
  size_t choice_ = 0;
  size_t parameter_ = 0;
};

template <class Result, class... Parameters>
void sweep(const char *name, void (*prepare)(), Result (*function)(Parameters...)) {
  Sweep<Result, Parameters...>(name, prepare, function);
}

template <class Result, class... Parameters>
void sweep(const char *name, void (*prepare)(), Result (*function)(Parameters..., ...)) {
  Sweep<Result, Parameters...>(name, prepare, function);
}

}  // namespace arguments
#endif
