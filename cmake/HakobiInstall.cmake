# What `cmake --install` puts where: libraries, headers, programs, the CMake package and the pkg-config files. Nothing
# of it holds a path of the build tree, and the tree may be moved after it is installed.
include(CMakePackageConfigHelpers)
set(_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hakobi)

install(TARGETS hakobi EXPORT hakobi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET hakobi_fortran)
    install(TARGETS hakobi_fortran EXPORT hakobi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY ${CMAKE_BINARY_DIR}/fortran/modules/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hakobi/fortran)
endif()
if(TARGET hakobi_mpiio)
    install(TARGETS hakobi_mpiio LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# Every program is called hakobi-<something>.
function(_hakobi_install_programs folder)
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
        get_target_property(type ${target} TYPE)
        if(type STREQUAL EXECUTABLE AND target MATCHES "^hakobi-")
            install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
        endif()
    endforeach()
    get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    foreach(subfolder IN LISTS subfolders)
        _hakobi_install_programs(${subfolder})
    endforeach()
endfunction()
_hakobi_install_programs(${CMAKE_CURRENT_SOURCE_DIR})

install(EXPORT hakobi NAMESPACE hakobi:: FILE hakobiTargets.cmake DESTINATION ${_cmake_dir})
configure_package_config_file(packaging/hakobiConfig.cmake.in ${CMAKE_BINARY_DIR}/packaging/hakobiConfig.cmake
                              INSTALL_DESTINATION ${_cmake_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/packaging/hakobiConfigVersion.cmake
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/packaging/hakobiConfig.cmake ${CMAKE_BINARY_DIR}/packaging/hakobiConfigVersion.cmake
        DESTINATION ${_cmake_dir})

# pkg-config: MPI's own flags are spelled out, so that a plain compiler does.
set(HAKOBI_PC_MPI_CFLAGS "")
foreach(folder IN LISTS MPI_C_INCLUDE_DIRS)
    string(APPEND HAKOBI_PC_MPI_CFLAGS " -I${folder}")
endforeach()
string(JOIN " " HAKOBI_PC_MPI_LIBS ${MPI_C_LIBRARIES})
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
