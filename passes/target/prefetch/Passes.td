//===- Passes.td - Passes that prefetch to the L2 ----------*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_PREFETCH_PASSES_TD
#define ARK_PASSES_TARGET_PREFETCH_PASSES_TD

include "mlir/Pass/PassBase.td"

def LoadWeightsAheadPass : Pass<"ark-load-weights-ahead", "::mlir::ModuleOp"> {
  let summary = "Load the weights of a row to registers one step ahead";
  let description = [{
    A warp multiplies rows of a weight by one row of activations, some hundred elements per step. The
    pass loads the weights of each step in the step before, also across rows, so that memory works
    while the warp multiplies and adds. The weights of the first step are loaded where the body
    begins: before the body polls for the packets of its activations. Parameters and constants do not
    change during a launch, so no load is too early.

    The loads are non-temporal, since other rows have other weights. Loads whose addresses do not depend
    on the row remain, so that caches keep their weights for other rows.

    ```mlir
    scf.for %row = %thread to %rows step %c256 {
      %sum = scf.for %k = %begin to %end step %c2048 iter_args(%s = %zero) -> (f32) {
        %x = vector.load %activations[%c0, %k] : memref<1x8192xbf16>, vector<8xbf16>
        %w = vector.load %weights[%row, %k] : memref<2048x8192xbf16>, vector<8xbf16>
        ...
      }
    }
    // =>
    %first = vector.load %weights[%thread, %begin] {nontemporal = true} : ...
    scf.for %row = %thread to %rows step %c256 iter_args(%at_row = %first) -> (vector<8xbf16>) {
      %sum:2 = scf.for %k = ... iter_args(%s = %zero, %w = %at_row) -> (f32, vector<8xbf16>) {
        %x = vector.load %activations[%c0, %k] : memref<1x8192xbf16>, vector<8xbf16>
        %next = scf.if %has_next -> (vector<8xbf16>) {
          %0 = vector.load %weights[%next_row, %next_k] {nontemporal = true} : ...
          scf.yield %0 : vector<8xbf16>
        } else {
          scf.yield %w : vector<8xbf16>
        }
        ...
        scf.yield %t, %next : f32, vector<8xbf16>
      }
      scf.yield %sum#1 : vector<8xbf16>
    }
    ```
  }];
  let options = [
    Option<"maxRegisters", "max-registers", "int64_t", /*default=*/"64",
           "Maximum number of 32-bit registers of a thread that hold weights of the next step">,
  ];
  let statistics = [
    Statistic<"numAhead", "ahead", "Loads of weights that moved one step ahead">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def PrefetchKVCachePass : Pass<"ark-prefetch-kv-cache", "::mlir::ModuleOp"> {
  let summary = "Prefetch keys and values to the L2 before packets are polled";
  let description = [{
    An attention polls for the LL packets of its query before it loads keys and values. Keys and
    values of earlier steps are in memory before the query arrives. Threads therefore prefetch them
    into the L2 before they poll. The ops that compute the number of keys move before the
    prefetches.

    The pass treats every matrix with a dynamic number of rows as keys or values.

    ```mlir
    ark.receive_packets %x to %q : memref<2x128xi32, ...> to memref<2x128xbf16>
    %keys = memref.subview %cache[0, 0] [%length, 128] [1, 1] : ...
    linalg.generic ... ins(%q, %keys : ...)
    // =>
    %keys = memref.subview %cache[0, 0] [%length, 128] [1, 1] : ...
    scf.forall (%thread) in (512) {
      llvm.inline_asm "prefetch.global.L2 [$0];" %line_of_keys
    } {mapping = [#gpu.thread<linear_dim_0>]}
    ark.receive_packets %x to %q : memref<2x128xi32, ...> to memref<2x128xbf16>
    linalg.generic ... ins(%q, %keys : ...)
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numPrefetched", "prefetched", "KV cache matrices prefetched">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def PrefetchWeightsPass : Pass<"ark-prefetch-weights", "::mlir::ModuleOp"> {
  let summary = "Prefetch weight tiles to the L2 before activations arrive";
  let description = [{
    A tensor-core product loads its weights once its activations have arrived. The addresses of
    these weights are known earlier. Threads therefore prefetch up to 32 KB of each tile of the
    first vCTA that has at least 64 KB. The lines are spread over all rows of the tile. Memory then
    stays busy while threads poll for packets and compute norms.

    A work item that receives LL packets prefetches before it polls. The weights of a work item that
    follows a wait are prefetched before the wait: `ark_prefetch_work_item` is a copy of
    `ark_execute_work_item` that calls prefetch functions instead of bodies, and the wait calls it for
    the next work item (CudaPrefetch.mlir). Streamed parameters need no prefetch.

    ```mlir
    ark.receive_packets %x to %rows : memref<8x2048xi32, ...> to memref<8x2048xbf16>
    scf.for %v = %begin to %end step %c1 {
      %tile = memref.subview %w[%first, 0] [16, 2048] [1, 1] : ...
      scf.forall (%thread) in (512) { ... vector.load %tile ... nvvm.mma.sync ... }
    }
    // =>
    scf.forall (%thread) in (512) {
      llvm.inline_asm "prefetch.global.L2 [$0];" %line_of_first_tile
    } {mapping = [#gpu.thread<linear_dim_0>]}
    ark.receive_packets %x to %rows : memref<8x2048xi32, ...> to memref<8x2048xbf16>
    scf.for %v = %begin to %end step %c1 { ... }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numPrefetched", "prefetched", "Weight tiles prefetched">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

#endif // ARK_PASSES_TARGET_PREFETCH_PASSES_TD
