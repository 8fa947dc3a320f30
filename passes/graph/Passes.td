//===- Passes.td - Passes of the graph stage ---------------*- tablegen -*-===//

#ifndef ARK_PASSES_GRAPH_PASSES_TD
#define ARK_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyInputPass : Pass<"ark-verify-input", "::mlir::ark::ProgramOp"> {
  let summary = "Reject programs that the compiler cannot execute yet";
  let description = [{
    Reports constructs that the dialect can express but later stages cannot compile. The error is at
    the op at fault, and replaces an obscure error of a later stage. The pass rejects ops that are
    not graph ops, communication in a program without rank and world size, and programs that are
    lowered already.

    - (input_c1) a tensor has at most 2^47 bytes, the address space of a process. (Arguments:
      program_c5.)
    - (input_c2) the regions of the result of an `ark.custom` cover all of it: the sizes of the regions
      of all vCTAs, as clipped, add up to its number of elements.
    - (input_c3) the body of an `ark.custom` holds `linalg`, `tensor`, `arith` and `math` ops,
      `affine.apply`, `affine.min`, `scf.for`, `scf.if`, and ark ops on tensors of static shape:
      elementwise ops, splat constants, and anchors that can be part of a body.

    Changes nothing.
  }];
}

def NameLocationsPass : Pass<"ark-name-locations", "::mlir::ark::ProgramOp"> {
  let summary = "Move the names of ops into their locations";
  let description = [{
    Errors, reports and traces use the name in an op's location, and so do groups and tasks. The
    Python builder puts names into locations. The textual form has no locations, so the builder also
    adds the attribute `ark.name` if the name differs from that of the op. This pass removes the
    attribute, so that equal ops with different names are equal.

    ```mlir
    %1 = ark.relu %0 {ark.name = "gate"} : (tensor<4xf32>) -> tensor<4xf32>            // before
    %1 = ark.relu %0 : (tensor<4xf32>) -> tensor<4xf32> loc("gate"("program.mlir":7:3))  // after
    ```
  }];
  let statistics = [
    Statistic<"numNamed", "num-named", "Ops whose location lacked the name">,
  ];
}

def NormalizeGraphPass : Pass<"ark-normalize-graph", "::mlir::ark::ProgramOp"> {
  let summary = "Bring the tensor graph into the form from which groups are made";
  let description = [{
    - Views compose, and a view of a splat constant becomes a splat constant.
    - A broadcast is folded into an op that broadcasts implicitly, and a transpose of the last two
      dimensions into the matmul that reads it.
    - A norm of viewed rows, such as the heads of a projection, moves behind the following views
      that keep the rows intact. Its reader then indexes elements like the norm, so that the two can
      become one task.
    - A reshape moves behind the unary op that reads it, if that op can then join the group of the op
      before the reshape, and its elements are not wider.
    - `ark.identity` without `deps` disappears; nested ones join their `deps`.
    - On a target with matrix units, casts of bf16 or f16 operands to f32 are folded into the matmul
      that reads them, whose result stays f32.
    - On a target whose matrix units multiply i8, casts of both operands from i8 to i32 are folded into
      the matmul. A matmul with a result of i8 adds in i32, and a cast takes the lowest 8 bits.
    - A tensor without elements becomes a constant, and a reduction over dimensions of extent one a
      reshape.
    - `ark.concat` of more than 32 tensors becomes a concatenation of concatenations of 16 tensors.
    - Reads of a state that follow its update in the block read a copy that is made before the
      update, since the update overwrites the state.

    ```mlir
    %0 = ark.transpose %w perm = [1, 0] : (tensor<256x64xf32>) -> tensor<64x256xf32>
    %1 = ark.matmul %x, %0 : (tensor<4x64xf32>, tensor<64x256xf32>) -> tensor<4x256xf32>
    %2 = ark.broadcast_to %b shape = [4, 256] : (tensor<256xf32>) -> tensor<4x256xf32>
    %3 = ark.add %1, %2 : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
    ```
    becomes
    ```mlir
    %1 = ark.matmul %x, %w {transpose_other} : (tensor<4x64xf32>, tensor<256x64xf32>) -> tensor<4x256xf32>
    %3 = ark.add %1, %b : (tensor<4x256xf32>, tensor<256xf32>) -> tensor<4x256xf32>
    ```
  }];
  let statistics = [
    Statistic<"numStateCopies", "state-copies", "Copies of a state made before its update">,
  ];
}

def SplitArgmaxPass : Pass<"ark-split-argmax", "::mlir::ark::ProgramOp"> {
  let summary = "Split a long dimension of an argmax into partitions for idle SMs";
  let description = [{
    An argmax of few rows has one vCTA per row; the next token of a decoder has a single vCTA. The
    pass splits the dimension into `P` contiguous partitions, and a small op reduces the results of
    the partitions. The result is the same index as before, also for equal values and NaNs.

    `P` divides the extent, and all rows together have at most as many partitions as there are SMs.
    The cost model selects one of these `P`, or none, for example if the dimension is short or if
    there are many rows or few SMs. The pass skips an argmax whose tile is in the user's plan, and
    one of 64-bit elements, whose value and index do not fit one word.

    ```mlir
    %1 = ark.argmax %0 axis = 1 : (tensor<1x128256xf32>) -> tensor<1xi32>
    ```
    becomes
    ```mlir
    %1 = ark.reshape %0 shape = [1, 128, 1002] : (tensor<1x128256xf32>) -> tensor<1x128x1002xf32>
    %2 = ark.partial_argmax %1 axis = 2 : (tensor<1x128x1002xf32>) -> tensor<1x128xi64>
    %3 = ark.combine_argmax %2 axis = 1 : (tensor<1x128xi64>) -> tensor<1xi32>
    ```
  }];
  let options = [
    Option<"partitions", "partitions", "int64_t", "0",
           "Number of partitions if it divides the extent; 0 selects the cost model">,
  ];
  let statistics = [
    Statistic<"numSplit", "split-argmaxes", "Argmaxes split">,
  ];
}

def ExpandSegmentOpsPass : Pass<"ark-expand-segment-ops", "::mlir::ark::ProgramOp"> {
  let summary = "Turn segment sums and maxima into custom ops";
  let description = [{
    Replaces an `ark.segment_sum` by an `ark.custom`, whose vCTAs own blocks of segments. A vCTA fills its
    part of the result with zeros, reads all indices in ascending order, and adds each slice that belongs
    to one of its segments. So equal operands give equal bits on every target, and the work is
    proportional to the slices and not to slices times segments, as in a product by a matrix of zeros and
    ones. An `ark.segment_max` becomes the same loop, with the least value and maxima.

    The op is seen as `batches x slices x columns`. Blocks of batches and of segments occupy the SMs
    twice; blocks of columns, each of which reads all indices, occupy them once. An op without
    elements stays.

    On a GPU, a sum of 33 to 65,536 slices gets lists of the slices of each segment from three more
    custom ops, which depend on the indices alone: the rank of each slice is the number of slices that
    come before it in the order by segment and position; the order is the inverse permutation of the
    ranks; and the start of each segment's list is found by a binary search. The body then sums the list
    of each element, in order. A thread loads eight slices at once, so that the latency of memory is
    paid once for eight of them. Sums with the same indices and plan share the lists. The bits are those
    of the other form.

    ```mlir
    %2 = ark.segment_sum %0, %1 axis = 0 segments = 1024 : (tensor<8x64xf32>, tensor<8xi32>) -> tensor<1024x64xf32>
    ```
    becomes, for two SMs,
    ```mlir
    %2 = ark.reshape %0 shape = [1, 8, 64] : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
    %3 = ark.custom grid [1, 4, 1]
        ins(%2[#ark.region<(d0, d1, d2) -> (d0, 0, d2 * 64), [1, 8, 64]>] : tensor<1x8x64xf32>,
            %1[#ark.region<(d0, d1, d2) -> (0), [8]>] : tensor<8xi32>)
        out <(d0, d1, d2) -> (d0, d1 * 256, d2 * 64), [1, 256, 64]> {
      // scf.for over the slices, with an scf.if around the sum
    } : tensor<1x1024x64xf32>
    %4 = ark.reshape %3 shape = [1024, 64] : (tensor<1x1024x64xf32>) -> tensor<1024x64xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect",
  ];
  let statistics = [
    Statistic<"numExpanded", "segment-ops", "Segment sums and maxima that are custom ops now">,
  ];
}

def SplitProductsPass : Pass<"ark-split-products", "::mlir::ark::ProgramOp"> {
  let summary = "Split the depth of products for idle SMs (split-K)";
  let description = [{
    A product with a small result and a large depth has few large tiles. Smaller tiles occupy all
    SMs, but read both operands more often. The pass divides the depth into split-K parts, each with
    a separate product, and adds the f32 results of the parts in a fixed order. Consumers of the
    product join the group of the sum.

    The pass considers products of 16-bit floats with more than 16 rows on targets that list tiles
    for matrix units. Each part has whole stages of the depth and listed tiles.
    The cost model selects the number of parts: it compares the time of the tiles of all parts, and
    of the sum, with the time of the product that is not split. If an addition is the only reader of
    the product, the sum is rounded after the addition. The pass skips a product whose tile
    is in the user's plan, and products that share their left operand, which run at the same time.

    ```mlir
    %1 = ark.matmul %x, %w {transpose_other}
        : (tensor<128x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<128x2048xbf16>
    ```
    becomes
    ```mlir
    %1 = ark.reshape %x shape = [128, 8, 1024] : (tensor<128x8192xbf16>) -> tensor<128x8x1024xbf16>
    %2 = ark.transpose %1 perm = [1, 0, 2] : (tensor<128x8x1024xbf16>) -> tensor<8x128x1024xbf16>
    %3 = ark.reshape %w shape = [2048, 8, 1024] : (tensor<2048x8192xbf16>) -> tensor<2048x8x1024xbf16>
    %4 = ark.transpose %3 perm = [1, 0, 2] : (tensor<2048x8x1024xbf16>) -> tensor<8x2048x1024xbf16>
    %5 = ark.matmul %2, %4 {transpose_other}
        : (tensor<8x128x1024xbf16>, tensor<8x2048x1024xbf16>) -> tensor<8x128x2048xf32>
    %6 = ark.reduce_sum %5 axes = [0] keepdims = false : (tensor<8x128x2048xf32>) -> tensor<128x2048xf32>
    %7 = ark.cast %6 to bf16 : (tensor<128x2048xf32>) -> tensor<128x2048xbf16>
    ```
  }];
  let options = [
    Option<"parts", "parts", "int64_t", "0",
           "Number of parts if it divides the depth; 0 selects the cost model">,
  ];
  let statistics = [
    Statistic<"numSplit", "split-products", "Products split">,
  ];
}

def FormConvolutionsPass : Pass<"ark-form-convolutions", "::mlir::ark::ProgramOp"> {
  let summary = "Multiply filters by windows that stay in the image";
  let description = [{
    A convolution is a product of filters by the windows of an image, which `ark.windows` copies: an image
    is copied once for each element of a window. The pass replaces the product by `ark.convolution`, which
    reads the windows as it multiplies. Only windows over the columns are still copied, so that a window of
    3 x 3 elements takes a third of the bytes. The rows of the copy begin at multiples of 16 bytes, the
    unit in which the threads of a vCTA copy. For this, the rows of an image become longer, by zeros after
    the last column; the convolution reads a slice of the copy, without the windows in these zeros.

    The pass considers products of 16-bit floats whose windows have no other reader, with two or more
    rows and columns, on targets whose matrix units read panels of shared memory. It replaces a
    product if that takes less time by the cost model, copies included.

    ```mlir
    %1 = ark.windows %0 sizes = [3, 3] strides = [1, 1] dilations = [1, 1]
        : (tensor<8x64x58x58xf16>) -> tensor<8x64x3x3x56x56xf16>
    %2 = ark.reshape %1 shape = [8, 576, 3136]
        : (tensor<8x64x3x3x56x56xf16>) -> tensor<8x576x3136xf16>
    %3 = ark.matmul %f, %2 : (tensor<64x576xf16>, tensor<8x576x3136xf16>) -> tensor<8x64x3136xf16>
    ```
    becomes
    ```mlir
    %1 = ark.windows %0 sizes = [3] strides = [1] dilations = [1]
        : (tensor<8x64x58x58xf16>) -> tensor<8x64x58x3x56xf16>
    %2 = ark.reshape %1 shape = [8, 64, 174, 56]
        : (tensor<8x64x58x3x56xf16>) -> tensor<8x64x174x56xf16>
    %3 = ark.reshape %f shape = [64, 64, 3, 3] : (tensor<64x576xf16>) -> tensor<64x64x3x3xf16>
    %4 = ark.convolution %3, %2 stride = 3 dilation = 3
        : (tensor<64x64x3x3xf16>, tensor<8x64x174x56xf16>) -> tensor<8x64x56x56xf16>
    %5 = ark.reshape %4 shape = [8, 64, 3136]
        : (tensor<8x64x56x56xf16>) -> tensor<8x64x3136xf16>
    ```
  }];
  let statistics = [
    Statistic<"numFormed", "convolutions", "Products replaced by convolutions">,
  ];
}

def PadProductsPass : Pass<"ark-pad-products", "::mlir::ark::ProgramOp"> {
  let summary = "Pad operands of products for matrix units";
  let description = [{
    Warpgroups copy operands of products in units of 16 bytes. If the rows of an operand lie across
    the depth (K), as those of `[K, N]`, N has to be a multiple of 8. The pass copies other operands
    to longer rows, of which the product reads a slice. The result keeps its shape, and ops that read
    it stay in its epilogue. The depth has to consist of whole stages; both operands are padded with
    zeros up to the next stage.

    The pass considers products of 16-bit floats on targets that list tiles for matrix units with
    panels. It pads a product if no matrix unit can multiply it otherwise, both sides of the result
    exceed 16, and the predicted time of copies and tiles is less than that of threads.

    ```mlir
    %1 = ark.matmul %w, %x : (tensor<256x1024xbf16>, tensor<8x1024x196xbf16>) -> tensor<8x256x196xbf16>
    ```
    becomes
    ```mlir
    %1 = ark.constant dense<0.0> : tensor<8x1024x4xbf16>
    %2 = ark.concat %x, %1 axis = 2
        : (tensor<8x1024x196xbf16>, tensor<8x1024x4xbf16>) -> tensor<8x1024x200xbf16>
    %3 = ark.slice %2 starts = [0, 0, 0] stops = [8, 1024, 196] steps = [1, 1, 1]
        : (tensor<8x1024x200xbf16>) -> tensor<8x1024x196xbf16>
    %4 = ark.matmul %w, %3 : (tensor<256x1024xbf16>, tensor<8x1024x196xbf16>) -> tensor<8x256x196xbf16>
    ```
  }];
  let statistics = [
    Statistic<"numPadded", "padded-products", "Products padded">,
  ];
}

def MultiplyAttentionGradientsPass
    : Pass<"ark-multiply-attention-gradients", "::mlir::ark::ProgramOp"> {
  let summary = "Compute gradients of attention as matrix products";
  let description = [{
    Replaces `ark.attention_query_gradient` and `ark.attention_key_value_gradient` by products of
    matrices, where the matrix units of a GPU compute them. Two tensors of the shape of the scores,
    `[..., H, R, Tq, Tk]`, then pass through memory: the weights, and their shares of the sums. Both
    gradients of an attention share them. The pass skips gradients with more scores than `most-scores`,
    and those whose tile is in the user's plan: blocks of them are computed one after the other. It also
    skips gradients of 16-bit floats that `ark-flash-attention-gradients` computes in blocks on matrix
    units: the accumulators of an instruction lie in the threads of its operands, keys and values have
    one size, which is a multiple of 16 and at most 128.

    ```mlir
    %0 = ark.attention_query_gradient %q, %k, %v, %g, %lse, %mean scale = 0.5
        : (tensor<2x1x64x8xf32>, tensor<2x96x8xf32>, tensor<2x96x8xf32>, tensor<2x1x64x8xf32>,
           tensor<2x1x64xf32>, tensor<2x1x64xf32>) -> tensor<2x1x64x8xf32>
    ```
    becomes
    ```mlir
    %1 = ark.reshape %k shape = [2, 1, 96, 8] : (tensor<2x96x8xf32>) -> tensor<2x1x96x8xf32>
    %2 = ark.matmul %q, %1 {transpose_other} : ... -> tensor<2x1x64x96xf32>
    ... // %weights = exp(%2 * 0.5 - %lse), %slopes = %g %v^T
    %3 = ark.sub %slopes, %mean : ...
    %4 = ark.mul %weights, %3 : ...
    %5 = ark.mul %4, %half : ...
    %0 = ark.matmul %5, %1 : (tensor<2x1x64x96xf32>, tensor<2x1x96x8xf32>) -> tensor<2x1x64x8xf32>
    ```
  }];
  let options = [
    Option<"mostScores", "most-scores", "int64_t", "268435456",
           "Maximum number of scores of a gradient, over all heads">,
  ];
  let statistics = [
    Statistic<"numGradients", "gradients", "Gradients as products">,
  ];
}

def SplitAttentionPass : Pass<"ark-split-attention", "::mlir::ark::ProgramOp"> {
  let summary = "Split the keys of attention for idle SMs (split-KV)";
  let description = [{
    Attention with few query rows has one vCTA per key head. Its time grows with the number of keys,
    while other SMs are idle. The pass splits the keys into `P` partitions of every `P`-th
    key: for any length at run time, partitions differ by at most one key. A small op combines the
    partial results.

    `P` divides the number of keys, and all key heads together have at most as many partitions as
    there are SMs. The cost model selects one of these `P`, or none, for example if caches are short
    or if there are many query rows or few SMs. The pass skips an attention whose tile is in the
    user's plan. The log-sum-exp with the operands of a split attention is merged from those of the
    partitions.

    ```mlir
    %1 = ark.attention %q, %k, %v kv_length %n scale = 1.25e-1
        : (tensor<32x1x64xf32>, tensor<8x1024x64xf32>, tensor<8x1024x64xf32>, tensor<i32>) -> tensor<32x1x64xf32>
    ```
    becomes
    ```mlir
    %1 = ark.reshape %k shape = [8, 64, 16, 64] : (tensor<8x1024x64xf32>) -> tensor<8x64x16x64xf32>
    %2 = ark.reshape %v shape = [8, 64, 16, 64] : (tensor<8x1024x64xf32>) -> tensor<8x64x16x64xf32>
    %3 = ark.partial_attention %q, %1, %2 kv_length %n scale = 1.25e-1
        : (tensor<32x1x64xf32>, tensor<8x64x16x64xf32>, tensor<8x64x16x64xf32>, tensor<i32>) -> tensor<32x1x16x66xf32>
    %4 = ark.combine_attention %3 : (tensor<32x1x16x66xf32>) -> tensor<32x1x64xf32>
    ```
  }];
  let options = [
    Option<"maxRows", "max-rows", "int64_t", "16",
           "Maximum number of query rows per key head, over all its query heads">,
    Option<"partitions", "partitions", "int64_t", "0",
           "Number of partitions if it divides the number of keys; 0 selects the cost model">,
  ];
  let statistics = [
    Statistic<"numSplit", "split-attentions", "Attentions split">,
  ];
}

def IsolateResultsPass : Pass<"ark-isolate-results", "::mlir::ark::ProgramOp"> {
  let summary = "Give every result of the program a separate op";
  let description = [{
    The `memory` stage turns every result into a buffer that one task writes. A result that is an
    argument, a view, a constant, a state or another result is copied.

    ```mlir
    ark.return %x : tensor<4xf32>
    ```
    becomes
    ```mlir
    %0 = ark.copy %x : (tensor<4xf32>) -> tensor<4xf32>
    ark.return %0 : tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"numCopies", "copies", "Copies inserted">];
}

def FormGroupsPass : Pass<"ark-form-groups", "::mlir::ark::ProgramOp"> {
  let summary = "Group every anchor op with its cheap producers and consumers";
  let description = [{
    A group becomes one task; the values inside of a group never reach memory.

    - Epilogue: an elementwise op that is the only reader of the group's result so far and keeps its
      shape.
    - Prologue: elementwise ops that only the anchor reads, if the anchor's tiles read every element
      once (reductions, norms, rope, update), so that nothing is computed twice. The prologue of an
      update may read the update's state only at the elements that the same vCTA writes, hence not
      through a transpose, a reduction or a slice at other offsets.
    - Operands of the epilogue: elementwise ops of the shape of their readers, and casts of any
      shape, that only this group reads.
    - Elementwise ops without anchor join their readers in the same way.
    - A gather of matrices, `[V, N, K]` from a table `[E, N, K]` along dimension 0, whose only reader
      is a matmul with the matrices as right operand: a vCTA of the matmul then reads the rows of one
      matrix in the table, and the matrices are not copied.

    Views stay outside. Splat constants are cloned into every group that reads them. `deps` of an
    `ark.identity` become operands that the body ignores, so the group still depends on them. A
    group gets its name from the location of its anchor, made unique in the program, and the
    anchor's `ark.plan`. Ops with different plans are not grouped. An op does not join a group if
    the group would have to wait for ops with another plan, unless both belong to one microbatch.

    ```mlir
    %0 = ark.matmul %x, %w {transpose_other} : ...
    %1 = ark.add %0, %bias : ...
    %2 = ark.gelu %1 approximate = none : ...
    ```
    becomes
    ```mlir
    %0 = ark.group "fc1" (%a = %x, %b = %w, %c = %bias) : (...) -> tensor<64x1536xf32> {
      %1 = ark.matmul %a, %b {transpose_other} : ...
      %2 = ark.add %1, %c : ...
      %3 = ark.gelu %2 approximate = none : ...
      ark.yield %3 : tensor<64x1536xf32>
    }
    ```
  }];
  let options = [
    Option<"maxOps", "max-ops", "int64_t", "32", "Maximum number of ops in a group">,
  ];
  let statistics = [
    Statistic<"numGroups", "groups", "Groups formed">,
    Statistic<"numFused", "fused-ops", "Ops fused into the group of another op">,
  ];
}

def VerifyGraphPass : Pass<"ark-verify-graph", "::mlir::ark::ProgramOp"> {
  let summary = "Check that the tiling stage accepts the program";
  let description = [{
    - (graph_c1) the body holds groups, views, constants, `ark.noop` and `ark.return` only.
    - (graph_c2) a group has one result, at most one anchor, and graph ops other than views; its
      constants are splats. A gather of the matrices that a matmul of the group multiplies by is not
      counted as an anchor.
    - (graph_c3) every result of the program is the result of a group that produces no other result
      of the program and is not an update.
    - (graph_c4) no group reads a state after the group that updates it.
    - (graph_c5) groups have distinct names.
    - (graph_c6) an `ark.identity` has no `deps`: the groups of its readers carry them.
    - (graph_c7) an `ark.noop` keeps the result of a group.

    Changes nothing.
  }];
}

#endif // ARK_PASSES_GRAPH_PASSES_TD
