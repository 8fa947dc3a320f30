//===- Passes.td - Passes for attention --------------------*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_PASSES_TD
#define ARK_PASSES_TARGET_ATTENTION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandAttentionPass : Pass<"ark-expand-attention", "::mlir::ModuleOp"> {
  let summary = "Expand attentions that have no faster form to structured ops";
  let description = [{
    Replaces `ark.online_attention` by structured ops on its buffers: the scores, their maximum,
    exponentials and sum, and the product with the values. The pass skips attentions that
    `ark-flash-attention` computes in one pass over the keys: the target has a matrix instruction
    for such an attention, and types, shapes and alignment fit.

    ```mlir
    ark.online_attention ins(%q, %k, %v : ...) outs(%p, %m, %s, %scores : ...) maps [...] {
    ^bb0(%row: index, %key: index, %dot: f32):
      %score = arith.mulf %dot, %scale : f32
      ark.yield %score : f32
    }
    // =>
    linalg.fill ins(%zero : f32) outs(%scores : memref<4x?xf32>)
    linalg.contract ... ins(%q, %k : ...) outs(%scores : memref<4x?xf32>)
    linalg.generic ... outs(%scores : memref<4x?xf32>) { ... arith.mulf ... }
    linalg.fill ins(%least : f32) outs(%m : memref<4xf32>)
    linalg.generic ... ins(%scores : memref<4x?xf32>) outs(%m : memref<4xf32>) { ... arith.maximumf ... }
    linalg.generic ... ins(%m : memref<4xf32>) outs(%s : memref<4xf32>) { ... arith.select ... }
    linalg.generic ... ins(%s : memref<4xf32>) outs(%scores : memref<4x?xf32>) { ... math.exp ... }
    linalg.fill ins(%zero : f32) outs(%s : memref<4xf32>)
    linalg.generic ... ins(%scores : memref<4x?xf32>) outs(%s : memref<4xf32>) { ... arith.addf ... }
    linalg.fill ins(%zero : f32) outs(%p : memref<4x64xf32>)
    linalg.contract ... ins(%scores, %v : ...) outs(%p : memref<4x64xf32>)
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numAttentions", "attentions", "Attentions expanded">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect",
  ];
}

def ExpandAttentionGradientsPass : Pass<"ark-expand-attention-gradients", "::mlir::ModuleOp"> {
  let summary = "Expand gradients of attentions to loops over blocks";
  let description = [{
    Replaces `ark.blocked_attention_gradient` by a loop over blocks of its others. An iteration
    computes the weights and the slopes of a block in the memory of the op, and adds two sums of
    products to the results. A second loop, of at most one iteration, has the others that fill no
    block. With a loop over heads, that loop contains both.

    ```mlir
    ark.blocked_attention_gradient ins(%q, %k, %g, %v, %lse, %mean : ...) outs(%dq : memref<4x64xf32>)
        memory(%weights, %slopes : memref<4x32xf32>, memref<4x32xf32>) maps [...] { ... }
    // =>
    linalg.fill ins(%zero : f32) outs(%dq : memref<4x64xf32>)
    scf.for %begin = %c0 to %whole step %c32 {
      %keys = memref.subview %k[%begin, 0] [32, 64] [1, 1] : ...
      linalg.fill ins(%zero : f32) outs(%weights : memref<4x32xf32>)
      linalg.contract ... ins(%q, %keys : ...) outs(%weights : memref<4x32xf32>)
      linalg.generic ... ins(%lse : memref<4xf32>) outs(%weights : memref<4x32xf32>) { ... math.exp ... }
      linalg.fill ins(%zero : f32) outs(%slopes : memref<4x32xf32>)
      linalg.contract ... ins(%g, %values : ...) outs(%slopes : memref<4x32xf32>)
      linalg.generic ... ins(%weights, %mean : ...) outs(%slopes : memref<4x32xf32>) { ... }
      linalg.contract ... ins(%slopes, %keys : ...) outs(%dq : memref<4x64xf32>)
    }
    scf.for ... { ... } // the keys that fill no block
    ```
  }];
  let statistics = [
    Statistic<"numGradients", "gradients", "Gradients expanded">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def FlashAttentionPass : Pass<"ark-flash-attention", "::mlir::ModuleOp"> {
  let summary = "Compute attention in one pass over the keys";
  let description = [{
    Rewrites `ark.online_attention` of bf16 or f16, for query rows that share keys, and the
    elementwise ops that directly follow it on its rows, as one pass over the keys (online softmax).
    Without this pass, each structured op of an attention would become a separate loop that ends in a
    barrier and exchanges data through shared memory. In the fused loop, a warp processes 16 or 32
    keys per step. The warp keeps three values of each row in registers: the maximum score, and the
    sum of exponentials and the weighted sum of values relative to the maximum. Tensor cores compute
    both products.

    Up to 8 rows: all warps share the steps. The first product is queries by keys. The second
    product is values by exponentials, with the rows of queries as its columns, so that a thread
    already has the exponentials that it multiplies. Each exponential enters the second product as a
    sum of two or three numbers of the values' type, whose products are exact. A second loop
    combines the partial results of the warps, always in the same order, and computes the
    elementwise ops that follow.

    More rows: the rows are divided into blocks of 16, which are the rows of both products. If there
    are more warps than blocks, several warps share a block, and each warp processes a share of the
    keys. If a work item has several vCTAs, teams of warps process vCTAs in parallel instead,
    without a barrier between them. Exponentials are rounded to the values' type before the second
    product. A warp that has all keys of its rows also computes the elementwise ops that follow.

    More than 32 rows, in blocks of 64: warpgroups multiply with `wgmma` if the target has it, if
    the head size is a multiple of 64, and if queries and at least two stages of keys and values fit
    into shared memory. If a CTA has two or four times as many warpgroups as blocks, several
    warpgroups share a block: a stage has 64 keys and values for each of them, and they exchange
    their partial results through shared memory. The threads copy stages with `cp.async` while the
    warpgroups compute. Keys and values are hence read once per CTA instead of once per warp. The
    accumulators of the scores become the left operand of the second product in registers. A
    separate loop without masks processes the steps whose keys all exist and are admitted by a
    causal mask for all rows.

    A following op whose result has a single column, such as the log-sum-exp of a row, is computed by
    the thread with the first column, after all other results. Warpgroups then compute the addresses
    of the results after the loop, in which no register is left for them.

    A key beyond the length does not contribute to any result, even if its memory holds NaN. The
    effect of masks, and the results of rows without keys, equal those of the original ops. All
    other results differ only by rounding.

    The instruction, and the elements that each thread holds, come from the target's `#ark.mma`; the
    numbers here are those of `mma.sync`. The pass skips instructions whose accumulators lie in
    other threads than the operands of the next product.

    On AMD GPUs, a thread holds accumulators of one column, so queries are the columns of both
    products: of keys by queries, and of values by exponentials. A warp has up to 64 queries of a
    block, in whole instructions, also if there are few. The instructions have 32 columns if the
    head size is a multiple of 32 and a warp has work for all of them, and otherwise 16. If every
    warp reads all keys, the threads of the CTA load 32 keys and values to registers and store them
    to one of two stages in shared memory, while the warps multiply the other one. If the GPU has
    loads to LDS (`load_lds`), and the head size is 64 or 128, copies of warps fill three stages
    instead, two steps ahead. If warps do not read all keys, they divide them, and read them from
    memory. As for warpgroups, steps whose keys are all admitted
    have a loop of their own. Exponentials are rounded to the values' type for any number of rows.

    The pass also skips head sizes above 128, head sizes that are not a multiple of 16 if there are
    more than 8 rows, rows that are not aligned to 16 bytes, and attentions that would need more
    than 40 KB of shared memory: `ark-expand-attention` expands the attentions that this pass skips.
    If every work item has a single vCTA, and only elementwise ops remain beside the attention, the
    body of the loop over vCTAs replaces the loop.

    ```mlir
    ark.online_attention ins(%q, %k, %v : memref<4x64xbf16>, memref<?x64xbf16, ...>, ...)
        outs(%t, %m, %r, %s : memref<4x64xf32>, memref<4xf32>, memref<4xf32>, memref<4x?xf32, ...>) ...
    linalg.generic ... ins(%r, %t : memref<4xf32>, memref<4x64xf32>) outs(%y : memref<4x64xbf16, ...>)
    // =>
    scf.forall (%thread) in (512) {
      scf.for %key = ... { ... vector.load %k ... nvvm.mma.sync ... math.exp ... nvvm.mma.sync ... }
      memref.store ..., %maxima[...] ... %sums[...] ... vector.store ..., %products[...]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    scf.forall (%thread) in (512) { ... memref.store ..., %y[...] }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numAttentions", "attentions", "Attentions computed in one pass">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::ROCDL::ROCDLDialect",
    "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def FlashAttentionGradientsPass
    : Pass<"ark-flash-attention-gradients", "::mlir::ModuleOp"> {
  let summary = "Compute gradients of attention on matrix units, in a loop over blocks";
  let description = [{
    Rewrites `ark.blocked_attention_gradient` of bf16 or f16 as a loop over the others on the matrix
    units of warps. No weights pass through memory. The rows are divided into blocks with the rows
    of an instruction, and the warps of a block divide the others among themselves, in steps with
    the depth of an instruction. In a step, a warp multiplies rows by others, computes the weights
    and their shares in registers, rounds them to the operands' type, and multiplies them by the
    others. A loop computes one result, so that the accumulators of one result fit into registers:
    for rows of keys, a first loop computes the gradients of the values, and a second loop those of
    the keys, with the weights once more. A causal mask divides a loop into one for the others that
    all rows of the tile see, without code for the mask, and one for the rest. The warps of a block
    add their sums to the result one after the other, always in the same order, with a barrier
    between them.

    The pass skips gradients whose rows or operands do not fit: head sizes above 128 or that are not
    a multiple of 16, keys and values of different sizes, rows that are not aligned to 16 bytes,
    tiles with several extents of rows, and more rows than an instruction has for each warp. It also
    skips instructions whose accumulators lie in other threads than the operands of the next
    product. `ark-expand-attention-gradients` expands the gradients that this pass skips.

    ```mlir
    ark.blocked_attention_gradient ins(%q, %k, %g, %v, %lse, %mean : memref<64x64xbf16, ...>, ...)
        outs(%dq : memref<64x64xf32>) memory(%weights, %slopes : ...) maps [...] { ... }
    // =>
    scf.forall (%thread) in (512) {
      %sums:32 = scf.for %key = ... iter_args(...) {
        ... nvvm.mma.sync ... // scores
        ... llvm.intr.exp2 ... // weights
        ... nvvm.mma.sync ... // slopes
        ... nvvm.mma.sync ... // shares times keys
      }
      scf.if %isFirst { vector.store ..., %dq[...] }
      gpu.barrier
      scf.if %isSecond { ... arith.addf ... vector.store ..., %dq[...] }
    } {mapping = [#gpu.thread<linear_dim_0>]}
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numGradients", "gradients", "Gradients computed on matrix units">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def StageKVCachePass : Pass<"ark-stage-kv-cache", "::mlir::ModuleOp"> {
  let summary = "Copy keys and values to shared memory before packets are polled";
  let description = [{
    An attention polls for the LL packets of its query before it loads keys and values. Keys and values
    of earlier steps are in memory before the query arrives. Threads therefore copy them to shared
    memory (`cp.async`) before they poll, and wait for the copies after the poll. The keys and values
    of this step, which the body copies to the cache, are copied to shared memory, too. The attention
    then reads keys and values from shared memory only.

    The pass stages the rows of an attention if all of them fit into `max-bytes` and beside weight
    rings of four slots, if the ops that write the cache before the attention copy whole rows, and if
    the kernel streams weights through shared memory (`ark-stream-weights`). In other kernels, the L1
    holds weights in flight, and stages would take a part of it. Larger caches are prefetched to the
    L2 (`ark-prefetch-kv-cache`).

    ```mlir
    ark.receive_packets %x to %q : memref<2x128xi32, ...> to memref<2x128xbf16>
    linalg.generic ... ins(%new : memref<1x128xbf16>) outs(%row_of_cache : ...)
    %keys = memref.subview %cache[0, 0] [%length, 128] [1, 1] : ...
    ark.online_attention ins(%q, %keys, ... : ...)
    // =>
    func.call @ark_stage_bf16_64_128_128(%first_key, %length, %stage) {ark.cta_collective = 1 : i64} : ...
    ark.receive_packets %x to %q : memref<2x128xi32, ...> to memref<2x128xbf16>
    func.call @ark_await_rows(%keys_of_stage, %values_of_stage) {ark.cta_collective = 2 : i64} : ...
    linalg.generic ... ins(%new : memref<1x128xbf16>) outs(%row_of_cache : ...)
    linalg.generic ... ins(%new : memref<1x128xbf16>) outs(%row_of_stage : ...)
    %keys = memref.subview %stage[0, 0] [%length, 128] [1, 1] : memref<64x136xbf16> to ...
    ark.online_attention ins(%q, %keys, ... : ...)
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"49152",
           "Maximum bytes of shared memory for keys and values; 0 disables stages">,
  ];
  let statistics = [
    Statistic<"numStaged", "staged", "Attentions with staged keys and values">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect",
  ];
}

#endif // ARK_PASSES_TARGET_ATTENTION_PASSES_TD
