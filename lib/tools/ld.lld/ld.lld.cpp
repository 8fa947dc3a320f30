//===- ld.lld.cpp - The linker of the cpu target --------------------------===//

#include "lib/capi/ark-c/Tools.h"

int main(int argc, char **argv) { return arkLinkerMain(argc, argv); }
