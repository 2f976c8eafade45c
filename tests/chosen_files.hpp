// Several files of tests make one program: --files=plan_test.cpp,choice_test.cpp runs the tests of these alone.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi::testing {

inline std::string_view name_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

/// Narrows GoogleTest's filter to the files that `argv` names, unless it has been given one. False with a line on stderr where a file has no
/// test, or a suite's name stands in two files. Call it after InitGoogleTest.
inline bool choose_files(int argc, char** argv) {
    constexpr std::string_view option = "--files=";
    std::string_view files;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (argument.starts_with(option)) files = argument.substr(option.size());
    }
    if (files.empty()) return true;
    std::vector<std::string_view> wanted, found;
    for (std::size_t begin = 0; begin <= files.size();) {
        const std::size_t end = std::min(files.find(',', begin), files.size());
        wanted.push_back(files.substr(begin, end - begin));
        begin = end + 1;
    }
    std::string filter;
    const auto& all = *::testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
        const auto& suite = *all.GetTestSuite(i);
        const std::string_view file = name_of(suite.GetTestInfo(0)->file());
        for (int j = 1; j < suite.total_test_count(); ++j) {
            const std::string_view other = name_of(suite.GetTestInfo(j)->file());
            if (other == file) continue;
            std::fprintf(stderr, "the suite %s stands in %s and in %s\n", suite.name(),
                         std::string(file).c_str(), std::string(other).c_str());
            return false;
        }
        if (std::ranges::find(wanted, file) == wanted.end()) continue;
        if (std::ranges::find(found, file) == found.end()) found.push_back(file);
        filter += (filter.empty() ? "" : ":") + std::string(suite.name()) + ".*";
    }
    if (found.size() != wanted.size()) {
        std::fprintf(stderr, "a file of %s%s has no test\n", option.data(), std::string(files).c_str());
        return false;
    }
    if (GTEST_FLAG_GET(filter) == "*") GTEST_FLAG_SET(filter, filter);
    return true;
}

}  // namespace hakobi::testing
