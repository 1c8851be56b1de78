/* The operator cache: executors from it cannot be made repeatable; the caller's own keys; the limit. */
#include "aclnn/op_cache.h"

#include <cstdlib>
#include <thread>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "op_test.h"

namespace {

/* The sum of two tensors; whether its executor can be made repeatable. The executor is used up. */
aclnnStatus repeatable(aclTensor *x, aclTensor *out, double alpha = 1) {
  Scalar number(alpha);
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  EXPECT(aclnnAddGetWorkspaceSize(x, x, number, out, &size, &executor) == ACLNN_SUCCESS);
  const aclnnStatus status = aclSetAclOpExecutorRepeatable(executor);
  EXPECT(aclnnAdd(nullptr, 0, executor, nullptr) == ACLNN_SUCCESS);
  EXPECT(aclrtSynchronizeDevice() == ACL_SUCCESS); /* before the tensors go */
  if (status == ACLNN_SUCCESS) EXPECT(aclDestroyAclOpExecutor(executor) == ACLNN_SUCCESS);
  return status;
}

void testCalls() {
  currentCase() = "calls";
  Tensor x(ACL_FLOAT, {4}, {1, 2, 3, 4}), y(ACL_FLOAT, {4}, {5, 6, 7, 8}), out(ACL_FLOAT, {4}, {});
  Tensor longer(ACL_FLOAT, {5}, {1, 2, 3, 4, 5}), longer_out(ACL_FLOAT, {5}, {});
  Scalar one(1.0);
  EXPECT(repeatable(x, out) == ACLNN_SUCCESS); /* and so it is kept for nobody else */
  EXPECT(repeatable(x, out) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnAdd, x, x, one, out) == ACLNN_SUCCESS);
  EXPECT(repeatable(x, out) == ACLNN_ERR_INNER);
  EXPECT(repeatable(y, out) == ACLNN_ERR_INNER); /* other memory only */
  EXPECT_VALUES(out.read(), {10, 12, 14, 16}, 0);
  EXPECT(repeatable(x, out, 2) == ACLNN_SUCCESS);
  EXPECT(repeatable(longer, longer_out) == ACLNN_SUCCESS);
  std::thread([&] { EXPECT(aclrtSetDevice(0) == ACL_SUCCESS && repeatable(x, out) == ACLNN_ERR_INNER); }).join();
}

/* A call is found when its phase 2 has succeeded, not before. */
void testUnfinished() {
  currentCase() = "unfinished";
  Tensor x(ACL_FLOAT, {6}, {1, 2, 3, 4, 5, 6}), out(ACL_FLOAT, {6}, {});
  Scalar one(1.0);
  for (int attempt = 0; attempt < 2; ++attempt) {
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    EXPECT(aclnnAddGetWorkspaceSize(x, x, one, out, &size, &executor) == ACLNN_SUCCESS);
    EXPECT(aclDestroyAclOpExecutor(executor) == ACLNN_SUCCESS);
  }
  EXPECT(repeatable(x, out) == ACLNN_SUCCESS);
}

void testArrays() {
  currentCase() = "arrays";
  Tensor x(ACL_FLOAT, {2, 2}, {1, 2, 3, 4}), out(ACL_FLOAT, {2}, {});
  IntArray rows{0}, columns{1};
  EXPECT(RUN(aclnnReduceSum, x, rows, false, ACL_FLOAT, out) == ACLNN_SUCCESS);
  for (aclIntArray *dims : {rows.handle, columns.handle}) {
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    EXPECT(aclnnReduceSumGetWorkspaceSize(x, dims, false, ACL_FLOAT, out, &size, &executor) == ACLNN_SUCCESS);
    EXPECT((aclSetAclOpExecutorRepeatable(executor) == ACLNN_SUCCESS) == (dims == columns.handle));
    EXPECT(aclDestroyAclOpExecutor(executor) == ACLNN_SUCCESS);
  }
}

/* Lists are part of the key, up to the length of CANN's buffer. */
void testLists() {
  currentCase() = "lists";
  for (int count : {2, 3, 200}) {
    std::vector<const aclTensor *> parts;
    std::vector<Tensor> tensors;
    for (int i = 0; i < count; ++i) {
      tensors.emplace_back(ACL_FLOAT, Dims{2}, Values{1, 2});
      parts.push_back(tensors.back().release());
    }
    Tensor out(ACL_FLOAT, {2 * count}, {});
    aclTensorList *list = aclCreateTensorList(parts.data(), parts.size());
    EXPECT(RUN(aclnnCat, list, 0, out) == ACLNN_SUCCESS);
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    EXPECT(aclnnCatGetWorkspaceSize(list, 0, out, &size, &executor) == ACLNN_SUCCESS);
    EXPECT((aclSetAclOpExecutorRepeatable(executor) == ACLNN_SUCCESS) == (count > 100));
    EXPECT(aclDestroyAclOpExecutor(executor) == ACLNN_SUCCESS);
    EXPECT(aclDestroyTensorList(list) == ACLNN_SUCCESS);
  }
}

void testKeys() {
  currentCase() = "keys";
  Tensor x(ACL_FLOAT, {3}, {1, 2, 3}), out(ACL_FLOAT, {3}, {});
  Scalar one(1.0);
  uint8_t first[] = {1, 2}, second[] = {1, 3};
  EXPECT(RUN(aclnnAdd, x, x, one, out) == ACLNN_SUCCESS);
  InitPTACacheThreadLocal();
  EXPECT(repeatable(x, out) == ACLNN_SUCCESS); /* without a key nothing is looked up */
  SetPTACacheHashKey(first, sizeof first);
  EXPECT(RUN(aclnnAdd, x, x, one, out) == ACLNN_SUCCESS);
  EXPECT(repeatable(x, out) == ACLNN_ERR_INNER);
  SetPTACacheHashKey(second, sizeof second);
  EXPECT(repeatable(x, out) == ACLNN_SUCCESS);
  SetPTACacheHashKey(nullptr, 0);
  EXPECT(RUN(aclnnAdd, x, x, one, out) == ACLNN_SUCCESS);
  EXPECT(repeatable(x, out) == ACLNN_SUCCESS);
  UnInitPTACacheThreadLocal();
  EXPECT(repeatable(x, out) == ACLNN_ERR_INNER);
}

/* How a client calls x + alpha * y by its own key; true: no descriptor was made. */
struct Client {
  std::string api = "aclnnAdd";
  std::vector<void *> addresses;
  int64_t offset = 0;
  int found = 0;

  aclOpExecutor *begin(std::string key, uint64_t *size, bool by_hash) {
    EXPECT(CanUsePTACache(api.c_str()));
    InitPTACacheThreadLocal();
    for (void *address : addresses) AddTensorAddrToCachedList(address);
    if (by_hash) {
      SetPTAHashKey(std::stoull(key));
      return PTAGetExecCache(std::stoull(key), size);
    }
    uint8_t *bytes = reinterpret_cast<uint8_t *>(&key[0]);
    SetPTACacheHashKey(bytes, key.size());
    return PTAFindExecCache(bytes, key.size(), size);
  }

  aclnnStatus add(const Tensor &x, const Tensor &y, const Tensor &out, const std::string &key, bool by_hash = false,
                  double alpha = 1) {
    addresses = {x.memory(), y.memory(), out.memory()};
    return call(x, y, out, key, by_hash, alpha);
  }

  aclnnStatus call(const Tensor &x, const Tensor &y, const Tensor &out, const std::string &key, bool by_hash = false,
                   double alpha = 1) {
    Scalar number(alpha);
    uint64_t size = 0;
    aclOpExecutor *executor = begin(key, &size, by_hash);
    found += executor != nullptr;
    if (executor == nullptr) EXPECT(aclnnAddGetWorkspaceSize(x, y, number, out, &size, &executor) == ACLNN_SUCCESS);
    const aclnnStatus status = aclnnAdd(nullptr, size, executor, nullptr);
    UnInitPTACacheThreadLocal();
    EXPECT(aclrtSynchronizeDevice() == ACL_SUCCESS);
    return status;
  }
};

void testFound() {
  for (bool by_hash : {false, true}) {
    currentCase() = by_hash ? "found by hash" : "found by key";
    const std::string key = by_hash ? "77" : "x + y";
    Tensor x(ACL_FLOAT, {3}, {1, 2, 3}, kOffset), y(ACL_FLOAT, {3}, {4, 5, 6}), out(ACL_FLOAT, {3}, {});
    Tensor z(ACL_FLOAT, {3}, {10, 20, 30}, kOffset), other(ACL_FLOAT, {3}, {});
    Client client;
    EXPECT(client.add(x, y, out, key, by_hash) == ACLNN_SUCCESS && client.found == 0);
    EXPECT(client.add(z, y, other, key, by_hash) == ACLNN_SUCCESS && client.found == 1);
    EXPECT_VALUES(other.read(), {14, 25, 36}, 0); /* other memory, at the same offsets */
    EXPECT_VALUES(out.read(), {5, 7, 9}, 0);
    EXPECT(client.add(z, z, z, key, by_hash) == ACLNN_SUCCESS && client.found == 2);
    EXPECT(client.add(x, y, out, by_hash ? "78" : "x + 2 y", by_hash, 2) == ACLNN_SUCCESS && client.found == 2);
    EXPECT_VALUES(out.read(), {9, 12, 15}, 0);
    std::thread([&] {
      EXPECT(aclrtSetDevice(0) == ACL_SUCCESS);
      EXPECT(client.add(x, y, out, key, by_hash) == ACLNN_SUCCESS && client.found == 3);
    }).join();
    client.api = "aclnnSub"; /* the key was another operator's */
    EXPECT(client.add(x, y, out, key, by_hash) == ACLNN_SUCCESS && client.found == 3);
  }
}

/* What an operator writes in place is given once. */
void testInPlace() {
  currentCase() = "in place";
  Tensor x(ACL_FLOAT, {2}, {1, 2}), y(ACL_FLOAT, {2}, {10, 20}), other(ACL_FLOAT, {2}, {5, 6});
  Scalar one(1.0);
  Client client;
  client.api = "aclnnInplaceAdd";
  uint64_t size = 0;
  for (const Tensor *self : {&x, &y}) {
    client.addresses = {self->memory(), other.memory()};
    aclOpExecutor *executor = client.begin("x += other", &size, false);
    EXPECT((executor != nullptr) == (self == &y));
    if (executor == nullptr)
      EXPECT(aclnnInplaceAddGetWorkspaceSize(*self, other, one, &size, &executor) == ACL_SUCCESS);
    EXPECT(aclnnInplaceAdd(nullptr, size, executor, nullptr) == ACLNN_SUCCESS);
    UnInitPTACacheThreadLocal();
  }
  EXPECT_VALUES(x.read(), {6, 8}, 0);
  EXPECT_VALUES(y.read(), {15, 26}, 0);
}

void testRefused() {
  currentCase() = "refused";
  Tensor x(ACL_FLOAT, {5}, {1, 2, 3, 4, 5}), out(ACL_FLOAT, {5}, {});
  Client client;
  EXPECT(client.add(x, x, out, "refused") == ACLNN_SUCCESS);
  const struct {
    const char *what;
    std::vector<void *> addresses;
  } cases[] = {
      {"was called 2 times", {x.memory(), x.memory()}},
      {"expected a multiple of 32", {x.memory(), static_cast<char *>(x.memory()) + 4, out.memory()}},
      {"expected live device memory", {x.memory(), x.memory(), nullptr}},
  };
  for (const auto &refused : cases) {
    currentCase() = refused.what;
    client.addresses = refused.addresses;
    EXPECT(client.call(x, x, out, "refused") == ACLNN_ERR_PARAM_INVALID);
    EXPECT(std::string(aclGetRecentErrMsg()).find(refused.what) != std::string::npos);
  }
  EXPECT(client.found == 3);
  EXPECT(client.add(x, x, out, "refused") == ACLNN_SUCCESS && client.found == 4); /* and the call is still there */
}

/* Of 40 calls 30 are dropped when the 41st comes, those that were not used for longest. */
void testLimit() {
  currentCase() = "limit";
  Tensor x(ACL_FLOAT, {2}, {1, 2}), out(ACL_FLOAT, {2}, {});
  Client client;
  const auto found = [&](int call) {
    const int before = client.found;
    EXPECT(client.add(x, x, out, "call " + std::to_string(call)) == ACLNN_SUCCESS);
    return client.found > before;
  };
  for (int call = 0; call < 40; ++call) EXPECT(!found(call));
  EXPECT(found(0)); /* used again, and so it is not the oldest any more */
  EXPECT(!found(40));
  EXPECT(found(0) && found(39) && found(40));
  EXPECT(!found(1));
  for (int hash = 1; hash <= 60; ++hash) EXPECT(client.add(x, x, out, std::to_string(hash), true) == ACLNN_SUCCESS);
  client.found = 0;
  for (int hash = 1; hash <= 60; ++hash) EXPECT(client.add(x, x, out, std::to_string(hash), true) == ACLNN_SUCCESS);
  EXPECT(client.found == 40); /* calls by hash stay in, later ones out */
}

void testOff() {
  currentCase() = "off";
  EXPECT(!CanUsePTACache("aclnnAdd"));
  uint64_t size = 0;
  uint8_t key[] = {1};
  EXPECT(PTAFindExecCache(key, sizeof key, &size) == nullptr && PTAGetExecCache(1, &size) == nullptr);
}

}  // namespace

int main(int count, char **arguments) {
  if (count > 1) {
    Session session;
    if (std::getenv("ACLNN_CACHE_LIMIT") != nullptr) {
      testLimit();
    } else {
      testOff();
    }
    return 0;
  }
  EXPECT(runAs(arguments[0], "MINDTORCH_SIM_OP_CACHE", "0") == 0);
  unsetenv("MINDTORCH_SIM_OP_CACHE"); /* it is on by default */
  EXPECT(runAs(arguments[0], "ACLNN_CACHE_LIMIT", "40") == 0);
  Session session;
  testCalls();
  testArrays();
  testLists();
  testKeys();
  testUnfinished();
  testFound();
  testInPlace();
  testRefused();
}
