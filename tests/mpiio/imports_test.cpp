#include "mpiio/imports.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace hakobi::mpiio {
namespace {

TEST(Imports, OnlyACallerCounts) {
    EXPECT_FALSE(may_use_shared_pointers()) << "the MPI library, its C++ and Fortran layers, this program";
    EXPECT_FALSE(may_use_queue());
    void* const wrapper = dlopen(HAKOBI_WRAPPER, RTLD_NOW);
    ASSERT_NE(wrapper, nullptr) << dlerror();
    EXPECT_FALSE(may_use_shared_pointers());
    EXPECT_FALSE(may_use_queue());
    void* const caller = dlopen(HAKOBI_CALLER, RTLD_NOW);
    ASSERT_NE(caller, nullptr) << dlerror();
    EXPECT_TRUE(may_use_shared_pointers());
    EXPECT_TRUE(may_use_queue());
    dlclose(caller);
    EXPECT_TRUE(may_use_shared_pointers()) << "what it left may still be called";
}

}  // namespace
}  // namespace hakobi::mpiio
