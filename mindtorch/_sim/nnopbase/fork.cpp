/* The locks of the pools across fork(): a child may create and destroy descriptors. */
#include "fork.h"

#include <pthread.h>

#include "nnopbase/executor.h"
#include "nnopbase/pool.h"

namespace sim {
namespace {

template <class... T>
void poolsAtFork(Fork stage) {
  (Pool<T>::atFork(stage), ...);
}

template <Fork stage>
void passFork() {
  poolsAtFork<aclTensor, aclScalar, aclIntArray, aclFloatArray, aclBoolArray, aclTensorList, aclScalarList,
              aclOpExecutor>(stage);
}

[[maybe_unused]] const int registered =
    pthread_atfork(passFork<Fork::kPrepare>, passFork<Fork::kParent>, passFork<Fork::kChild>);

}  // namespace
}  // namespace sim
