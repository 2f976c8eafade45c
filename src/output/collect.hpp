#pragma once

#include <vector>

#include "output/hidden_writer.hpp"
#include "output/method.hpp"

namespace hakobi::output {

/// The common part of `root` and `writers`: ranks in groups of `stride` neighbours whose first rank writes
/// for all of them.
///
/// 1. Where regions are new, each member tells its writer where its values go.
/// 2. Array by array the writer asks members for the next n bytes of their values (assemble.hpp says which,
///    so that they fit its buffer), and a member sends no byte that was not asked for: nothing piles up at
///    the writer.
/// 3. A writer that fails asks for -1, once, from every member that is not through: that one stops sending.
/// 4. All ranks agree.
///
/// Hidden, the writer's file is a HiddenFile: 2 ends when all values are copied, and `wait` agrees on what
/// storage said. The writer's receipt is written last (receipts.hpp).
class Collector final : public Method {
  public:
    Collector(const MethodSettings& settings, int stride);

    [[nodiscard]] bool writes_metadata() const override { return is_hidden_; }
    Status prepare(const Step& step) override;
    mpi::Agreed write(const Step& step) override;
    [[nodiscard]] int num_hidden() const override { return hidden_.num(); }
    [[nodiscard]] int num_stored() const override { return hidden_.num_stored(); }
    [[nodiscard]] int most_hidden() const override { return HiddenFiles::most; }
    mpi::Agreed wait(double& stored_s) override;
    void abandon(const Step& step) override;

  private:
    void exchange_regions(const Step& step);
    Status write_group(const Step& step);
    Status write_fields(const Step& step, std::vector<std::int64_t>& owed);
    void serve(const Step& step) const;

    Comm comm_;
    int writer_ = 0;
    int num_members_ = 1;
    std::int64_t buffer_bytes_;
    int stride_;
    bool sync_;
    bool is_hidden_;
    std::unique_ptr<std::byte[]> buffer_;       // on writers
    std::vector<std::vector<Region>> regions_;  // on writers: [part][member], in the file
    HiddenFiles hidden_;
};

/// Rank 0 writes for everybody: one group.
Result<std::unique_ptr<Method>> make_root(const MethodSettings& settings);
/// Every n-th rank writes. Chosen: one rank in four, and at least one a node, since messages to a writer on
/// the same node are copies through memory.
Result<std::unique_ptr<Method>> make_writers(const MethodSettings& settings);

}  // namespace hakobi::output
