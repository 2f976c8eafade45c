// Several files of tests make one program: --files=plan_test.cpp,choice_test.cpp runs the tests of these
// alone.
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

/// Narrows GoogleTest's filter to the files that `argv` names, unless it has been given one. False with a
/// line on stderr where one has no test, or shares a suite with another file. Call it after InitGoogleTest.
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
    const auto is_in = [](const std::vector<std::string_view>& names, std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    };
    std::string filter;
    const auto& all = *::testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
        const auto& suite = *all.GetTestSuite(i);
        bool is_wanted = false, is_other = false;
        for (int j = 0; j < suite.total_test_count(); ++j) {
            const std::string_view file = name_of(suite.GetTestInfo(j)->file());
            (is_in(wanted, file) ? is_wanted : is_other) = true;
            if (is_in(wanted, file) && !is_in(found, file)) found.push_back(file);
        }
        if (is_wanted && is_other) {
            std::fprintf(stderr, "the suite %s has tests of other files than %s\n", suite.name(),
                         files.data());
            return false;
        }
        if (is_wanted) filter += (filter.empty() ? "" : ":") + std::string(suite.name()) + ".*";
    }
    if (found.size() != wanted.size()) {
        std::fprintf(stderr, "a file of %s has no test\n", files.data());
        return false;
    }
    if (GTEST_FLAG_GET(filter) == "*") GTEST_FLAG_SET(filter, filter);
    return true;
}

}  // namespace hakobi::testing
