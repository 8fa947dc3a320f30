//===- Passes.td - Passes that prefetch to the L2 ----------*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_PREFETCH_PASSES_TD
#define ARK_PASSES_TARGET_PREFETCH_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrefetchKVCachePass : Pass<"ark-prefetch-kv-cache", "::mlir::ModuleOp"> {
  let summary = "Prefetch keys and values to the L2 before packets are polled";
  let description = [{
    An attention polls for the LL packets of its query, and only then loads keys and values from
    memory. All keys and values that earlier steps wrote are in memory before the query arrives. So
    threads prefetch lines of keys and values to the L2 before they poll. The ops that compute the
    number of keys move before the prefetches.

    The pass takes every matrix whose number of rows is known only at run time for keys or values.

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
    A tensor-core product loads its weights once its activations have arrived. The weights that a
    run reads first are known earlier. So threads prefetch up to 32 KB of each tile of 64 KB and
    more that the first vCTA reads to the L2: lines spread over all rows of the tile. Memory is busy
    then while packets are polled and norms are computed.

    A run that receives LL packets prefetches before it polls. The weights of a run that follows a
    wait are prefetched before the wait: `ark_prefetch_run` is a copy of `ark_run` that calls prefetch
    functions in the place of bodies, and the wait calls it for the run that follows (CudaPrefetch.mlir).
    Parameters that go through rings need no prefetch.

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
