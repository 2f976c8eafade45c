#include "gauge_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <hakobi/error.hpp>

#include "generate.hpp"
#include "setting_test.hpp"

namespace hakobi::lattice {
namespace {

namespace fs = std::filesystem;
const Extents extents{4, 2, 6, 4};

class GaugeFileTest : public World {
  protected:
    void SetUp() override {
        std::array<char, 256> name{};
        std::snprintf(name.data(), name.size(), "%s/lattice_XXXXXX", fs::temp_directory_path().c_str());
        if (comm.rank() == 0) {
            ASSERT_NE(mkdtemp(name.data()), nullptr);
        }
        MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, comm.handle());
        folder = name.data();
        path = folder / "links";
    }
    void TearDown() override {
        MPI_Barrier(comm.handle());
        if (comm.rank() == 0) fs::remove_all(folder);
        World::TearDown();
    }

    // A file of hot links, cut as the smallest surfaces have it.
    GaugeMeasures write_hot(const GaugeWriteOptions& options) {
        Setting setting(comm, extents, choose_rank_grid(extents, comm.size(), "xyzt"));
        make_hot(setting.gauge, 9);
        const GaugeMeasures measures = measure(setting.gauge, comm, setting.add_up);
        write_gauge(comm, path, setting.gauge, measures, options);
        return measures;
    }

    // Rank 0 changes the file's bytes.
    template <class Change>
    void change_file(const Change& change) {
        if (comm.rank() == 0) {
            std::ifstream in(path, std::ios::binary);
            std::string bytes{std::istreambuf_iterator<char>(in), {}};
            in.close();
            change(bytes);
            std::ofstream(path, std::ios::binary) << bytes;
        }
        MPI_Barrier(comm.handle());
    }

    // The error with which reading ends: the same on every rank.
    std::string error_of_reading() {
        std::string text;
        try {
            const GaugeLayout layout = read_gauge_layout(comm, path);
            Setting setting(comm, layout.extents, choose_rank_grid(layout.extents, comm.size(), "xyzt"));
            (void)read_gauge(comm, path, layout, setting.gauge, setting.add_up);
        } catch (const Error& error) {
            text = error.what();
        }
        std::array<char, 512> of_rank_0{};
        std::copy_n(text.begin(), std::min<std::size_t>(text.size(), 511), of_rank_0.begin());
        MPI_Bcast(of_rank_0.data(), 512, MPI_CHAR, 0, comm.handle());
        EXPECT_EQ(text, of_rank_0.data());
        return text;
    }

    fs::path folder, path;
};

TEST_F(GaugeFileTest, IsReadOnEveryDecompositionAsItWasWritten) {
    for (const GaugeWriteOptions& options :
         {GaugeWriteOptions{}, GaugeWriteOptions{.num_rows = 2}, GaugeWriteOptions{.bytes_per_real = 4},
          GaugeWriteOptions{.format = GaugeFormat::ildg},
          GaugeWriteOptions{.format = GaugeFormat::ildg, .bytes_per_real = 4}}) {
        const GaugeMeasures written = write_hot(options);
        const double tolerance = options.bytes_per_real == 4 ? 1e-7 : options.num_rows == 2 ? 1e-14 : 0;
        const auto check = [&](Setting& setting) {
            const GaugeLayout layout = read_gauge_layout(setting.comm, path);
            const GaugeVerdict verdict =
                read_gauge(setting.comm, path, layout, setting.gauge, setting.add_up);
            EXPECT_NEAR(verdict.measures.plaquette, written.plaquette, tolerance);
            Setting expected(setting.comm, extents, setting.geometry.grid());
            make_hot(expected.gauge, 9);
            double worst = 0;
            for (std::int64_t i = 0; i < setting.geometry.num_stored() * Gauge::doubles_per_site; ++i) {
                worst = std::max(worst, std::abs(setting.gauge.data()[i] - expected.gauge.data()[i]));
            }
            EXPECT_LE(worst, tolerance);
        };
        for_every_decomposition(extents, check);
        Comm self = Comm::duplicate(MPI_COMM_SELF);
        Setting alone(self, extents, {1, 1, 1, 1});
        check(alone);
        self.free();
        EXPECT_FALSE(fs::exists(path.string() + ".part"));
    }
}

TEST_F(GaugeFileTest, ThatIsDamagedIsRefusedOnEveryRank) {
    for (const auto format : {GaugeFormat::nersc, GaugeFormat::ildg}) {
        write_hot({.format = format});
        change_file([](std::string& bytes) { bytes[bytes.size() / 2] ^= 4; });
        EXPECT_NE(error_of_reading().find("hecksum"), std::string::npos);
        write_hot({.format = format});
        change_file([](std::string& bytes) { bytes.resize(bytes.size() * 2 / 3); });
        EXPECT_NE(error_of_reading().find("torn"), std::string::npos);
    }
    const auto edit = [&](const std::string& from, const std::string& to) {
        write_hot({});
        change_file([&](std::string& bytes) { bytes.replace(bytes.find(from), from.size(), to); });
        return error_of_reading();
    };
    EXPECT_NE(edit("IEEE64BIG", "IEEE64LITTLE").find("in big-endian order"), std::string::npos);
    EXPECT_NE(edit("PLAQUETTE = ", "PLAQUETTE = 0.75\nWAS = ").find("plaquette"), std::string::npos);
    EXPECT_NE(edit("LINK_TRACE = ", "LINK_TRACE = 0.75\nWAS = ").find("link trace"), std::string::npos);
    EXPECT_EQ(edit("\nARCHIVE_DATE", "\nANOTHER_DATE"), "");
}

TEST_F(GaugeFileTest, WithLinksOutsideSu3IsRefused) {
    Setting setting(comm, extents, choose_rank_grid(extents, comm.size(), "xyzt"));
    if (comm.rank() == comm.size() - 1) {
        Su3 twice = Su3::one();
        twice += Su3::one();
        setting.gauge.set_link(setting.geometry.sites().back(), 2, twice);
    }
    setting.gauge.update();
    write_gauge(comm, path, setting.gauge, measure(setting.gauge, comm, setting.add_up), {});
    EXPECT_NE(error_of_reading().find("SU(3)"), std::string::npos);
}

TEST_F(GaugeFileTest, InAPlaceThatIsNotThereFailsOnEveryRank) {
    path = folder / "missing" / "links";
    EXPECT_NE(error_of_reading(), "");
    EXPECT_THROW(write_hot({}), Error);
}

}  // namespace
}  // namespace hakobi::lattice
