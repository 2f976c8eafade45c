// Copies files to an object store or back, several at once, and prints how long that took: what `s5cmd cp`
// and `rados put` do.
//
//     hakobi-bench-objects put FOLDER s3://bucket/prefix     each file as the object of its name, large ones in parts
//     hakobi-bench-objects get FOLDER rados:pool/prefix      the files of the folder are written anew from the objects
//     hakobi-bench-objects remove FOLDER ROOT
//
// The time counts reading and writing the files, connecting, and everything until the last byte is
// acknowledged.
#include <fcntl.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "storage/file.hpp"
#include "storage/objects.hpp"

namespace hakobi {
namespace {

namespace fs = std::filesystem;

/// A part of a file that one request carries.
struct Piece {
    std::size_t file = 0;
    std::int64_t offset = 0, length = 0;
    int number = 0;  ///< of an upload's part; 0: the whole file
};
struct Copied {
    std::string name;
    std::int64_t size_bytes = 0;
    std::string upload;
    std::vector<storage::UploadedPart> parts;
};

class Copy {
  public:
    Copy(std::string what, std::string folder, storage::Objects& objects, std::int64_t part_bytes)
        : what_(std::move(what)), folder_(std::move(folder)), objects_(objects) {
        for (const auto& entry : fs::directory_iterator(folder_))
            files_.push_back({entry.path().filename(), static_cast<std::int64_t>(entry.file_size()), "", {}});
        std::ranges::sort(files_, {}, &Copied::name);
        const bool has_parts = objects_.abilities().max_parts > 0 || what_ == "get";
        for (std::size_t f = 0; f < files_.size(); ++f) {
            total_bytes_ += files_[f].size_bytes;
            if (!has_parts || files_[f].size_bytes <= part_bytes || what_ == "remove") {
                pieces_.push_back({f, 0, files_[f].size_bytes, 0});
                continue;
            }
            int number = 0;
            for (std::int64_t at = 0; at < files_[f].size_bytes; at += part_bytes)
                pieces_.push_back({f, at, std::min(part_bytes, files_[f].size_bytes - at), ++number});
        }
    }

    Status run(int num_threads) {
        for (Copied& file : files_) {
            if (what_ == "get") {  // as new files cost
                Result<storage::FilePtr> emptied = storage::open_file(
                    folder_ + "/" + file.name, {.read = false, .write = true, .truncate = true});
                if (!emptied.ok()) return emptied.status();
            }
            const bool is_split = std::ranges::any_of(pieces_, [&](const Piece& piece) {
                return piece.number > 0 && &files_[piece.file] == &file;
            });
            if (what_ != "put" || !is_split) continue;
            Result<std::string> begun = objects_.begin_upload(file.name);
            if (!begun.ok()) return begun.status();
            file.upload = begun.value();
        }
        std::vector<std::thread> threads;
        for (int t = 0; t < num_threads; ++t) threads.emplace_back([this] { work(); });
        for (std::thread& thread : threads) thread.join();
        for (Copied& file : files_) {
            if (file.upload.empty() || !status_.ok()) continue;
            std::ranges::sort(file.parts, {}, &storage::UploadedPart::number);
            status_.keep_first(objects_.complete_upload(file.name, file.upload, file.parts, {}));
        }
        return status_;
    }
    [[nodiscard]] std::int64_t total_bytes() const { return total_bytes_; }
    [[nodiscard]] std::size_t num_files() const { return files_.size(); }

  private:
    void work() {
        std::vector<std::byte> buffer;
        for (std::size_t p = next_++; p < pieces_.size(); p = next_++) {
            Status status = carry(pieces_[p], buffer);
            const std::scoped_lock lock(mutex_);
            status_.keep_first(std::move(status));
            if (!status_.ok()) return;
        }
    }
    Status carry(const Piece& piece, std::vector<std::byte>& buffer) {
        Copied& file = files_[piece.file];
        if (what_ == "remove") return objects_.remove(file.name);
        buffer.resize(static_cast<std::size_t>(piece.length));
        const std::string path = folder_ + "/" + file.name;
        const bool is_put = what_ == "put";
        Result<storage::FilePtr> opened =
            storage::open_file(path, {.read = is_put, .write = !is_put, .create = !is_put});
        if (!opened.ok()) return opened.status();
        Result<std::int64_t> got = is_put ? opened.value()->read_at(buffer, piece.offset)
                                          : objects_.get(file.name, piece.offset, buffer);
        if (!got.ok()) return got.status();
        if (got.value() != piece.length) return {ErrorCode::io, file.name + ": too short"};
        if (!is_put) return opened.value()->write_at(buffer, piece.offset);
        if (piece.number == 0) return objects_.put(file.name, buffer);
        Result<storage::UploadedPart> part = objects_.put_part(file.name, file.upload, piece.number, buffer);
        if (!part.ok()) return part.status();
        const std::scoped_lock lock(mutex_);
        file.parts.push_back(std::move(part).value());
        return {};
    }

    std::string what_, folder_;
    storage::Objects& objects_;
    std::vector<Copied> files_;
    std::vector<Piece> pieces_;
    std::int64_t total_bytes_ = 0;
    std::atomic<std::size_t> next_ = 0;
    std::mutex mutex_;
    Status status_;
};

}  // namespace
}  // namespace hakobi

int main(int argc, char** argv) {
    using namespace hakobi;
    CLI::App app("copies files to an object store or back, several at once");
    std::string what, folder, root;
    int num_requests = 8;
    std::int64_t part_bytes = std::int64_t{16} << 20;
    app.add_option("what", what, "put, get or remove")
        ->required()
        ->check(CLI::IsMember({"put", "get", "remove"}));
    app.add_option("folder", folder, "its files")->required()->check(CLI::ExistingDirectory);
    app.add_option("root", root, "s3://bucket/prefix, rados:pool/prefix or a folder")->required();
    app.add_option("--requests", num_requests, "at once")->capture_default_str()->check(CLI::Range(1, 256));
    app.add_option("--part", part_bytes, "bytes of a request of a large file")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    const auto begin = std::chrono::steady_clock::now();
    Result<storage::ObjectsPtr> objects = storage::open_objects(root);
    Status status = objects.status();
    if (objects.ok()) {
        Copy copy(what, folder, *objects.value(), part_bytes);
        status = copy.run(num_requests);
        const double time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (status.ok()) {
            std::printf("%s %zu files %.1f MB %.3f s %.1f MB/s\n", what.c_str(), copy.num_files(),
                        static_cast<double>(copy.total_bytes()) * 1e-6, time_s,
                        static_cast<double>(copy.total_bytes()) * 1e-6 / time_s);
        }
    }
    if (!status.ok()) std::fprintf(stderr, "hakobi-bench-objects: %s\n", status.text().c_str());
    return status.ok() ? 0 : 1;
}
