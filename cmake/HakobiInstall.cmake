# Files of `cmake --install`: the library, its headers, the CMake package and the pkg-config files; other
# parts install their own programs. Nothing holds a path of the build tree, and what is installed may be
# moved: packaging/consumer_test.sh holds that.
include(CMakePackageConfigHelpers)
set(_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hakobi)

install(TARGETS hakobi EXPORT hakobi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET hakobi_fortran)
    install(TARGETS hakobi_fortran EXPORT hakobi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY ${CMAKE_BINARY_DIR}/fortran/modules/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hakobi/fortran)
endif()
if(TARGET hakobi-gather)
    install(TARGETS hakobi-gather hakobi-store hakobi-with-parent RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# The C++ compiler beside MPI's C compiler, for projects in C++ alone.
hakobi_find_beside_mpicc(HAKOBI_MPI_CXX_COMPILER mpicxx mpic++ mpiCC)
install(EXPORT hakobi NAMESPACE hakobi:: FILE hakobiTargets.cmake DESTINATION ${_cmake_dir})
configure_package_config_file(packaging/hakobiConfig.cmake.in ${CMAKE_BINARY_DIR}/packaging/hakobiConfig.cmake
                              INSTALL_DESTINATION ${_cmake_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/packaging/hakobiConfigVersion.cmake
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/packaging/hakobiConfig.cmake ${CMAKE_BINARY_DIR}/packaging/hakobiConfigVersion.cmake
        DESTINATION ${_cmake_dir})

# pkg-config: MPI's own flags are spelled out, so that a plain compiler does.
file(RELATIVE_PATH HAKOBI_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # "../..": the files may be moved
string(REGEX REPLACE "/$" "" HAKOBI_PC_PREFIX ${HAKOBI_PC_PREFIX})
set(_pc hakobi.pc)
if(TARGET hakobi_fortran)
    list(APPEND _pc hakobi-fortran.pc)
endif()
foreach(file IN LISTS _pc)
    configure_file(packaging/${file}.in ${CMAKE_BINARY_DIR}/packaging/${file} @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/packaging/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The command `hakobi` and the Python package, beside what they run.
if(PROJECT_IS_TOP_LEVEL)
    install(PROGRAMS packaging/hakobi.in DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME hakobi)
    install(DIRECTORY python/hakobi DESTINATION lib/python PATTERN __pycache__ EXCLUDE)
    # The files that pip would write beside the package: its version, and where xarray and scripts find what
    # it offers.
    set(_metadata lib/python/hakobi-${PROJECT_VERSION}.dist-info)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/packaging/METADATA @ONLY
         CONTENT "Metadata-Version: 2.1\nName: hakobi\nVersion: @PROJECT_VERSION@\n")
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/packaging/entry_points.txt @ONLY
         CONTENT "[console_scripts]\nhakobi = hakobi.cli:main\n\n[xarray.backends]\nhakobi = hakobi.store.backend:HakobiBackend\n")
    install(FILES ${CMAKE_BINARY_DIR}/packaging/METADATA ${CMAKE_BINARY_DIR}/packaging/entry_points.txt DESTINATION ${_metadata})
endif()
