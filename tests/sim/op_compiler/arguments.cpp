// Every function of libacl_op_compiler with every argument that it cannot use.
#include "../arguments.h"

#include "declared.h"

int main() {
  start();
#define DECLARED(function) arguments::sweep(#function, [] {}, function);
#include "declared.inc"
  return finish();
}
