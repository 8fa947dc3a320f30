//===- ProductEpilogue.h - Elementwise ops on accumulators ------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_PRODUCTEPILOGUE_H
#define ARK_PASSES_TARGET_MATMUL_PRODUCTEPILOGUE_H

#include "passes/target/matrix_units/MatmulTile.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// The elementwise ops that read a product's temporary, if threads can apply
/// them to the accumulators in their registers. The temporary then needs no
/// memory.
class ProductEpilogue {
public:
  /// Returns nothing unless the product is added to a zeroed temporary that
  /// only elementwise ops read.
  static std::optional<ProductEpilogue> match(const MatmulTile &product);

  /// Returns the last op, before which all operands of the epilogue exist.
  Operation *getLast() { return ops.back(); }

  /// Returns the bytes of the temporaries that the epilogue replaces.
  int64_t getReplacedBytes() const;

  /// Applies the ops to element (m, n) of the product.
  void apply(ImplicitLocOpBuilder &builder, Value m, Value n,
             Value accumulator) const;

  /// Erases the product, its fill, and the ops.
  void erase();

private:
  ProductEpilogue(const MatmulTile &product) : product(product.op) {
    locals.push_back(product.out);
  }

  bool isLocal(Value buffer) const {
    return llvm::is_contained(locals, buffer);
  }
  bool addOps(const MatmulTile &product);
  bool add(linalg::LinalgOp op);
  bool findFill();
  bool haveOnlyKnownUsers();

  linalg::LinalgOp product, fill;
  SmallVector<linalg::LinalgOp> ops;
  /// Temporaries whose elements are in registers: the product's, and those with
  /// which its readers hand elements to one another.
  SmallVector<Value> locals;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_PRODUCTEPILOGUE_H
