//===- StoredStages.h - Stages that threads store ---------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_STOREDSTAGES_H
#define ARK_PASSES_TARGET_MATMUL_STOREDSTAGES_H

#include "passes/target/matmul/StoredLoops.h"

namespace mlir::ark {

/// Stages of both operands in shared memory. Threads store them from registers,
/// or loads to shared memory fill them. The rows of the left operand come
/// first. A row has 64 or 128 bytes, in chunks of 16 bytes. The order of the
/// chunks differs between neighbouring rows, so that eight threads (sixteen, if
/// loads to shared memory fill the stages) reach different banks with one
/// access, whether they read the same chunk of their rows or store one row.
///
/// If the rows of an operand lie across K in global memory, a thread loads
/// eight elements of each of four rows, or four if threads would load rows
/// twice with eight, and transposes them in registers. It stores four elements
/// along K for each of eight or four rows of the stage. Rows of every second
/// group of eight or four are swapped in pairs, so that such stores of
/// neighbouring groups reach different banks.
///
/// A copy of a warp writes neighbouring chunks of a stage, 16 bytes for each
/// thread. So each thread reads the chunk whose place in the row is its own.
/// Consecutive copies of a warp follow one another in the stage.
class StoredStages {
public:
  StoredStages(ImplicitLocOpBuilder &builder, const MatmulTile &product,
               const StoredShape &shape, Value memory, Value thread);

  /// Loads this thread's chunks of a stage that begins at `k`, an index.
  SmallVector<Value> load(Value k);

  /// Places of chunks in global memory that move along K in a loop: a pointer
  /// for each operand, which all threads have in common, and the distances of
  /// this thread's chunks, as i32.
  struct Cursor {
    SmallVector<Value> pointers, distances;
  };
  /// Returns the places of a stage that begins at `k`, or nothing if distances
  /// have more than 32 bits, or if the last stage has fewer elements.
  std::optional<Cursor> createCursor(int64_t k);
  /// Makes the distances opaque to compilers, which would otherwise add them to
  /// the pointers in each iteration. The loads of AMD GPUs add both.
  void keepDistances(Cursor &cursor);
  /// Moves the cursor by a number of elements of K.
  void advance(Cursor &cursor, int64_t elements);
  /// Loads this thread's chunks of the stage that begins `elements` of K after
  /// the cursor.
  SmallVector<Value> load(const Cursor &cursor, int64_t elements);
  /// Stores chunks to stage 0 or 1.
  void store(ValueRange chunks, int64_t stage);

  /// Copies this thread's chunks of the stage that begins at `k` to buffer
  /// `stage`. All threads of the warp call it.
  void copy(Value k, int64_t stage);
  /// Copies this thread's chunks of the stage that begins `elements` of K after
  /// the cursor.
  void copy(const Cursor &cursor, int64_t elements, int64_t stage);
  /// Returns the number of copies of a warp for each stage.
  int64_t countCopies() const { return copies.size(); }

  /// A multiple of the number of rows whose order of chunks and swaps repeat.
  static constexpr int64_t kPeriod = 16;
  /// Returns the number of bytes of an operand that a thread loads for each
  /// stage. Threads that are left over load chunks of other threads, too.
  static int64_t countLoadedBytes(const StoredShape &shape, Major major,
                                  int64_t rows);

  /// Reads a chunk of a row. `row` is the index of a thread's first row and
  /// `distance` a multiple of the period to add to it. `chunk` is the
  /// index of a chunk in the row. `operand` is 0 for the left and 1 for the
  /// right operand.
  Value read(int64_t stage, unsigned operand, Value row, int64_t distance,
             Value chunk);
  /// Returns the index of the first row of the right operand.
  int64_t getFirstColumn() const { return shape.getRows(); }

private:
  /// Copies of a warp whose places differ by less than this share an address.
  static constexpr int64_t kCopyGroupBytes = 4096;
  /// Upper bound of the bytes that a copy adds to its addresses.
  static constexpr int64_t kMaxCopyBytes = kCopyGroupBytes;

  /// One load of a thread for each stage: its place in global memory relative
  /// to the operand, its distance along K, and its number of elements along K.
  /// Distances of near chunks have 32 bits.
  struct Chunk {
    unsigned operand;
    Value offset, k;
    int64_t elementsOfK;
    bool isNear;
  };
  /// The stores of a thread for each stage: one chunk to one place, or four
  /// chunks, transposed, to one place for each of their elements.
  struct Store {
    unsigned firstChunk;
    SmallVector<Value> targets;
    bool isTransposed() const { return targets.size() > 1; }
  };
  /// The place of a chunk that a copy writes: a pointer that all threads of the
  /// warp have in common, and the bytes that the copy adds to both addresses.
  struct Copy {
    Value target;
    int64_t bytes;
  };
  /// An operand: a pointer that all threads have in common, the bytes between
  /// neighbouring elements along K, and the elements of a load if the rows lie
  /// across K, otherwise 0.
  struct Operand {
    Value pointer, bytesOfK;
    int64_t elementsAcross;
  };

  /// Returns true if distances in a tile have less than 32 bits. `rows` is the
  /// number of the tile's rows in memory.
  static bool isNear(Value buffer, int64_t rows);
  Operand createOperand(Value buffer, Major major, int64_t rows);
  void addRows(Value buffer, int64_t rows, int64_t firstRow, Value thread);
  void addRowsAcross(Value buffer, int64_t rows, int64_t firstRow,
                     Value thread);
  void addCopies(Value buffer, int64_t rows, int64_t firstRow, Value thread);
  void addCopy(Value number, int64_t firstByte, int64_t copyBytes,
               int64_t bytes);
  Value getKey(Value row);
  Value addDistance(Value base, Value offset);
  void copyChunk(const Copy &copy, Value source, int64_t stage);
  Value clamp(Value row, Value buffer, int64_t dim, int64_t rows, int64_t unit);
  void storeTransposed(ValueRange values, const Store &store, int64_t stage);
  Value constant(int64_t number);
  Value add(Value a, Value b);
  Value multiply(Value a, int64_t b);
  Value getSwizzledBytes(Value row, Value chunk, int64_t elementsAcross);
  Value narrow(Value distance);
  bool isRagged() const;
  Value loadWords(const Chunk &chunk, Value base, Value offset);
  void storeWords(Value words, Value target, int64_t stage);

  ImplicitLocOpBuilder &builder;
  const MatmulTile &product;
  const StoredShape &shape;
  Value shared;
  /// The left and the right operand.
  SmallVector<Operand> operands;
  SmallVector<Chunk> chunks;
  /// The stores of stages that threads fill, or the copies, one for each chunk.
  SmallVector<Store> stores;
  SmallVector<Copy> copies;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_STOREDSTAGES_H
