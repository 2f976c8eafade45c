#pragma once

#include <hakobi.h>

#include <hakobi/input.hpp>
#include <hakobi/output.hpp>

// Options and attributes of the C interface in C++'s words. All throw invalid_argument for what is none.
namespace hakobi::capi {

[[nodiscard]] OutputOptions output_options_of(const hakobi_output_options* given);
[[nodiscard]] InputOptions input_options_of(const hakobi_input_options* given);
[[nodiscard]] Attributes attributes_of(const hakobi_attribute* first, std::int64_t num);
[[nodiscard]] Memory memory_called(std::int64_t value);

}  // namespace hakobi::capi
