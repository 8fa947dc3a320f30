// RUN: ark-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @reshapeToTheSameShapeIsRemoved
// CHECK-SAME: %[[X:.+]]: tensor<4xf32>
func.func @reshapeToTheSameShapeIsRemoved(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = ark.reshape %x shape = [4] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @reshapesCompose
// CHECK-SAME: %[[X:.+]]: tensor<4x6xf32>
func.func @reshapesCompose(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  // CHECK-NEXT: %[[R:.+]] = ark.reshape %[[X]] shape = [3, 8]
  // CHECK-NEXT: return %[[R]]
  %0 = ark.reshape %x shape = [24] : (tensor<4x6xf32>) -> tensor<24xf32>
  %1 = ark.reshape %0 shape = [3, 8] : (tensor<24xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// CHECK-LABEL: func.func @inverseTransposesCancel
// CHECK-SAME: %[[X:.+]]: tensor<2x3x4xf32>
func.func @inverseTransposesCancel(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = ark.transpose %x perm = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = ark.transpose %0 perm = [2, 0, 1] : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @transposesCompose
func.func @transposesCompose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  // CHECK-NEXT: ark.transpose %{{.+}} perm = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  // CHECK-NEXT: return
  %0 = ark.transpose %x perm = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = ark.transpose %0 perm = [1, 2, 0] : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  return %1 : tensor<4x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @wholeSliceAndCastToTheSameTypeAreRemoved
// CHECK-SAME: %[[X:.+]]: tensor<4xf32>
func.func @wholeSliceAndCastToTheSameTypeAreRemoved(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = ark.slice %x starts = [0] stops = [4] steps = [1] : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.cast %0 to f32 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @broadcastOfASplatIsASplat
func.func @broadcastOfASplatIsASplat() -> tensor<4x8xf32> {
  // CHECK-NEXT: ark.constant dense<1.000000e+00> : tensor<4x8xf32>
  %0 = ark.constant dense<1.0> : tensor<8xf32>
  %1 = ark.broadcast_to %0 shape = [4, 8] : (tensor<8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @updatesAreNeverDropped
func.func @updatesAreNeverDropped(%s: tensor<8xf32>, %x: tensor<2xf32>) {
  // CHECK-NEXT: ark.update
  %0 = ark.update %x into %s [0] : (tensor<8xf32>, tensor<2xf32>) -> tensor<8xf32>
  return
}

// -----

// CHECK-LABEL: @inverseBitcastsCancel
// CHECK-NEXT: return %arg0
func.func @inverseBitcastsCancel(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = ark.bitcast %x to f16 : (tensor<4x8xf32>) -> tensor<4x16xf16>
  %1 = ark.bitcast %0 to f32 : (tensor<4x16xf16>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @bitcastsCompose
// CHECK-NEXT: %[[Y:.+]] = ark.bitcast %arg0 to i64 : (tensor<4x8xf16>) -> tensor<4x2xi64>
// CHECK-NEXT: return %[[Y]]
func.func @bitcastsCompose(%x: tensor<4x8xf16>) -> tensor<4x2xi64> {
  %0 = ark.bitcast %x to ui8 : (tensor<4x8xf16>) -> tensor<4x16xui8>
  %1 = ark.bitcast %0 to i64 : (tensor<4x16xui8>) -> tensor<4x2xi64>
  return %1 : tensor<4x2xi64>
}
