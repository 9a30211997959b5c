# Writes OUT, a header that says of which commit of SOURCE the program is; runs in every build, and
# touches nothing unless that changed.  Without git, or outside a clone, both are empty.
cmake_minimum_required(VERSION 3.25)
function(ask result)
  execute_process(COMMAND git -C ${SOURCE} ${ARGN}
    OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${result} "${answer}" PARENT_SCOPE)
endfunction()
ask(top rev-parse --show-toplevel)
if(top AND top STREQUAL SOURCE)
  ask(commit log -1 "--format=%h of %cs")
  ask(data log -1 --format=%cs -- models gpus)
  ask(changes status --porcelain --untracked-files=no)
  if(changes)
    string(APPEND commit ", changed")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT
"/* Written by version.cmake. */
#define MFUPLAN_COMMIT \"@commit@\"
#define MFUPLAN_DATA_DATE \"@data@\"
")
