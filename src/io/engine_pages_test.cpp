// Nodes that cache pages of a shared file, and write them back whole: a model of a network file system's
// client. Each rank is a node; who ignores Abilities::writer_block_bytes loses bytes here.
#include <algorithm>
#include <map>
#include <mutex>

#include "io/engine_fixture.hpp"
#include "storage/file.hpp"

namespace hakobi::io {
namespace {

constexpr std::int64_t page_bytes = 4096;

class PagedFile final : public storage::File {
  public:
    explicit PagedFile(storage::FilePtr inner) : inner_(std::move(inner)), abilities_(inner_->abilities()) {
        abilities_.writer_block_bytes = page_bytes;
        abilities_.stripe_bytes = page_bytes;
    }

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override {
        const std::scoped_lock lock(mutex_);
        return for_each_page(data.size(), offset,
                             [&](Page& page, std::size_t at, std::size_t in, std::size_t length) {
                                 std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(in), length,
                                             page.bytes.begin() + static_cast<std::ptrdiff_t>(at));
                                 page.is_dirty = true;
                                 page.length = std::max(page.length, at + length);
                             });
    }
    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        const std::scoped_lock lock(mutex_);
        std::int64_t read = 0;
        Status status = for_each_page(data.size(), offset,
                                      [&](Page& page, std::size_t at, std::size_t in, std::size_t length) {
                                          length = std::min(length, page.length - std::min(page.length, at));
                                          std::copy_n(page.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                                      length, data.begin() + static_cast<std::ptrdiff_t>(in));
                                          read += static_cast<std::int64_t>(length);
                                      });
        if (!status.ok()) return status;
        return read;
    }
    Status sync() override {
        const std::scoped_lock lock(mutex_);
        for (const auto& [number, page] : pages_) {
            if (!page.is_dirty) continue;
            Status status = inner_->write_at(std::span(page.bytes).first(page.length), number * page_bytes);
            if (!status.ok()) return status;
        }
        pages_.clear();
        return inner_->sync();
    }
    Status close() override {
        Status status = sync();
        status.keep_first(inner_->close());
        return status;
    }
    Result<std::int64_t> size_bytes() override { return inner_->size_bytes(); }
    Status set_size(std::int64_t bytes) override { return inner_->set_size(bytes); }
    Status preallocate(std::int64_t bytes) override { return inner_->preallocate(bytes); }
    Status lock_range(std::int64_t offset, std::int64_t length) override {
        return inner_->lock_range(offset, length);
    }
    Status unlock_range(std::int64_t offset, std::int64_t length) override {
        return inner_->unlock_range(offset, length);
    }
    [[nodiscard]] const std::string& path() const noexcept override { return inner_->path(); }
    [[nodiscard]] const storage::Abilities& abilities() const noexcept override { return abilities_; }

  private:
    struct Page {
        std::vector<std::byte> bytes = std::vector<std::byte>(page_bytes);
        std::size_t length = 0;  // as far as the file goes
        bool is_dirty = false;
    };

    template <class Act>
    Status for_each_page(std::size_t size, std::int64_t offset, const Act& act) {
        for (std::size_t done = 0; done < size;) {
            const std::int64_t number = (offset + static_cast<std::int64_t>(done)) / page_bytes;
            const auto at = static_cast<std::size_t>((offset + static_cast<std::int64_t>(done)) % page_bytes);
            const std::size_t length = std::min(size - done, static_cast<std::size_t>(page_bytes) - at);
            const auto [place, is_new] = pages_.try_emplace(number);
            if (is_new) {
                Result<std::int64_t> read = inner_->read_at(place->second.bytes, number * page_bytes);
                if (!read.ok()) return read.status();
                place->second.length = static_cast<std::size_t>(read.value());
            }
            act(place->second, at, done, length);
            done += length;
        }
        return {};
    }

    std::mutex mutex_;
    storage::FilePtr inner_;
    storage::Abilities abilities_;
    std::map<std::int64_t, Page> pages_;
};

class PagedNodes : public EngineTest {
  protected:
    void SetUp() override {
        EngineTest::SetUp();
        storage::add_decorator(
            {"paged", [](std::string_view) -> Result<std::function<storage::FilePtr(storage::FilePtr)>> {
                 return std::function<storage::FilePtr(storage::FilePtr)>(
                     [](storage::FilePtr file) { return storage::FilePtr(new PagedFile(std::move(file))); });
             }});
        storage_path_ = "paged::" + path_;
    }

    /// Every rank writes its region of each, a call each through one open file, and every byte is compared.
    void write_and_compare(const std::vector<std::vector<Region>>& calls, std::int64_t file_size) {
        make_file(0);
        auto engine = open_engine({storage_path_, true}, GetParam().hints);
        std::vector<std::byte> image(static_cast<std::size_t>(file_size));
        for (const std::vector<Region>& files : calls) {
            for (int rank = 0; rank < comm_.size(); ++rank)
                for (Cursor at(files[static_cast<std::size_t>(rank)]); !at.at_end(); at.advance(1))
                    image[static_cast<std::size_t>(at.offset())] = value_at(at.offset(), rank);
            const Region& mine = files[static_cast<std::size_t>(comm_.rank())];
            std::vector<std::byte> data;
            for (Cursor at(mine); !at.at_end(); at.advance(1))
                data.push_back(value_at(at.offset(), comm_.rank()));
            engine->write_all(mine, data.data(), Region::contiguous(0, mine.size_bytes())).throw_if_error();
        }
        engine->close().throw_if_error();
        const std::vector<std::byte> written = file_bytes();
        ASSERT_EQ(written.size(), image.size());
        EXPECT_TRUE(std::equal(image.begin(), image.end(), written.begin()))
            << "first difference at "
            << std::mismatch(image.begin(), image.end(), written.begin()).first - image.begin();
    }

    std::string storage_path_;
};

TEST_P(PagedNodes, MeetInsideAPageWithLargePieces) {
    const std::int64_t each = (2 << 20) + 4096 + 488;  // two ranks' pieces meet inside a page
    std::vector<Region> files;
    for (int rank = 0; rank < comm_.size(); ++rank) files.push_back(Region::contiguous(rank * each, each));
    write_and_compare({files}, each * comm_.size());
}

TEST_P(PagedNodes, DealOutPiecesSmallerThanAPage) {
    std::vector<Region> files;
    const std::int64_t piece = 1009, count = 700;
    for (int rank = 0; rank < comm_.size(); ++rank)
        files.push_back(
            Region::strided(rank * piece, count, piece * comm_.size(), Region::contiguous(0, piece)));
    write_and_compare({files}, piece * count * comm_.size());
}

TEST_P(PagedNodes, GoOnInAPageThatAnotherHasWrittenSince) {
    // One call after the other goes on where the last one ended, and the last goes back to the first one's
    // last page.
    std::vector<std::vector<Region>> calls;
    const std::int64_t call_bytes = 300'007;
    for (std::int64_t call = 0; call < 6; ++call) {
        std::vector<Region> files(static_cast<std::size_t>(comm_.size()));
        for (std::int64_t rank = 0; rank < comm_.size(); ++rank)
            files[static_cast<std::size_t>((rank + call) % comm_.size())] =
                Region::contiguous(call * call_bytes + rank * call_bytes / comm_.size(),
                                   (rank + 1) * call_bytes / comm_.size() - rank * call_bytes / comm_.size());
        calls.push_back(files);
    }
    write_and_compare(calls, 6 * call_bytes);
}

INSTANTIATE_TEST_SUITE_P(Settings, PagedNodes,
                         testing::Values(Setting{"auto", {}, 1},
                                         Setting{"oddly_sized_buffers",
                                                 {{"cb_buffer_size", "100001"}, {"striping_unit", "5000"}},
                                                 1},
                                         Setting{"one_aggregator", {{"cb_nodes", "1"}}, 1}),
                         [](const auto& setting) { return std::string(setting.param.name); });

}  // namespace
}  // namespace hakobi::io
