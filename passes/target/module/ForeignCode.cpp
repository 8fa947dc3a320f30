//===- ForeignCode.cpp - Code of another backend --------------------------===//

#include "passes/target/module/ForeignCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::ark;

// Letters of LLVM's constraints: registers and immediates of NVPTX; vector,
// scalar and accumulation registers and immediates of AMDGPU.
static constexpr StringRef kPtxConstraints = "bchrlfdqnN";
static constexpr StringRef kAmdConstraints = "vsaIJABC";

/// Returns true if every constraint is a register of the backend, a tie to a
/// result or a clobber.
static bool haveConstraints(LLVM::InlineAsmOp assembly, StringRef letters) {
  SmallVector<StringRef> constraints;
  assembly.getConstraints().split(constraints, ',', /*MaxSplit=*/-1,
                                  /*KeepEmpty=*/false);
  return llvm::all_of(constraints, [&](StringRef constraint) {
    StringRef code = constraint.ltrim("=+&*");
    return code.starts_with("~") || code.starts_with("{") ||
           (!code.empty() &&
            llvm::all_of(code, [&](char c) { return llvm::isDigit(c); })) ||
           (code.size() == 1 && letters.contains(code.front()));
  });
}

/// Returns true for PTX, whose statements end with a semicolon and whose
/// registers begin with a percent sign. AMD's assembly has neither.
static bool hasPtx(LLVM::InlineAsmOp assembly) {
  return assembly.getAsmString().find_first_of(";%") != StringRef::npos;
}

bool ark::isForeign(Operation *op, Backend backend) {
  if (auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op))
    return (backend != Backend::CUDA &&
            intrinsic.getIntrin().starts_with("llvm.nvvm.")) ||
           (backend != Backend::HIP &&
            intrinsic.getIntrin().starts_with("llvm.amdgcn."));
  auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
  if (!assembly)
    return false;
  switch (backend) {
  case Backend::CPU:
    return true;
  case Backend::CUDA:
    return !haveConstraints(assembly, kPtxConstraints);
  case Backend::HIP:
    return hasPtx(assembly) || !haveConstraints(assembly, kAmdConstraints);
  }
  llvm_unreachable("not a backend");
}
