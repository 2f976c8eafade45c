#include "storage/objects/faulty_objects.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>

namespace hakobi::storage {
namespace {

using Kind = ObjectFault::Kind;
using Operation = ObjectOperation;

class FaultyObjects final : public Objects {
  public:
    FaultyObjects(ObjectsPtr inner, const ObjectFault& fault) : inner_(std::move(inner)), fault_(fault) {}

    Status put(const std::string& name, std::span<const std::byte> bytes, const PutMode& mode) override {
        Status status = under(Operation::put, name, [&] { return inner_->put(name, bytes, mode); });
        const std::scoped_lock lock(mutex_);
        last_put_.push_back(name);
        return status;
    }
    Result<std::string> replace(const std::string& name, std::span<const std::byte> bytes,
                                const std::string& version) override {
        return under(Operation::put, name, [&] { return inner_->replace(name, bytes, version); });
    }
    Result<std::int64_t> get(const std::string& name, std::int64_t offset, std::span<std::byte> into,
                             const GetMode& mode) override {
        return under(
            Operation::get, name, [&] { return inner_->get(name, offset, into, mode); },
            [&]() -> Result<std::int64_t> {
                (void)inner_->get(name, offset, into.first(into.size() / 2), mode);
                return injected(name);
            });
    }
    Result<ObjectFacts> facts(const std::string& name) override {
        return under(Operation::facts, name, [&] { return inner_->facts(name); });
    }
    Result<Listing> list(const ListMode& mode) override {
        bool is_old = false;
        Result<Listing> listing = under(
            Operation::list, mode.prefix, [&] { return inner_->list(mode); }, {}, &is_old);
        if (!is_old || !listing.ok()) return listing;
        const std::scoped_lock lock(mutex_);
        const std::size_t num = std::min(last_put_.size(), static_cast<std::size_t>(fault_.num_hidden));
        std::erase_if(listing.value().objects, [&](const ListedObject& each) {
            return std::find(last_put_.end() - static_cast<std::ptrdiff_t>(num), last_put_.end(),
                             each.name) != last_put_.end();
        });
        return listing;
    }
    Status remove(const std::string& name) override {
        return under(Operation::remove, name, [&] { return inner_->remove(name); });
    }
    void keep_names(const std::string& prefix, const std::string& holder) override {
        inner_->keep_names(prefix, holder);
    }
    Result<std::string> begin_upload(const std::string& name) override {
        return under(Operation::upload, name, [&] { return inner_->begin_upload(name); });
    }
    Result<UploadedPart> put_part(const std::string& name, const std::string& upload, int number,
                                  std::span<const std::byte> bytes) override {
        return under(Operation::upload, name, [&] { return inner_->put_part(name, upload, number, bytes); });
    }
    Result<std::vector<UploadedPart>> parts(const std::string& name, const std::string& upload) override {
        return inner_->parts(name, upload);
    }
    Status complete_upload(const std::string& name, const std::string& upload,
                           std::span<const UploadedPart> parts, const PutMode& mode) override {
        return under(Operation::upload, name,
                     [&] { return inner_->complete_upload(name, upload, parts, mode); });
    }
    Status abort_upload(const std::string& name, const std::string& upload) override {
        return inner_->abort_upload(name, upload);
    }
    Result<std::vector<OpenUpload>> uploads(const std::string& prefix) override {
        return inner_->uploads(prefix);
    }
    [[nodiscard]] const ObjectAbilities& abilities() const noexcept override { return inner_->abilities(); }
    [[nodiscard]] const std::string& root() const noexcept override { return inner_->root(); }

  private:
    [[nodiscard]] bool fires(Operation operation) {
        const std::scoped_lock lock(mutex_);
        if (operation != fault_.operation) return false;
        ++num_operations_;
        const bool fires = num_operations_ >= fault_.nth && num_operations_ < fault_.nth + fault_.num_times;
        if (fires && fault_.num_fired) ++*fault_.num_fired;
        return fires;
    }
    [[nodiscard]] Status injected(const std::string& name) const {
        return {fault_.kind == Kind::error ? fault_.code : ErrorCode::io,
                "injected fault: " + root() + "/" + name};
    }
    template <class Work>
    std::invoke_result_t<Work> under(Operation operation, const std::string& name, const Work& work,
                                     const std::function<std::invoke_result_t<Work>()>& half = {},
                                     bool* is_old = nullptr) {
        if (!fires(operation)) return work();
        switch (fault_.kind) {
            case Kind::error:
                return injected(name);
            case Kind::lost:
                (void)work();
                return injected(name);
            case Kind::half:
                return half ? half() : std::invoke_result_t<Work>(injected(name));
            case Kind::slow:
                std::this_thread::sleep_for(std::chrono::duration<double>(fault_.delay_s));
                return work();
            case Kind::old_list:
                if (is_old != nullptr) *is_old = true;
                return work();
        }
        return work();
    }

    ObjectsPtr inner_;
    ObjectFault fault_;
    std::mutex mutex_;
    std::int64_t num_operations_ = 0;
    std::deque<std::string> last_put_;
};

}  // namespace

ObjectsPtr with_object_fault(ObjectsPtr inner, const ObjectFault& fault) {
    return std::make_shared<FaultyObjects>(std::move(inner), fault);
}

}  // namespace hakobi::storage
