//===- ArkTaskOps.td - Programs, groups and tasks ---------------*- tablegen -*-===//

#ifndef ARK_TASK_OPS_TD
#define ARK_TASK_OPS_TD

include "dialects/ark/ArkAttrs.td"
include "dialects/ark/ArkInterfaces.td"
include "dialects/ark/ArkTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ValueBoundsOpInterface.td"
include "mlir/Interfaces/ViewLikeInterface.td"

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

def Ark_ProgramOp : Ark_Op<"program", [IsolatedFromAbove, FunctionOpInterface]> {
  let summary = "A tensor program, which becomes one kernel";
  let description = [{
    Arguments carry `ark.kind` (input, parameter, state or scalar; from the `memory` stage on also
    output or constant) and `ark.name`; results carry `ark.name`. Before the `memory` stage the body
    computes on tensors and ends in `ark.return`. After this stage, the arguments are buffers, and
    results are output arguments.

    A program with `rank` and `world_size` is the program of one rank. A program with `world_size` and
    without `rank` is the joined program of all ranks, which the `graph` stage makes.

    - (program_c1) every argument has `ark.kind` and a name. Names are distinct among
      outputs, among constants and among all other arguments.
    - (program_c2) a scalar is a tensor of rank zero of i32 or i64.
    - (program_c3) every result is a tensor of static shape, with a name that no other
      result has.
    - (program_c4) tasks have distinct names.
    - (program_c5) an argument takes at most 2^47 bytes.
    - (program_c6) at most one argument has `ark.stop`: a state of one i32. If this state is not
      zero when an iteration ends, the iteration is the last one of its launch.
    - (program_c7) `world_size` is from 1 to 65536, and `rank` is one of `world_size` ranks.
    - (program_c8) an argument or result has at most 32 dimensions.

    ```mlir
    ark.program @mlp(%x: tensor<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
        -> (tensor<4x64xf32> {ark.name = "y"}) {
      %0 = ark.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
      ark.return %0 : tensor<4x64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<I64Attr>:$rank, OptionalAttr<I64Attr>:$world_size);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>,
  ];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }

    ::mlir::ark::ArgumentKind getArgumentKind(unsigned index);
    ::llvm::StringRef getArgumentName(unsigned index);
    ::llvm::StringRef getResultName(unsigned index);
    /// Returns true from the `memory` stage on.
    bool isBufferized();
    /// Returns the number of ranks in the program: `world_size` for the joined program of all ranks,
    /// which has no `rank`, and one for every other program.
    int64_t getNumRanks();
  }];
}

def Ark_ReturnOp : Ark_Op<"return", [Pure, HasParent<"ProgramOp">, Terminator, ReturnLike]> {
  let summary = "The results of a program";
  let description = [{
    - (return_c1) operand types equal the program's result types.
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

def Ark_YieldOp
    : Ark_Op<"yield", [Pure, Terminator, ReturnLike,
                       ParentOneOf<["BlockedAttentionGradientOp", "CustomOp", "GroupOp",
                                    "OnlineAttentionOp", "RowNormOp", "TaskOp"]>]> {
  let summary = "The results of a group, the tiles that a vCTA computes, or an element";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

//===----------------------------------------------------------------------===//
// Groups: output of the `graph` stage
//===----------------------------------------------------------------------===//

def Ark_GroupOp : Ark_Op<"group", [IsolatedFromAbove, SingleBlock]> {
  let summary = "Ops that become one task";
  let description = [{
    A group has at most one anchor (matmul, attention, reduction, ...), with cheap producers and
    consumers. Block arguments stand for the operands.

    - (group_c1) the block's arguments have the operands' types.
    - (group_c2) the terminator is `ark.yield` with the result types.
    - (group_c3) `tile`, where present, has one positive entry for every dimension of the result.
    - (group_c4) operands and results of ops in the body take at most 2^47 bytes each.

    ```mlir
    %0 = ark.group "fc" (%a = %x, %b = %w) : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32> {
      %1 = ark.matmul %a, %b : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
      %2 = ark.relu %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
      ark.yield %2 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyRankedTensor>:$inputs,
                       OptionalAttr<DenseI64ArrayAttr>:$tile,
                       OptionalAttr<DictionaryAttr>:$plan);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Ark_TileOffsetOp : Ark_Op<"tile_offset", [Pure, HasParent<"GroupOp">]> {
  let summary = "First index of a vCTA's tile in a dimension of the group's result";
  let description = [{
    The op serves values that differ between the tiles of one group, such as the number of keys in a
    partition of a cache. `ark-tile-groups` replaces the op.

    - (tile_offset_c1) `dim` is a dimension of the group's result.

    ```mlir
    %partition = ark.tile_offset 3
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tasks: output of the `tiling` stage
//===----------------------------------------------------------------------===//

def Ark_TaskOp : Ark_Op<"task", [AttrSizedOperandSegments, AutomaticAllocationScope,
                                 IsolatedFromAbove, SingleBlock,
                                 DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                 DeclareOpInterfaceMethods<ValueBoundsOpInterface,
                                     ["populateBoundsForIndexValue",
                                      "populateBoundsForShapedValueDim"]>]> {
  let summary = "A grid of virtual CTAs with declared read and write regions";
  let description = [{
    The body is one vCTA. Its first arguments are the grid indices. One tile for every operand
    follows: the elements of the operand that lie in its region for this vCTA. The body can access
    no other memory, and `ark-verify-memory` proves that every access stays inside of its tile. If
    an access depends on data, the region covers the whole range that the access may touch.

    On tensors, `outs` are destinations: `ark.yield` gives one tile for each,
    and the results are the updated tensors. On buffers there are no results;
    the body writes into the tiles of `outs`.

    A tile has the static extent of its region in a dimension in which the region is never clipped,
    and a dynamic extent (`?`) in the others.

    - (task_c1) one region for every operand, with as many results as the
      operand has dimensions and as many inputs as the grid has dimensions.
    - (task_c2) a region starts inside of its operand for every vCTA.
    - (task_c3) block arguments: one `index` for every grid dimension, then one tile for every
      operand.
    - (task_c4) on tensors, every out has a result of the same type; on buffers, the op has no
      results.
    - (task_c5) grid extents are positive, `warps` is positive, `shared_memory` is not negative;
      the grid has at most 2^22 vCTAs.
    - (task_c6) write regions of two vCTAs do not overlap, unless `outs` is updated in place.
      `ark-verify-synchronization` checks this rule, byte by byte.
    - (task_c7) an operand takes at most 2^47 bytes.
    - (task_c8) static strides of slices in the body are positive.
    - (task_c9) `fresh_outs` has ascending indices of some, not all, outs of a task that is
      `in_place`. The task fills these outs, as a task without `in_place` does, and updates the
      others.

    ```mlir
    %1 = ark.task "relu" grid [2] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
        outs(%0[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>) {
    ^bb0(%i: index, %a: tensor<16xf32>, %b: tensor<16xf32>):
      ...
      ark.yield %c : tensor<16xf32>
    } : tensor<32xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, DenseI64ArrayAttr:$grid,
                       Variadic<Ark_TensorOrBuffer>:$inputs,
                       Variadic<Ark_TensorOrBuffer>:$outs,
                       TypedArrayAttrBase<Ark_RegionAttr, "regions">:$input_regions,
                       TypedArrayAttrBase<Ark_RegionAttr, "regions">:$out_regions,
                       DefaultValuedAttr<I64Attr, "1">:$warps,
                       DefaultValuedAttr<I64Attr, "0">:$shared_memory,
                       OptionalAttr<ArrayAttr>:$ops,
                       OptionalAttr<DictionaryAttr>:$plan,
                       UnitAttr:$in_place,
                       OptionalAttr<DenseI64ArrayAttr>:$fresh_outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `grid` $grid
    `ins` `(` custom<RegionOperands>($inputs, type($inputs), $input_regions) `)`
    `outs` `(` custom<RegionOperands>($outs, type($outs), $out_regions) `)`
    attr-dict-with-keyword $body (`:` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the number of vCTAs.
    int64_t getNumVCTAs();
    /// Return the block arguments of the grid indices, of the tiles of `inputs` and of the tiles of
    /// `outs`.
    ::mlir::ValueRange getGridIndices();
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getInputTiles();
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getOutTiles();
    /// Returns the region of operand `index`, counting `inputs` first.
    ::mlir::ark::RegionAttr getRegion(unsigned index);
    /// Returns true if out `index` keeps the elements that the task does not overwrite.
    bool isUpdated(unsigned index);
  }];
}

//===----------------------------------------------------------------------===//
// Buffers: output of the `memory` stage
//===----------------------------------------------------------------------===//

def Ark_ArenaOp : Ark_Op<"arena", [Pure, HasParent<"ProgramOp">]> {
  let summary = "The one buffer that holds every intermediate of a program";
  let description = [{
    Intermediates are `memref.view`s of the arena at constant offsets.

    - (arena_c1) the arena takes at most 2^47 bytes.

    ```mlir
    %arena = ark.arena : memref<4096xi8>
    ```
  }];
  let results = (outs StaticShapeMemRefOf<[I8]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Ark_BufferCastOp
    : Ark_Op<"buffer_cast", [Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "The bytes of a buffer as elements of another type";
  let description = [{
    The result begins where the source does. Its type has the offset and the strides, in elements of
    the result.

    ```mlir
    %1 = ark.buffer_cast %0 : memref<4x8xf32> to memref<4x4xf16, strided<[16, 1], offset: 2>>
    ```
  }];
  let arguments = (ins StaticShapeMemRefOf<[Ark_Element]>:$source);
  let results = (outs StaticShapeMemRefOf<[Ark_Element]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
}

def Ark_PacketsOp : Ark_Op<"packets", [Pure, HasParent<"ProgramOp">]> {
  let summary = "The buffer of task packets";
  let description = [{
    A task packet, an LL packet between tasks, is a word with twice the bits of its value. The
    value, of 16 bits or f32, is the lower half. The upper 16 bits are the lower half of the epoch
    in which the word was written. A reader polls the word until the word has the epoch of the
    current iteration, and needs no semaphore. A packet orders only itself: its reader may not rely
    on other writes of the sender. Packets are `memref.view`s of this buffer at constant offsets.
    (Rank packets, those of `ark.pack_packet`, lie in the arena, and a wait polls them.)

    - (packets_c1) the buffer takes at most 2^47 bytes.

    ```mlir
    %packets = ark.packets : memref<8192xi8>
    %x = memref.view %packets[%c0][] : memref<8192xi8> to memref<1x2048xi32>
    ```
  }];
  let results = (outs StaticShapeMemRefOf<[I8]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Ark_ReceivePacketsOp : Ark_Op<"receive_packets", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Waits for the task packets of this iteration and stores their values";
  let description = [{
    - (receive_packets_c1) both buffers have one shape, which is static.
    - (receive_packets_c2) packets have twice the bits of the values.
    - (receive_packets_c3) `per_load` is 1, 2 or 4, and so many packets have at most 16 bytes.

    `per_load` limits the packets that a thread loads at once, for a buffer that begins in the
    middle of a vector of packets. Without it, a thread loads as many as divide the rows.

    ```mlir
    ark.receive_packets %x to %values : memref<1x2048xi32> to memref<1x2048xbf16>
    ```
  }];
  let arguments = (ins MemRefOf<[I32, I64]>:$packets, MemRefOf<[BF16, F16, F32]>:$values,
      OptionalAttr<I64Attr>:$per_load);
  let assemblyFormat = "$packets `to` $values attr-dict `:` type($packets) `to` type($values)";
  let hasVerifier = 1;
}

def Ark_CheckIndexOp : Ark_Op<"check_index"> {
  let summary = "An index inside of [0, bound), or an error that the run reports";
  let description = [{
    Returns the index if it is valid and 0 otherwise, so that no access leaves its buffer. The first
    failure of a run is recorded, and the host raises it. With `sequence`, the record names the
    sequence that the index belongs to. With `stores`, stores at addresses that depend on the result
    are skipped if the index is not valid.

    ```mlir
    %valid = ark.check_index %offset below %bound sequence %tile {stores}
    ```
  }];
  let arguments = (ins Index:$index, Index:$bound, Optional<Index>:$sequence, UnitAttr:$stores);
  let results = (outs Index:$result);
  let assemblyFormat = "$index `below` $bound (`sequence` $sequence^)? attr-dict";
  let builders = [
    OpBuilder<(ins "::mlir::Value":$index, "::mlir::Value":$bound), [{
      build($_builder, $_state, $_builder.getIndexType(), index, bound, /*sequence=*/{},
            /*stores=*/false);
    }]>,
  ];
}

def Ark_StoreIndexOp : Ark_Op<"store_index", [Pure]> {
  let summary = "An index in [0, bound), or 0 and no store";
  let description = [{
    Returns the index if it is valid and 0 otherwise. Stores at addresses that depend on the result
    are skipped if the index is not valid. `ark-lower-check-index` makes the op, which marks the index
    until structured ops have become loops: their stores do not exist before. `ark-guard-stores` then
    puts the stores into branches and replaces the op.

    ```mlir
    %valid = ark.store_index %offset below %bound
    ```
  }];
  let arguments = (ins Index:$index, Index:$bound);
  let results = (outs Index:$result);
  let assemblyFormat = "$index `below` $bound attr-dict";
}

def Ark_EpochOp : Ark_Op<"epoch", [Pure]> {
  let summary = "The number of the current iteration, which LL packets carry";
  let description = [{
    The epoch counts from one, over all launches, and wraps around. Consecutive iterations have
    different epochs. Memory that was never written holds no epoch.
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

#endif // ARK_TASK_OPS_TD
