//===- ThreadExchange.h - Values that threads exchange ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_THREADEXCHANGE_H
#define ARK_PASSES_TARGET_ATTENTION_THREADEXCHANGE_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Returns the bytes of shared memory for `count` f32 values of each of
/// `threads` threads.
int64_t getExchangeBytes(int64_t count, int64_t threads);

/// Stores the thread's f32 values to shared memory, in vectors that lie beside
/// the vectors of other threads, so that threads access different banks.
/// `pointer` is the address for thread `thread` of `threads`, without its own
/// offset.
void storeForExchange(ImplicitLocOpBuilder &builder, Value pointer,
                      Value thread, int64_t threads, ArrayRef<Value> values);

/// Loads `count` values that a thread with the same index has stored.
SmallVector<Value> loadFromExchange(ImplicitLocOpBuilder &builder,
                                    Value pointer, Value thread,
                                    int64_t threads, int64_t count);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_THREADEXCHANGE_H
