//===- CodeGenPasses.h - LLVM's passes from IR to machine code --*- C++ -*-===//

#ifndef ARK_LIB_TARGET_CODEGENPASSES_H
#define ARK_LIB_TARGET_CODEGENPASSES_H

#include "llvm/Support/CodeGen.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace llvm::legacy {
class PassManager;
} // namespace llvm::legacy

namespace mlir::ark {

/// Adds the passes that translate optimised LLVM IR to a file of a type, and
/// write it to a stream. Returns false if the machine has no such passes.
///
/// For AMD GPUs, LLVM hoists no machine code out of loops. A kernel is one loop
/// over all work items, so that every constant would occupy a register during
/// all of them.
bool addCodeGenPasses(llvm::legacy::PassManager &passes,
                      llvm::TargetMachine &machine, llvm::raw_pwrite_stream &os,
                      llvm::CodeGenFileType type);

} // namespace mlir::ark

#endif // ARK_LIB_TARGET_CODEGENPASSES_H
