//===- NextTile.h - Operands of a product in the next vCTA ------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WARPGROUPS_NEXTTILE_H
#define ARK_PASSES_TARGET_WARPGROUPS_NEXTTILE_H

#include "passes/target/matrix_units/MatmulTile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// The operands of products in the vCTA that follows the current one in a work
/// item. Threads may copy these operands early: a work item waits for its
/// operands before its first vCTA, and no vCTA writes bytes that another vCTA
/// of the work item reads (docs/rationale.md, "vCTAs of one work item have no
/// order").
class NextTile {
public:
  /// Returns nothing if every work item has one vCTA, if the tiles of the
  /// operands depend on values loaded from memory, or if a vCTA writes an
  /// operand itself before it multiplies.
  static std::optional<NextTile> match(func::FuncOp body,
                                       ArrayRef<MatmulTile> products);

  /// Returns an i1 that is true in the first vCTA of a work item.
  Value isFirst(ImplicitLocOpBuilder &builder);
  /// Returns an i1 that is true if another vCTA follows.
  Value exists(ImplicitLocOpBuilder &builder);
  /// Computes tiles of the next vCTA at the insertion point. `tiles` are
  /// operands of the products in this vCTA.
  SmallVector<Value> getTiles(ImplicitLocOpBuilder &builder, ValueRange tiles);

private:
  NextTile(scf::ForOp vctas) : vctas(vctas) {}
  Value getNextVcta(ImplicitLocOpBuilder &builder);
  bool dependsOnIndexOnly(Value value);
  Value getNext(ImplicitLocOpBuilder &builder, Value value, IRMapping &mapping);

  scf::ForOp vctas;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPS_NEXTTILE_H
