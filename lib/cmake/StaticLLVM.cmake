# ARK_STATIC_LLVM: libArkPythonCAPI.so contains LLVM and MLIR, so that a wheel needs no LLVM on the
# machine where it is installed.

if(NOT ARK_ENABLE_BINDINGS_PYTHON)
  message(FATAL_ERROR "ark: ARK_STATIC_LLVM puts LLVM into the Python package: "
    "pass -DARK_ENABLE_BINDINGS_PYTHON=ON")
endif()

# The back ends that ark generates code for, by LLVM's names.
set(ARK_LLVM_TARGETS AMDGPU NVPTX X86)

# lld takes archives in any order, and --gc-sections drops sections without a reference.
add_link_options(-fuse-ld=lld LINKER:--gc-sections)

# All archives: the linker takes the members that something refers to. The C API is linked as a
# whole, see ark_python_capi_library.
file(GLOB ARK_LLVM_ARCHIVES ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(FILTER ARK_LLVM_ARCHIVES EXCLUDE REGEX "Test|MLIRCAPI")
set(ARK_LLVM_SUPPORT_ARCHIVES
    ${LLVM_LIBRARY_DIR}/libLLVMSupport.a ${LLVM_LIBRARY_DIR}/libLLVMDemangle.a)
foreach(name z zstd)
  find_library(ARK_STATIC_${name} lib${name}.a REQUIRED)
  list(APPEND ARK_LLVM_ARCHIVES ${ARK_STATIC_${name}})
  list(APPEND ARK_LLVM_SUPPORT_ARCHIVES ${ARK_STATIC_${name}})
endforeach()

# ark_write_unused_targets(<file>)
#
# MLIR initializes every target that its LLVM was built for, which would link them all. For the
# targets that ark does not use, <file> defines empty initialization functions.
function(ark_write_unused_targets file)
  set(text "// Generated: the targets of LLVM that ark leaves out.\n")
  foreach(kind Target/Target Target/TargetInfo Target/TargetMC AsmPrinter/AsmPrinter
               AsmParser/AsmParser Disassembler/Disassembler)
    string(REGEX MATCH "(.*)/(.*)" _ ${kind})
    set(list ${CMAKE_MATCH_1})
    set(function ${CMAKE_MATCH_2})
    file(STRINGS ${LLVM_INCLUDE_DIRS}/llvm/Config/${list}s.def lines REGEX "^LLVM_[A-Z_]+\\(")
    foreach(line ${lines})
      string(REGEX REPLACE ".*\\((.*)\\).*" "\\1" target ${line})
      if(NOT target IN_LIST ARK_LLVM_TARGETS)
        string(APPEND text "extern \"C\" void LLVMInitialize${target}${function}() {}\n")
      endif()
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()

# Installs the licences of the software inside the package, which have to be distributed with it.
function(ark_install_licenses destination)
  file(GLOB nanobind ${nanobind_DIR}/../../nanobind-*.dist-info/licenses/LICENSE)
  set(files nanobind=${nanobind})
  foreach(package llvm-22-dev libzstd-dev zlib1g-dev)
    list(APPEND files ${package}=/usr/share/doc/${package}/copyright)
  endforeach()
  foreach(file ${files})
    string(REGEX MATCH "(.*)=(.*)" _ ${file})
    set(name ${CMAKE_MATCH_1}.txt)
    file(REAL_PATH ${CMAKE_MATCH_2} original)
    install(FILES ${original} DESTINATION ${destination} RENAME ${name} COMPONENT ArkTools)
  endforeach()
endfunction()

# ark_embed_llvm(<target>): links LLVM's archives into a shared library that exports the C API
# alone.
function(ark_embed_llvm target)
  set(unused ${PROJECT_BINARY_DIR}/UnusedTargets.cpp)
  ark_write_unused_targets(${unused})
  target_sources(${target} PRIVATE ${unused})
  set(exports ${PROJECT_SOURCE_DIR}/lib/capi/exports.map)
  target_link_libraries(${target} PRIVATE ${ARK_LLVM_ARCHIVES})
  target_link_options(${target} PRIVATE
    LINKER:-O2 LINKER:--build-id=sha1 LINKER:--version-script=${exports})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${exports})
endfunction()
