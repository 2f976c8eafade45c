#include "storage/faulty.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "base/nearest.hpp"

namespace hakobi::storage {

namespace {

constexpr std::array<std::string_view, 9> operation_names = {
    "open", "read", "write", "set_size", "preallocate", "sync", "close", "rename", "remove"};
constexpr std::array<std::pair<std::string_view, int>, 8> error_names = {{{"ENOSPC", ENOSPC},
                                                                          {"EDQUOT", EDQUOT},
                                                                          {"EIO", EIO},
                                                                          {"EACCES", EACCES},
                                                                          {"EROFS", EROFS},
                                                                          {"ENOENT", ENOENT},
                                                                          {"ENOMEM", ENOMEM},
                                                                          {"short", 0}}};

int rank_from_environment() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
        if (const char* text = std::getenv(name)) return std::atoi(text);
    }
    return 0;
}

/// The one armed fault of the process.
struct Armed {
    std::mutex mutex;
    std::optional<Fault> fault;
    FaultCount count;
    Status environment;  ///< what is wrong with HAKOBI_FAULT
    int rank = rank_from_environment();

    Armed() {
        const char* text = std::getenv("HAKOBI_FAULT");
        if (text == nullptr || *text == '\0') return;
        if (Result<Fault> parsed = parse_fault(text); parsed.ok()) {
            fault = parsed.value();
        } else {
            environment = {ErrorCode::invalid_argument, "HAKOBI_FAULT: " + parsed.status().text()};
        }
    }
};

Armed& armed() {
    static Armed instance;
    return instance;
}

/// The errno with which this operation fails (0: a short transfer), or nothing.
std::optional<int> count_operation(FileOperation operation, const std::string& path) {
    Armed& state = armed();
    std::scoped_lock lock(state.mutex);
    if (!state.fault || state.fault->operation != operation) return std::nullopt;
    if (state.fault->rank >= 0 && state.fault->rank != state.rank) return std::nullopt;
    if (path.find(state.fault->path) == std::string::npos) return std::nullopt;
    if (++state.count.num_operations != state.fault->nth) return std::nullopt;
    state.count.has_fired = true;
    return state.fault->error;
}

Status injected(int error, FileOperation operation, const std::string& path) {
    const std::string_view name = operation_names[static_cast<std::size_t>(operation)];
    return status_of_errno(error, "injected fault: cannot " + std::string(name), path);
}

class FaultyFile final : public File {
  public:
    explicit FaultyFile(FilePtr inner) : inner_(std::move(inner)) {}

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override {
        const std::optional<int> error = count_operation(FileOperation::write, path());
        if (!error) return inner_->write_at(data, offset);
        if (*error != 0) return injected(*error, FileOperation::write, path());
        const std::size_t half = data.size() / 2;
        if (Status status = inner_->write_at(data.first(half), offset); !status.ok()) return status;
        return {ErrorCode::io, "injected fault: wrote " + std::to_string(half) + " of " +
                                   std::to_string(data.size()) + " bytes to " + path()};
    }
    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        const std::optional<int> error = count_operation(FileOperation::read, path());
        if (!error) return inner_->read_at(data, offset);
        if (*error != 0) return injected(*error, FileOperation::read, path());
        return inner_->read_at(data.first(data.size() / 2), offset);
    }
    Result<std::int64_t> size_bytes() override { return inner_->size_bytes(); }
    Status set_size(std::int64_t bytes) override {
        Status status = admit(FileOperation::set_size, path());
        return status.ok() ? inner_->set_size(bytes) : status;
    }
    Status preallocate(std::int64_t bytes) override {
        Status status = admit(FileOperation::preallocate, path());
        return status.ok() ? inner_->preallocate(bytes) : status;
    }
    Status sync() override {
        Status status = admit(FileOperation::sync, path());
        return status.ok() ? inner_->sync() : status;
    }
    Status close() override {
        Status status = admit(FileOperation::close, path());
        status.keep_first(inner_->close());
        return status;
    }
    Status lock_range(std::int64_t offset, std::int64_t length) override {
        return inner_->lock_range(offset, length);
    }
    Status unlock_range(std::int64_t offset, std::int64_t length) override {
        return inner_->unlock_range(offset, length);
    }
    [[nodiscard]] const std::string& path() const noexcept override { return inner_->path(); }
    [[nodiscard]] const Abilities& abilities() const noexcept override { return inner_->abilities(); }
    [[nodiscard]] const Layout& layout() const noexcept override { return inner_->layout(); }

  private:
    FilePtr inner_;
};

}  // namespace

Result<Fault> parse_fault(std::string_view text) {
    Fault fault;
    bool has_operation = false;
    const auto wrong = [](std::string why) { return Status(ErrorCode::invalid_argument, std::move(why)); };
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), item.size() + 1));
        const std::size_t equals = item.find('=');
        const std::string_view name = item.substr(0, equals);
        const std::string_view value = equals == std::string_view::npos ? "" : item.substr(equals + 1);
        if (name == "rank" || name == "nth") {
            std::int64_t number = -1;
            const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
            const std::int64_t least = name == "nth" ? 1 : 0;
            if (error != std::errc() || end != value.data() + value.size() || number < least ||
                number > 1'000'000'000'000) {
                return wrong("'" + std::string(item) + "' is not a number from " + std::to_string(least));
            }
            if (name == "nth") fault.nth = number;
            if (name == "rank") fault.rank = static_cast<int>(std::min<std::int64_t>(number, 1 << 30));
        } else if (name == "operation") {
            const auto* entry = std::ranges::find(operation_names, value);
            if (entry == operation_names.end()) {
                const std::string nearest = nearest_name(value, operation_names);
                return wrong("no operation '" + std::string(value) + "'" +
                             (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
            }
            fault.operation = static_cast<FileOperation>(entry - operation_names.begin());
            has_operation = true;
        } else if (name == "error") {
            const auto* entry =
                std::ranges::find(error_names, value, &std::pair<std::string_view, int>::first);
            if (entry == error_names.end()) return wrong("no error '" + std::string(value) + "'");
            fault.error = entry->second;
        } else if (name == "path") {
            fault.path = value;
        } else {
            return wrong(
                std::string("'").append(item).append("': the names are rank, operation, nth, error, path"));
        }
    }
    if (!has_operation) return wrong("no operation= is given");
    if (fault.error == 0 && fault.operation != FileOperation::read &&
        fault.operation != FileOperation::write) {
        return wrong("only a read or a write can be short");
    }
    return fault;
}

void arm_fault(const Fault& fault) {
    std::scoped_lock lock(armed().mutex);
    armed().fault = fault;
    armed().count = {};
    armed().environment = {};
}

void disarm_fault() {
    std::scoped_lock lock(armed().mutex);
    armed().fault.reset();
    armed().count = {};
    armed().environment = {};
}

FaultCount fault_count() {
    std::scoped_lock lock(armed().mutex);
    return armed().count;
}

void set_fault_rank(int world_rank) {
    std::scoped_lock lock(armed().mutex);
    armed().rank = world_rank;
}

Status admit(FileOperation operation, const std::string& path) {
    const std::optional<int> error = count_operation(operation, path);
    if (error) return injected(*error != 0 ? *error : EIO, operation, path);
    if (operation != FileOperation::open) return {};
    std::scoped_lock lock(armed().mutex);
    return armed().environment;
}

FilePtr with_faults(FilePtr inner) {
    std::scoped_lock lock(armed().mutex);
    if (!armed().fault) return inner;
    return std::make_unique<FaultyFile>(std::move(inner));
}

}  // namespace hakobi::storage
