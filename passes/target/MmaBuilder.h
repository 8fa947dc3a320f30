//===- MmaBuilder.h - One thread's share of products ------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MMABUILDER_H
#define ARK_PASSES_TARGET_MMABUILDER_H

#include "passes/target/MmaLoops.h"

namespace mlir::ark {

class MmaStages;

/// Writes the loops of one thread. A row of an operand is shared by four
/// threads, each of which loads 8 elements of a piece. An instruction wants
/// other elements of each: but which ones it multiplies first is all the same
/// for the sum, as long as both operands agree.
class MmaBuilder {
public:
  MmaBuilder(ImplicitLocOpBuilder &builder, ArrayRef<TensorProduct> products,
             const MmaShape &shape, ValueRange buffers)
      : builder(builder), products(products), shape(shape), buffers(buffers) {}

  void build(Value thread, int64_t threads);
  /// Through stages in the memory of the sums.
  void buildStaged(Value thread, int64_t threads, Value memory, int64_t count);

private:
  /// What a thread has loaded of one piece: of every product's columns, then of
  /// every block of rows, unless these are near.
  using Piece = SmallVector<Value>;

  /// A row of a right side.
  struct Column {
    Value buffer, row;
    /// To this thread's first element, if the row is read once.
    Value pointer;
  };

  Value constant(int64_t number);
  Value add(Value a, int64_t b);
  void findPlace(Value thread);
  Value getFirstColumn(Value turn);
  SmallVector<Column> findColumns(Value turn);
  void findRows();
  Value clampRow(Value row, Value buffer, int64_t count);
  Value findFirst(Value buffer, Value row);
  Value load(Value buffer, Value row, Value k);
  Value getPlace(Value distance, int64_t more);
  Value load(const Column &column, Value distance, int64_t more);
  SmallVector<Value> loadRows(Value k);
  Piece loadPiece(ArrayRef<Column> columns, Value distance, int64_t more);
  Value widen(Value loaded, int64_t step, Type element);
  SmallVector<Value> getWords(Value loaded, int64_t step, Value factor);
  void createMma(ArrayRef<Value> columns, ArrayRef<Value> rows,
                 MutableArrayRef<Value> sums);
  void store(Value sum, const TensorProduct &product, Value buffer, Value m,
             Value n);
  void multiply(ArrayRef<Value> columns, ArrayRef<Value> rows,
                SmallVectorImpl<Value> &sums);
  void multiplyPiece(const Piece &piece, Value k, SmallVectorImpl<Value> &sums);
  SmallVector<Value> addUp();
  void addUpInTurns();
  Piece loadStaged(MmaStages &stages, ArrayRef<Column> columns, Value stage,
                   int64_t piece);
  SmallVector<Value> addUpStaged(MmaStages &stages, int64_t count);
  void store(ArrayRef<Value> sums, Value turn = Value());

  /// Sums that one is made of in the end.
  int64_t getChains() const;
  SmallVector<Value> createSums();

  ImplicitLocOpBuilder &builder;
  ArrayRef<TensorProduct> products;
  const MmaShape &shape;
  ValueRange buffers;
  /// The part of the depth, the first column and row of the tile, this thread's
  /// row of an operand and its number among those that share it.
  Value part, firstColumn, firstRow, row, number;
  /// Where this thread's elements begin, and where those of its part end.
  Value begin, end;
  /// Of the blocks.
  SmallVector<Value> rowsOf;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MMABUILDER_H
