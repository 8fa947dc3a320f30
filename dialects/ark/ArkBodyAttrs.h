//===- ArkBodyAttrs.h - Attributes of outlined bodies -----------*- C++ -*-===//
//
// Discardable attributes that passes of the stages kernel and target set for
// later passes. Without one of the first three attributes, later passes fail or
// create wrong code, so verifiers also check the code that depends on these
// attributes. The other attributes affect only the speed of the code.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_ARK_ARKBODYATTRS_H
#define DIALECTS_ARK_ARKBODYATTRS_H

#include "mlir/IR/Operation.h"

namespace mlir::ark {

/// On a task: the symbol of the function into which its body is outlined.
inline constexpr llvm::StringLiteral kOutlinedBodyAttr = "ark.body";

/// On a call that all threads of a CTA make together: the number of its last
/// operands that the callee writes, an i64. The callee only reads the other
/// operands.
inline constexpr llvm::StringLiteral kCtaCollectiveAttr = "ark.cta_collective";

/// On a body: the tensor maps that it requests by index. Each is an array of
/// operand, columns, rows, stride and rows of a box.
inline constexpr llvm::StringLiteral kTensorMapsAttr = "ark.tensor_maps";
inline constexpr int64_t kTensorMapFields = 5;

/// On a body for GPUs: the number of vCTAs in a work item if all SMs get equal
/// shares, an i64.
inline constexpr llvm::StringLiteral kWorkItemVctasAttr = "ark.work_item_vctas";

/// On a `gpu.module`: the table of debug locations.
inline constexpr llvm::StringLiteral kLineTableAttr = "ark.line_table";

/// On a body, a unit attribute: if the out is in memory of another domain, a
/// network adapter copies the input to it instead.
inline constexpr llvm::StringLiteral kNetworkCopyAttr = "ark.network_copy";

/// Hints, which are unit attributes. On a loop over threads: the loop needs
/// most registers of a thread, or all of them.
inline constexpr llvm::StringLiteral kHighRegisterPressureAttr =
    "ark.high_register_pressure";
inline constexpr llvm::StringLiteral kFullRegisterPressureAttr =
    "ark.full_register_pressure";
/// On a view: threads load each element once.
inline constexpr llvm::StringLiteral kReadOnceAttr = "ark.read_once";

/// On an `scf.for` with a number of iterations that depends on data: the mean
/// number that predictions of times expect, an f64.
inline constexpr llvm::StringLiteral kMeanTripsAttr = "ark.mean_trips";

/// Returns true for the name of one of these attributes.
bool isBodyAttr(StringRef name);

/// Checks one of these attributes on its op.
LogicalResult verifyBodyAttr(Operation *op, NamedAttribute attribute);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKBODYATTRS_H
