//===- NativeObject.h - LLVM dialect to machine code ------------*- C++ -*-===//
//
// The last step of the cpu target: a module in the LLVM dialect becomes the
// bytes of a relocatable object file, without a system compiler.
//
// All functions may be called from several threads at once. Errors are
// diagnostics at the module's location. LLVM's own fatal errors, which
// otherwise end the process, become diagnostics too; what LLVM had allocated by
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
  /// Empty: the module's `llvm.target_triple`, else that of this machine.
  std::string triple;
  /// Empty: a baseline processor of the triple.
  std::string cpu;
  /// In LLVM's form: "+avx2,-avx512f".
  std::string features;
  /// 0 to 3, as in -O0 to -O3.
  unsigned optLevel = 3;
};

/// The processor of this machine as LLVM names it, and its feature string.
struct HostCpu {
  std::string triple;
  std::string name;
  std::string features;
};
HostCpu getHostCpu();

/// Position-independent relocatable object in the triple's own format.
FailureOr<llvm::SmallVector<char, 0>>
translateToObject(ModuleOp module, const NativeObjectOptions &options);

/// The same code as assembly text.
FailureOr<std::string> translateToAssembly(ModuleOp module,
                                           const NativeObjectOptions &options);

/// The module as LLVM IR, optimised when `options` is given.
FailureOr<std::string>
translateToLLVMIR(ModuleOp module,
                  const NativeObjectOptions *options = nullptr);

} // namespace mlir::ark

#endif // ARK_LIB_TARGET_NATIVEOBJECT_H
