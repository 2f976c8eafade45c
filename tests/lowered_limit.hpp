#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace hakobi {

/// While one exists the process's soft limit of a resource (RLIMIT_…) is `value`.
class LoweredLimit {
  public:
    LoweredLimit(decltype(RLIMIT_FSIZE) resource, rlim_t value) : resource_(resource) {
        EXPECT_EQ(::getrlimit(resource_, &before_), 0);
        const rlimit lower{.rlim_cur = value, .rlim_max = before_.rlim_max};
        EXPECT_EQ(::setrlimit(resource_, &lower), 0);
    }
    ~LoweredLimit() { EXPECT_EQ(::setrlimit(resource_, &before_), 0); }
    LoweredLimit(const LoweredLimit&) = delete;
    LoweredLimit& operator=(const LoweredLimit&) = delete;

  private:
    decltype(RLIMIT_FSIZE) resource_;
    rlimit before_{};
};

}  // namespace hakobi
