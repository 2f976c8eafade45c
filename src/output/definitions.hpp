#pragma once

#include <cstdint>
#include <hakobi/field.hpp>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "format/packing.hpp"
#include "format/step.hpp"
#include "mpi/agree.hpp"
#include "output/setup.hpp"

namespace hakobi::output {

/// Says how the format stores `field`, in all but its extents: `packing` is set where that is in another
/// type. invalid_argument or unsupported where the field's compression or type in files is none that it could
/// have; it is described without it then.
Status describe_field(const Setup& setup, const Field& field, format::FieldDescription& description,
                      std::optional<format::Packing>& packing);

/// Whether the format's files hold fields where this one is, and the field has what one has there.
/// invalid_argument or unsupported, in words that follow "field x: ". Pure.
Status check_place(const format::Format& format, const Field& field);

/// The first of many numbers of fields (FieldId) that nobody else in this process has.
[[nodiscard]] std::int64_t next_first_field_id();

/// The fields that an Output has defined, each as `put` wants it but for a step's block and values.
class Definitions {
  public:
    explicit Definitions(const Setup& setup);

    /// Output::define. Collective; where it fails nothing is defined.
    mpi::Agreed define(const FieldDefinition& definition, FieldId& id) noexcept;
    /// The field with a block's values, good until the next call. invalid_argument where no such field is
    /// defined here, or its type or extents are others. Local.
    Result<const Field*> field(FieldId id, const Block& block, Field::Data data, const MemoryLayout& layout);

  private:
    struct Defined {
        Field field;  // its data are none, of the defined type
        std::vector<std::int64_t> global;
    };
    [[nodiscard]] Status check(const Defined& defined, format::StepDescription& step) const;

    const Setup& setup_;
    std::int64_t first_id_;  // no other Output of this process has it, nor those after it
    std::vector<Defined> defined_;
};

}  // namespace hakobi::output
