//===- WarpgroupBuilder.h - One thread's share of wgmma ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WARPGROUPS_WARPGROUPBUILDER_H
#define ARK_PASSES_TARGET_WARPGROUPS_WARPGROUPBUILDER_H

#include "passes/target/matrix_units/MatrixInstruction.h"
#include "passes/target/matrix_units/SwizzledStage.h"
#include "passes/target/warpgroups/WarpgroupLoops.h"

namespace mlir::ark {

/// An operand in stages: its buffer, the extent of M or N, and its major. Both
/// majors take `rows` stage rows.
struct StagedOperand {
  Value buffer;
  int64_t rows;
  Major major;
  /// The convolution whose windows are copied; null for rows of a matrix.
  const RowConvolution *convolution = nullptr;

  /// Returns true if the operand may have fewer rows than a stage.
  bool isClipped() const {
    return convolution ||
           cast<MemRefType>(buffer.getType())
                   .getDimSize(major == Major::K ? 0 : 1) != rows;
  }
  /// Returns the rows of one TMA copy, which has 64 elements a row.
  int64_t getBoxRows() const { return major == Major::K ? rows : kStageDepth; }
  /// Returns the number of TMA copies per stage.
  int64_t getNumBoxes() const {
    return major == Major::K ? 1 : rows / kPanelElements;
  }
};

/// Builds the code of one thread: it issues the `wgmma` instructions of its
/// warpgroup on stages in shared memory, and stores its accumulators. Stages
/// are swizzled: within a block, 16-byte unit `i` of row `r` lies at `i xor r`.
/// For this reason, the units `i` of all rows, which an instruction reads
/// together, lie in different banks.
class WarpgroupBuilder {
public:
  WarpgroupBuilder(ImplicitLocOpBuilder &builder, ArrayRef<MatmulTile> products,
                   const WarpgroupShape &shape, Value memory, Value thread);
  virtual ~WarpgroupBuilder() = default;

  /// Copies stages, multiplies them, and stores the accumulators of each
  /// product to one of `buffers`, which overlap the stages.
  virtual void build(ValueRange buffers) = 0;

protected:
  Value constant(int64_t number);
  Value constantI64(int64_t value);
  Value add(Value a, Value b);
  Value multiply(Value a, int64_t b);
  Value divide(Value a, int64_t b);
  Value remainder(Value a, int64_t b);
  /// Returns `after`, or zero if `after` equals `end`.
  Value wrap(Value after, int64_t end);
  /// Returns an i1 that is true in warpgroups that store results.
  Value isOwner();
  /// Creates zeroed accumulators for every product.
  SmallVector<Value> createAccumulators();
  int64_t getDepth() const { return products.front().depth; }
  SmallVector<StagedOperand> getOperands() const;
  /// Issues the instructions that add the products of one stage to the
  /// accumulators. The instructions are in flight until `wgmma.wait_group`.
  /// `offset`, an i64, is the offset of the stage in descriptor units.
  void startStage(Value offset, MutableArrayRef<Value> accumulators);
  /// Stores the accumulators of each product to a buffer. No thread reads a
  /// stage any more.
  void storeAll(ValueRange accumulators, ValueRange buffers);
  /// Stores the accumulators of each product, if the warpgroup is an owner.
  void storeIfOwner(ValueRange accumulators, ValueRange buffers);
  /// Stores the accumulators of a product to a buffer.
  virtual void store(Value accumulators, unsigned product, Value buffer);
  /// Returns the position of the thread's first accumulator in a tile.
  std::pair<Value, Value> getFirstPosition();
  /// Advances a descriptor by `offset` units.
  virtual Value move(Value descriptor, Value offset);

  ImplicitLocOpBuilder &builder;
  ArrayRef<MatmulTile> products;
  const WarpgroupShape &shape;
  std::unique_ptr<MatrixInstruction> instruction;
  Value thread, shared;

private:
  void findTile();
  Value createDescriptor(Value firstRow, Major major);
  /// The first row and column of the warpgroup's share of the results.
  Value firstRow, firstColumn;
  /// Descriptors of operand A, and of operand B of every product, for the first
  /// stage.
  Value left;
  SmallVector<Value> rights;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPS_WARPGROUPBUILDER_H
