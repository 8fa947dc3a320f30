//===- NativeObject.h - LLVM dialect to machine code ------------*- C++ -*-===//
//
// Implements the last step of the cpu target: translates a module in the LLVM
// dialect to a relocatable object file, without a system compiler.
//
// All functions may be called from several threads at once. Errors are
// diagnostics at the module's location. LLVM's fatal errors, which otherwise
// end the process, become diagnostics too; memory that LLVM had allocated by
// then leaks.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_TARGET_NATIVEOBJECT_H
#define ARK_LIB_TARGET_NATIVEOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/LogicalResult.h"

#include <string>

namespace mlir::ark {

struct NativeObjectOptions {
  /// An empty string selects the module's `llvm.target_triple`, or else this
  /// machine's triple.
  std::string triple;
  /// An empty string selects a baseline processor of the triple.
  std::string cpu;
  /// Features in LLVM's form: "+avx2,-avx512f".
  std::string features;
  /// The optimisation level, 0 to 3, as in -O0 to -O3.
  unsigned optLevel = 3;
};

/// The processor of this machine in LLVM's terms: triple, name and feature
/// string.
struct HostCpu {
  std::string triple;
  std::string name;
  std::string features;
};
HostCpu getHostCpu();

/// Translates a module to a position-independent relocatable object in the
/// triple's own format.
FailureOr<llvm::SmallVector<char, 0>>
translateToObject(ModuleOp module, const NativeObjectOptions &options);

/// Translates a module to the same code as assembly text.
FailureOr<std::string> translateToAssembly(ModuleOp module,
                                           const NativeObjectOptions &options);

/// Translates a module to LLVM IR, optimised if `options` is given.
FailureOr<std::string>
translateToLLVMIR(ModuleOp module,
                  const NativeObjectOptions *options = nullptr);

} // namespace mlir::ark

#endif // ARK_LIB_TARGET_NATIVEOBJECT_H
