//===- Linker.cpp - The tool ld.lld ---------------------------------------===//

#include "lib/capi/ark-c/Tools.h"

#include "lld/Common/Driver.h"
#include "lld/Common/ErrorHandler.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

int arkLinkerMain(int argc, char **argv) {
  bool done = lld::elf::link({argv, static_cast<size_t>(argc)}, llvm::outs(),
                             llvm::errs(), /*exitEarly=*/true,
                             /*disableOutput=*/false);
  // Ends the process without freeing its memory.
  lld::exitLld(done ? 0 : 1);
}
