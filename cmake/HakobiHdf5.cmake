# hakobi::hdf5 is the serial HDF5 library with its dimension-scale layer. Debian installs serial and parallel
# HDF5 side by side, each with its own pkg-config name; elsewhere find_package(HDF5) decides.
add_library(hakobi_hdf5 INTERFACE)
add_library(hakobi::hdf5 ALIAS hakobi_hdf5)
set(_hakobi_hdf5_serial /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/hdf5/serial)
if(EXISTS ${_hakobi_hdf5_serial}/libhdf5.so AND NOT CMAKE_CROSSCOMPILING)
    target_include_directories(hakobi_hdf5 SYSTEM INTERFACE /usr/include/hdf5/serial)
    target_link_libraries(hakobi_hdf5 INTERFACE ${_hakobi_hdf5_serial}/libhdf5_hl.so ${_hakobi_hdf5_serial}/libhdf5.so)
else()
    set(HDF5_PREFER_PARALLEL OFF)
    find_package(HDF5 REQUIRED COMPONENTS C HL)
    target_include_directories(hakobi_hdf5 SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
    target_link_libraries(hakobi_hdf5 INTERFACE ${HDF5_HL_LIBRARIES} ${HDF5_LIBRARIES})
    if(HDF5_LIBRARIES MATCHES "[.]a(;|$)")  # which names nothing of what it needs
        find_package(ZLIB REQUIRED)
        target_link_libraries(hakobi_hdf5 INTERFACE ZLIB::ZLIB m ${CMAKE_DL_LIBS})
    endif()
endif()
