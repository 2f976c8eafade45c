// Runs under LD_PRELOAD of the library, with a model of 5 servers and files of 2 stripes of 1 MiB: what
// programs see of layouts.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr int delay_create = O_NOCTTY | FASYNC;
constexpr unsigned long set_stripe = 0x4008669A, get_stripe = 0x4008669B, count_servers = 0x800866A8;

struct UserLayout {
    std::uint32_t magic = 0x0BD10BD0, pattern = 1;
    std::uint64_t id[2] = {};
    std::uint32_t stripe_bytes = 0;
    std::uint16_t num_stripes = 0, first_server = 0xffff;
};

class Layouts : public testing::Test {
  protected:
    void SetUp() override {
        const char* const model = std::getenv("HAKOBI_STORAGE_MODEL");
        if (model == nullptr || std::string(model).find("stripes=") == std::string::npos)
            GTEST_SKIP() << "of a model with layouts";
        folder = std::getenv("HAKOBI_STORAGE_MODEL_PATH");
        path = folder + "/layouts." + std::to_string(::getpid());
        ::unlink(path.c_str());
    }
    void TearDown() override { ::unlink(path.c_str()); }
    [[nodiscard]] int create(int flags = 0) const {
        return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | flags, 0666);
    }
    /// Count and stripe of the attribute, and its servers; count 0 and errno where there is none.
    struct Shown {
        int num_stripes = 0;
        std::int64_t stripe_bytes = 0;
        std::vector<std::uint32_t> servers;
    };
    static Shown shown(int fd) {
        std::array<std::byte, 4096> value;
        const ssize_t length = ::fgetxattr(fd, "lustre.lov", value.data(), value.size());
        if (length < 0) return {};
        UserLayout layout;
        std::memcpy(&layout, value.data(), sizeof layout);
        Shown result{layout.num_stripes, layout.stripe_bytes, {}};
        for (std::size_t at = sizeof layout; at + 24 <= static_cast<std::size_t>(length); at += 24) {
            std::uint32_t server = 0;
            std::memcpy(&server, value.data() + at + 20, sizeof server);
            result.servers.push_back(server);
        }
        return result;
    }
    static int lay_out(int fd, UserLayout wish) { return ::ioctl(fd, set_stripe, &wish) == 0 ? 0 : errno; }

    std::string folder, path;
};

TEST_F(Layouts, TheFolderIsALustre) {
    struct statfs system {};
    ASSERT_EQ(::statfs(folder.c_str(), &system), 0);
    EXPECT_EQ(system.f_type, 0x0BD00BD0);
    ASSERT_EQ(::statfs("/", &system), 0);
    EXPECT_NE(system.f_type, 0x0BD00BD0);
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
    int count = 0;
    EXPECT_EQ(::ioctl(fd, count_servers, &count), 0);
    EXPECT_EQ(count, 5);
    EXPECT_EQ(shown(fd).num_stripes, 0);
    EXPECT_EQ(errno, ENODATA);
    ::close(fd);
}

TEST_F(Layouts, AFileHasTheModelsLayout) {
    const int fd = create();
    const Shown found = shown(fd);
    EXPECT_EQ(found.num_stripes, 2);
    EXPECT_EQ(found.stripe_bytes, 1 << 20);
    ASSERT_EQ(found.servers.size(), 2U);
    EXPECT_EQ(found.servers[1], (found.servers[0] + 1) % 5);
    EXPECT_EQ(lay_out(fd, {.stripe_bytes = 65536, .num_stripes = 4}), EEXIST) << "it has objects";
    ::close(fd);
}

TEST_F(Layouts, AFileThatIsMadeForOneGetsItOnce) {
    const int fd = create(delay_create);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(shown(fd).num_stripes, 0);
    EXPECT_EQ(lay_out(fd, {.stripe_bytes = 100, .num_stripes = 4}), EINVAL) << "not a multiple of 64 KiB";
    EXPECT_EQ(lay_out(fd, {.stripe_bytes = 65536, .num_stripes = 4, .first_server = 7}), EINVAL);
    EXPECT_EQ(lay_out(fd, {.stripe_bytes = 131072, .num_stripes = 4, .first_server = 3}), 0);
    const Shown found = shown(fd);
    EXPECT_EQ(found.stripe_bytes, 131072);
    EXPECT_EQ(found.servers, (std::vector<std::uint32_t>{3, 4, 0, 1}));
    EXPECT_EQ(lay_out(fd, {.stripe_bytes = 65536, .num_stripes = 1}), EEXIST);
    UserLayout got{.num_stripes = 0};
    EXPECT_EQ(::ioctl(fd, get_stripe, &got), 0);
    EXPECT_EQ(got.num_stripes, 4);
    ::close(fd);
}

TEST_F(Layouts, MoreStripesThanServersAreAsManyAsThereAre) {
    const int fd = create(delay_create);
    EXPECT_EQ(lay_out(fd, {.num_stripes = 100}), 0);
    EXPECT_EQ(shown(fd).num_stripes, 5);
    EXPECT_EQ(shown(fd).stripe_bytes, 1 << 20) << "the model's";
    ::close(fd);
    ::unlink(path.c_str());
    const int overstriped = create(delay_create);
    EXPECT_EQ(lay_out(overstriped, {.pattern = 0x200, .num_stripes = 8}), 0);
    const Shown found = shown(overstriped);
    EXPECT_EQ(found.servers.size(), 8U);
    EXPECT_EQ(std::set<std::uint32_t>(found.servers.begin(), found.servers.end()).size(), 5U);
    ::close(overstriped);
}

TEST_F(Layouts, TheFirstWriteTakesTheModels) {
    const int fd = create(delay_create);
    EXPECT_EQ(::pwrite(fd, "x", 1, 0), 1);
    EXPECT_EQ(shown(fd).num_stripes, 2);
    EXPECT_EQ(lay_out(fd, {.num_stripes = 4}), EEXIST);
    ::close(fd);
}

TEST_F(Layouts, ANewFileOfTheSameNameHasNoneOfTheOld) {
    int fd = create(delay_create);
    EXPECT_EQ(lay_out(fd, {.num_stripes = 4}), 0);
    ::close(fd);
    ::unlink(path.c_str());
    fd = create();
    EXPECT_EQ(shown(fd).num_stripes, 2);
    ::close(fd);
}

TEST_F(Layouts, BytesPassLinksAndLocksWhole) {
    const int fd = create();
    std::vector<char> data(3 << 20), in(data.size());
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 7 + i / 1000);
    EXPECT_EQ(::pwrite(fd, data.data(), data.size(), 12345), static_cast<ssize_t>(data.size()));
    EXPECT_EQ(::pread(fd, in.data(), in.size(), 12345), static_cast<ssize_t>(in.size()));
    EXPECT_TRUE(in == data);
    ::close(fd);
}

}  // namespace
