#pragma once

#include <cstddef>
#include <hakobi/output.hpp>
#include <hakobi/outputs.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "io/device_memory.hpp"
#include "output/held_field.hpp"

namespace hakobi::diagnostics {

/// A field that the program puts, and this rank's values of it in the open step. Local.
class Source {
  public:
    explicit Source(FieldDefinition definition) : definition_(std::move(definition)) {}

    [[nodiscard]] const FieldDefinition& definition() const { return definition_; }
    [[nodiscard]] bool is_static() const { return definition_.is_static; }

    void begin_step();
    /// The open step does not end: what was put in it is not there any more.
    void drop_step();
    /// Keeps where the block's values are; of a static field the values.
    void put(const Block& block, Field::Data data, const MemoryLayout& layout);
    [[nodiscard]] bool was_put() const { return !puts_.empty(); }
    /// How often a static field was put: an output that has seen fewer of them puts it again.
    [[nodiscard]] std::int64_t version() const { return version_; }
    /// The first mistake; it stays.
    [[nodiscard]] const Status& mistake() const { return mistake_; }
    void keep_mistake(Status status) { mistake_.keep_first(std::move(status)); }

    /// Puts them into an output's open step, as the program did.
    void forward(Output& output, FieldId field) const;
    /// Where the processor finds the step's values, in the order of the puts. Copies what a device has.
    Result<std::span<const output::HeldBlock>> on_host(const Comm& comm, io::DeviceMemory& device);

  private:
    struct Put {
        Block block;
        Field::Data data;
        MemoryLayout layout;
    };

    FieldDefinition definition_;
    std::vector<Put> puts_;  // of the open step, or of a static field the last ones
    std::vector<output::HeldBlock> held_;
    std::vector<std::vector<std::byte>> copies_;  // of a static field, or of what a device has
    bool is_on_host_ = false, is_step_new_ = false;
    std::int64_t version_ = 0;
    Status mistake_;
};

}  // namespace hakobi::diagnostics
