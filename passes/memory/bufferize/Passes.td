//===- Passes.td - Passes from tensors to buffers ----------*- tablegen -*-===//

#ifndef ARK_PASSES_MEMORY_BUFFERIZE_PASSES_TD
#define ARK_PASSES_MEMORY_BUFFERIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ResolveViewsPass : Pass<"ark-resolve-views", "::mlir::ark::ProgramOp"> {
  let summary = "Make every view of a tensor expressible by strides";
  let description = [{
    A view costs nothing if an offset and strides into the buffer of its base express it. The pass
    gives each task result the order of dimensions that needs the fewest copies. For each remaining
    view without strides, it inserts a task that copies, with a remark.

    ```mlir
    // %0 is laid out as [4, 64, 12, 32]: no copy.
    %1 = ark.transpose %0 perm = [0, 2, 1, 3] : (tensor<4x12x64x32xf32>) -> tensor<4x64x12x32xf32>
    %2 = ark.reshape %1 shape = [256, 384] : (tensor<4x64x12x32xf32>) -> tensor<256x384xf32>

    // %x is an argument, whose layout is given.
    %3 = ark.transpose %x perm = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %4 = ark.reshape %3 shape = [128] : (tensor<16x8xf32>) -> tensor<128xf32>
    ```
    becomes, for `%x`,
    ```mlir
    %3 = ark.transpose %x perm = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %e = tensor.empty() : tensor<16x8xf32>
    %c = ark.task "copy" grid [1] ins(%3[...]) outs(%e[...]) {...} : tensor<16x8xf32>
    %4 = ark.reshape %c shape = [128] : (tensor<16x8xf32>) -> tensor<128xf32>
    ```

    A result of the program is copied as well, unless a task fills it for this result alone. A value
    that `ark.identity` names in `after` becomes an input of the tasks that read the identity,
    because only accesses order tasks on buffers.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numCopies", "copies", "Tasks inserted that copy a tensor">,
  ];
}

def BufferizeProgramPass : Pass<"ark-bufferize-program", "::mlir::ark::ProgramOp"> {
  let summary = "Bufferize the tensors between tasks";
  let description = [{
    Arguments become dense buffers. Results become `output` arguments, which their producers fill.
    Constants become `constant` arguments with `ark.value`; equal constants share one argument, and
    a splat has one element. A `memref.alloc` holds every other result of a task, in the order of
    dimensions that `ark-resolve-views` chose. A view becomes one `memref.reinterpret_cast` of the
    whole buffer. An update in place works on the buffer of the updated tensor.

    Tasks are reordered so that a task which updates a state follows the tasks that read the old
    value; an error names the tasks if no such order exists. Bodies still compute on tensors.

    ```mlir
    ark.program @p(%x: tensor<32x16xf32> {...}) -> (tensor<16x32xf32> {ark.name = "y"}) {
      %0 = tensor.empty() : tensor<16x32xf32>
      %1 = ark.transpose %x perm = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
      %2 = ark.task "relu" grid [1] ins(%1[...] : tensor<16x32xf32>) outs(%0[...] : tensor<16x32xf32>) {
      ^bb0(%i: index, %a: tensor<16x32xf32>, %o: tensor<16x32xf32>):
        ...
        ark.yield %r : tensor<16x32xf32>
      } : tensor<16x32xf32>
      ark.return %2 : tensor<16x32xf32>
    }
    ```
    becomes
    ```mlir
    ark.program @p(%x: memref<32x16xf32> {...},
                   %y: memref<16x32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
      %0 = memref.reinterpret_cast %x to offset: [0], sizes: [16, 32], strides: [1, 16] : ...
      ark.task "relu" grid [1] ins(%0[...] : memref<16x32xf32, strided<[1, 16]>>)
          outs(%y[...] : memref<16x32xf32>) {
      ^bb0(%i: index, %a: memref<16x32xf32, strided<[1, 16], offset: ?>>,
           %o: memref<16x32xf32, strided<[32, 1], offset: ?>>):
        %in = bufferization.to_tensor %a restrict : ...
        %out = bufferization.to_tensor %o restrict writable : ...
        ...
        %d = bufferization.materialize_in_destination %r in %out : ...
        bufferization.materialize_in_destination %d in restrict writable %o : ...
        ark.yield
      }
      ark.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def BufferizeBodiesPass : Pass<"ark-bufferize-bodies", "::mlir::ark::TaskOp"> {
  let summary = "Bufferize the bodies of tasks";
  let description = [{
    Runs One-Shot Bufferize on the body of a task, so that values for a tile of `outs` are computed
    in the tile. Temporaries are `memref.alloc` of static size. If the extents of a tile depend on
    the vCTA, its temporaries have the extents of the region, and a `memref.subview` selects the
    used part.

    ```mlir
    %in = bufferization.to_tensor %a restrict : memref<16x32xf32, ...> to tensor<16x32xf32>
    %out = bufferization.to_tensor %o restrict writable : memref<16x32xf32, ...> to tensor<16x32xf32>
    %r = linalg.exp ins(%in : tensor<16x32xf32>) outs(%out : tensor<16x32xf32>) -> tensor<16x32xf32>
    %d = bufferization.materialize_in_destination %r in %out : ...
    bufferization.materialize_in_destination %d in restrict writable %o : ...
    ```
    becomes
    ```mlir
    linalg.exp ins(%a : memref<16x32xf32, ...>) outs(%o : memref<16x32xf32, ...>)
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // ARK_PASSES_MEMORY_BUFFERIZE_PASSES_TD
