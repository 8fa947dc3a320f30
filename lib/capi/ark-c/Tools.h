/*===- Tools.h - The programs of ark ----------------------------*- C -*-===*\
|*                                                                            *|
|* The whole of each program is a function, so that its executable can be a   *|
|* few lines that link the library which holds LLVM anyway.                   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef ARK_C_TOOLS_H
#define ARK_C_TOOLS_H

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// ark-opt: runs any pass or stage on MLIR text. Returns the exit status.
MLIR_CAPI_EXPORTED int arkOptMain(int argc, char **argv);

/// ld.lld: LLVM's linker for ELF. Ends the process. Only in builds with
/// ARK_STATIC_LLVM.
MLIR_CAPI_EXPORTED int arkLinkerMain(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif /* ARK_C_TOOLS_H */
