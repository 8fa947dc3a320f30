# CMake functions that upstream's AddMLIRPython lacks for an MLIR from a distribution.

# ark_python_capi_library(<name> COMPONENT <c> DESTINATION <d>
#   OUTPUT_DIRECTORY <o> DECLARED_SOURCES <source groups>)
#
# Builds the one shared library that holds all C++ behind the Python extensions, so that every
# TypeID exists once. Upstream's add_mlir_python_common_capi_library aggregates object files that
# distributions do not install. The archives of MLIR's C API are installed, so this function links
# them whole. Everything below the C API comes from libMLIR.so or from further archives, see
# ark_link.
function(ark_python_capi_library name)
  cmake_parse_arguments(ARG "" "COMPONENT;DESTINATION;OUTPUT_DIRECTORY"
                        "DECLARED_SOURCES" ${ARGN})
  set(archives)
  _flatten_mlir_python_targets(groups ${ARG_DECLARED_SOURCES})
  foreach(group ${groups})
    get_target_property(libraries ${group} mlir_python_EMBED_CAPI_LINK_LIBS)
    if(libraries)
      list(APPEND archives ${libraries})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES archives)
  # Links files instead of targets, because a target would add its static dependencies.
  list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  list(JOIN archives "," archives)

  add_library(${name} SHARED)
  # One generator expression holds the whole list: CMake removes repeated linker flags, so only the
  # first of several --whole-archive pairs would survive.
  target_link_libraries(${name} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${archives}>")
  set_target_properties(${name} PROPERTIES
    BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN"
    LIBRARY_OUTPUT_DIRECTORY ${ARG_OUTPUT_DIRECTORY})
  ark_link(${name})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  install(TARGETS ${name} COMPONENT ${ARG_COMPONENT}
          LIBRARY DESTINATION ${ARG_DESTINATION})
endfunction()

# ark_python_link_llvm(<modules target>): replaces the static LLVMSupport that the extensions link.
# A second copy of LLVMSupport beside libLLVM.so would have separate globals. With ARK_STATIC_LLVM,
# libArkPythonCAPI.so exports only the C API, so each extension links the few functions of
# LLVMSupport that it needs, as upstream does.
function(ark_python_link_llvm modules)
  set(llvm LLVM)
  if(ARK_STATIC_LLVM)
    set(llvm ${ARK_LLVM_SUPPORT_ARCHIVES})
  endif()
  get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  list(FILTER targets INCLUDE REGEX "^${modules}\\.extension\\.")
  foreach(target ${targets})
    get_target_property(libraries ${target} LINK_LIBRARIES)
    list(REMOVE_ITEM libraries LLVMSupport)
    set_property(TARGET ${target} PROPERTY LINK_LIBRARIES ${libraries} ${llvm})
  endforeach()
endfunction()

# ark_python_stubs(<module> <package root> OUTPUTS <files> DEPENDS <targets>)
#
# Generates the type stubs of an extension below type_stubs/_mlir_libs of the current binary folder.
# Upstream's mlir_generate_type_stubs runs the interpreter with its site packages, where the
# interpreter would import an editable install of this package instead of the new build.
function(ark_python_stubs module package_root)
  cmake_parse_arguments(ARG "" "" "OUTPUTS;DEPENDS" ${ARGN})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/type_stubs/_mlir_libs)
  list(TRANSFORM ARG_OUTPUTS PREPEND ${folder}/)
  add_custom_command(OUTPUT ${ARG_OUTPUTS}
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR}/stubgen
            ${Python3_EXECUTABLE} -S ${nanobind_DIR}/../stubgen.py --quiet
            --module ${module} --import ${package_root} --recursive
            --include-private --output-dir ${folder}
    DEPENDS ${ARG_DEPENDS}
    COMMENT "Generating type stubs of ${module}")
endfunction()

# Before Python 3.11 the stub generator needs typing_extensions, which the
# interpreter cannot find without its site packages.
function(ark_python_prepare_stubgen)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c "import typing_extensions as t; print(t.__file__)"
    OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(file)
    file(COPY ${file} DESTINATION ${CMAKE_CURRENT_BINARY_DIR}/stubgen)
  endif()
endfunction()
