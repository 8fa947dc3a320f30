//===- ThreadCopyBuilder.h - Stages that all threads copy -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WARPGROUPS_THREADCOPYBUILDER_H
#define ARK_PASSES_TARGET_WARPGROUPS_THREADCOPYBUILDER_H

#include "passes/target/warpgroups/WarpgroupBuilder.h"

#include <array>

namespace mlir::ark {

/// Divides the rows of stages among the threads of a CTA. A thread copies eight
/// elements of a row, which are 16 bytes in a stage.
class ThreadCopyBuilder : public WarpgroupBuilder {
public:
  ThreadCopyBuilder(ImplicitLocOpBuilder &builder,
                    ArrayRef<MatmulTile> products, const WarpgroupShape &shape,
                    Value memory, Value thread, int64_t threads,
                    int64_t elementBytes);

  /// Returns the number of stage rows that the threads of a CTA copy at once.
  static int64_t getRowsAtOnce(int64_t threads);

protected:
  /// An operand: the address at which this thread begins to copy, the bytes of
  /// a row, the number of stage rows, and the number of those that are copied.
  /// If whole warps do not copy whole rows, `remaining` is the number of rows
  /// of the operand from the thread's first row on, which may be negative. Rows
  /// of a clipped operand that lie across K count from the first one of the
  /// thread's first copy.
  struct Source {
    Value pointer, rowBytes, remaining;
    int64_t rows, copiedRows;
    Major major;
    /// The convolution whose windows are copied, or null; and the bytes of a
    /// channel. Rows are then those of the image, where `pointer` begins.
    const RowConvolution *convolution = nullptr;
    Value channelBytes = {};
  };

  /// Returns the distance in the source between the thread's first copy and its
  /// copy of stage row `row`, for a stage that begins at `k` along K. `row` is
  /// a multiple of `getRowsAtOnce`.
  Value getDistance(const Source &source, Value k, int64_t row);
  /// Returns the window of a convolution that the thread's copy of stage row
  /// `row` begins with: its number among the windows of all rows, its row, and
  /// its column, as i32.
  std::array<Value, 3> getWindow(const RowConvolution &convolution,
                                 int64_t row);
  /// Returns the offset of the thread's first 16 bytes in a stage.
  Value getTarget();

  /// Describes operands for copies by this thread.
  SmallVector<Source> getSources(ArrayRef<StagedOperand> operands);

  int64_t threads, elementBytes;
  /// The first row that this thread copies, and the index of its copy among the
  /// copies of a row.
  Value copiedRow, copyInRow;
  SmallVector<Source> sources;

private:
  Source getSource(const StagedOperand &operand);
  Source getImage(const StagedOperand &operand);
  Value getRemaining(const StagedOperand &operand);
  Value getWindowDistance(const Source &source, Value k, int64_t row);
  bool isCopiedByWholeWarps(const StagedOperand &operand) const;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPS_THREADCOPYBUILDER_H
