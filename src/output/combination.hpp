#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "base/status.hpp"
#include "filter/filters.hpp"
#include "format/format.hpp"
#include "output/method.hpp"
#include "storage/place.hpp"

namespace hakobi::output {

/// An Output that is asked for, as far as its parts may not go together.
struct Asked {
    const format::Format* format = nullptr;
    const MethodEntry* method = nullptr;
    std::string_view prefix = {};  ///< for messages
    storage::PlaceLimits place = {};
    std::int64_t steps_per_file = 1;
    bool insists_on_steps =
        false;  ///< an option asks for them, not the environment, which speaks of all outputs
    std::string_view compression = {};  ///< for messages
    filter::Codec codec = filter::Codec::none;
    bool overview = false;
    std::string_view stage = {};  ///< its folder; "": none
    int num_nodes = 1;
};

/// The answer to it.
struct Combination {
    std::int64_t steps_per_file = 1;
    std::string_view stage = {};  ///< steps go over it; "": none
};

/// The one table of what goes with what: format, method, place, steps a file, compression, overview and
/// stage. unsupported, with the first rule that the wish breaks, in a sentence for the user. Pure; equal on
/// all ranks.
Result<Combination> combine(const Asked& asked);

/// unsupported where files of the format hold no fields that are compressed so: a field may ask for it, too.
/// Pure.
Status check_codec(const format::Format& format, filter::Codec codec);

}  // namespace hakobi::output
