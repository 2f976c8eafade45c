-- Lmod: copy to <modulepath>/hakobi/0.2.0.lua and set prefix to what `cmake --install` was given. One module for each MPI
-- library: load that first.
local prefix = "/opt/hakobi"
help("Hakobi carries a parallel simulation's data, and measures what that costs: hakobi --help")
whatis("Name: hakobi")
whatis("Version: 0.2.0")
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib/pkgconfig"))
prepend_path("PYTHONPATH", pathJoin(prefix, "lib/python"))
setenv("HAKOBI_PREFIX", prefix)
