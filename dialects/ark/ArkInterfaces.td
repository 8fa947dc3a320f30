//===- ArkInterfaces.td - Op interfaces of the ark dialect ------*- tablegen -*-===//

#ifndef ARK_INTERFACES_TD
#define ARK_INTERFACES_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/IndexingMapOpInterface.td"

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    Every element of the result depends on one element of each operand, after
    numpy broadcasting. Such an op can join the group of a neighbour as
    prologue or epilogue.
  }];
}

def ViewOpInterface : OpInterface<"ViewOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    The result has elements of the source in another shape or order, and the op moves no data. The
    `memory` stage turns views into strides.
  }];
  let methods = [
    InterfaceMethod<"The tensor that is viewed.", "::mlir::Value", "getViewSource">,
  ];
}

def AnchorOpInterface : OpInterface<"AnchorOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    The op decides the tiles of its group. Anchors are products, attention, reductions,
    normalisations, copies and collectives. A group holds at most one anchor.

    The methods state the facts of the op on which grouping and tiling depend. An op that differs from
    a default defines the method. Tiles divide the domain: the result, or the part of the result
    that the op writes.
  }];
  let methods = [
    InterfaceMethod<[{
        Returns the operands whose elements all tiles together read once, so that a prologue
        computes no element twice. The left operand of a matmul is not such an operand: every tile
        of columns reads all rows.
      }], "::llvm::SmallVector<::mlir::Value>", "getPrologueOperands", (ins), "", "return {};">,
    InterfaceMethod<[{
        Returns true if elementwise ops that read the result may join the group.
      }], "bool", "takesEpilogue", (ins), "", "return true;">,
    InterfaceMethod<[{
        Returns the shape that tiles divide, for a group whose result has the shape `result`.
      }], "::llvm::ArrayRef<int64_t>", "getDomain", (ins "::llvm::ArrayRef<int64_t>":$result), "",
      "return result;">,
    InterfaceMethod<[{
        Returns the dimensions of a domain of rank `rank` that a tile contains completely, because
        every element of the result depends on all of the dimension.
      }], "::llvm::SmallVector<int64_t>", "getWholeDims", (ins "int64_t":$rank), "", "return {};">,
    InterfaceMethod<[{
        Returns the dimensions of a domain of rank `rank` in which a tile has one element.
      }], "::llvm::SmallVector<int64_t>", "getUnitDims", (ins "int64_t":$rank), "", "return {};">,
    InterfaceMethod<[{
        Returns the dimensions in which one tile should contain all rows. The positions of these rows
        are known at run time only, so that several tiles are not provably disjoint and would run one
        after the other.
      }], "::llvm::SmallVector<int64_t>", "getSerialDims", (ins), "", "return {};">,
    InterfaceMethod<[{
        Returns an operand whose tiles equal the tiles of the domain, or null.
      }], "::mlir::Value", "getTiledOperand", (ins), "", "return {};">,
    InterfaceMethod<[{
        Returns true if every vCTA of a reader may compute all rows of the result again: a row is
        cheap in comparison with a product of the row.
      }], "bool", "hasCheapRows", (ins), "", "return false;">,
    InterfaceMethod<[{
        Returns true if every element of the domain is a copy of one element of an operand, so that
        an operand may be much larger than the part that is read.
      }], "bool", "copiesElements", (ins), "", "return false;">,
    InterfaceMethod<[{
        Returns the value of every element of the result if the op reduces no elements, or null if it
        reduces some.
      }], "::mlir::Attribute", "getValueIfEmpty", (ins), "", "return {};">,
    InterfaceMethod<[{
        Returns true if the body of an `ark.custom` may hold the op: its decomposition needs no choice
        of tiles.
      }], "bool", "canBePartOfBody", (ins), "", "return false;">,
    InterfaceMethod<[{
        If the op reads elements of a dimension of extent 0, returns the predicate of an error
        message, otherwise an empty text.
      }], "::llvm::StringRef", "getEmptyRead", (ins), "", "return {};">,
  ];
}

def AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    The op compares queries with all keys, or with all keys of every partition. Query, key and value are
    as in `ark.attention` or, with partitions, as in `ark.partial_attention`.
  }];
  let methods = [
    InterfaceMethod<"The queries.", "::mlir::Value", "getQuery">,
    InterfaceMethod<"The keys.", "::mlir::Value", "getKey">,
    InterfaceMethod<"The values.", "::mlir::Value", "getValue">,
    InterfaceMethod<"Returns true if the keys have a dimension of partitions.", "bool", "hasPartitions">,
  ];
  let extraSharedClassDeclaration = [{
    /// Returns the dimension of the query heads, in the query and in the result.
    int64_t getHeadDim() {
      return ::llvm::cast<::mlir::ShapedType>($_op.getQuery().getType()).getRank() - 3;
    }
    /// Returns the number of query heads per key head.
    int64_t getHeadsPerKey() {
      int64_t dim = getHeadDim();
      return ::llvm::cast<::mlir::ShapedType>($_op.getQuery().getType()).getDimSize(dim) /
             ::llvm::cast<::mlir::ShapedType>($_op.getKey().getType()).getDimSize(dim);
    }
  }];
}

def AttentionGradientOpInterface : OpInterface<"AttentionGradientOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    A gradient of an attention, whose rows are queries or keys. Each row needs all others: a query all
    keys, a key the queries of all heads that share it. Query, key and value are as in
    `ark.attention_query_gradient`.
  }];
  let methods = [
    InterfaceMethod<"The queries.", "::mlir::Value", "getQuery">,
    InterfaceMethod<"The keys.", "::mlir::Value", "getKey">,
    InterfaceMethod<"The values.", "::mlir::Value", "getValue">,
    InterfaceMethod<"Returns true if the rows are keys.", "bool", "hasKeyRows">,
  ];
}

def BodyOpInterface : OpInterface<"BodyOpInterface", [
    DestinationStyleOpInterface, IndexingMapOpInterface]> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    An op of the body of a task that stays whole until code generation, which replaces it by structured
    ops or by a faster form. The op has a map for each operand. Its first loops are over rows, and each
    row depends on no other row. The regions compute on elements, and access no memory.

    Passes of the stages before ask the op for the facts on which they depend. `extents` are the extents
    of the op's loops.
  }];
  let methods = [
    InterfaceMethod<"Returns the number of loops over rows, which are the first loops.", "unsigned",
                    "getNumRowLoops">,
    InterfaceMethod<"Returns the number of structured ops that replace the op.", "int64_t",
                    "getNumExpandedOps">,
    InterfaceMethod<[{
        Returns the floating-point operations of the op without those of its regions. Functions such as
        an exponential count as `flopsOfFunction` operations.
      }], "int64_t", "countFlops",
      (ins "::llvm::ArrayRef<int64_t>":$extents, "int64_t":$flopsOfFunction)>,
    InterfaceMethod<"Returns how often the op runs one of its regions.", "int64_t", "countRuns",
                    (ins "::mlir::Region &":$region, "::llvm::ArrayRef<int64_t>":$extents)>,
    InterfaceMethod<[{
        Returns true if the op writes every element of an out. Other outs are memory of the op, whose
        contents are unspecified afterwards.
      }], "bool", "fillsOut", (ins "::mlir::OpOperand &":$out)>,
    InterfaceMethod<[{
        Returns true if `out` may be the memory of `input`: the op reads an element of the input for the
        last time when it writes the element of the out at this position.
      }], "bool", "mayOverwrite", (ins "::mlir::OpOperand &":$input, "::mlir::OpOperand &":$out), "",
      "return false;">,
    InterfaceMethod<[{
        Returns the region that yields the elements of an out, from nothing but elements of inputs, or
        null. The out then has the type that the region yields.
      }], "::mlir::Region *", "getYieldingRegion", (ins "::mlir::OpOperand &":$out), "",
      "return nullptr;">,
    InterfaceMethod<"Returns true if the op multiplies matrices.", "bool", "multipliesMatrices", (ins),
                    "", "return false;">,
    InterfaceMethod<"Returns true if tiles of later rows take longer.", "bool", "growsWithRows", (ins),
                    "", "return false;">,
    InterfaceMethod<[{
        Returns true if results should stay temporaries when they are inserted into other tensors: code
        generation then need not store them.
      }], "bool", "keepsResults", (ins), "", "return false;">,
    InterfaceMethod<[{
        Removes the indices of the row loops in `dropped` from the arguments of the regions. These loops
        have extent one; `zero` is their index.
      }], "void", "dropRowIndices",
      (ins "::mlir::Value":$zero, "const ::llvm::SmallBitVector &":$dropped), "", "return;">,
    InterfaceMethod<"Replaces the maps of all operands.", "void", "setMaps",
      (ins "::llvm::ArrayRef<::mlir::AffineMap>":$maps), "", [{
        $_op.setIndexingMapsAttr(
            ::mlir::Builder($_op.getContext()).getAffineMapArrayAttr(maps));
      }]>,
  ];
  let extraSharedClassDeclaration = [{
    /// Returns the map of an operand.
    ::mlir::AffineMap getMap(::mlir::OpOperand &operand) {
      return $_op.getMatchingIndexingMap(&operand);
    }
  }];
}

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    Every rank of the program executes the op, which expands to the primitives on channels.
  }];
}

def ChannelOpInterface : OpInterface<"ChannelOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    A primitive at one end of a channel. It puts a tensor, takes a tensor, signals, or waits for a
    signal. Takes and waits block until the other end has put or signalled.
  }];
  let methods = [
    InterfaceMethod<"Returns the channel.", "::mlir::Value", "getChannel">,
    InterfaceMethod<"Returns the tensor that the op puts, or null.", "::mlir::Value", "getPutTensor",
                    (ins), "", "return {};">,
    InterfaceMethod<"Returns the tensor that the op takes, or null.", "::mlir::Value", "getTakenTensor",
                    (ins), "", "return {};">,
    InterfaceMethod<"Returns true if the op sends a signal.", "bool", "isSignal", (ins), "",
                    "return false;">,
    InterfaceMethod<"Returns true if the tensor travels as packets, which carry their own signal.",
                    "bool", "usesPackets", (ins), "", "return false;">,
  ];
}

#endif // ARK_INTERFACES_TD
