// Every function of libnnopbase, and both phases of every operator, with invalid arguments.
#include "../arguments.h"

#include "declared.h"

// Where the templates look for them: beside the types.
#define DROP(Kind) \
  inline void drop(acl##Kind *object) { CHECK_OK(aclDestroy##Kind(object)); }
DROP(Tensor)
DROP(Scalar)
DROP(IntArray)
DROP(FloatArray)
DROP(BoolArray)
DROP(TensorList)
DROP(ScalarList)

int main() {
  start();
  int64_t number = 1;
  aclTensor *tensor = aclCreateTensor(&number, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &number, 1, nullptr);
  aclScalar *scalar = aclCreateScalar(&number, ACL_INT64);
  aclIntArray *array = aclCreateIntArray(&number, 1);
  aclTensorList *list = aclCreateTensorList(nullptr, 0);
  drop(tensor), drop(scalar), drop(array), drop(list);
  arguments::dead() = {tensor, scalar, array, list};
#define DECLARED(function) arguments::sweep(#function, [] {}, function);
#include "declared.inc"
  return finalizeAndCheckLive();
}
