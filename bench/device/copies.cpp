#include "copies.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace hakobi::bench {
namespace {

enum class Way { to_host, to_device, within };
constexpr std::int64_t word = 8;
constexpr unsigned char untouched = 0xee;

std::uint64_t value_at(std::int64_t index, int round) {
    return static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(round);
}

/// The memory of a case, of which each entrant uses its part.
struct CopyMemory {
    DeviceSite& site;
    BlockShape shape;
    LockedArray host_array, host_block;
    device::Buffer device_array, device_block;

    static std::shared_ptr<CopyMemory> make(DeviceSite& site, const BlockShape& shape) {
        const auto locked = [&](std::int64_t bytes) {
            return agreed(site.comm, LockedArray::make(site.device, bytes));
        };
        const auto on_device = [&](std::int64_t bytes) {
            return agreed(site.comm, device::Buffer::on(site.device, bytes));
        };
        return std::make_shared<CopyMemory>(CopyMemory{site, shape, locked(shape.array_bytes()),
                                                       locked(shape.bytes()), on_device(shape.array_bytes()),
                                                       on_device(shape.bytes())});
    }

    /// Calls `action(offset in the array, offset in the block)` for each row.
    template <class Action>
    void for_rows(Action action) const {
        for (std::int64_t p = 0; p < shape.num_planes; ++p)
            for (std::int64_t r = 0; r < shape.num_rows; ++r)
                action(p * shape.plane_bytes() + r * shape.pitch_bytes(),
                       (p * shape.num_rows + r) * shape.row_bytes);
    }
    [[nodiscard]] std::array<std::int64_t, 2> in_array() const {
        return {shape.plane_bytes(), shape.pitch_bytes()};
    }
    [[nodiscard]] std::array<std::int64_t, 2> in_block() const {
        return {shape.num_rows * shape.row_bytes, shape.row_bytes};
    }
};

class CopyEntrant : public DeviceEntrant {
  public:
    explicit CopyEntrant(std::shared_ptr<CopyMemory> memory) : memory_(std::move(memory)) {}

    void fill(int round) override {
        CopyMemory& m = *memory_;
        // The block's values say where they are in the block, wherever it lies.
        std::memset(m.host_array.data(), untouched, static_cast<std::size_t>(m.shape.array_bytes()));
        m.for_rows([&](std::int64_t in_array, std::int64_t in_block) {
            auto* const row = reinterpret_cast<std::uint64_t*>(m.host_array.data() + in_array);
            for (std::int64_t i = 0; i < m.shape.row_bytes / word; ++i)
                row[i] = value_at(in_block / word + i, round);
        });
        m.site.copy(m.device_array.data(), m.host_array.data(), m.shape.array_bytes());
        fill_host_block(round);
        m.site.copy(m.device_block.data(), m.host_block.data(), m.shape.bytes());
        clear_destination(round);
    }

  protected:
    /// Makes the bytes that a run must write others.
    virtual void clear_destination(int round) = 0;

    void fill_host_block(int round) {
        auto* const block = memory_->host_block.as<std::uint64_t>();
        for (std::int64_t i = 0; i < memory_->shape.bytes() / word; ++i) block[i] = value_at(i, round);
    }
    void clear_host_block() {
        std::memset(memory_->host_block.data(), untouched, static_cast<std::size_t>(memory_->shape.bytes()));
    }
    [[nodiscard]] std::int64_t count_wrong_in_host_block(int round) const {
        const auto* const block = memory_->host_block.as<std::uint64_t>();
        std::int64_t num_wrong = 0;
        for (std::int64_t i = 0; i < memory_->shape.bytes() / word; ++i)
            num_wrong += block[i] != value_at(i, round);
        return num_wrong;
    }
    void clear_device_block() {
        clear_host_block();
        memory_->site.copy(memory_->device_block.data(), memory_->host_block.data(), memory_->shape.bytes());
    }
    [[nodiscard]] std::int64_t count_wrong_in_device_block(int round) const {
        memory_->site.copy(memory_->host_block.data(), memory_->device_block.data(), memory_->shape.bytes());
        return count_wrong_in_host_block(round);
    }
    std::shared_ptr<CopyMemory> memory_;
};

class DriverOwn final : public CopyEntrant {
  public:
    DriverOwn(std::shared_ptr<CopyMemory> memory, Way way) : CopyEntrant(std::move(memory)), way_(way) {}
    void clear_destination(int round) override {
        if (way_ == Way::to_host) clear_host_block();
        if (way_ == Way::to_device) {
            clear_device_block();
            fill_host_block(round);
        }
    }
    void run() override {
        CopyMemory& m = *memory_;
        std::byte* const host = m.host_block.data();
        std::byte* const device = m.device_block.data();
        switch (way_) {
            case Way::to_host:
                return m.site.copy(host, device, m.shape.bytes());
            case Way::to_device:
                return m.site.copy(device, host, m.shape.bytes());
            case Way::within:
                return m.site.copy(device, m.device_array.data(), m.shape.bytes());
        }
    }
    std::int64_t count_wrong(int round) override {
        if (way_ == Way::within) return 0;  // bytes of the array as they lie there: no block
        return way_ == Way::to_host ? count_wrong_in_host_block(round) : count_wrong_in_device_block(round);
    }

  private:
    Way way_;
};

class QueueOwn final : public CopyEntrant {
  public:
    QueueOwn(std::shared_ptr<CopyMemory> memory, Way way) : CopyEntrant(std::move(memory)), way_(way) {
        CopyMemory& m = *memory_;
        copy_ = {.to = way == Way::to_host  ? m.host_block.data()
                       : way == Way::within ? m.device_block.data()
                                            : m.device_array.data(),
                 .from = way == Way::to_device ? m.host_block.data() : m.device_array.data(),
                 .length_bytes = m.shape.row_bytes,
                 .num = {m.shape.num_planes, m.shape.num_rows},
                 .to_strides_bytes = way == Way::to_device ? m.in_array() : m.in_block(),
                 .from_strides_bytes = way == Way::to_device ? m.in_block() : m.in_array()};
    }
    void clear_destination(int) override {
        if (way_ == Way::to_host) clear_host_block();
        if (way_ == Way::within) clear_device_block();
        if (way_ == Way::to_device) {
            CopyMemory& m = *memory_;
            std::memset(m.host_array.data(), untouched, static_cast<std::size_t>(m.shape.array_bytes()));
            m.site.copy(m.device_array.data(), m.host_array.data(), m.shape.array_bytes());
        }
    }
    void run() override {
        must(memory_->site.queue->start(copy_));
        must(memory_->site.queue->finish());
    }
    std::int64_t count_wrong(int round) override {
        if (way_ == Way::to_host) return count_wrong_in_host_block(round);
        if (way_ == Way::within) return count_wrong_in_device_block(round);
        CopyMemory& m = *memory_;
        m.site.copy(m.host_array.data(), m.device_array.data(), m.shape.array_bytes());
        std::int64_t num_touched = 0, num_wrong = 0;
        for (std::int64_t i = 0; i < m.shape.array_bytes(); ++i)
            num_touched += m.host_array.as<unsigned char>()[i] != untouched;
        m.for_rows([&](std::int64_t in_array, std::int64_t in_block) {
            auto* const row = reinterpret_cast<std::uint64_t*>(m.host_array.data() + in_array);
            for (std::int64_t i = 0; i < m.shape.row_bytes / word; ++i) {
                num_wrong += row[i] != value_at(in_block / word + i, round);
                for (std::int64_t b = 0; b < word; ++b)
                    num_touched -= reinterpret_cast<unsigned char*>(row + i)[b] != untouched;
            }
        });
        return num_wrong + num_touched;  // no ghost may be touched
    }

  private:
    Way way_;
    device::Copy copy_;
};

class PickedOnHost final : public CopyEntrant {
  public:
    using CopyEntrant::CopyEntrant;
    void clear_destination(int) override { clear_host_block(); }
    void run() override {
        CopyMemory& m = *memory_;
        m.site.copy(m.host_array.data(), m.device_array.data(), m.shape.array_bytes());
        m.for_rows([&](std::int64_t in_array, std::int64_t in_block) {
            std::memcpy(m.host_block.data() + in_block, m.host_array.data() + in_array,
                        static_cast<std::size_t>(m.shape.row_bytes));
        });
    }
    std::int64_t count_wrong(int round) override { return count_wrong_in_host_block(round); }
};

std::string bytes_text(std::int64_t bytes) {
    for (const auto& [unit, name] : {std::pair{std::int64_t{1} << 30, " GiB"},
                                     {std::int64_t{1} << 20, " MiB"},
                                     {std::int64_t{1} << 10, " KiB"}}) {
        if (bytes >= unit && bytes % unit == 0) return std::to_string(bytes / unit) + name;
    }
    return std::to_string(bytes) + " bytes";
}

}  // namespace

std::vector<BlockShape> block_shapes(std::int64_t bytes, std::span<const std::int64_t> rows) {
    const std::int64_t whole = std::max(word, bytes / word * word);
    std::vector<BlockShape> shapes{{.row_bytes = whole}};
    constexpr std::int64_t rows_per_plane = 64;
    for (const std::int64_t row : rows) shapes.push_back({row, std::max<std::int64_t>(2, whole / row)});
    for (const std::int64_t row : rows)
        shapes.push_back({row, rows_per_plane, std::max<std::int64_t>(2, whole / row / rows_per_plane)});
    return shapes;
}

std::vector<DeviceCase> copy_cases(DeviceSite& site, const BlockShape& shape) {
    const auto memory = CopyMemory::make(site, shape);
    const std::int64_t bytes = shape.bytes() * site.comm.size();
    const int num_dims = shape.num_planes > 1 ? 3 : shape.num_rows > 1 ? 2 : 1;
    std::vector<DeviceCase> cases;
    for (const auto& [way, name] : {std::pair{Way::to_host, "device to host"},
                                    {Way::to_device, "host to device"},
                                    {Way::within, "device to itself"}}) {
        DeviceCase& made = cases.emplace_back();
        made.text = std::string("copy, ") + name + ", " + bytes_text(shape.bytes()) + " a rank, " +
                    (num_dims == 1 ? "one piece"
                                   : std::to_string(num_dims) + "-D, rows of " + bytes_text(shape.row_bytes));
        made.facts["part"] = "copies";
        made.facts["way"] = name;
        made.facts["dims"] = num_dims;
        made.facts["bytes"] = shape.bytes();
        made.facts["row_bytes"] = shape.row_bytes;
        made.entrants.push_back(
            {"driver, one piece", Role::floor, bytes, std::make_unique<DriverOwn>(memory, way)});
        made.entrants.push_back({"hakobi", Role::ours, bytes, std::make_unique<QueueOwn>(memory, way)});
        if (num_dims > 1 && way == Way::to_host)
            made.entrants.push_back(
                {"array, picked on host", Role::rival, bytes, std::make_unique<PickedOnHost>(memory)});
    }
    return cases;
}

}  // namespace hakobi::bench
