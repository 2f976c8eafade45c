# Fails where the drop-in for an ABI of many libraries needs one of them by name: a function that it calls is
# not in library_functions.def, and the linker took it from the MPI library.
execute_process(COMMAND ${READELF} -d ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
if(PROCESSOR MATCHES "^(x86_64|amd64|AMD64|aarch64|arm64)$" AND dynamic MATCHES "NEEDED[^\n]*\\[(libmpi[^]\n]*)\\]")
    set(needed ${CMAKE_MATCH_1})
    execute_process(COMMAND ${READELF} --dyn-syms -W ${LIBRARY} OUTPUT_VARIABLE symbols)
    string(REGEX MATCHALL "UND P?MPI_[A-Za-z_0-9]+" missing "${symbols}")
    file(REMOVE ${LIBRARY})
    message(FATAL_ERROR "${LIBRARY} needs ${needed}: not in src/mpiio/library_functions.def: ${missing}")
endif()
