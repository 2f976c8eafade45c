#include "diagnostics/source.hpp"

#include <utility>
#include <variant>

#include "base/guard.hpp"
#include "device/device.hpp"

namespace hakobi::diagnostics {
namespace {

Field field_of(const FieldDefinition& definition, const Block& block, Field::Data data,
               const MemoryLayout& layout) {
    Field field{.name = definition.name, .block = block, .data = data};
    field.ghosts = layout.ghosts;
    field.strides = layout.strides;
    return field;
}

std::int64_t element_bytes(const Field::Data& data) {
    return std::visit([]<class T>(std::span<const T>) { return static_cast<std::int64_t>(sizeof(T)); }, data);
}

/// The values at `bytes`, with the type of `like`.
Field::Data data_at(const Field::Data& like, std::span<const std::byte> bytes) {
    return std::visit(
        [&]<class T>(std::span<const T>) {
            return Field::Data(std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)));
        },
        like);
}

}  // namespace

void Source::begin_step() {
    is_step_new_ = true;
    if (is_static()) return;
    puts_.clear();
    held_.clear();
    copies_.clear();
    is_on_host_ = false;
}

void Source::drop_step() {
    if (is_on_host_ && is_static()) return;
    puts_.clear();
    held_.clear();
}

void Source::put(const Block& block, Field::Data data, const MemoryLayout& layout) {
    const auto wrong = [&](const std::string& why) {
        keep_mistake({ErrorCode::invalid_argument, "field " + definition_.name + ": " + why});
    };
    Block given = block;
    const bool is_nothing = std::visit([](auto values) { return values.empty(); }, data);
    if (is_nothing && block.global.empty() && !definition_.global.empty()) {
        const std::vector<std::int64_t> zeros(definition_.global.size(), 0);
        given = {definition_.global, zeros, zeros};
    }
    if (data.index() != static_cast<std::size_t>(definition_.type) && !is_nothing)
        return wrong("its values have another type than it is defined with");
    if (!definition_.global.empty() && given.global != definition_.global)
        return wrong("its block is of an array with other extents than it is defined with");
    Result<output::HeldBlock> held = output::held_block(field_of(definition_, given, data, layout));
    if (!held.ok()) return wrong(held.status().text());
    if (is_static() && is_step_new_) {
        puts_.clear();
        held_.clear();
        copies_.clear();
        ++version_;
        is_step_new_ = false;
    }
    is_on_host_ = false;
    puts_.push_back({given, data, layout});
    held_.push_back(std::move(held).value());
}

void Source::forward(Output& output, FieldId field) const {
    for (const Put& put : puts_) output.put(field, put.block, put.data, put.layout);
}

Result<std::span<const output::HeldBlock>> Source::on_host(const Comm& comm, io::DeviceMemory& device) {
    if (is_on_host_) return std::span<const output::HeldBlock>(held_);
    Status status = guarded("end_step", [&]() -> Status {
        bool is_any_on_device = false;
        for (std::size_t p = 0; p < puts_.size(); ++p) {
            const std::int64_t bytes = output::reach_bytes(held_[p], element_bytes(puts_[p].data));
            Result<bool> found =
                device.add(held_[p].first, bytes, puts_[p].layout.memory, puts_[p].layout.stream);
            if (!found.ok()) return found.status();
            held_[p].is_on_device = found.value();
            is_any_on_device = is_any_on_device || found.value();
        }
        if (is_any_on_device)
            if (Status streams = device.finish(comm); !streams.ok()) return streams;
        for (std::size_t p = 0; p < puts_.size(); ++p) {
            if (!held_[p].is_on_device && !is_static()) continue;
            const std::int64_t bytes = element_bytes(puts_[p].data);
            std::vector<std::byte>& copy =
                copies_.emplace_back(static_cast<std::size_t>(output::num_values_of(held_[p].block) * bytes));
            held_[p] =
                output::copied(held_[p], bytes, copy.data(), held_[p].is_on_device ? &device : nullptr);
            if (is_static()) puts_[p] = {puts_[p].block, data_at(puts_[p].data, copy), {}};
        }
        return is_any_on_device ? device.finish(comm) : Status();
    });
    device.forget();
    if (!status.ok()) return Status(status.code(), "field " + definition_.name + ": " + status.text());
    is_on_host_ = true;
    return std::span<const output::HeldBlock>(held_);
}

}  // namespace hakobi::diagnostics
