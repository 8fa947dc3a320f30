//===- ThreadExchange.h - Values that threads exchange ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_THREADEXCHANGE_H
#define ARK_PASSES_TARGET_ATTENTION_THREADEXCHANGE_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Returns the bytes of shared memory for `count` f32 values of each of
/// `threads` threads.
int64_t getExchangeBytes(int64_t count, int64_t threads);

/// Stores the f32 values of thread `thread` of `threads` as vectors of four.
/// The vectors `i` of all threads are contiguous, which avoids bank conflicts.
/// `pointer` is the base address of the exchange, in shared memory.
void storeForExchange(ImplicitLocOpBuilder &builder, Value pointer,
                      Value thread, int64_t threads, ArrayRef<Value> values);

/// Loads the `count` values that thread `thread` of another warpgroup has
/// stored at `pointer`.
SmallVector<Value> loadFromExchange(ImplicitLocOpBuilder &builder,
                                    Value pointer, Value thread,
                                    int64_t threads, int64_t count);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_THREADEXCHANGE_H
