#include "output/own_series.hpp"

#include <utility>

#include "base/bytes.hpp"
#include "base/guard.hpp"
#include "mpi/messages.hpp"
#include "series/series.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"

namespace hakobi::output {

mpi::Agreed OwnSeries::claim(const Setup& setup, Status local) noexcept {
    prefix_ = setup.prefix;
    extension_ = setup.format->extension();
    is_rank_0_ = setup.is_rank_0();
    if (is_rank_0_ && local.ok()) local = guarded("Output::create", [&] { return claim_here(setup); });
    if (mpi::Agreed agreed = mpi::agree(setup.comm, local); !agreed.status.ok()) return agreed;
    ByteWriter writer;
    writer.put(run_);
    writer.put(next_step_);
    writer.put(last_file_);
    std::vector<std::byte> bytes = writer.take();
    mpi::broadcast(setup.comm, bytes, 0);
    ByteReader reader(bytes);
    run_ = reader.get<series::RunId>();
    next_step_ = reader.get<std::int64_t>();
    last_file_ = reader.get<std::int64_t>();
    return {};
}

Status OwnSeries::claim_here(const Setup& setup) {
    run_ = series::random_run_id();
    if (!setup.method->writes()) return {};
    if (setup.options.overview && storage::system_path(prefix_).empty())
        return {ErrorCode::unsupported,
                "output prefix '" + prefix_ + "': overviews are made beside files, not in an object store"};
    Result<series::Claim> claimed =
        series::claim_series(prefix_, extension_, setup.options.if_exists, setup.options.buffer_bytes);
    if (!claimed.ok()) return claimed.status();
    series::Claim& claim = claimed.value();
    lock_ = std::move(claim.lock);
    next_step_ = claim.next_step();
    const bool takes_several = setup.steps_per_file > 1;
    if (takes_several && !claim.earlier.empty() && claim.earlier.back().num_steps < setup.steps_per_file)
        last_file_ = claim.earlier.back().step;
    view_ = series::SeriesView(prefix_, *setup.format, claim.earlier);
    if (takes_several) view_.let_last_grow();
    Result<series::Resumed> last = series::Resumed::read(*setup.format, std::move(claim.earlier));
    if (!last.ok()) return last.status();
    resumed_ = std::move(last).value();
    return {};
}

void OwnSeries::name_next(series::Step& step) const {
    step.run = run_;
    step.number = next_step_;
    step.path = series::step_path(prefix_, next_step_, extension_);
    step.part_path = series::part_path(step.path, series::token(run_, next_step_));
}

Status OwnSeries::check(const format::StepDescription& step) {
    if (Status differs = resumed_.check(step); !differs.ok()) return differs;
    resumed_ = {};
    return {};
}

void OwnSeries::expect(const series::Step& step) {
    if (is_rank_0_) view_.expect(step.number, step.path, step.description);
}

void OwnSeries::show(std::int64_t number, bool sync) noexcept {
    if (!is_rank_0_) return;
    view_.complete(number);
    view_.write_now_and_then(sync);
}

void OwnSeries::end(const Setup& setup) noexcept {
    if (is_rank_0_) {
        if (!setup.method->writes_step_file()) view_.complete_found();
        view_.write(setup.options.sync);
    }
    lock_.release();
}

}  // namespace hakobi::output
