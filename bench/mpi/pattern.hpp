#pragma once

#include <hakobi/comm.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi::bench {

/// The buffers of one iteration. Offsets are those of the windows that they lie in, equal on all ranks.
struct Buffers {
    std::span<std::byte> send, receive;
    std::int64_t send_offset_bytes = 0, receive_offset_bytes = 0;
};

/// Bytes that one iteration must have brought: `length_bytes` at `at_bytes` of the receive buffer, equal to
/// what lies `from_bytes` into rank `source`'s send buffer.
struct Arrival {
    std::int64_t at_bytes = 0;
    int source = 0;
    std::int64_t from_bytes = 0;
    std::int64_t length_bytes = 0;
};

/// A communication pattern: what all ranks do in one iteration with messages of `bytes`. Ranks that take no
/// part in an iteration do nothing in it. A new pattern is one class in pattern.cpp and one line of its
/// table; it passes pattern_test.cpp.
class Pattern {
  public:
    explicit Pattern(const Comm& comm) : comm_(comm) {}
    virtual ~Pattern() = default;
    Pattern(const Pattern&) = delete;
    Pattern& operator=(const Pattern&) = delete;

    /// Size of a rank's send and receive buffer for messages of `bytes`.
    [[nodiscard]] virtual std::int64_t send_bytes(std::int64_t bytes) const { return bytes; }
    [[nodiscard]] virtual std::int64_t receive_bytes(std::int64_t bytes) const { return bytes; }
    /// Bytes that count for bandwidth in one reported time, and how many reported times one iteration is: as
    /// Intel MPI Benchmarks define them where they do (docs/measure.md has the table).
    [[nodiscard]] virtual double counted_bytes(std::int64_t bytes) const {
        return static_cast<double>(bytes);
    }
    [[nodiscard]] virtual double times_per_iteration() const { return 1; }

    /// Called once before the iterations that use these memories, and once after them. Collective.
    virtual void begin(std::span<std::byte> /*send_window*/, std::span<std::byte> /*receive_window*/) {}
    virtual void end() {}
    /// Makes remote stores visible to this rank's reads and the other way round. Local.
    virtual void settle() {}
    /// One iteration; `number` counts from 0 and is equal on all ranks. Collective.
    virtual void run(const Buffers& buffers, std::int64_t bytes, std::int64_t number) = 0;
    /// The data that this rank must have received in iteration `number`.
    [[nodiscard]] virtual std::vector<Arrival> arrivals(std::int64_t bytes, std::int64_t number) const = 0;
    /// Whether what arrives is all ranks' data reduced: 64-bit words summed, or, where `bytes` is no multiple
    /// of 8, bytes combined by exclusive or.
    [[nodiscard]] virtual bool is_reduced() const { return false; }
    /// Whether messages have a size at all.
    [[nodiscard]] virtual bool has_bytes() const { return true; }

  protected:
    [[nodiscard]] MPI_Comm handle() const { return comm_.handle(); }
    [[nodiscard]] int rank() const { return comm_.rank(); }
    [[nodiscard]] int size() const { return comm_.size(); }

  private:
    Comm comm_;
};

/// Names in the order of the documentation.
[[nodiscard]] std::span<const std::string_view> pattern_names();
/// Null for a name that pattern_names() has not.
[[nodiscard]] std::unique_ptr<Pattern> make_pattern(std::string_view name, const Comm& comm);

}  // namespace hakobi::bench
