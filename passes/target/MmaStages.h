//===- MmaStages.h - Factors of products in shared memory -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MMASTAGES_H
#define ARK_PASSES_TARGET_MMASTAGES_H

#include "passes/target/MmaLoops.h"

namespace mlir::ark {

/// Shared memory through which the factors of large tiles go: the threads of a
/// CTA copy what all of its warps need for some pieces, while they multiply
/// what they have copied before. Each part of the depth has its own.
class MmaStages {
public:
  /// Pieces of every part that a stage has.
  static constexpr int64_t kPieces = 2;

  /// How many stages fit into as many bytes; 0 where copies cannot be shared
  /// out evenly, or there is no room for two.
  static int64_t choose(ArrayRef<TensorProduct> products, const MmaShape &shape,
                        int64_t threads, int64_t bytes);
  static int64_t getBytes(ArrayRef<TensorProduct> products,
                          const MmaShape &shape, int64_t count);

  MmaStages(ImplicitLocOpBuilder &builder, ArrayRef<TensorProduct> products,
            const MmaShape &shape, Value memory, Value thread, int64_t threads);

  /// Asks for the elements from `k` on, of all parts.
  void copy(Value k, Value stage);
  void commit();
  /// Until no more than `count` of the last commits are under way, for all
  /// threads.
  void wait(int64_t count);

  /// Four words of a row: those of the left side come first, then those of each
  /// product.
  Value load(Value stage, Value part, int64_t piece, Value row, Value number);
  /// The first row of a product's right side.
  int64_t getFirstRow(unsigned product) const;
  /// From one stage to the next.
  int64_t getStageBytes() const;

private:
  struct Source {
    Value pointer, stride;
    int64_t rows;
  };

  Value constant(int64_t number);
  Value add(Value a, Value b);
  Value multiply(Value a, int64_t b);
  void addSource(Value buffer, int64_t rows);

  ImplicitLocOpBuilder &builder;
  ArrayRef<TensorProduct> products;
  const MmaShape &shape;
  int64_t threads;
  Value thread, shared;
  SmallVector<Source> sources;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MMASTAGES_H
