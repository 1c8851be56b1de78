// Every function of the library with invalid arguments.
#include "../arguments.h"

#include "declared.h"

int main() {
  start();
#define DECLARED(function) arguments::sweep(#function, [] {}, function);
#include "declared.inc"
  return finalizeAndCheckLive();
}
