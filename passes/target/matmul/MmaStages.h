//===- MmaStages.h - Operands staged in shared memory -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_MMASTAGES_H
#define ARK_PASSES_TARGET_MATMUL_MMASTAGES_H

#include "passes/target/matmul/MmaLoops.h"

namespace mlir::ark {

/// Stages of the operands of large tiles in shared memory. The threads of a CTA
/// copy several slices with `cp.async` while the warps multiply slices that
/// were copied earlier. Each split-K part has its own stages.
class MmaStages {
public:
  /// Slices of every split-K part per stage.
  static constexpr int64_t kSlicesPerStage = 2;

  /// Returns the number of stages that fit into `bytes`, or 0 if fewer than two
  /// fit or if copies cannot be divided evenly.
  static int64_t choose(ArrayRef<MatmulTile> products, const MmaShape &shape,
                        int64_t threads, int64_t bytes);
  static int64_t getBytes(ArrayRef<MatmulTile> products, const MmaShape &shape,
                          int64_t count);

  MmaStages(ImplicitLocOpBuilder &builder, ArrayRef<MatmulTile> products,
            const MmaShape &shape, Value memory, Value thread, int64_t threads);

  /// Issues copies of the elements of all split-K parts from `k` on.
  void copy(Value k, Value stage);
  void commit();
  /// Waits until at most `count` commits are in flight, for all threads.
  void wait(int64_t count);

  /// Loads four words of a row. Rows of the left operand come first, then the
  /// rows of each product's right operand.
  Value load(Value stage, Value part, int64_t slice, Value row, Value number);
  /// Returns the first row of a product's right operand.
  int64_t getFirstRow(unsigned product) const;
  /// Returns the distance between two stages in bytes.
  int64_t getStageBytes() const;

private:
  struct Source {
    Value pointer, stride;
    int64_t rows;
  };

  static int64_t getRowBytes(const MmaShape &shape);
  static int64_t getThreadsPerRow(const MmaShape &shape);
  static int64_t getSliceBytes(ArrayRef<MatmulTile> products,
                               const MmaShape &shape);
  static bool isEven(const MmaShape &shape, Value buffer, int64_t rows,
                     int64_t threads);
  Value constant(int64_t number);
  Value add(Value a, Value b);
  Value multiply(Value a, int64_t b);
  void addSource(Value buffer, int64_t rows);

  ImplicitLocOpBuilder &builder;
  ArrayRef<MatmulTile> products;
  const MmaShape &shape;
  int64_t threads;
  Value thread, shared;
  SmallVector<Source> sources;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_MMASTAGES_H
