// Cases that depend on how a process begins: drivers that are not loaded, too old, or without devices; work
// that fails; its end. Each statement of IN_A_PROCESS is run in a new one.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <functional>

#include "device/pinned.hpp"
#include "device/program.hpp"

namespace {

int num_dlopen = 0, num_loads = 0;

}  // namespace

/// Counts the calls of dlopen in this process, and those that may load.
extern "C" void* dlopen(const char* name, int flags) {
    static const auto next = reinterpret_cast<void* (*)(const char*, int)>(::dlsym(RTLD_NEXT, "dlopen"));
    ++num_dlopen;
    if (!(flags & RTLD_NOLOAD)) ++num_loads;
    return next(name, flags);
}

namespace hakobi::device {
namespace {

using device_test::Array;
using device_test::Program;

#define IN_A_PROCESS(statement)                             \
    GTEST_FLAG_SET(death_test_style, "threadsafe");         \
    EXPECT_EXIT(                                            \
        {                                                   \
            statement;                                      \
            std::exit(testing::Test::HasFailure() ? 1 : 0); \
        },                                                  \
        testing::ExitedWithCode(0), "")

bool has_library(const char* name) {
    struct Search {
        const char* name;
        bool is_found;
    } search{name, false};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            auto* found = static_cast<Search*>(out);
            if (std::strstr(info->dlpi_name, found->name)) found->is_found = true;
            return 0;
        },
        &search);
    return search.is_found;
}

void look_at_host_arrays() {
    std::vector<int> host(10);
    for (int round = 0; round < 1000; ++round) EXPECT_EQ(device_of(host.data(), 40).value(), nullptr);
    EXPECT_EQ(device_of(host.data(), 40, Memory::device).status().code(), ErrorCode::invalid_argument);
    EXPECT_FALSE(has_library("libcuda") || has_library("libamdhip64"));
    EXPECT_EQ(num_loads, 0);
    const int after_first = num_dlopen;
    EXPECT_LE(after_first, 4);  // one look for each library
    EXPECT_EQ(device_of(host.data(), 40).value(), nullptr);
    EXPECT_EQ(num_dlopen, after_first);
}

TEST(DeviceProcesses, HostArraysLoadNoDriver) {
    IN_A_PROCESS(look_at_host_arrays());
}

void load_a_driver_late() {
    std::vector<int> host(10);
    EXPECT_EQ(device_of(host.data(), 40).value(), nullptr);
    const Program program;
    int* memory = program.allocate<int>(10);
    EXPECT_NE(device_of(memory, 40).value(), nullptr);
    const int after_first = num_dlopen;
    EXPECT_NE(device_of(memory, 40).value(), nullptr);
    EXPECT_EQ(device_of(host.data(), 40).value(), nullptr);
    EXPECT_EQ(num_dlopen, after_first);  // nor for the drivers that are not there
}

TEST(DeviceProcesses, ADriverThatTheProgramLoadsLaterIsFound) {
    IN_A_PROCESS(load_a_driver_late());
}

void load_without_using() {
    ASSERT_NE(::dlopen("libcuda.so.1", RTLD_NOW), nullptr);
    std::vector<int> host(10);
    EXPECT_EQ(device_of(host.data(), 40).value(), nullptr);
    using Attributes = int(unsigned, int*, void**, const void*);
    void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    auto* attributes = reinterpret_cast<Attributes*>(::dlsym(driver, "cuPointerGetAttributes"));
    EXPECT_EQ(attributes(0, nullptr, nullptr, host.data()), 3);  // not initialised
}

TEST(DeviceProcesses, ADriverThatTheProgramDoesNotUseIsNotInitialised) {
    IN_A_PROCESS(load_without_using());
}

void use_old_driver(bool is_hip, const std::string& text) {
    ::setenv("HAKOBI_FAKE_HIP_DEVICES", is_hip ? "1" : "0", 1);
    ::setenv("HAKOBI_FAKE_DEVICES", is_hip ? "0" : "1", 1);
    ::setenv("HAKOBI_FAKE_DRIVER_VERSION", is_hip ? "12040" : "10010", 1);
    ::setenv("HAKOBI_FAKE_HIP_VERSION", is_hip ? "50731921" : "60241133", 1);
    const Program program(0, is_hip);
    const int* memory = program.allocate<int>(10);
    std::vector<int> host(10);
    const auto found = device_of(memory, 40);
    EXPECT_EQ(found.status().code(), ErrorCode::unsupported);
    EXPECT_EQ(found.status().text(), text);
    EXPECT_EQ(device_of(host.data(), 40).value(), nullptr);
    EXPECT_TRUE(all_devices().empty());
    EXPECT_EQ(refused_drivers(), std::vector<std::string>{text});
}

TEST(DeviceProcesses, AnOldDriverIsUnsupportedWithBothVersions) {
    IN_A_PROCESS(use_old_driver(false, "CUDA 10.1: 11.2 is needed"));
    IN_A_PROCESS(use_old_driver(true, "HIP 5.7: 6.0 is needed"));
}

void look_for_devices() {
    ::setenv("HAKOBI_FAKE_DEVICES", "0", 1);
    EXPECT_TRUE(all_devices().empty());
    EXPECT_TRUE(refused_drivers().empty());
    std::vector<int> host(10);
    EXPECT_EQ(device_of(host.data(), 40).value(), nullptr);
}

TEST(DeviceProcesses, DriversWithoutADeviceAreNoError) {
    IN_A_PROCESS(look_for_devices());
}

void break_a_device() {
    ::setenv("HAKOBI_FAKE_DEVICE_FAILS_AT", "2", 1);
    Device& device = *all_devices().at(0);
    const Array<std::byte> array(std::vector<std::byte>(100), device);  // the first copy
    auto queue = device.make_queue().value();
    const Pinned pinned = Pinned::of(device, 100).value();
    ASSERT_TRUE(queue->start({.to = pinned.data(), .from = array.data(), .length_bytes = 100}).ok());
    auto mark = queue->mark();
    const Status status = queue->finish();
    EXPECT_EQ(status.code(), ErrorCode::io);
    EXPECT_EQ(status.text(), "work of a device: CUDA: an illegal memory access was encountered");
    if (mark.ok()) {
        EXPECT_EQ(mark.value()->is_over().status().code(), ErrorCode::io);
    }
    EXPECT_EQ(device_of(array.data(), 100).status().code(), ErrorCode::io);
    EXPECT_FALSE(device.make_queue().ok());
}

TEST(DeviceProcesses, ABrokenDeviceIsAnErrorOfEveryCall) {
    IN_A_PROCESS(break_a_device());
}

void end_with_all_in_use() {
    static Device& device = *all_devices().at(0);
    static auto queue = device.make_queue().value();
    static auto mark = queue->mark().value();
    static Pinned pinned = Pinned::of(device, 100).value();
    static const Array<std::byte> array(std::vector<std::byte>(100), device);
    ASSERT_TRUE(device.lock_pages(reinterpret_cast<std::byte*>(&num_loads), 4).ok());
    ASSERT_TRUE(queue->start({.to = pinned.data(), .from = array.data(), .length_bytes = 100}).ok());
}

TEST(DeviceProcesses, EndWhateverIsInUse) {
    IN_A_PROCESS(end_with_all_in_use());
}

}  // namespace
}  // namespace hakobi::device
