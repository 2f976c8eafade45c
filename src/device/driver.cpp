#include "device/driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <utility>

#include "device/buffer.hpp"
#include "device/copy_list.hpp"

namespace hakobi::device {

namespace {

// Flags with the same value in CUDA and HIP.
constexpr unsigned stream_non_blocking = 1, event_without_timing = 2, ipc_lazy_peer_access = 1;
/// Both drivers clamp it to their range. Our kernel then begins between the blocks of a program's kernel, not
/// behind them.
constexpr int highest_priority = -1000;
constexpr unsigned register_portable = 1, register_mapped = 2;  // the latter: for kernels

ErrorCode code_of(int error) {
    switch (error) {
        case out_of_device_memory:
            return ErrorCode::out_of_memory;
        case invalid_value:
        case invalid_handle:
        case invalid_context:
        case context_is_destroyed:
            return ErrorCode::invalid_argument;
        case not_permitted:
        case not_supported:
            return ErrorCode::unsupported;
        default:
            return ErrorCode::io;
    }
}

/// Errors of a question about an address that mean: the program does not use this driver, or the address is
/// not its.
bool is_ignorance(int error) {
    switch (error) {
        case invalid_value:
        case not_initialized:
        case deinitialized:
        case no_device:
        case invalid_device:
        case invalid_context:
            return true;
        default:
            return false;
    }
}

/// From the first byte of a side to behind its last.
std::int64_t span_bytes(const Copy& copy, const std::array<std::int64_t, 2>& strides_bytes) {
    return (copy.num[0] - 1) * strides_bytes[0] + (copy.num[1] - 1) * strides_bytes[1] + copy.length_bytes;
}
/// Whether bytes from an address on are in its allocation, as far as the driver knows.
bool holds(const Pointer& pointer, const std::byte* address, std::int64_t bytes) {
    return !pointer.is_device || pointer.size_bytes == 0 ||
           address + bytes <= pointer.begin + pointer.size_bytes;
}

/// The device, or a stream's, is the current one of this thread while this lives.
class Current {
  public:
    Current(Driver& driver, int device) : driver_(driver), result_(driver.enter(device, &before_)) {}
    Current(Driver& driver, int device, void* stream)
        : driver_(driver), result_(driver.enter_stream(stream, device, &before_, &stream_device_)) {}
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current() {
        if (result_ == 0) driver_.leave(before_);
    }
    [[nodiscard]] int result() const noexcept { return result_; }
    [[nodiscard]] int stream_device() const noexcept { return stream_device_; }

  private:
    Driver& driver_;
    Before before_;
    int stream_device_ = -1;
    int result_;  // last: made by what is before it
};

/// An event of a driver.
class Event final : public Mark {
  public:
    Event(Driver& driver, int device) : driver_(driver), device_(device) {}
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() override {
        if (!event_) return;
        const Current current(driver_, device_);
        if (!current.result()) driver_.calls().event_destroy(event_);
    }
    /// Makes it and puts it into a stream, whose device is current.
    [[nodiscard]] int record(void* stream) {
        int result = event_ ? 0 : driver_.calls().event_create(&event_, event_without_timing);
        return result ? result : driver_.calls().event_record(event_, stream);
    }
    [[nodiscard]] void* get() const noexcept { return event_; }

    Result<bool> is_over() override {
        const Current current(driver_, device_);
        const int result = current.result() ? current.result() : driver_.calls().event_query(event_);
        if (result == not_ready) return false;
        if (Status status = driver_.status_of(result, "work of a device"); !status.ok()) return status;
        return true;
    }

  private:
    Driver& driver_;
    int device_;
    void* event_ = nullptr;
};

struct DriverCopyList final : CopyList {
    void* kernel = nullptr;
    Buffer tiles;  // on the device
    unsigned num_tiles = 0;
    std::vector<Copy> commands;
};

class DriverQueue final : public Queue {
  public:
    DriverQueue(Driver& driver, int device, std::int64_t max_pitch_bytes)
        : driver_(driver), device_(device), max_pitch_bytes_(max_pitch_bytes) {}
    DriverQueue(const DriverQueue&) = delete;
    DriverQueue& operator=(const DriverQueue&) = delete;
    ~DriverQueue() override {
        const Current current(driver_, device_);
        if (!stream_ || current.result()) return;
        driver_.calls().stream_synchronize(stream_);
        driver_.calls().stream_destroy(stream_);
    }

    Status open() {
        const Current current(driver_, device_);
        int result = current.result();
        if (!result) result = driver_.calls().stream_create(&stream_, stream_non_blocking, highest_priority);
        return driver_.status_of(result, "making a stream");
    }

    Status begin_after(DeviceStream stream) override {
        Event event(driver_, device_);
        {
            const Current theirs(driver_, device_, stream);
            Status status = check(theirs, stream);
            if (!status.ok()) return status;
            status = driver_.status_of(event.record(stream), "waiting for a stream");
            if (!status.ok()) return status;
        }
        const Current current(driver_, device_);
        int result = current.result();
        if (!result) result = driver_.calls().stream_wait_event(stream_, event.get(), 0);
        return driver_.status_of(result, "waiting for a stream");
    }

    Status hold_back(DeviceStream stream) override {
        Event event(driver_, device_);
        {
            const Current current(driver_, device_);
            const int result = current.result() ? current.result() : event.record(stream_);
            if (Status status = driver_.status_of(result, "holding a stream back"); !status.ok())
                return status;
        }
        const Current theirs(driver_, device_, stream);
        Status status = check(theirs, stream);
        if (!status.ok()) return status;
        return driver_.status_of(driver_.calls().stream_wait_event(stream, event.get(), 0),
                                 "holding a stream back");
    }

    Status start(const CopyList& given) override {
        const auto& list = static_cast<const DriverCopyList&>(given);
        if (list.num_tiles > 0) {
            const Current current(driver_, device_);
            int result = current.result();
            if (!result) result = driver_.launch(list.kernel, list.num_tiles, list.tiles.data(), stream_);
            if (Status status = driver_.status_of(result, "copying"); !status.ok()) return status;
        }
        for (const Copy& copy : list.commands)
            if (Status status = start(copy); !status.ok()) return status;
        return {};
    }
    Status start(const Copy& copy) override {
        if (copy.size_bytes() <= 0) return {};
        for (const std::size_t dimension : {0, 1}) {
            const std::int64_t nearest =
                std::min(copy.to_strides_bytes[dimension], copy.from_strides_bytes[dimension]);
            if (copy.num[dimension] > 1 && nearest < copy.length_bytes) return start_apart(copy, dimension);
        }
        const Current current(driver_, device_);
        Pointer to, from;
        int result = current.result();
        if (!result) result = driver_.point(copy.to, &to);
        if (!result) result = driver_.point(copy.from, &from);
        // The driver would take an address that it does not know for the host's, and access it.
        if (!result && !to.is_device && !from.is_device)
            return {ErrorCode::invalid_argument, "copying: none of the addresses is the device's (any more)"};
        const bool is_one_run = copy.num[0] * copy.num[1] == 1;
        if (!result && !is_one_run &&
            !(holds(to, copy.to, span_bytes(copy, copy.to_strides_bytes)) &&
              holds(from, copy.from, span_bytes(copy, copy.from_strides_bytes))))
            return start_apart(copy, copy.num[0] > 1 ? 0 : 1);
        const RowParts parts(copy, max_pitch_bytes_);
        for (std::int64_t part = 0; part < parts.num() && !result; ++part)
            result = driver_.copy(parts[part], {to.is_device, from.is_device}, stream_);
        return driver_.status_of(result, "copying");
    }

    Result<std::unique_ptr<Mark>> mark() override {
        auto event = std::make_unique<Event>(driver_, device_);
        const Current current(driver_, device_);
        const int result = current.result() ? current.result() : event->record(stream_);
        if (Status status = driver_.status_of(result, "marking a stream"); !status.ok()) return status;
        return Result<std::unique_ptr<Mark>>(std::move(event));
    }

    Status finish() override {
        const Current current(driver_, device_);
        const int result = current.result() ? current.result() : driver_.calls().stream_synchronize(stream_);
        return driver_.status_of(result, "work of a device");
    }

  private:
    /// Copies in parts what a driver does not copy at once: runs that meet, or that lie in several
    /// allocations.
    Status start_apart(Copy copy, std::size_t dimension) {
        Status status;
        for (std::int64_t left = std::exchange(copy.num[dimension], 1); left > 0 && status.ok(); --left) {
            status = start(copy);
            copy.to += copy.to_strides_bytes[dimension];
            copy.from += copy.from_strides_bytes[dimension];
        }
        return status;
    }

    /// Whether `stream`, which is current as `theirs`, may be put in an order with this queue.
    Status check(const Current& theirs, void* stream) const {
        int status = 0, result = theirs.result();
        if (!result) result = driver_.calls().stream_is_capturing(stream, &status);
        if (result) return driver_.status_of(result, "the field's stream");
        if (theirs.stream_device() != device_)
            return {ErrorCode::invalid_argument, "a stream of " + std::string(driver_.name()) + " device " +
                                                     std::to_string(theirs.stream_device()) +
                                                     " with memory of device " + std::to_string(device_)};
        if (status) return {ErrorCode::invalid_argument, "a stream that is being captured for a graph"};
        return {};
    }

    Driver& driver_;
    int device_;
    std::int64_t max_pitch_bytes_;
    void* stream_ = nullptr;
};

class DriverDevice final : public Device {
  public:
    DriverDevice(Driver& driver, int number) : driver_(driver), number_(number) {}

    Status open() {
        std::array<char, 256> name{};
        int pitch = 0;
        int result = driver_.calls().device_name(name.data(), static_cast<int>(name.size()) - 1, number_);
        if (!result) result = driver_.calls().device_uuid(uuid_.data(), number_);
        if (!result)
            result = driver_.calls().device_attribute(&pitch, driver_.max_pitch_attribute(), number_);
        text_ = std::string(driver_.name()) + " device " + std::to_string(number_) + " (" + name.data() + ")";
        max_pitch_bytes_ = pitch - 1;  // HIP wants less than it says
        return driver_.status_of(result, "asking for a device");
    }

    [[nodiscard]] int number() const override { return number_; }
    [[nodiscard]] std::string_view driver() const override { return driver_.name(); }
    [[nodiscard]] std::string text() const override { return text_; }
    [[nodiscard]] std::array<std::byte, 16> uuid() const override { return uuid_; }

    Result<std::unique_ptr<Queue>> make_queue() override {
        auto queue = std::make_unique<DriverQueue>(driver_, number_, max_pitch_bytes_);
        if (Status status = queue->open(); !status.ok()) return status;
        return Result<std::unique_ptr<Queue>>(std::move(queue));
    }

    Result<std::unique_ptr<CopyList>> prepare(std::span<const Copy> copies) override {
        auto list = std::make_unique<DriverCopyList>();
        Division division;
        {
            const Current current(driver_, number_);
            if (!current.result()) list->kernel = driver_.copy_kernel(number_);
            std::vector<Placed> placed;
            for (const Copy& copy : copies) placed.push_back(place(copy, list->kernel != nullptr));
            division = divide(placed, max_pitch_bytes_);
        }
        const auto bytes = static_cast<std::int64_t>(division.tiles.size() * sizeof(Tile));
        auto tiles = bytes > 0 ? Buffer::on(*this, bytes) : Result<Buffer>(Buffer());
        if (bytes == 0 || !tiles.ok()) {  // commands need no memory
            list->commands.assign(copies.begin(), copies.end());
            return Result<std::unique_ptr<CopyList>>(std::move(list));
        }
        auto queue = make_queue();
        if (!queue.ok()) return queue.status();
        Status status =
            queue.value()->start({.to = tiles.value().data(),
                                  .from = reinterpret_cast<const std::byte*>(division.tiles.data()),
                                  .length_bytes = bytes});
        status.keep_first(queue.value()->finish());
        if (!status.ok()) return status;
        list->tiles = std::move(tiles).value();
        list->num_tiles = static_cast<unsigned>(division.tiles.size());
        list->commands = std::move(division.commands);
        return Result<std::unique_ptr<CopyList>>(std::move(list));
    }

    Result<std::byte*> allocate(std::int64_t bytes) override {
        const Current current(driver_, number_);
        void* memory = nullptr;
        int result = current.result();
        if (!result) result = driver_.calls().memory_alloc(&memory, static_cast<std::size_t>(bytes));
        Status status =
            driver_.status_of(result, "allocating " + std::to_string(bytes) + " bytes on " + text_);
        if (!status.ok()) return status;
        return static_cast<std::byte*>(memory);
    }
    void release(std::byte* memory) noexcept override {
        const Current current(driver_, number_);
        if (!current.result()) driver_.calls().memory_free(memory);
    }

    Status lock_pages(std::byte* memory, std::int64_t bytes) override {
        const Current current(driver_, number_);
        const std::lock_guard lock(mutex_);
        if (const auto locked = locked_.find(memory); locked != locked_.end()) {
            ++locked->second;
            return {};
        }
        int result = current.result();
        if (!result)
            result = driver_.calls().host_register(memory, static_cast<std::size_t>(bytes),
                                                   register_portable | register_mapped);
        if (result == already_registered) return {};
        if (!result) locked_[memory] = 1;
        return driver_.status_of(result, "locking " + std::to_string(bytes) + " bytes of host memory");
    }
    void unlock_pages(std::byte* memory) noexcept override {
        const Current current(driver_, number_);
        const std::lock_guard lock(mutex_);
        const auto locked = locked_.find(memory);
        if (locked == locked_.end() || --locked->second) return;
        locked_.erase(locked);
        if (!current.result()) driver_.calls().host_unregister(memory);
    }

    Result<SharedHandle> share(const std::byte* memory) override {
        const Current current(driver_, number_);
        Pointer pointer;
        int result = current.result() ? current.result() : driver_.point(memory, &pointer);
        IpcBytes bytes{};
        if (!result && !pointer.is_device) result = invalid_value;
        if (!result && !pointer.can_be_shared) result = not_supported;
        if (!result) result = driver_.calls().ipc_get(&bytes, const_cast<std::byte*>(pointer.begin));
        if (Status status = driver_.status_of(result, "sharing memory of " + text_); !status.ok())
            return status;
        return SharedHandle{.bytes = bytes.bytes, .offset_bytes = memory - pointer.begin, .device = number_};
    }
    Result<std::byte*> open_shared(const SharedHandle& handle) override {
        const Current current(driver_, number_);
        void* begin = nullptr;
        int result = current.result();
        if (!result) result = driver_.calls().ipc_open(&begin, {handle.bytes}, ipc_lazy_peer_access);
        Status status = driver_.status_of(result, "opening another process's memory of a device");
        if (!status.ok()) return status;
        std::byte* memory = static_cast<std::byte*>(begin) + handle.offset_bytes;
        const std::lock_guard lock(mutex_);
        opened_.emplace(memory, begin);
        return memory;
    }
    void close_shared(std::byte* memory) noexcept override {
        const Current current(driver_, number_);
        const std::lock_guard lock(mutex_);
        const auto opened = opened_.find(memory);
        if (opened == opened_.end()) return;
        if (!current.result()) driver_.calls().ipc_close(opened->second);
        opened_.erase(opened);
    }

  private:
    /// The engine reports what this cannot learn. The device is current.
    [[nodiscard]] Placed place(const Copy& copy, bool has_kernel) const {
        Pointer to, from;
        const bool is_known = has_kernel && driver_.point(copy.to, &to) == 0 &&
                              driver_.point(copy.from, &from) == 0 && (to.is_device || from.is_device);
        const bool is_reached =
            is_known && driver_.is_reached_by_kernels(copy.to) && driver_.is_reached_by_kernels(copy.from);
        return {copy, !to.is_device || !from.is_device, is_reached};
    }

    Driver& driver_;
    int number_;
    std::string text_;
    std::array<std::byte, 16> uuid_{};
    std::int64_t max_pitch_bytes_ = 0;
    std::mutex mutex_;
    std::map<std::byte*, int> locked_;         // by us; how often
    std::multimap<std::byte*, void*> opened_;  // what open_shared gave, and where its allocation begins
};

}  // namespace

bool Driver::find(bool load) {
    if (is_found_) return true;
    const std::lock_guard lock(mutex_);
    if (is_found_) return true;
    for (const char* library : libraries())
        if (!library_) library_ = ::dlopen(library, RTLD_NOW | RTLD_LOCAL | (load ? 0 : RTLD_NOLOAD));
    if (!library_) return false;
    int version = 0;
    const char* missing = resolve(calls_, &version);
    const std::string driver = std::string(name()) + ' ' + version_text(version);
    if (version < needed_version())
        refusal_ = driver + ": " + version_text(needed_version()) + " is needed";
    else if (missing)
        refusal_ = driver + ": its library has no " + missing;
    is_found_ = true;
    return true;
}

void* Driver::symbol_address(const char* symbol) const {
    return ::dlsym(library_, symbol);
}

Status Driver::status_of(int result, std::string_view what) const {
    if (result == 0) return {};
    return {code_of(result), std::string(what) + ": " + std::string(name()) + ": " + error_text(result)};
}

Result<Device*> Driver::device_of(const std::byte* address, std::int64_t bytes) {
    Pointer pointer;
    for (const std::byte* end : {address, address + bytes - 1}) {
        const int result = point(end, &pointer);
        if (is_ignorance(result)) return nullptr;
        if (Status status = status_of(result, "asking whose memory this is"); !status.ok()) return status;
        if (pointer.is_device) break;
    }
    if (!pointer.is_device) return nullptr;
    if (!refusal_.empty()) return Status(ErrorCode::unsupported, refusal_);
    const bool is_inside = address >= pointer.begin && address + bytes <= pointer.begin + pointer.size_bytes;
    if (pointer.size_bytes > 0 && !is_inside)
        return Status(ErrorCode::invalid_argument, std::to_string(bytes) + " bytes that lie only partly in " +
                                                       std::to_string(pointer.size_bytes) + " bytes of " +
                                                       std::string(name()) + " device " +
                                                       std::to_string(pointer.device));
    if (Status status = make_devices(); !status.ok()) return status;
    if (pointer.device < 0 || pointer.device >= static_cast<int>(devices_.size()))
        return status_of(invalid_device, "asking whose memory this is");
    return devices_[pointer.device].get();
}

Result<std::vector<Device*>> Driver::devices() {
    if (Status status = make_devices(); !status.ok()) return status;
    std::vector<Device*> devices;
    for (const auto& device : devices_) devices.push_back(device.get());
    return devices;
}

Status Driver::make_devices() {
    if (has_devices_) return {};
    if (!refusal_.empty()) return {ErrorCode::unsupported, refusal_};
    const std::lock_guard lock(mutex_);
    if (has_devices_) return {};
    int num = 0;
    int result = calls_.init(0);
    if (!result) result = calls_.device_count(&num);
    if (result && result != no_device) return status_of(result, "looking for devices");
    devices_.clear();
    for (int number = 0; number < num; ++number) {
        auto device = std::make_unique<DriverDevice>(*this, number);
        if (Status status = device->open(); !status.ok()) return status;
        devices_.push_back(std::move(device));
    }
    has_devices_ = true;
    return {};
}

}  // namespace hakobi::device
