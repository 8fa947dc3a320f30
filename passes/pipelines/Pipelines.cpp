//===- Pipelines.cpp - The stages in order --------------------------------===//

#include "passes/pipelines/Pipelines.h"

void mlir::ark::registerArkPipelines() {}
