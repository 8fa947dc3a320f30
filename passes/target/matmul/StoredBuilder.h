//===- StoredBuilder.h - Code of a thread for a staged product --*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_STOREDBUILDER_H
#define ARK_PASSES_TARGET_MATMUL_STOREDBUILDER_H

#include "passes/target/matmul/StoredStages.h"

#include "lib/backend/GpuInstructions.h"
#include "passes/target/matrix_units/MatrixInstruction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::ark {

/// Builds the code of one thread. Threads that share a row read neighbouring
/// chunks of 16 bytes along K. If an instruction takes fewer elements of a
/// thread, the order of K differs from that of the instruction, but A and B use
/// the same order, so that the sum is unchanged.
///
/// The loops over stages that threads store are in StoredLoops.cpp, those over
/// stages that copies fill in CopiedLoops.cpp.
class StoredBuilder {
public:
  StoredBuilder(ImplicitLocOpBuilder &builder, const MatmulTile &product,
                const StoredShape &shape, const ProductEpilogue *epilogue,
                Value memory, Value thread);

  void build();

private:
  /// The work of a stage beside the multiplication.
  struct Work {
    /// Stores the loaded chunks of the next stage.
    bool stores;
    /// Loads the chunks of the stage after the next one; null for none.
    llvm::function_ref<SmallVector<Value>()> load;
  };

  /// The chunks of one place in the rows of a stage: of all columns, and of all
  /// rows of the result.
  struct Slice {
    SmallVector<Value> columns, rows;
  };

  Value constant(int64_t number) {
    return arith::ConstantIndexOp::create(builder, number);
  }
  Value add(Value a, int64_t b) {
    return b == 0 ? a : arith::AddIOp::create(builder, a, constant(b));
  }
  void keepOrder() {
    getGpuInstructions(builder).keepOrder(builder, builder.getLoc());
  }
  VectorType getAccumulatorType();
  void runStage(int64_t stage, Work work);
  void runLoop(std::optional<StoredStages::Cursor> &cursor, int64_t iterations,
               int64_t step, llvm::function_ref<void(Value k)> build);
  void runPairs(int64_t pairs);
  void runStages();
  Slice readSlice(int64_t stage, int64_t slice);
  int64_t countSlices() const;
  int64_t countSteps() const;
  void runCopiedStage(int64_t stage, int64_t inFlight,
                      llvm::function_ref<void()> copy);
  void runCopiedRounds(int64_t rounds);
  void runCopiedStages();
  SmallVector<Value> readOperand(int64_t stage, unsigned operand, Value row,
                                 int64_t first, int64_t distance,
                                 int64_t count);
  SmallVector<Value> getWords(Value chunk, int64_t step);
  void multiply(const Slice &slice, int64_t step);
  void storeAccumulators();
  void storeElement(Value m, Value n, Value accumulator);

  ImplicitLocOpBuilder &builder;
  const MatmulTile &product;
  const StoredShape &shape;
  const ProductEpilogue *epilogue;
  std::unique_ptr<MatrixInstruction> instruction;
  StoredStages stages;
  /// The first row and column of the warp, and the thread in its warp.
  Value firstRow, firstColumn, threadOfWarp;
  /// This thread's first row of each operand, and its first chunk.
  Value row, column, chunk;
  /// The chunks of the next stage, and one vector of accumulators per unit and
  /// block.
  SmallVector<Value> loaded, accumulators;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_STOREDBUILDER_H
