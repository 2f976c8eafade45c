# For Spack 1.0 and newer, in this tree:
#   spack repo add packaging/spack/spack_repo/hakobi && spack dev-build hakobi@main
# ruff: noqa: F403, F405, I001 (a recipe takes the names that Spack gives, in the order of its own)
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Hakobi(CMakePackage):
    """Carries a parallel simulation's data between its ranks, out to storage and back, and measures what that costs."""

    # The tree that this recipe is in: nothing is published elsewhere.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 6))

    license("Apache-2.0")

    version("main", branch="main")

    variant("programs", default=True, description="Build the command's programs: applications and benchmarks")
    variant("fortran", default=True, description="Build the Fortran module")
    variant("eccodes", default=False, description="GRIB messages in field stores and as output")
    variant("measure", default=True, when="+programs", description="Python packages for tune, doctor and hakobi-lab")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("hdf5+hl~mpi")
    depends_on("libdeflate")
    depends_on("isa-l")
    depends_on("zstd")
    depends_on("liburing")
    depends_on("xxhash", type="build")
    depends_on("hwloc", when="+programs")
    depends_on("cli11", type="build", when="+programs")
    depends_on("nlohmann-json", type="build")
    depends_on("fftw", when="+programs")
    # Loaded when a GRIB message needs it, not linked.
    depends_on("eccodes", type="run", when="+eccodes")
    depends_on("python@3.11:", type="run")
    depends_on("py-click@8.1.7:", type="run")
    depends_on("py-psutil@5.9.8:", type="run")
    with when("+measure"):
        depends_on("py-numpy@1.26:", type="run")
        depends_on("py-rich@13.7:", type="run")
        depends_on("py-scipy@1.13:", type="run")
        depends_on("py-h5py@3.11:~mpi", type="run")
        depends_on("py-jinja2@3.1.4:", type="run")
        depends_on("py-matplotlib@3.9:", type="run")
        depends_on("py-pillow@10.3:", type="run")

    conflicts("%gcc@:11", msg="C++20 as GCC 12 has it is needed")
    requires("platform=linux", msg="Hakobi uses futexes and io_uring")

    generator("ninja")

    sanity_check_is_file = ["bin/hakobi", "include/hakobi.h", "include/hakobi/hakobi.hpp"]
    sanity_check_is_dir = ["include/hakobi"]

    def cmake_args(self):
        return [
            self.define("HAKOBI_TESTS", False),
            self.define_from_variant("HAKOBI_APPS", "programs"),
            self.define_from_variant("HAKOBI_FORTRAN", "fortran"),
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
        ]

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        env.set("HAKOBI_PREFIX", self.prefix)
        env.set("HAKOBI_PYTHON", self.spec["python"].command.path)
        if self.spec.satisfies("+eccodes"):
            library = find_libraries("libeccodes", root=self.spec["eccodes"].prefix, recursive=True)
            env.set("HAKOBI_ECCODES", library[0])

    def test_version(self):
        """the command says its version"""
        hakobi = Executable(self.prefix.bin.hakobi)
        assert "hakobi" in hakobi("--version", output=str.split, error=str.split)

    def test_drop_in(self):
        """hakobi run finds the drop-in for the MPI library that it was built with"""
        hakobi = Executable(self.prefix.bin.hakobi)
        lines = hakobi("run", "--print", "--", self.spec["mpi"].prefix.bin.mpiexec, "true", output=str.split)
        assert f"{self.prefix}/" in lines
