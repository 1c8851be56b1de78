/* The pools across a fork: a child may create and destroy descriptors. */
#include "fork.h"

#include <pthread.h>

#include "nnopbase/executor.h"
#include "nnopbase/pool.h"

namespace sim {
namespace {

template <class... T>
void carryPoolsOver(Fork stage) {
  (Pool<T>::carryOver(stage), ...);
}

template <Fork stage>
void passFork() {
  carryPoolsOver<aclTensor, aclScalar, aclIntArray, aclFloatArray, aclBoolArray, aclTensorList, aclScalarList,
                 aclOpExecutor>(stage);
}

[[maybe_unused]] const int registered =
    pthread_atfork(passFork<Fork::kBefore>, passFork<Fork::kInParent>, passFork<Fork::kInChild>);

}  // namespace
}  // namespace sim
