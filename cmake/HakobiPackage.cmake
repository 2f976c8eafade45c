# `cpack -G DEB` in a build folder: one Debian package of all that `cmake --install` puts there, for one MPI
# library. packaging/deb_test.sh holds that it serves a consumer.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hakobi-${HAKOBI_MPI_FLAVOUR})
set(CPACK_PACKAGE_VENDOR hakobi)
set(CPACK_PACKAGE_CONTACT "Hakobi's maintainers <maintainers@hakobi.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Parallel output, collective I/O and field stores on MPI (${HAKOBI_MPI_FLAVOUR})")
set(CPACK_PACKAGE_DESCRIPTION "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
# Each MPI library has a package of its own, and both have the same files.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_PROVIDES hakobi)
set(CPACK_DEBIAN_PACKAGE_CONFLICTS hakobi)
# dpkg-shlibdeps finds the libraries that programs are linked with; it knows no package for those beside them.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3 (>= 3.11), python3-click")
if(HAKOBI_MPI_FLAVOUR STREQUAL openmpi)
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", openmpi-bin")
    set(_mpi_dev libopenmpi-dev)
else()
    string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", mpich")
    set(_mpi_dev libmpich-dev)
endif()
# Programs that are linked with it need MPI's headers; the command and GRIB the rest (hakobi/extras.py).
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
    "${_mpi_dev}, pkg-config, python3-numpy, python3-psutil, python3-rich, python3-scipy, python3-h5py, python3-matplotlib")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libeccodes0, python3-xarray")
include(CPack)
