// A reader for rank tables.
#ifndef MINDTORCH_SIM_HCCL_JSON_H_
#define MINDTORCH_SIM_HCCL_JSON_H_
#include <string>
#include <utility>
#include <vector>

namespace sim::hccl {

struct Json {
  std::string text;  // of a string, or of what is written without quotes
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  const Json *find(const std::string &name) const {
    for (const auto &member : members) {
      if (member.first == name) return &member.second;
    }
    return nullptr;
  }
  std::string string(const std::string &name) const {
    const Json *found = find(name);
    return found == nullptr ? "" : found->text;
  }
};

class JsonReader {
 public:
  explicit JsonReader(const std::string &text) : at_(text.c_str()), end_(at_ + text.size()) {}
  bool read(Json *value) { return readValue(value, 0) && peek() == '\0' && at_ == end_; }

 private:
  static constexpr int kDepth = 16;

  char peek() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    return at_ == end_ ? '\0' : *at_;
  }
  bool take(char expected) {
    if (peek() != expected) return false;
    ++at_;
    return true;
  }
  bool readString(std::string *text) {
    if (!take('"')) return false;
    for (; at_ != end_ && *at_ != '"'; ++at_) {
      if (*at_ == '\\' && ++at_ == end_) return false;
      text->push_back(*at_);
    }
    return take('"');
  }
  bool readValue(Json *value, int depth) {
    if (depth > kDepth) return false;
    const char first = peek();
    if (first == '"') return readString(&value->text);
    if (first == '{')
      return readList('}', [&] {
        std::pair<std::string, Json> member;
        if (peek() != '"' || !readString(&member.first) || !take(':') || !readValue(&member.second, depth + 1))
          return false;
        value->members.push_back(std::move(member));
        return true;
      });
    if (first == '[')
      return readList(']', [&] {
        value->items.emplace_back();
        return readValue(&value->items.back(), depth + 1);
      });
    while (at_ != end_ && std::string(",]} \n\r\t").find(*at_) == std::string::npos) value->text.push_back(*at_++);
    return !value->text.empty();
  }
  template <class Read>
  bool readList(char last, Read read) {
    ++at_;
    if (take(last)) return true;
    do {
      if (!read()) return false;
    } while (take(','));
    return take(last);
  }

  const char *at_;
  const char *const end_;
};

}  // namespace sim::hccl
#endif
