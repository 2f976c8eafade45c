// A recorded program's trace, as hakobi-replay reads it before it starts anything.
#include "input.hpp"
#include "replay.hpp"
#include "replayable.hpp"

using namespace hakobi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::FileOf file(fuzz::Input(data, size).bytes());
    const auto traces = bench::read_traces(file.path(), {0, 1, 2});
    if (!traces.ok()) return 0;
    (void)bench::why_it_hangs(traces.value());
    for (const bench::RankTrace& trace : traces.value()) {
        const bench::AddressMap map(trace.events);
        fuzz::require(bench::scratch_bytes(trace) >= 0 && map.size_bytes() >= 0);
        for (const bench::TraceEvent& event : trace.events) {
            const std::int64_t at = map.offset(event.address);
            fuzz::require(at >= 0 && (at == 0 || at < map.size_bytes()));
        }
    }
    return 0;
}
