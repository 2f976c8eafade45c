#include "storage_model/throttled.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

namespace hakobi::storage {

namespace {

using Servers = std::vector<Server>;

std::shared_ptr<Servers> servers_of(const ServiceModel& model) {
    static std::mutex mutex;
    static std::map<std::tuple<int, double, std::int64_t, std::int64_t, std::int64_t>,
                    std::shared_ptr<Servers>>
        all;
    std::scoped_lock lock(mutex);
    std::shared_ptr<Servers>& servers =
        all[{model.num_servers, model.bandwidth_mb_s, model.latency_ns, model.stripe_bytes, model.seek_ns}];
    if (!servers) servers = std::make_shared<Servers>(static_cast<std::size_t>(model.num_servers));
    return servers;
}

class ThrottledFile final : public File {
  public:
    ThrottledFile(FilePtr inner, const ServiceModel& model)
        : inner_(std::move(inner)),
          abilities_(inner_->abilities()),
          model_(model),
          servers_(servers_of(model)) {
        abilities_.stripe_bytes = model.stripe_bytes;
    }

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override {
        const std::int64_t arrival_ns = monotonic_ns();
        Status status = inner_->write_at(data, offset);
        if (status.ok()) wait(arrival_ns, offset, static_cast<std::int64_t>(data.size()));
        return status;
    }
    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        const std::int64_t arrival_ns = monotonic_ns();
        Result<std::int64_t> bytes = inner_->read_at(data, offset);
        if (bytes.ok()) wait(arrival_ns, offset, bytes.value());
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

  private:
    void wait(std::int64_t arrival_ns, std::int64_t offset, std::int64_t length) {
        const auto identity = reinterpret_cast<std::uintptr_t>(this);
        sleep_until_ns(queue_request(model_, *servers_, identity, arrival_ns, offset, length));
    }

    FilePtr inner_;
    Abilities abilities_;
    ServiceModel model_;
    std::shared_ptr<Servers> servers_;
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
