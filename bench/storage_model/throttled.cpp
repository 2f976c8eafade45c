#include "storage_model/throttled.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "storage_model/read_ahead.hpp"
#include "storage_model/service_state.hpp"

namespace hakobi::storage {

namespace {

std::shared_ptr<ServiceState> state_of(const ServiceModel& model) {
    static std::mutex mutex;
    static std::vector<std::pair<ServiceModel, std::shared_ptr<ServiceState>>> all;
    const std::scoped_lock lock(mutex);
    for (const auto& [known, state] : all)
        if (known == model) return state;
    return all.emplace_back(model, std::make_shared<ServiceState>()).second;
}

class ThrottledFile final : public File {
  public:
    ThrottledFile(FilePtr inner, const ServiceModel& model)
        : inner_(std::move(inner)),
          abilities_(inner_->abilities()),
          model_(model),
          state_(state_of(model)),
          identity_(std::hash<std::string>()(inner_->path())) {
        abilities_.stripe_bytes = model.stripe_bytes;
        if (!model.has_layouts()) return;
        const FileStriping striping = state_->striping_of(model, identity_);
        Striping shown{striping.stripe_bytes, striping.num_stripes, {}};
        for (int object = 0; object < striping.num_stripes; ++object)
            shown.servers.push_back(striping.server_of(object, model));
        layout_ = Layout::plain(std::move(shown));
    }

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override {
        const std::int64_t arrival_ns = monotonic_ns();
        Status status = inner_->write_at(data, offset);
        if (status.ok()) wait(true, arrival_ns, offset, static_cast<std::int64_t>(data.size()));
        return status;
    }
    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        const std::int64_t arrival_ns = monotonic_ns();
        Result<std::int64_t> bytes = inner_->read_at(data, offset);
        if (bytes.ok()) wait(false, arrival_ns, offset, bytes.value());
        return bytes;
    }
    Result<std::int64_t> size_bytes() override { return inner_->size_bytes(); }
    Status set_size(std::int64_t bytes) override { return inner_->set_size(bytes); }
    Status preallocate(std::int64_t bytes) override { return inner_->preallocate(bytes); }
    Status sync() override { return inner_->sync(); }
    Status close() override { return inner_->close(); }
    Status lock_range(std::int64_t offset, std::int64_t length) override {
        return inner_->lock_range(offset, length);
    }
    Status unlock_range(std::int64_t offset, std::int64_t length) override {
        return inner_->unlock_range(offset, length);
    }
    [[nodiscard]] const std::string& path() const noexcept override { return inner_->path(); }
    [[nodiscard]] const Abilities& abilities() const noexcept override { return abilities_; }
    [[nodiscard]] const Layout& layout() const noexcept override { return layout_; }

  private:
    void wait(bool is_write, std::int64_t arrival_ns, std::int64_t offset, std::int64_t length) {
        if (is_write && model_.ahead_bytes > 0) {
            const std::scoped_lock lock(ahead_mutex_);
            ahead_ = {};
        }
        const ServiceRequest request{.identity = identity_,
                                     .is_write = is_write,
                                     .arrival_ns = arrival_ns,
                                     .offset = offset,
                                     .length = length};
        sleep_until_ns(model_.ahead_bytes > 0 && !is_write
                           ? read_ahead(request)
                           : Passage(model_, *state_, request).run(sleep_until_ns));
    }

    std::int64_t read_ahead(const ServiceRequest& request) {
        const Result<std::int64_t> file_bytes = inner_->size_bytes();
        const std::scoped_lock lock(ahead_mutex_);
        return ahead_.pass(model_, *state_, request, file_bytes.ok() ? file_bytes.value() : 0);
    }

    FilePtr inner_;
    std::mutex ahead_mutex_;
    ReadAhead ahead_;
    Abilities abilities_;
    Layout layout_;
    ServiceModel model_;
    std::shared_ptr<ServiceState> state_;
    const std::uint64_t identity_;
};

}  // namespace

FilePtr make_throttled(FilePtr inner, const ServiceModel& model) {
    return std::make_unique<ThrottledFile>(std::move(inner), model);
}

void register_throttled() {
    add_decorator({"throttled", [](std::string_view text) -> Result<std::function<FilePtr(FilePtr)>> {
                       ServiceModel model;
                       if (std::string problem = parse_service_model(text, model); !problem.empty())
                           return Status(ErrorCode::invalid_argument, std::move(problem));
                       return std::function(
                           [model](FilePtr inner) { return make_throttled(std::move(inner), model); });
                   }});
}

}  // namespace hakobi::storage
