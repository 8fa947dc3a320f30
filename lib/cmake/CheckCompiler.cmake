# MLIR identifies a trait by the compiler's spelling of the name of its type, which differs between
# GCC and Clang. If one of them builds ark and the other one MLIR, ark-opt starts, but does not find
# that builtin.module has the trait SymbolTable.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  get_target_property(ark_libmlir MLIR LOCATION)
  file(STRINGS ${ark_libmlir} ark_clang_spelling
       REGEX "DesiredTypeName = mlir::OpTrait::SymbolTable<Empty>" LIMIT_COUNT 1)
  if(ark_clang_spelling)
    message(FATAL_ERROR "ark: this MLIR was built with Clang, so ark must be too: "
      "install clang-22, or pass -DCMAKE_CXX_COMPILER=clang++")
  endif()
endif()
