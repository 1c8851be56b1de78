/* The executor: the result of phase 1, self-contained, so that phase 2 can hand it to the stream. */
#ifndef MINDTORCH_SIM_NNOPBASE_EXECUTOR_H_
#define MINDTORCH_SIM_NNOPBASE_EXECUTOR_H_
#include <cstring>
#include <new>
#include <string>

#include "nnopbase/objects.h"

namespace sim {

/* A growing array of plain data; the first N items are stored inline. */
template <class Item, uint32_t N>
class SmallArray {
 public:
  SmallArray() = default;
  SmallArray(const SmallArray &) = delete;
  SmallArray &operator=(const SmallArray &other) {
    if (this == &other) return *this;
    clear();
    for (const Item &item : other) push() = item;
    return *this;
  }
  ~SmallArray() { clear(); }

  Item &push() {
    if (size_ == capacity_) grow();
    return items_[size_++];
  }
  void pop() { --size_; }
  void clear() {
    if (items_ != inline_items_) shrink();
    size_ = 0;
  }
  uint32_t size() const { return size_; }
  Item &operator[](uint32_t i) { return items_[i]; }
  const Item &operator[](uint32_t i) const { return items_[i]; }
  Item *begin() { return items_; }
  Item *end() { return items_ + size_; }
  const Item *begin() const { return items_; }
  const Item *end() const { return items_ + size_; }
  Item &back() { return items_[size_ - 1]; }
  const Item &back() const { return items_[size_ - 1]; }

 private:
  SIM_COLD void shrink() {
    delete[] items_;
    items_ = inline_items_;
    capacity_ = N;
  }
  SIM_COLD void grow() {
    Item *larger = new Item[2 * capacity_];
    for (uint32_t i = 0; i < size_; ++i) larger[i] = items_[i];
    if (items_ != inline_items_) delete[] items_;
    items_ = larger;
    capacity_ *= 2;
  }

  Item inline_items_[N];
  Item *items_ = inline_items_;
  uint32_t capacity_ = N;
  uint32_t size_ = 0;
};

enum Role : uint8_t { kIn = 1, kOut = 2, kInOut = kIn | kOut };

/* A tensor argument, copied, as the descriptor may be destroyed after phase 2. */
struct Operand {
  const aclTensor *tensor; /* NULL: an optional tensor left out; not live in an executor by address */
  uintptr_t base;          /* on the device, of the storage */
  uintptr_t address;       /* on the device, of the element with index 0 */
  char *host;              /* the same, as the kernel reaches it; set on the stream's thread */
  int64_t count;           /* elements of the view */
  int64_t bytes;           /* from the first to behind the last element */
  aclDataType type;
  uint8_t role;
  uint8_t compute;   /* the type that kernels see (opapi/convert.h) */
  uint8_t parameter; /* index of the C parameter */
  uint32_t ordinal;  /* which tensor or tensor list of the call, counted from 0 */
  int64_t element;   /* position in its list, -1 for a single tensor */
  uint32_t given;    /* which of the tensors that were given, counted from 0 */
  int32_t rank;
  int32_t item;
  int64_t dims[kMaxRank];
  int64_t strides[kMaxRank];
};

/* A scalar argument, readable in every compute type. */
struct Scalar {
  bool present;
  aclDataType type;
  int64_t integer;
  double real;
  double imaginary;
};

/* An object that was given to phase 1. */
struct Reference {
  const Header *object;
  uint32_t generation;
  uint32_t parameter;
  uint32_t ordinal = UINT32_MAX; /* of a tensor: as in Operand */
  int64_t element = -1;
};

struct OpRule;

}  // namespace sim

struct aclOpExecutor {
  sim::Header header;
  aclOpExecutor *next_free;
  const sim::OpRule *op;
  const char *name; /* the operator's */
  bool repeatable;
  bool cached;        /* op_cache.h: it came from there */
  std::string call;   /* the key under which phase 2 keeps it there; empty: it is not kept */
  uint32_t tensors;   /* that were given */
  bool by_address;    /* the caller has given addresses in their place: */
  uint32_t addresses; /* so many */
  double flops;       /* of matrix products, for the modelled device */
  uint64_t workspace_size;
  uintptr_t workspace_address;
  char *workspace;
  sim::SmallArray<sim::Operand, 16> operands;
  sim::SmallArray<sim::Reference, 20> references;
  sim::SmallArray<uint8_t, 20> roles; /* by ordinal */
  uint32_t scalar_count;
  sim::Scalar scalars[3];
  sim::SmallArray<sim::Scalar, 1> scalar_list; /* of a scalar list */
  /* The kernel and its parameters, chosen by the operator's prepare function. */
  aclError (*run)(const aclOpExecutor &);
  const void *kernel;
  int64_t attributes[16];
  sim::SmallArray<int64_t, 4> integers;      /* of arrays, which the caller may destroy before the kernel runs */
  std::shared_ptr<sim::FoundShape> found[3]; /* of the outputs whose shapes the kernel finds out, in order */
};

namespace sim {

SIM_API aclOpExecutor *allocateExecutor();
SIM_API void releaseExecutor(aclOpExecutor *executor); /* back to the pool; the caller has counted it off already */

/* Address of the first element of `tensor`, whose element takes `item` bytes. */
inline uintptr_t elementAddress(const aclTensor *tensor, int64_t item) {
  return reinterpret_cast<uintptr_t>(tensor->data) + static_cast<uintptr_t>(tensor->offset * item);
}

}  // namespace sim
#endif
