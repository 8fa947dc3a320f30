//===- ArkConvolutionOps.h - Convolutions -----------------------*- C++ -*-===//

#ifndef DIALECTS_ARK_ARKCONVOLUTIONOPS_H
#define DIALECTS_ARK_ARKCONVOLUTIONOPS_H

#include "dialects/ark/ArkOps.h"

#define GET_OP_CLASSES
#include "dialects/ark/ArkConvolutionOps.h.inc"

#endif // DIALECTS_ARK_ARKCONVOLUTIONOPS_H
