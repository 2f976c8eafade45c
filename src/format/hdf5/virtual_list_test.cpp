#include "format/hdf5/virtual_list.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "format/hdf5/reading.hpp"

namespace hakobi::format {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

TEST(MetadataChecksum, IsLookup3) {
    // The values that lookup3.c names for its driver5.
    const std::string_view text = "Four score and seven years ago";
    EXPECT_EQ(metadata_checksum(std::as_bytes(std::span(text))), 0x17770551U);
    EXPECT_EQ(metadata_checksum({}), 0xdeadbeefU);
}

/// A file with the data set "shown" of three sources, in HDF5's first format or a later one.
class VirtualList : public ::testing::TestWithParam<H5F_libver_t> {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "hakobi-virtual-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder = name;
        path = name + "/file.h5";
        make();
        std::ifstream in(path, std::ios::binary);
        const std::string text(std::istreambuf_iterator<char>(in), {});
        const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
        file.assign(begin, begin + text.size());
        heap_at = text.find(heap_signature);
        ASSERT_NE(heap_at, std::string::npos);
    }
    void TearDown() override { fs::remove_all(folder); }

    void make() const {
        constexpr hsize_t num = 12, each = 4;
        const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "H5Pcreate");
        check(H5Pset_libver_bounds(access, GetParam(), H5F_LIBVER_V110), "H5Pset_libver_bounds");
        const Handle out(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose, "H5Fcreate");
        const Handle whole(H5Screate_simple(1, &num, nullptr), H5Sclose, "H5Screate_simple");
        const Handle part(H5Screate_simple(1, &each, nullptr), H5Sclose, "H5Screate_simple");
        const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "H5Pcreate");
        for (hsize_t i = 0; i < num / each; ++i) {
            const std::string source = "source_" + std::to_string(i);
            const double values[each] = {1.0 * static_cast<double>(i), 2, 3, 4};
            const Handle dataset(H5Dcreate2(out, source.c_str(), H5T_NATIVE_DOUBLE, part, H5P_DEFAULT,
                                            H5P_DEFAULT, H5P_DEFAULT),
                                 H5Dclose, "H5Dcreate2");
            check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
            const hsize_t from = i * each;
            check(H5Sselect_hyperslab(whole, H5S_SELECT_SET, &from, nullptr, &each, nullptr),
                  "H5Sselect_hyperslab");
            check(H5Pset_virtual(creation, whole, ".", source.c_str(), part), "H5Pset_virtual");
        }
        const Handle shown(
            H5Dcreate2(out, "shown", H5T_NATIVE_DOUBLE, whole, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose,
            "H5Dcreate2");
        const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, "H5Screate");
        for (int i = 0; i < 12; ++i) {  // so many that the header needs a further block
            const std::string note = "note_" + std::to_string(i);
            const double value = i;
            const Handle attribute(
                H5Acreate2(shown, note.c_str(), H5T_NATIVE_DOUBLE, scalar, H5P_DEFAULT, H5P_DEFAULT),
                H5Aclose, "H5Acreate2");
            check(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value), "H5Awrite");
        }
    }
    void put(const Bytes& changed) const {
        std::ofstream out(path, std::ios::binary);
        out.write(reinterpret_cast<const char*>(changed.data()), std::ssize(changed));
    }
    /// Why it cannot be read; "" where it can.
    [[nodiscard]] std::string read() const {
        const Status status = with_file(path, "HDF5", [](hid_t opened) {
            const Handle root(H5Gopen2(opened, "/", H5P_DEFAULT), H5Gclose, "H5Gopen2");
            for (const std::string& name : names_in(root)) {
                const Handle dataset = open_dataset(root, name);
                (void)attributes_of(dataset);
                std::vector<double> values(12);
                if (extents_of(dataset) == std::vector<std::int64_t>{12})
                    check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                          "H5Dread");
            }
        });
        return status.text();
    }

    /// How a reading in a process of its own ends.
    enum class End { read, refused, died, hung };
    [[nodiscard]] End read_apart() const {
        const pid_t child = ::fork();
        if (child == 0) {
            ::signal(SIGABRT, SIG_DFL);
            ::alarm(10);  // it takes milliseconds
            ::_exit(read().empty() ? 0 : 1);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        if (!WIFEXITED(status)) return WTERMSIG(status) == SIGALRM ? End::hung : End::died;
        return WEXITSTATUS(status) == 0 ? End::read : WEXITSTATUS(status) == 1 ? End::refused : End::died;
    }

    /// How many headers of the file name a damaged list.
    static int num_refused(const Bytes& bytes) {
        const ReadBytes read = [&](std::int64_t offset, std::span<std::byte> into) {
            std::copy_n(bytes.begin() + offset, into.size(), into.begin());
            return true;
        };
        const FileCounts counts{.address_bytes = 8, .length_bytes = 8};
        int num = 0;
        for (std::int64_t at = 0; at < std::ssize(bytes); ++at)
            num += has_damaged_list(read, at, std::ssize(bytes), counts) ? 1 : 0;
        return num;
    }

    std::string folder, path;
    Bytes file;
    std::size_t heap_at = 0;  // of the collection that has the list
};

TEST_P(VirtualList, ThatIsWholeIsRead) {
    EXPECT_EQ(num_refused(file), 0);
    EXPECT_EQ(read(), "");
}

TEST_P(VirtualList, ThatIsDamagedIsAnError) {
    // Behind the heads of the collection and of the object, 16 bytes each: version, number of sources, names.
    const std::size_t list_at = heap_at + 32, size_at = heap_at + 24;
    const std::size_t list_bytes = std::to_integer<std::size_t>(file[size_at]);
    ASSERT_EQ(std::to_integer<int>(file[list_at + 1]), 3) << "the number of sources is elsewhere";
    for (std::size_t at = list_at; at < list_at + list_bytes; at += at < list_at + 12 ? 1 : 7) {
        for (const unsigned flip : {0x01U, 0x80U}) {
            Bytes changed = file;
            changed[at] ^= static_cast<std::byte>(flip);
            EXPECT_EQ(num_refused(changed), 1) << at - list_at;
            put(changed);
            EXPECT_NE(read(), "") << at - list_at;
        }
    }
}

TEST_P(VirtualList, ThatTheHeapDoesNotHaveIsAnError) {
    Bytes changed = file;
    changed[heap_at + 16] = std::byte{7};  // another number
    EXPECT_EQ(num_refused(changed), 1);
    put(changed);
    EXPECT_NE(read(), "");
}

TEST_P(VirtualList, NumbersWithBitsOutsideOfTheirBytesAreRefused) {
    // A double's message says where the exponent begins, its bits, where the fraction begins, its bits.
    const std::array fields = {std::byte{52}, std::byte{11}, std::byte{0}, std::byte{52}};
    int num_types = 0;
    for (auto at = file.begin();; ++at, ++num_types) {
        at = std::search(at, file.end(), fields.begin(), fields.end());
        if (at == file.end()) break;
        Bytes changed = file;
        changed[static_cast<std::size_t>(at - file.begin())] = std::byte{240};
        put(changed);
        const std::string why = read();
        // The later formats have checksums, which HDF5 itself looks at.
        const char* const expected =
            GetParam() == H5F_LIBVER_EARLIEST ? "bits outside of its bytes" : "not a whole HDF5 file";
        EXPECT_NE(why.find(expected), std::string::npos) << why;
    }
    EXPECT_EQ(num_types, 3 + 1 + 12);  // the sources, what they make up, the attributes
}

TEST_P(VirtualList, InADamagedFileEndsTheReading) {
    const char* const cases = std::getenv("HAKOBI_CASES");
    const int num_cases = cases == nullptr ? 100 : std::atoi(cases);
    std::mt19937 random(::testing::UnitTest::GetInstance()->random_seed());
    int num_refused = 0, num_died = 0;
    for (int i = 0; i < num_cases; ++i) {
        Bytes changed = file;
        for (int places = 1 + static_cast<int>(random() % 3); places > 0; --places) {
            // Most of what HDF5 trusts is before the heap's free space.
            const std::size_t reach = random() % 2 == 0 ? heap_at + 300 : changed.size();
            changed[random() % std::min(reach, changed.size())] = static_cast<std::byte>(random());
        }
        put(changed);
        const End end = read_apart();
        num_refused += end == End::refused ? 1 : 0;
        num_died += end == End::died ? 1 : 0;
        EXPECT_NE(end, End::hung) << "case " << i;
    }
    EXPECT_GT(num_refused, 0);
    // HDF5 1.10.8 dies of about 1 of 20,000: its first format has no checksums of headers (decision 26).
    EXPECT_LE(num_died, 1 + num_cases / 1000);
}
INSTANTIATE_TEST_SUITE_P(Formats, VirtualList,
                         ::testing::Values(H5F_LIBVER_EARLIEST, H5F_LIBVER_V18, H5F_LIBVER_V110));

}  // namespace
}  // namespace hakobi::format
