//===- ArkConvolutionOps.td - Convolutions -----------------*- tablegen -*-===//
//
// Few sources read these ops. They have classes in a header of their own, ArkConvolutionOps.h, so
// that a change rebuilds few sources.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_CONVOLUTION_OPS_TD
#define ARK_CONVOLUTION_OPS_TD

include "dialects/ark/ArkAnchorOps.td"

def Ark_ConvolutionOp : Ark_AnchorOp<"convolution"> {
  let summary = "Convolution along the rows of images, whose leading dimensions broadcast";
  let description = [{
    Filters are `[..., F, C, h, w]`, and images are `[..., C, rows, columns]`. The windows over the columns
    of an image are rows of their own: a row of windows has `w` of these rows, one for each element.
    Element `[..., f, y, x]` of the result is the sum of
    `filters[..., f, c, i, j] * images[..., c, y * stride + i * dilation + j, x]` over `c`, `i` and `j`.
    The result has as many rows as the rows of an image permit, and its columns. Floats accumulate in
    f32.

    - (convolution_c1) filters have rank four or more, images have rank three or more. Both have one element
      type.
    - (convolution_c2) both have `C` channels, and the dimensions before these three broadcast.
    - (convolution_c3) `stride` and `dilation` are positive, and an image has the rows that the first row of
      the result reads.

    ```mlir
    // 3 x 3 filters; the images have 10 rows, with three rows of windows for each of them.
    %2 = ark.convolution %0, %1 stride = 3 dilation = 3
      : (tensor<16x64x3x3xf16>, tensor<2x64x30x8xf16>) -> tensor<2x16x8x8xf16>
    ```
  }];
  let arguments = (ins Ark_FloatTensor:$filters, Ark_FloatTensor:$images,
                       I64Attr:$stride, I64Attr:$dilation);
  let assemblyFormat = [{
    $filters `,` $images `stride` `=` $stride `dilation` `=` $dilation attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::mlir::Attribute getValueIfEmpty();
  }];
}

#endif // ARK_CONVOLUTION_OPS_TD
