#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/collectives.hpp>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "collectives/schedule.hpp"
#include "mpi/message_context.hpp"

namespace hakobi::collectives {

/// Memory that is not touched before it is used.
class Memory {
  public:
    Memory() = default;
    /// out_of_memory where there is none.
    static Status allocate(std::int64_t bytes, Memory& memory);
    [[nodiscard]] std::byte* data() const noexcept { return data_.get(); }

  private:
    struct Free {
        void operator()(std::byte* data) const noexcept;
    };
    std::unique_ptr<std::byte, Free> data_;
};

/// Carries a schedule out by nonblocking messages: every lane goes from round to round by itself. One
/// execution at a time.
class Executor {
  public:
    /// Local. `tag` and as many after it as there are lanes are this schedule's in the context, on all ranks.
    static Status create(Schedule schedule, ElementType type, Reduction reduction, std::int64_t input_bytes,
                         mpi::MessageContext context, int tag, Executor& executor);
    void start(const std::byte* input, std::byte* output);
    /// True when all is done; drives MPI's progress.
    [[nodiscard]] bool test();
    /// Blocks in MPI.
    void wait();
    [[nodiscard]] std::int64_t scratch_bytes() const noexcept;

  private:
    struct Progress {
        std::size_t round = 0;
        int num_pending = 0;
    };
    [[nodiscard]] std::byte* place(const Slot& slot) const noexcept;
    void copy(const Copy& copy) const;
    void sum(const Sum& sum);
    void begin_round(std::size_t lane);
    void end_round(std::size_t lane);
    /// From the beginning of the lane's round on, as far as nothing is to be waited for.
    void advance(std::size_t lane);
    void complete(std::span<const int> lanes);

    Schedule schedule_;
    ElementType type_ = ElementType::float64;
    Reduction reduction_ = Reduction::sum;
    Memory scratch_, staging_;
    std::int64_t staging_bytes_ = 0;
    int tag_ = 0;
    mpi::MessagesUnderWay messages_;
    std::vector<Progress> progress_;
    std::vector<const std::byte*> operands_;
    const std::byte* input_ = nullptr;
    std::byte* output_ = nullptr;
};

}  // namespace hakobi::collectives
