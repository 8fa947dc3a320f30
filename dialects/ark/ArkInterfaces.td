//===- ArkInterfaces.td - Op interfaces of the ark dialect ------*- tablegen -*-===//

#ifndef ARK_INTERFACES_TD
#define ARK_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Ark_ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    Every element of the result depends on one element of each operand, after
    numpy broadcasting. Such an op can join the group of a neighbour as
    prologue or epilogue.
  }];
}

def Ark_ViewOpInterface : OpInterface<"ViewOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    The result has elements of the source in another shape or order, and the op moves no data. The
    `memory` stage turns views into strides.
  }];
  let methods = [
    InterfaceMethod<"The tensor that is viewed.", "::mlir::Value", "getViewSource">,
  ];
}

def Ark_AnchorOpInterface : OpInterface<"AnchorOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    The op decides the tiles of its group. Anchors are matmul, attention, reductions,
    normalisations and collectives. A group holds at most one anchor.
  }];
}

def Ark_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    Every rank of the program executes the op, which expands to the primitives on channels.
  }];
}

#endif // ARK_INTERFACES_TD
