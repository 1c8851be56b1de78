// Every collective among ranks of one process: values, types, in place, sizes that do not divide, several streams.
#include "ranks.h"

namespace {

using Floats = std::vector<float>;

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

// Element i of rank r's input.
float element(uint32_t rank, size_t i) { return static_cast<float>((rank + 1) * 1000 + i % 911); }
Floats input(uint32_t rank, size_t count) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i) values[i] = element(rank, i);
  return values;
}
Floats sums(uint32_t ranks, size_t first, size_t count) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i) {
    for (uint32_t rank = 0; rank < ranks; ++rank) values[i] += element(rank, first + i);
  }
  return values;
}

void allReduce(const Rank &rank) {
  for (const size_t count : {size_t{1}, size_t{7}, size_t{100000}}) {
    const Array<float> from(input(rank.number, count));
    const Array<float> to(count);
    CHECK_HCCL(HcclAllReduce(from.get(), to.get(), count, kFloat, HCCL_REDUCE_SUM, rank.comm, rank.stream));
    CHECK_HCCL(HcclAllReduce(from.get(), from.get(), count, kFloat, HCCL_REDUCE_SUM, rank.comm, rank.stream));
    rank.synchronize();
    CHECK(to.values() == sums(rank.count, 0, count) && from.values() == to.values());
  }
  CHECK_HCCL(HcclAllReduce(nullptr, nullptr, 0, kFloat, HCCL_REDUCE_SUM, rank.comm, rank.stream));
  rank.synchronize();
}

template <class T>
void reductions(const Rank &rank, HcclDataType type, bool product) {
  const auto own = static_cast<T>(rank.number + 2);
  T sum = 0;
  T all = 1;
  for (uint32_t other = 0; other < rank.count; ++other) {
    sum = static_cast<T>(sum + static_cast<T>(other + 2));
    all = static_cast<T>(all * static_cast<T>(other + 2));
  }
  const T expected[] = {sum, all, static_cast<T>(rank.count + 1), 2};
  for (const HcclReduceOp op : {HCCL_REDUCE_SUM, HCCL_REDUCE_PROD, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN}) {
    const Array<T> values(5, own);
    const HcclResult result = HcclAllReduce(values.get(), values.get(), 5, type, op, rank.comm, rank.stream);
    if (op == HCCL_REDUCE_PROD && !product) {
      CHECK_CODE(result, HCCL_E_NOT_SUPPORT);
      continue;
    }
    CHECK_HCCL(result);
    rank.synchronize();
    CHECK(values.values() == std::vector<T>(5, expected[op]));
  }
}

// 2049 is no float16, and 257 is no bfloat16: each step is rounded.
void roundedSums(const Rank &rank) {
  const Array<uint16_t> halves(1, rank.number == 0 ? 0x6800 : 0x3C00);
  const Array<uint16_t> brain(1, rank.number == 0 ? 0x4380 : 0x3F80);
  CHECK_HCCL(
      HcclAllReduce(halves.get(), halves.get(), 1, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_SUM, rank.comm, rank.stream));
  CHECK_HCCL(HcclAllReduce(brain.get(), brain.get(), 1, HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_SUM, rank.comm, rank.stream));
  rank.synchronize();
  CHECK(halves.values()[0] == 0x6800 && brain.values()[0] == 0x4380);
  CHECK_CODE(HcclAllReduce(brain.get(), brain.get(), 1, HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_PROD, rank.comm, rank.stream),
             HCCL_E_NOT_SUPPORT);
  CHECK_CODE(HcclAllReduce(brain.get(), brain.get(), 1, HCCL_DATA_TYPE_UINT8, HCCL_REDUCE_SUM, rank.comm, rank.stream),
             HCCL_E_NOT_SUPPORT);
}

void oneToAll(const Rank &rank) {
  const uint32_t root = rank.count - 1;
  const Array<float> buffer(input(rank.number, 50));
  CHECK_HCCL(HcclBroadcast(buffer.get(), 50, kFloat, root, rank.comm, rank.stream));
  const Array<float> pieces(rank.number == root ? input(root, 10 * rank.count) : Floats{});
  const Array<float> own(10);
  CHECK_HCCL(
      HcclScatter(rank.number == root ? pieces.get() : nullptr, own.get(), 10, kFloat, root, rank.comm, rank.stream));
  const Array<float> sum(20);
  CHECK_HCCL(HcclReduce(buffer.get(), sum.get(), 20, kFloat, HCCL_REDUCE_MAX, root, rank.comm, rank.stream));
  rank.synchronize();
  CHECK(buffer.values() == input(root, 50));
  const Floats all = input(root, 10 * rank.count);
  CHECK(own.values() == Floats(all.begin() + rank.number * 10, all.begin() + rank.number * 10 + 10));
  const Floats reduced = input(root, 20);
  CHECK(sum.values() == (rank.number == root ? reduced : Floats(20)));
}

void gathers(const Rank &rank) {
  const size_t count = 33;
  Floats all;
  for (uint32_t other = 0; other < rank.count; ++other) {
    const Floats one = input(other, count);
    all.insert(all.end(), one.begin(), one.end());
  }
  const Array<float> from(input(rank.number, count));
  const Array<float> to(count * rank.count);
  CHECK_HCCL(HcclAllGather(from.get(), to.get(), count, kFloat, rank.comm, rank.stream));
  rank.synchronize();
  CHECK(to.values() == all);
  Floats only(all.size());
  std::copy_n(input(rank.number, count).begin(), count, only.begin() + rank.number * count);
  const Array<float> in_place(only);
  CHECK_HCCL(
      HcclAllGather(in_place.get() + rank.number * count, in_place.get(), count, kFloat, rank.comm, rank.stream));
  rank.synchronize();
  CHECK(in_place.values() == all);

  // Rank r has r elements, and one place between the pieces stays as it is.
  std::vector<uint64_t> counts, offsets;
  Floats expected;
  for (uint32_t other = 0; other < rank.count; ++other) {
    counts.push_back(other);
    offsets.push_back(expected.size());
    const Floats one = input(other, other);
    expected.insert(expected.end(), one.begin(), one.end());
    expected.push_back(-1);
  }
  const Array<float> some(expected.size(), -1);
  CHECK_HCCL(HcclAllGatherV(from.get(), rank.number, some.get(), counts.data(), offsets.data(), kFloat, rank.comm,
                            rank.stream));
  rank.synchronize();
  CHECK(some.values() == expected);
}

void scatters(const Rank &rank) {
  const size_t count = 21;
  const Array<float> from(input(rank.number, count * rank.count));
  const Array<float> to(count);
  CHECK_HCCL(HcclReduceScatter(from.get(), to.get(), count, kFloat, HCCL_REDUCE_SUM, rank.comm, rank.stream));
  rank.synchronize();
  CHECK(to.values() == sums(rank.count, rank.number * count, count));

  std::vector<uint64_t> counts, offsets;
  for (uint32_t other = 0; other < rank.count; ++other) {
    counts.push_back(other);
    offsets.push_back(2 * other);
  }
  const Array<float> some(count, -1);
  CHECK_HCCL(HcclReduceScatterV(from.get(), counts.data(), offsets.data(), some.get(), rank.number, kFloat,
                                HCCL_REDUCE_SUM, rank.comm, rank.stream));
  rank.synchronize();
  Floats expected = sums(rank.count, 2 * rank.number, rank.number);
  expected.resize(count, -1);
  CHECK(some.values() == expected);
}

void allToAll(const Rank &rank) {
  const uint32_t ranks = rank.count;
  const Array<float> from(input(rank.number, 6 * ranks));
  const Array<float> to(6 * ranks);
  CHECK_HCCL(HcclAlltoAll(from.get(), 6, kFloat, to.get(), 6, kFloat, rank.comm, rank.stream));
  rank.synchronize();
  Floats expected;
  for (uint32_t other = 0; other < ranks; ++other) {
    for (size_t i = 0; i < 6; ++i) expected.push_back(element(other, rank.number * 6 + i));
  }
  CHECK(to.values() == expected);

  // Rank i sends (i + j) % 3 elements to rank j.
  std::vector<uint64_t> matrix(ranks * ranks), sent(ranks), received(ranks), sent_at(ranks), received_at(ranks);
  for (uint32_t i = 0; i < ranks; ++i) {
    for (uint32_t j = 0; j < ranks; ++j) matrix[i * ranks + j] = (i + j) % 3;
  }
  expected.clear();
  for (uint32_t other = 0; other < ranks; ++other) {
    sent[other] = received[other] = (rank.number + other) % 3;
    sent_at[other] = other == 0 ? 0 : sent_at[other - 1] + sent[other - 1];
    received_at[other] = sent_at[other];
    uint64_t at = 0;
    for (uint32_t before = 0; before < rank.number; ++before) at += (other + before) % 3;
    for (uint64_t i = 0; i < received[other]; ++i) expected.push_back(element(other, at + i));
  }
  expected.resize(6 * ranks, -1);
  const Array<float> some(6 * ranks, -1);
  const Array<float> same(6 * ranks, -1);
  CHECK_HCCL(HcclAlltoAllV(from.get(), sent.data(), sent_at.data(), kFloat, some.get(), received.data(),
                           received_at.data(), kFloat, rank.comm, rank.stream));
  CHECK_HCCL(HcclAlltoAllVC(from.get(), matrix.data(), kFloat, same.get(), kFloat, rank.comm, rank.stream));
  rank.synchronize();
  CHECK(some.values() == expected && same.values() == expected);
}

void pairs(const Rank &rank) {
  const uint32_t next = (rank.number + 1) % rank.count;
  const uint32_t before = (rank.number + rank.count - 1) % rank.count;
  const Array<float> from(input(rank.number, 1000));
  const Array<float> to(1000);
  if (rank.number % 2 == 0) {
    CHECK_HCCL(HcclSend(from.get(), 1000, kFloat, next, rank.comm, rank.stream));
    CHECK_HCCL(HcclRecv(to.get(), 1000, kFloat, before, rank.comm, rank.stream));
  } else {
    CHECK_HCCL(HcclRecv(to.get(), 1000, kFloat, before, rank.comm, rank.stream));
    CHECK_HCCL(HcclSend(from.get(), 1000, kFloat, next, rank.comm, rank.stream));
  }
  rank.synchronize();
  CHECK(to.values() == input(before, 1000));

  const Array<float> round(1000);
  const Array<float> own(3);
  HcclSendRecvItem items[] = {{HCCL_SEND, from.get(), 1000, kFloat, before},
                              {HCCL_SEND, from.get(), 3, kFloat, rank.number},
                              {HCCL_RECV, own.get(), 3, kFloat, rank.number},
                              {HCCL_RECV, round.get(), 1000, kFloat, next}};
  CHECK_HCCL(HcclBatchSendRecv(items, 4, rank.comm, rank.stream));
  CHECK_HCCL(HcclBarrier(rank.comm, rank.stream));
  rank.synchronize();
  CHECK(round.values() == input(next, 1000) && own.values() == input(rank.number, 3));
}

// Collectives wait on the stream, not in the call.
void asynchronous(const Rank &rank) {
  Gate gate;
  CHECK_OK(block(rank.stream, gate));
  const Array<float> from(input(rank.number, 10));
  for (int i = 0; i < 50; ++i) {
    CHECK_HCCL(HcclAllReduce(from.get(), from.get(), 10, kFloat, HCCL_REDUCE_MAX, rank.comm, rank.stream));
  }
  aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
  CHECK_OK(aclrtStreamQuery(rank.stream, &status));
  CHECK(status == ACL_STREAM_STATUS_NOT_READY && from.values() == input(rank.number, 10));
  gate.open();
  rank.synchronize();
  CHECK(from.values() == input(rank.count - 1, 10));
}

void all(const Rank &rank) {
  allReduce(rank);
  reductions<int8_t>(rank, HCCL_DATA_TYPE_INT8, true);
  reductions<int16_t>(rank, HCCL_DATA_TYPE_INT16, false);
  reductions<int32_t>(rank, HCCL_DATA_TYPE_INT32, true);
  reductions<int64_t>(rank, HCCL_DATA_TYPE_INT64, true);
  reductions<float>(rank, HCCL_DATA_TYPE_FP32, true);
  if (rank.count == 2) roundedSums(rank);
  oneToAll(rank);
  gathers(rank);
  scatters(rank);
  allToAll(rank);
  if (rank.count % 2 == 0) pairs(rank);
  asynchronous(rank);
}

}  // namespace

int main() {
  startDevices(4);
  for (const uint32_t ranks : {1, 2, 3, 4}) onRanks(ranks, all);
  return finalizeAndCheckLive();
}
