# Chooses the MPI library to build with. HAKOBI_MPI is openmpi or mpich where a system has both side by side
# (Debian's mpicc.openmpi and mpicc.mpich); mpi_abi takes the ABI of the MPI 5 standard (mpicc_abi); empty
# takes what find_package(MPI) finds, by MPI_C_COMPILER, MPI_HOME, CC or PATH. The launcher is the one that
# lies beside the compiler, unless MPIEXEC_EXECUTABLE names another.
set(HAKOBI_MPI "$ENV{HAKOBI_MPI}" CACHE STRING "openmpi, mpich, mpi_abi, or empty for the default MPI library")
if(HAKOBI_MPI STREQUAL mpi_abi)
    find_program(MPI_C_COMPILER NAMES mpicc_abi)
    if(NOT MPI_C_COMPILER)
        message(FATAL_ERROR "HAKOBI_MPI=mpi_abi: no mpicc_abi in PATH, which MPICH 5 has (pip install mpich)")
    endif()
elseif(HAKOBI_MPI)
    find_program(_hakobi_mpicc NAMES mpicc.${HAKOBI_MPI} NO_CACHE)
    if(NOT _hakobi_mpicc)
        message(FATAL_ERROR "HAKOBI_MPI=${HAKOBI_MPI}: no mpicc.${HAKOBI_MPI} in PATH: apt-get install lib${HAKOBI_MPI}-dev, "
                            "or leave HAKOBI_MPI empty and load the module of another MPI library")
    endif()
    find_program(MPI_C_COMPILER NAMES mpicc.${HAKOBI_MPI} REQUIRED)
    find_program(MPI_Fortran_COMPILER NAMES mpifort.${HAKOBI_MPI} mpif90.${HAKOBI_MPI})
    find_program(MPIEXEC_EXECUTABLE NAMES mpiexec.${HAKOBI_MPI} REQUIRED)
endif()
# FindMPI leaves these out: a library that is named by its C++ compiler, and the launcher and Fortran compiler
# that belong to a C compiler (it would take the first in PATH, which may be another library's).
if(MPI_CXX_COMPILER AND NOT MPI_C_COMPILER)
    get_filename_component(_folder ${MPI_CXX_COMPILER} DIRECTORY)
    get_filename_component(_name ${MPI_CXX_COMPILER} NAME)
    string(REGEX REPLACE "^mpi(cxx|c[+][+]|CC)" "mpicc" _name ${_name})
    find_program(MPI_C_COMPILER NAMES ${_name} HINTS ${_folder} NO_DEFAULT_PATH)
    if(NOT MPI_C_COMPILER)
        message(FATAL_ERROR "MPI_CXX_COMPILER=${MPI_CXX_COMPILER}: no ${_name} beside it; name it in MPI_C_COMPILER")
    endif()
endif()
get_filename_component(_name ${CMAKE_C_COMPILER} NAME)
if(NOT MPI_C_COMPILER AND _name MATCHES "^mpi" AND NOT MPI_HOME)
    set(MPI_C_COMPILER ${CMAKE_C_COMPILER} CACHE FILEPATH "MPI's C compiler")
endif()
# Finds a program beside MPI_C_COMPILER, with the rest of its name where that has one: mpiexec.mpich beside
# mpicc.mpich.
function(hakobi_find_beside_mpicc result)
    find_program(_mpicc NAMES ${MPI_C_COMPILER} NO_CACHE)
    get_filename_component(_folder "${_mpicc}" DIRECTORY)
    set(_rest "")
    if(MPI_C_COMPILER MATCHES "/?mpicc([^/]*)$")
        set(_rest ${CMAKE_MATCH_1})
    endif()
    set(_names ${ARGN})
    list(TRANSFORM _names APPEND "${_rest}")
    find_program(${result} NAMES ${_names} ${ARGN} HINTS ${_folder} NO_DEFAULT_PATH)
    if(NOT ${result})
        unset(${result} CACHE)
    endif()
endfunction()
if(MPI_C_COMPILER)
    hakobi_find_beside_mpicc(MPIEXEC_EXECUTABLE mpiexec mpirun)  # without one: FindMPI's search
endif()
find_package(MPI COMPONENTS C)
if(NOT MPI_C_FOUND)
    message(FATAL_ERROR "No MPI library found: load its module, apt-get install libopenmpi-dev, or name its compiler: "
                        "-DMPI_C_COMPILER=<where>/bin/mpicc")
endif()
# FindMPI would take another library's Fortran compiler where this one has none.
if(HAKOBI_FORTRAN AND NOT MPI_Fortran_COMPILER AND MPI_C_COMPILER MATCHES "/mpicc[^/]*$"
   AND NOT "${CMAKE_Fortran_COMPILER} $ENV{FC}" MATCHES "mpi[^/ ]*( |$)")
    hakobi_find_beside_mpicc(MPI_Fortran_COMPILER mpifort mpif90)
    if(NOT MPI_Fortran_COMPILER)
        message(FATAL_ERROR "No mpifort beside ${MPI_C_COMPILER}: configure with -DHAKOBI_FORTRAN=OFF, or name the MPI "
                            "library's Fortran compiler in MPI_Fortran_COMPILER")
    endif()
endif()

include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_symbol_exists(OPEN_MPI mpi.h HAKOBI_HAVE_OPENMPI)
check_symbol_exists(MPICH_VERSION mpi.h HAKOBI_HAVE_MPICH)
check_symbol_exists(MPI_H_ABI mpi.h HAKOBI_HAVE_MPI_ABI)      # the header of the MPI standard's ABI (mpicc_abi)
check_symbol_exists(MPIR_Dup_fn mpi.h HAKOBI_HAVE_MPICH_ABI)  # MPICH's, of Intel's, Cray's and MVAPICH's libraries too
unset(CMAKE_REQUIRED_LIBRARIES)
if(HAKOBI_HAVE_OPENMPI)
    set(HAKOBI_MPI_FLAVOUR openmpi)
elseif(HAKOBI_HAVE_MPICH)
    set(HAKOBI_MPI_FLAVOUR mpich)
else()
    set(HAKOBI_MPI_FLAVOUR other)
endif()
message(STATUS "MPI: ${HAKOBI_MPI_FLAVOUR} (${MPI_C_COMPILER}, ${MPIEXEC_EXECUTABLE})")

# HAKOBI_MPI_SONAME: the shared library that a program's MPI calls come from, by the name that the program
# asks the loader for; empty when it is linked statically. A linked program says so, however MPI is found: the
# library's file may be a script of the linker's, several libraries may be named, or none, where the compiler
# adds MPI by itself.
file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/hakobi_mpi.c
     "#include <mpi.h>\nint main(void) { MPI_File f; return MPI_File_open(MPI_COMM_SELF, \"f\", 0, MPI_INFO_NULL, &f); }\n")
try_compile(_hakobi_mpi_links ${CMAKE_BINARY_DIR}/CMakeFiles/hakobi_mpi SOURCES ${CMAKE_BINARY_DIR}/CMakeFiles/hakobi_mpi.c
            LINK_OPTIONS -Wl,--as-needed LINK_LIBRARIES MPI::MPI_C OUTPUT_VARIABLE _output
            COPY_FILE ${CMAKE_BINARY_DIR}/CMakeFiles/hakobi_mpi.out)
if(NOT _hakobi_mpi_links)
    message(FATAL_ERROR "A program with MPI-IO cannot be linked with ${MPI_C_COMPILER}:\n${_output}")
endif()
execute_process(COMMAND ${CMAKE_READELF} -d ${CMAKE_BINARY_DIR}/CMakeFiles/hakobi_mpi.out OUTPUT_VARIABLE _dynamic)
set(HAKOBI_MPI_SONAME "")
if(_dynamic MATCHES "NEEDED[^\n]*\\[(libmpi[^]\n]*)\\]")
    set(HAKOBI_MPI_SONAME ${CMAKE_MATCH_1})
endif()

# HAKOBI_MPI_ABI: what programs built with this library have in common with those of others. The drop-in is
# built for it and named after it: mpich, mpi_abi, or else the soname (src/mpiio/front_library.c tells them
# apart in a process).
set(HAKOBI_MPI_ABI "${HAKOBI_MPI_SONAME}")
if(HAKOBI_HAVE_MPI_ABI)
    set(HAKOBI_MPI_ABI mpi_abi)
elseif(HAKOBI_HAVE_MPICH_ABI)
    set(HAKOBI_MPI_ABI mpich)
endif()

# The file that the loader takes for the MPI library when it loads `object`; empty without one.
function(hakobi_mpi_file result object)
    execute_process(COMMAND ldd ${object} OUTPUT_VARIABLE _loads ERROR_QUIET)
    set(${result} "" PARENT_SCOPE)
    string(REPLACE "." "[.]" _name "${HAKOBI_MPI_SONAME}")
    if(HAKOBI_MPI_SONAME AND _loads MATCHES "[ \t]${_name} => (/[^ \n]+)")
        file(REAL_PATH ${CMAKE_MATCH_1} _file)
        set(${result} ${_file} PARENT_SCOPE)
    endif()
endfunction()
hakobi_mpi_file(HAKOBI_MPI_FILE ${CMAKE_BINARY_DIR}/CMakeFiles/hakobi_mpi.out)

# Whether a library that pkg-config knows is linked with this MPI library: Debian has each in one or two
# builds, and the name alone does not tell Debian's Open MPI from a user's own.
function(hakobi_fits_mpi result library)
    hakobi_mpi_file(_file ${library})
    set(${result} FALSE PARENT_SCOPE)
    if(_file AND _file STREQUAL HAKOBI_MPI_FILE)
        set(${result} TRUE PARENT_SCOPE)
    endif()
endfunction()

# HAKOBI_MPI_CFLAGS and HAKOBI_MPI_LIBS: what a plain compiler has to be told, run paths included (else the
# loader takes the library that the system has under the same name). Where CC is MPI's compiler FindMPI knows
# no flags; that one shows them.
set(HAKOBI_MPI_CFLAGS "")
foreach(folder IN LISTS MPI_C_INCLUDE_DIRS)
    string(APPEND HAKOBI_MPI_CFLAGS " -I${folder}")
endforeach()
string(JOIN " " HAKOBI_MPI_LIBS ${MPI_C_LINK_FLAGS} ${MPI_C_LIBRARIES})
if(NOT MPI_C_LIBRARIES)
    execute_process(COMMAND ${MPI_C_COMPILER} -show OUTPUT_VARIABLE _line ERROR_QUIET)
    separate_arguments(_line NATIVE_COMMAND "${_line}")
    list(FILTER _line INCLUDE REGEX "^(-[ILl].|-Wl,|-pthread$|/.*[.](so|a)$)")
    foreach(_flag IN LISTS _line)
        if(_flag MATCHES "^-I")
            string(APPEND HAKOBI_MPI_CFLAGS " ${_flag}")
        else()
            string(APPEND HAKOBI_MPI_LIBS " ${_flag}")
        endif()
    endforeach()
    string(STRIP "${HAKOBI_MPI_LIBS}" HAKOBI_MPI_LIBS)
endif()
