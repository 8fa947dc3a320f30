// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

// CHECK-LABEL: func.func @gradients
func.func @gradients(%q: tensor<2x3x4x8xbf16>, %k: tensor<2x5x8xbf16>, %v: tensor<2x5x6xbf16>, %g: tensor<2x3x4x6xbf16>,
    %s: tensor<2x3x4xf32>, %m: tensor<1x3x4x1xi1>, %n: tensor<i32>) -> (tensor<2x3x4x8xbf16>, tensor<2x5x14xbf16>) {
  // CHECK: ark.attention_query_gradient %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} mask %{{.+}} kv_length %{{.+}} scale = 1.250000e-01 {causal} : ({{.*}}) -> tensor<2x3x4x8xbf16>
  %0 = ark.attention_query_gradient %q, %k, %v, %g, %s, %s mask %m kv_length %n scale = 0.125 {causal}
    : (tensor<2x3x4x8xbf16>, tensor<2x5x8xbf16>, tensor<2x5x6xbf16>, tensor<2x3x4x6xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<1x3x4x1xi1>, tensor<i32>) -> tensor<2x3x4x8xbf16>
  // CHECK: ark.attention_key_value_gradient %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} scale = 1.250000e-01 : ({{.*}}) -> tensor<2x5x14xbf16>
  %1 = ark.attention_key_value_gradient %q, %k, %v, %g, %s, %s scale = 0.125
    : (tensor<2x3x4x8xbf16>, tensor<2x5x8xbf16>, tensor<2x5x6xbf16>, tensor<2x3x4x6xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x5x14xbf16>
  return %0, %1 : tensor<2x3x4x8xbf16>, tensor<2x5x14xbf16>
}
