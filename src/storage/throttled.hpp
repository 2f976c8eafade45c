#pragma once

#include "storage/file.hpp"
#include "storage/service_model.hpp"

namespace hakobi::storage {

/// `inner`, its reads and writes delayed to the times of `model`. All throttled files of one process with
/// equal models share one set of servers (for servers shared by all ranks: the preloaded library in
/// bench/storage_model). open_file makes one from "throttled:servers=4,latency=2ms:PATH", where PATH may have
/// a prefix of its own.
FilePtr make_throttled(FilePtr inner, const ServiceModel& model);

}  // namespace hakobi::storage
