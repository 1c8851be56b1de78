// Copies and fills: directions are derived from the addresses and checked against what the caller states.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "capture.h"
#include "host_memory.h"
#include "reads.h"
#include "stream.h"

namespace sim {

namespace {

bool onDevice(const PointerInfo &info) { return info.kind == PointerInfo::kDevice; }

const char *nameOf(aclrtMemcpyKind kind) {
  static const char *const kNames[] = {
      "HOST_TO_HOST", "HOST_TO_DEVICE",        "DEVICE_TO_HOST",         "DEVICE_TO_DEVICE",
      "DEFAULT",      "HOST_TO_BUF_TO_DEVICE", "INNER_DEVICE_TO_DEVICE", "INTER_DEVICE_TO_DEVICE"};
  const auto index = static_cast<uint32_t>(kind);  // any int may come from a C program
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

bool kindMatches(aclrtMemcpyKind kind, const PointerInfo &dst, const PointerInfo &src) {
  switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST:
      return !onDevice(dst) && !onDevice(src);
    case ACL_MEMCPY_HOST_TO_DEVICE:
    case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
      return onDevice(dst) && !onDevice(src);
    case ACL_MEMCPY_DEVICE_TO_HOST:
      return !onDevice(dst) && onDevice(src);
    case ACL_MEMCPY_DEVICE_TO_DEVICE:
      return onDevice(dst) && onDevice(src);
    case ACL_MEMCPY_DEFAULT:
      return true;
    case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
      return onDevice(dst) && onDevice(src) && dst.device == src.device;
    case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
      return onDevice(dst) && onDevice(src) && dst.device != src.device;
    default:
      return false;
  }
}

// A block of `height` rows; a plain copy has one.
struct Copy {
  void *dst;
  const void *src;
  uint64_t width;
  uint64_t height = 1;
  uint64_t dst_pitch = 0;
  uint64_t src_pitch = 0;
  PointerInfo dst_info{};
  PointerInfo src_info{};

  uint64_t dstBytes() const { return (height - 1) * dst_pitch + width; }
  uint64_t srcBytes() const { return (height - 1) * src_pitch + width; }
  bool pageable() const { return dst_info.kind == PointerInfo::kPageable || src_info.kind == PointerInfo::kPageable; }
};

aclError badRange(const char *function, const char *argument, const void *address, uint64_t bytes) {
  return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001",
                 "%s: %s [%p, +%llu) is not inside one live block: freed, or past its end", function, argument, address,
                 static_cast<unsigned long long>(bytes));
}

aclError checkPeers(const char *function, const Device &own, const Copy &copy) {
  if (!onDevice(copy.dst_info) || !onDevice(copy.src_info)) return ACL_SUCCESS;
  const Device *dst = copy.dst_info.device;
  const Device *src = copy.src_info.device;
  if (dst == src) return ACL_SUCCESS;
  const Device *peer = dst == &own ? src : dst;
  const bool involved = dst == &own || src == &own;
  if (involved && (own.peers.load() >> peer->id & 1) != 0) return ACL_SUCCESS;
  return simFail(
      ACL_ERROR_RT_PARAM_INVALID, "EE1001",
      "%s: from device %d to device %d while device %d is current: aclrtDeviceEnablePeerAccess was not called",
      function, src->id, dst->id, own.id);
}

// Determines where source and destination lie, and checks the copy.
aclError plan(const char *function, const Device &own, Copy *copy, aclrtMemcpyKind kind) {
  if (copy->dst == nullptr) return nullArgument(function, "dst");
  if (copy->src == nullptr) return nullArgument(function, "src");
  copy->dst_info = pointerInfo(copy->dst, copy->dstBytes());
  copy->src_info = pointerInfo(copy->src, copy->srcBytes());
  if (copy->dst_info.kind == PointerInfo::kInvalid) return badRange(function, "dst", copy->dst, copy->dstBytes());
  if (copy->src_info.kind == PointerInfo::kInvalid) return badRange(function, "src", copy->src, copy->srcBytes());
  if (!kindMatches(kind, copy->dst_info, copy->src_info)) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: kind is %d (%s), but dst %p is %s and src %p is %s",
                   function, static_cast<int>(kind), nameOf(kind), copy->dst,
                   onDevice(copy->dst_info) ? "device memory" : "host memory", copy->src,
                   onDevice(copy->src_info) ? "device memory" : "host memory");
  }
  return checkPeers(function, own, *copy);
}

// The host address of the bytes, or nullptr if the memory was freed after the check.
void *hostAlias(const void *address, uint64_t bytes, const PointerInfo &info) {
  return onDevice(info) ? simDeviceMemory(address, bytes) : const_cast<void *>(address);
}

aclError move(const char *function, const Copy &copy) {
  auto *dst = static_cast<unsigned char *>(hostAlias(copy.dst, copy.dstBytes(), copy.dst_info));
  auto *src = static_cast<unsigned char *>(hostAlias(copy.src, copy.srcBytes(), copy.src_info));
  if (dst == nullptr) return badRange(function, "dst", copy.dst, copy.dstBytes());
  if (src == nullptr) return badRange(function, "src", copy.src, copy.srcBytes());
  for (uint64_t row = 0; row < copy.height; ++row) {
    std::memmove(dst + row * copy.dst_pitch, src + row * copy.src_pitch, copy.width);
  }
  const bool read = onDevice(copy.src_info) && !onDevice(copy.dst_info) && copy.height == 1;
  if (read && reads_mode.load(std::memory_order_relaxed) != SIM_READS_PLAIN)
    return recordOrReplay(function, dst, copy.width);
  return ACL_SUCCESS;
}

// A copy in a stream. Memory that was freed before the copy runs is a device fault.
struct CopyWork {
  const char *function;
  Copy copy;
  aclError operator()() const {
    const bool to_pinned = copy.dst_info.kind == PointerInfo::kPinned;
    const bool from_pinned = copy.src_info.kind == PointerInfo::kPinned;
    if (!to_pinned && !from_pinned) return asDmaError(move(function, copy));
    const PinnedGuard guard(to_pinned ? copy.dst : copy.src, to_pinned ? copy.dstBytes() : copy.srcBytes());
    if (guard.held()) return asDmaError(move(function, copy));
    return asDmaError(to_pinned ? badRange(function, "dst", copy.dst, copy.dstBytes())
                                : badRange(function, "src", copy.src, copy.srcBytes()));
  }
  static aclError asDmaError(aclError error) { return error == ACL_SUCCESS ? ACL_SUCCESS : ACL_ERROR_RT_SYS_DMA; }
};

// That the modelled device or its link to the host needs for the copy.
int64_t modelledTime(const Copy &copy) {
  return config().cost.copy(copy.width * copy.height, !onDevice(copy.dst_info) || !onDevice(copy.src_info));
}

aclError copyNow(const char *function, Copy copy, aclrtMemcpyKind kind) {
  Context *context = contextOrDefault();
  if (context == nullptr) return noContext(function);
  if (copy.width == 0 || copy.height == 0) return ACL_SUCCESS;
  SIM_TRY(context->device->check(function));
  SIM_TRY(plan(function, *context->device, &copy, kind));
  SIM_TRY(refuseUnsafe(function));
  const auto begin = Clock::now();
  const aclError error = move(function, copy);
  if (const int64_t time = modelledTime(copy)) pauseUntil(begin + std::chrono::nanoseconds(time));
  return error;
}

aclError enqueue(const char *function, Stream &stream, const Copy &copy) {
  if (copy.pageable()) SIM_TRY(refusePageable(function, stream));
  // Pageable memory may be freed after the call, so the call waits for the copy; on an idle stream it copies itself.
  const bool alone = stream.idle() && !stream.stores() && stream.device().attention.load() == 0;
  if (!stream.stores()) stream.addDeviceTime(modelledTime(copy));
  if (copy.pageable() && alone) {
    const aclError error = move(function, copy);
    pauseUntilDue(stream.due(), forever());
    return error;
  }
  uint64_t ticket = 0;
  const aclError error = submitBrief(stream, function, CopyWork{function, copy}, &ticket);
  return error == ACL_SUCCESS && copy.pageable() ? stream.wait(function, forever(), ticket) : error;
}

aclError copyLater(const char *function, Copy copy, aclrtMemcpyKind kind, aclrtStream handle) {
  Stream *stream = nullptr;
  SIM_TRY(resolveStream(function, handle, &stream));
  if (copy.width == 0 || copy.height == 0) return ACL_SUCCESS;
  SIM_TRY(stream->device().check(function));
  SIM_TRY(plan(function, stream->device(), &copy, kind));
  if (!onDevice(copy.dst_info) && !onDevice(copy.src_info)) {
    return simFail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "EE1001", "%s: copies from host to host are not asynchronous",
                   function);
  }
  return enqueue(function, *stream, copy);
}

aclError checkCapacity(const char *function, uint64_t count, uint64_t capacity) {
  if (count <= capacity) return ACL_SUCCESS;
  return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1003", "%s: count %llu is more than the destination's %llu bytes",
                 function, static_cast<unsigned long long>(count), static_cast<unsigned long long>(capacity));
}

aclError checkPitches(const char *function, const Copy &copy) {
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(copy.height, std::max(copy.dst_pitch, copy.src_pitch), &bytes)) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1003", "%s: height times pitch is more than an address can hold",
                   function);
  }
  if (copy.width <= copy.dst_pitch && copy.width <= copy.src_pitch) return ACL_SUCCESS;
  return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1003", "%s: width %llu is more than a pitch (dpitch %llu, spitch %llu)",
                 function, static_cast<unsigned long long>(copy.width), static_cast<unsigned long long>(copy.dst_pitch),
                 static_cast<unsigned long long>(copy.src_pitch));
}

aclError checkFill(const char *function, const Device &own, void *address, uint64_t capacity, uint64_t count) {
  if (address == nullptr) return nullArgument(function, "devPtr");
  SIM_TRY(checkCapacity(function, count, capacity));
  const PointerInfo info = pointerInfo(address, count);
  if (!onDevice(info)) return badRange(function, "devPtr", address, count);
  if (info.device == &own || (own.peers.load() >> info.device->id & 1) != 0) return ACL_SUCCESS;
  return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: devPtr is memory of device %d, current is device %d",
                 function, info.device->id, own.id);
}

aclError fill(const char *function, void *address, int32_t value, uint64_t count) {
  void *alias = simDeviceMemory(address, count);
  if (alias == nullptr) return badRange(function, "devPtr", address, count);
  std::memset(alias, value, count);
  return ACL_SUCCESS;
}

bool locationMatches(const aclrtMemLocation &location, const PointerInfo &info) {
  if (location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
    return onDevice(info) && location.id == static_cast<uint32_t>(info.device->id);
  }
  return !onDevice(info);
}

struct Batch {
  void **dsts;
  size_t *capacities;
  void **srcs;
  size_t *sizes;
  size_t count;
  aclrtMemcpyBatchAttr *attrs;
  size_t *attr_starts;
  size_t attr_count;
  size_t *failed;
};

aclError checkBatch(const char *function, const Batch &batch) {
  if (batch.dsts == nullptr) return nullArgument(function, "dsts");
  if (batch.capacities == nullptr) return nullArgument(function, "destMaxs");
  if (batch.srcs == nullptr) return nullArgument(function, "srcs");
  if (batch.sizes == nullptr) return nullArgument(function, "sizes");
  if (batch.attrs == nullptr) return nullArgument(function, "attrs");
  if (batch.attr_starts == nullptr) return nullArgument(function, "attrsIndexes");
  if (batch.failed == nullptr) return nullArgument(function, "failIndex");
  *batch.failed = SIZE_MAX;
  if (batch.count == 0) return badValue(function, "numBatches", 0, "at least 1");
  if (batch.attr_count == 0 || batch.attr_count > batch.count) {
    return badValue(function, "numAttrs", static_cast<int64_t>(batch.attr_count), "1 to numBatches");
  }
  for (size_t i = 0; i < batch.attr_count; ++i) {
    const bool ordered = i == 0 ? batch.attr_starts[0] == 0 : batch.attr_starts[i] > batch.attr_starts[i - 1];
    if (!ordered || batch.attr_starts[i] >= batch.count) {
      return badValue(function, "attrsIndexes[]", static_cast<int64_t>(batch.attr_starts[i]),
                      "0 first, then rising, below numBatches");
    }
  }
  return ACL_SUCCESS;
}

// All copies of a batch have the same direction. All are checked before the first is made.
aclError planBatch(const char *function, const Device &own, const Batch &batch, std::vector<Copy> *copies) {
  size_t attr = 0;
  for (size_t i = 0; i < batch.count; ++i) {
    while (attr + 1 < batch.attr_count && batch.attr_starts[attr + 1] <= i) ++attr;
    *batch.failed = i;
    Copy copy{batch.dsts[i], batch.srcs[i], batch.sizes[i]};
    SIM_TRY(checkCapacity(function, batch.sizes[i], batch.capacities[i]));
    SIM_TRY(plan(function, own, &copy, ACL_MEMCPY_DEFAULT));
    const bool to_device = onDevice(copy.dst_info);
    if (to_device == onDevice(copy.src_info) || (!copies->empty() && to_device != onDevice(copies->front().dst_info))) {
      return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001",
                     "%s: copy %zu: a batch goes from host to device as a whole, or from device to host", function, i);
    }
    if (!locationMatches(batch.attrs[attr].dstLoc, copy.dst_info) ||
        !locationMatches(batch.attrs[attr].srcLoc, copy.src_info)) {
      return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: copy %zu: attrs[%zu] states other locations", function,
                     i, attr);
    }
    copies->push_back(copy);
  }
  *batch.failed = SIZE_MAX;
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace sim

using namespace sim;

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind) {
  SIM_ENTER(aclrtMemcpy);
  SIM_TRY(checkCapacity(__func__, count, destMax));
  return copyNow(__func__, {dst, src, count}, kind);
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  SIM_ENTER(aclrtMemcpyAsync);
  SIM_TRY(checkCapacity(__func__, count, destMax));
  return copyLater(__func__, {dst, src, count}, kind, stream);
}

aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                                       aclrtStream stream) {
  SIM_ENTER(aclrtMemcpyAsyncWithCondition);
  SIM_TRY(checkCapacity(__func__, count, destMax));
  return copyLater(__func__, {dst, src, count}, kind, stream);
}

aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
  SIM_ENTER(aclrtMemcpy2d);
  const Copy copy{dst, src, width, height, dpitch, spitch};
  SIM_TRY(checkPitches(__func__, copy));
  return copyNow(__func__, copy, kind);
}

aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream) {
  SIM_ENTER(aclrtMemcpy2dAsync);
  const Copy copy{dst, src, width, height, dpitch, spitch};
  SIM_TRY(checkPitches(__func__, copy));
  return copyLater(__func__, copy, kind, stream);
}

aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                          aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex) {
  SIM_ENTER(aclrtMemcpyBatch);
  SIM_REQUIRE_CONTEXT(context);
  const Batch batch{dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, failIndex};
  SIM_TRY(checkBatch(__func__, batch));
  SIM_TRY(context->device->check(__func__));
  std::vector<Copy> copies;
  aclError error = planBatch(__func__, *context->device, batch, &copies);
  if (error == ACL_SUCCESS) error = refuseUnsafe(__func__);
  for (size_t i = 0; error == ACL_SUCCESS && i < copies.size(); ++i) error = move(__func__, copies[i]);
  return error;
}

aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                               aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex,
                               aclrtStream stream) {
  SIM_ENTER(aclrtMemcpyBatchAsync);
  SIM_REQUIRE_STREAM(found, stream);
  const Batch batch{dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, failIndex};
  SIM_TRY(checkBatch(__func__, batch));
  SIM_TRY(found->device().check(__func__));
  std::vector<Copy> copies;
  aclError error = planBatch(__func__, found->device(), batch, &copies);
  for (size_t i = 0; error == ACL_SUCCESS && i < copies.size(); ++i) error = enqueue(__func__, *found, copies[i]);
  return error;
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
  SIM_ENTER(aclrtMemset);
  SIM_REQUIRE_CONTEXT(context);
  Device &device = *context->device;
  SIM_TRY(device.check(__func__));
  SIM_TRY(checkFill(__func__, device, devPtr, maxCount, count));
  SIM_TRY(refuseUnsafe(__func__));
  return fill(__func__, devPtr, value, count);
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  SIM_ENTER(aclrtMemsetAsync);
  SIM_REQUIRE_STREAM(found, stream);
  Device &device = found->device();
  SIM_TRY(device.check(__func__));
  SIM_TRY(checkFill(__func__, device, devPtr, maxCount, count));
  const char *function = __func__;
  return submitBrief(*found, function, [=] { return CopyWork::asDmaError(fill(function, devPtr, value, count)); });
}
