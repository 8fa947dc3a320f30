# Fails when the checked-in copy of a generated page is missing or stale.
if(EXISTS ${copy})
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${generated} ${copy}
                  RESULT_VARIABLE differs)
endif()
if(NOT EXISTS ${copy} OR differs)
  message(FATAL_ERROR "${copy} is stale: run `make docs` and commit it")
endif()
