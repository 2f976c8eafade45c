#include "input/opened_file.hpp"

#include <cassert>

#include "base/guard.hpp"
#include "input/device_destination.hpp"
#include "input/windowed.hpp"

namespace hakobi::input {
namespace {

Region region_of(const Destination& to, std::int64_t offset_bytes) {
    if (to.memory.empty()) return {};
    return Region::subarray(offset_bytes, to.block.global, to.block.start, to.block.count, to.element_bytes);
}

}  // namespace

mpi::Agreed OpenedFile::read(const std::string& path, std::int64_t offset_bytes, const Destination& to,
                             io::DeviceMemory& device) {
    assert(offset_bytes >= 0);
    assert(path_.empty() == (engine_ == nullptr && file_ == nullptr));
    if (comm_) return read_by_engine(path, offset_bytes, to, device);
    const auto read = [&](const Destination& at) { return read_alone(path, offset_bytes, at); };
    return {guarded("reading " + path, [&] { return read_by_host(comm_, to, device, read); }), -1};
}

mpi::Agreed OpenedFile::close() noexcept {
    path_.clear();
    file_.reset();
    if (!engine_) return {};
    const std::unique_ptr<io::Engine> closing = std::move(engine_);
    return closing->close();
}

mpi::Agreed OpenedFile::read_by_engine(const std::string& path, std::int64_t offset_bytes,
                                       const Destination& to, io::DeviceMemory& device) {
    if (path_ != path) {
        if (mpi::Agreed agreed = close(); !agreed.status.ok()) return agreed;
        mpi::Agreed opened = io::Engine::open(comm_, {path, false}, options_, engine_);
        if (!opened.status.ok()) {
            engine_.reset();
            return opened;
        }
        path_ = path;
    }
    Region region;
    Status local = guarded("describing the block", [&] { region = region_of(to, offset_bytes); });
    std::int64_t bytes_read = 0;
    mpi::Agreed agreed = engine_->read_all(region, to.origin, to.memory, bytes_read, local,
                                           device.empty() ? nullptr : &device);
    if (!agreed.status.ok()) {
        static_cast<void>(close());  // the error is said; the next read begins anew
        return agreed;
    }
    if (bytes_read != region.size_bytes())
        local = {ErrorCode::format, path + ": the file has become shorter than it says"};
    return mpi::agree(comm_, local);
}

Status OpenedFile::read_alone(const std::string& path, std::int64_t offset_bytes, const Destination& to) {
    if (to.memory.empty()) return {};
    if (path_ != path) {
        Result<storage::FilePtr> opened = storage::open_file(path, {});
        if (!opened.ok()) return opened.status();
        file_ = std::move(opened).value();
        path_ = path;
    }
    return read_region(*file_, region_of(to, offset_bytes), to.origin, to.memory);
}

}  // namespace hakobi::input
