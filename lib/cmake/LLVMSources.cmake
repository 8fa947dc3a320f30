# Parts of LLVM that distributions do not install in the form that ark needs.

# ark_llvm_sources(<variable> <part>): sets <variable> to a folder with a part's sources, laid out
# as in LLVM's own tree; see lib/tools/fetch_llvm_sources.py.
function(ark_llvm_sources variable part)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/lib/tools/fetch_llvm_sources.py
            ${part} --version ${LLVM_PACKAGE_VERSION}
    OUTPUT_VARIABLE folder
    OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "ark: no sources of LLVM's part '${part}' (see the line above)")
  endif()
  set(${variable} ${folder} PARENT_SCOPE)
endfunction()
