#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace hakobi {

/// While one exists the program is in a locale such as "de_DE", which is made where the system has not got
/// it.
class ForeignLocale {
  public:
    explicit ForeignLocale(const std::string& name, const std::string& charset = "UTF-8")
        : before_(std::setlocale(LC_ALL, nullptr)) {
        const std::string full = name + "." + charset;
        is_set_ = std::setlocale(LC_ALL, full.c_str()) != nullptr;
        if (is_set_) return;
        folder_ = std::filesystem::temp_directory_path() / ("hakobi-locale-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
        const std::string command = "localedef -i " + name + " -f " + charset + " --no-archive " +
                                    (folder_ / full).string() + " >/dev/null 2>&1";
        if (std::system(command.c_str()) != 0) return;
        ::setenv("LOCPATH", folder_.c_str(), 1);
        is_set_ = std::setlocale(LC_ALL, full.c_str()) != nullptr;
    }
    ~ForeignLocale() {
        std::setlocale(LC_ALL, before_.c_str());
        if (folder_.empty()) return;
        ::unsetenv("LOCPATH");
        std::filesystem::remove_all(folder_);
    }
    ForeignLocale(const ForeignLocale&) = delete;
    ForeignLocale& operator=(const ForeignLocale&) = delete;
    [[nodiscard]] bool is_set() const { return is_set_; }

  private:
    std::string before_;
    std::filesystem::path folder_;
    bool is_set_ = false;
};

}  // namespace hakobi

/// The rest of a test, or the test is skipped.
#define HAKOBI_IN_LOCALE(...)                           \
    const ::hakobi::ForeignLocale foreign(__VA_ARGS__); \
    if (!foreign.is_set()) GTEST_SKIP() << "no locale " #__VA_ARGS__ " here, and no localedef that makes it"
