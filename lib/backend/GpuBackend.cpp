//===- GpuBackend.cpp - Code generation for a family of GPUs --------------===//

#include "lib/backend/GpuBackend.h"

#include "dialects/ark/ArkKnownTargets.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

SmallVector<std::string> GpuBackend::getTargetNames() const {
  return {(getName() + ":<arch>").str()};
}

FailureOr<TargetAttr> GpuBackend::parseTarget(std::optional<StringRef> arch,
                                              Location loc) const {
  StringRef name = arch.value_or("");
  if (TargetAttr target = findTarget(loc.getContext(), getName(), name))
    return target;
  return emitError(loc) << "target '" << getName() << ":" << name
                        << "' is not known: expected one of "
                        << listArchs(getName());
}

LogicalResult
ark::verifyWarpSize(TargetAttr target, int64_t required,
                    function_ref<InFlightDiagnostic()> emitError) {
  if (target.getWarpSize() == required)
    return success();
  return emitError() << "has warps of " << target.getWarpSize()
                     << " threads; kernels for " << target.getBackend()
                     << " need " << required;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Value ark::createAssembly(OpBuilder &builder, Location loc, Type type,
                          ValueRange operands, StringRef text,
                          StringRef constraints) {
  return LLVM::InlineAsmOp::create(
             builder, loc, type, operands, text, constraints,
             /*has_side_effects=*/true, /*is_align_stack=*/false,
             LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}
