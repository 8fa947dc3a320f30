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
    The result names elements of the source in another shape or order and
    moves no data. Views are resolved to strides in the `memory` stage.
  }];
  let methods = [
    InterfaceMethod<"The tensor that is viewed.", "::mlir::Value", "getViewSource">,
  ];
}

def Ark_AnchorOpInterface : OpInterface<"AnchorOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    The op decides the shape of the work of its group: matmul, attention, reductions,
    normalisations, collectives. A group holds at most one anchor.
  }];
}

def Ark_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::ark";
  let description = [{
    Every rank of the program executes the op, which expands to the primitives on channels.
  }];
}

#endif // ARK_INTERFACES_TD
