#pragma once

#include "storage/file.hpp"
#include "storage_model/service_model.hpp"

namespace hakobi::storage {

/// `inner`, its reads and writes delayed to the times of `model`. All throttled files of one process with
/// equal models share one set of servers (for servers shared by all ranks: the preloaded library in
/// interpose.cpp).
FilePtr make_throttled(FilePtr inner, const ServiceModel& model);

/// From now on open_file makes one from "throttled:servers=4,latency=2ms:PATH", where PATH may have a prefix
/// of its own.
void register_throttled();

}  // namespace hakobi::storage
