//===- MatrixInstruction.h - Fragments and instructions ---------*- C++ -*-===//
//
// Lowerings of matrix products use a matrix instruction through this interface:
// the elements of a matrix that each thread of a warp holds, from
// `#ark.fragment`, and the op that multiplies. A new family of instructions is
// a class derived from `MatrixInstruction`. `inWarp` is the index of a thread
// in its warp.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TARGET_MATRIX_UNITS_MATRIXINSTRUCTION_H
#define ARK_PASSES_TARGET_MATRIX_UNITS_MATRIXINSTRUCTION_H

#include "dialects/ark/ArkAttrs.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// The elements of a matrix that each thread of a warp holds.
class MatrixFragment {
public:
  /// `perWord` is the number of elements of a word of 32 bits.
  explicit MatrixFragment(FragmentAttr layout, int64_t perWord = 2)
      : layout(layout), perWord(perWord) {}

  int64_t getNumThreads() const { return layout.getNumThreads(); }
  int64_t getNumElements() const { return layout.getNumElements(); }
  /// Returns the number of threads that share a row (0) or a column (1).
  int64_t getThreadsSharing(unsigned dim) const {
    return layout.getThreads()[1 - dim];
  }
  /// Returns the distance between threads with neighbouring rows (0) or columns
  /// (1) of a block.
  int64_t getStride(unsigned dim) const { return layout.getStrides()[dim]; }
  /// Returns the number of consecutive rows (0) or columns (1) of a thread.
  int64_t getConsecutive(unsigned dim) const {
    return layout.getElements()[dim];
  }
  /// Returns the number of blocks down (0) or across (1).
  int64_t getNumBlocks(unsigned dim) const { return layout.getOuter()[dim]; }
  /// Returns the rows (0) or columns (1) of a block.
  int64_t getBlockExtent(unsigned dim) const {
    return layout.getThreads()[dim] * layout.getElements()[dim];
  }
  /// Returns the number of rows (0) or columns (1) of a thread.
  int64_t getExtentPerThread(unsigned dim) const {
    return getNumBlocks(dim) * getConsecutive(dim);
  }
  /// Returns the number of elements of a word of 32 bits.
  int64_t getElementsPerWord() const { return perWord; }
  /// Returns the number of words of a thread.
  int64_t getNumWords() const { return getNumElements() / perWord; }
  /// Returns the XOR distances, the largest first, between the threads that
  /// share a row (0) or a column (1).
  SmallVector<int64_t> getSharingDistances(unsigned dim) const;

  /// Sorts the words of an operand into the order of the fragment. `depth` is
  /// the dimension along K, in which a word has all of its elements. `words`
  /// has the words of one row (or column) of the thread after those of the
  /// other, each in ascending order of K.
  SmallVector<Value> sortWords(ArrayRef<Value> words, unsigned depth) const;

  /// Returns the index of a thread among the threads of a block along a
  /// dimension.
  Value createThreadIndex(OpBuilder &builder, Location loc, Value inWarp,
                          unsigned dim) const;
  /// Returns the row (0) or the column (1) of the first element of a thread.
  Value createFirst(OpBuilder &builder, Location loc, Value inWarp,
                    unsigned dim) const;
  /// Returns the distance of an element from the thread's first element, in
  /// rows and columns.
  std::pair<int64_t, int64_t> getOffset(int64_t element) const {
    return layout.getOffset(element);
  }
  /// Returns the row and the column of an element of a thread.
  std::pair<Value, Value> createPosition(OpBuilder &builder, Location loc,
                                         Value inWarp, int64_t element) const;

private:
  FragmentAttr layout;
  int64_t perWord;
};

/// Returns the number of elements of an instruction's operands in a word of 32
/// bits.
inline int64_t getElementsPerWord(MmaAttr mma) {
  return 32 / mma.getOperandBits();
}

/// Returns the type of an instruction's accumulators: i32 for operands of
/// integers, otherwise f32.
Type getAccumulatorType(MmaAttr mma);

/// Operands that lie in shared memory with their rows across K instead of along
/// K.
struct Transposition {
  bool lhs = false, rhs = false;
};

/// A family of matrix instructions. The functions create code that adds the
/// product of two operands to accumulators.
///
/// Operands with a fragment are words of 32 bits, each with two elements of a
/// thread, or four of 8 bits, in the order of the fragment. A word is an i32 or
/// a vector of elements. Operands without a fragment are one descriptor of
/// shared memory each; the left one may also be words, in the order of two
/// neighbouring fragments of accumulators.
class MatrixInstruction {
public:
  explicit MatrixInstruction(MmaAttr facts) : facts(facts) {}
  virtual ~MatrixInstruction() = default;

  /// Returns the lowering of a family of instructions, or null if ark has none.
  static std::unique_ptr<MatrixInstruction> create(MmaAttr facts);

  MmaAttr getFacts() const { return facts; }
  int64_t getRows() const { return facts.getM(); }
  int64_t getColumns() const { return facts.getN(); }
  int64_t getDepth() const { return facts.getK(); }
  MatrixFragment getLhs() const { return getOperand(facts.getLhs()); }
  MatrixFragment getRhs() const { return getOperand(facts.getRhs()); }
  MatrixFragment getAcc() const { return MatrixFragment(facts.getAcc()); }
  int64_t getWarpSize() const { return getAcc().getNumThreads(); }
  int64_t getNumAccumulators() const { return getAcc().getNumElements(); }
  Type getAccumulatorType() const { return ark::getAccumulatorType(facts); }

  /// Creates an instruction on operands of `element`, a type that its facts
  /// allow. Returns the new accumulators in the form of `accumulators`: values
  /// of `getAccumulatorType` in the order of the fragment, or, without
  /// fragments of the operands, one struct of them. Only operands without a
  /// fragment may be transposed.
  virtual SmallVector<Value> multiply(ImplicitLocOpBuilder &builder,
                                      Type element, ValueRange lhs,
                                      ValueRange rhs, ValueRange accumulators,
                                      Transposition transposed) const = 0;
  SmallVector<Value> multiply(ImplicitLocOpBuilder &builder, Type element,
                              ValueRange lhs, ValueRange rhs,
                              ValueRange accumulators) const {
    return multiply(builder, element, lhs, rhs, accumulators, Transposition());
  }

private:
  MatrixFragment getOperand(FragmentAttr layout) const {
    return MatrixFragment(layout, ark::getElementsPerWord(facts));
  }

  MmaAttr facts;
};

/// Returns the first matrix instruction of the module's target that reads
/// floats of 16 bits from registers. Returns null if there is none, if ark does
/// not lower it, or if the module has no target.
MmaAttr findRegisterMma(ModuleOp module);

/// Returns all matrix instructions of the module's target that read floats of
/// 16 bits from registers and that ark lowers.
SmallVector<MmaAttr> findRegisterMmas(ModuleOp module);

/// Returns all matrix instructions of the module's target that read operands of
/// any kind from registers and that ark lowers.
SmallVector<MmaAttr> findAllRegisterMmas(ModuleOp module);

/// Returns the first matrix instruction of the module's target that reads
/// operands from shared memory. Returns null if there is none, if ark does not
/// lower it, or if the module has no target.
MmaAttr findSharedMemoryMma(ModuleOp module);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATRIX_UNITS_MATRIXINSTRUCTION_H
