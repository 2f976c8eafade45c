# In this tree: spack repo add packaging/spack; spack dev-build hakobi@0.2.0
# ruff: noqa: F403, F405 (a recipe takes the names that Spack gives)
from spack.package import *


class Hakobi(CMakePackage):
    """Carries a parallel simulation's data between its ranks, out to storage and back, and measures what that costs."""

    license("Apache-2.0")
    # Of the tree that this recipe is in: there is no archive to fetch
    version("0.2.0")

    variant("programs", default=True, description="Build the command's programs: applications and benchmarks")
    variant("fortran", default=True, description="Build the Fortran module")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("hdf5+hl~mpi")
    depends_on("libdeflate")
    depends_on("zstd")
    depends_on("liburing")
    depends_on("xxhash", type="build")
    depends_on("hwloc", when="+programs")
    depends_on("cli11", type="build", when="+programs")
    depends_on("nlohmann-json", type="build", when="+programs")
    depends_on("fftw", when="+programs")
    depends_on("python@3.11:", type="run")
    depends_on("py-click", type="run")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("HAKOBI_TESTS", False),
            self.define_from_variant("HAKOBI_APPS", "programs"),
            self.define_from_variant("HAKOBI_FORTRAN", "fortran"),
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
        ]
