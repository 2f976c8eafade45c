#pragma once

#include <hakobi.h>

#include <hakobi/input.hpp>
#include <hakobi/output.hpp>
#include <hakobi/outputs.hpp>
#include <vector>

// Options and attributes of the C interface in C++'s words. All throw invalid_argument for what is none.
namespace hakobi::capi {

[[nodiscard]] OutputOptions output_options_of(const hakobi_output_options* given);
[[nodiscard]] OutputsOptions outputs_options_of(const hakobi_outputs_options* given);
[[nodiscard]] std::vector<DerivedField> derived_fields_of(const hakobi_derived_field* first,
                                                          std::int64_t num);
[[nodiscard]] InputOptions input_options_of(const hakobi_input_options* given);
[[nodiscard]] Attributes attributes_of(const hakobi_attribute* first, std::int64_t num);
[[nodiscard]] Memory memory_called(std::int64_t value);

}  // namespace hakobi::capi
