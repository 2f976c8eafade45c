#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <source_location>

#include "model/machine.hpp"

namespace hakobi::model {

[[nodiscard]] constexpr Strength strength_of(std::memory_order order, Kind kind) {
    const bool is_total = order == std::memory_order_seq_cst;
    const bool is_both = is_total || order == std::memory_order_acq_rel;
    return {.acquires = kind != Kind::store && (is_both || order == std::memory_order_acquire),
            .releases = kind != Kind::load && (is_both || order == std::memory_order_release),
            .is_total = is_total};
}

/// A value that was read. What nobody asks for decides nothing: runs that differ in it go on as one.
template <class Value>
class Found {
  public:
    explicit Found(std::uint64_t bits) : value_(static_cast<Value>(bits)) {}
    operator Value() const {  // as what it stands for
        use(static_cast<std::uint64_t>(value_));
        return value_;
    }

  private:
    Value value_;
};

/// In the place of std::atomic: as large, so that memory is laid out alike. Its own bytes are the value that
/// it begins with.
template <class Value>
class Atomic {
  public:
    static constexpr bool is_always_lock_free = true;
    using Where = std::source_location;

    Atomic() noexcept { begin(this); }
    Atomic(Value value) noexcept : initial_(value) { begin(this); }
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;

    Value load(std::memory_order order = std::memory_order_seq_cst, Where where = Where::current()) const {
        return Found<Value>(model::load(this, bits_of(initial_), strength_of(order, Kind::load), where));
    }
    void store(Value value, std::memory_order order = std::memory_order_seq_cst,
               Where where = Where::current()) {
        model::store(this, bits_of(initial_), bits_of(value), strength_of(order, Kind::store), where);
    }
    Found<Value> exchange(Value value, std::memory_order order = std::memory_order_seq_cst,
                          Where where = Where::current()) {
        return change([value](Value) { return value; }, order, where);
    }
    Found<Value> fetch_add(Value by, std::memory_order order = std::memory_order_seq_cst,
                           Where where = Where::current()) {
        return change([by](Value value) { return static_cast<Value>(value + by); }, order, where);
    }
    Found<Value> fetch_sub(Value by, std::memory_order order = std::memory_order_seq_cst,
                           Where where = Where::current()) {
        return change([by](Value value) { return static_cast<Value>(value - by); }, order, where);
    }
    bool compare_exchange_strong(Value& expected, Value value,
                                 std::memory_order order = std::memory_order_seq_cst,
                                 Where where = Where::current()) {
        const Strength strength = strength_of(order, Kind::modify);
        const Value wanted = expected;
        const auto exchanged = [wanted, value](std::uint64_t found) -> std::optional<std::uint64_t> {
            if (value_of(found) != wanted) return std::nullopt;
            return bits_of(value);
        };
        expected = Found<Value>(modify(this, bits_of(initial_), exchanged, strength,
                                       {strength.acquires, false, strength.is_total}, where));
        return expected == wanted;
    }
    /// Fails for no other reason.
    bool compare_exchange_weak(Value& expected, Value value,
                               std::memory_order order = std::memory_order_seq_cst,
                               Where where = Where::current()) {
        return compare_exchange_strong(expected, value, order, where);
    }

    /// As a futex.
    void sleep_while(Value value) { sleep_on(this, bits_of(initial_), bits_of(value)); }

  private:
    static std::uint64_t bits_of(Value value) { return static_cast<std::uint64_t>(value); }
    static Value value_of(std::uint64_t bits) { return static_cast<Value>(bits); }
    template <class Make>
    Found<Value> change(Make make, std::memory_order order, const Where& where) {
        const auto made = [make](std::uint64_t bits) -> std::optional<std::uint64_t> {
            return bits_of(make(value_of(bits)));
        };
        return Found<Value>(
            modify(this, bits_of(initial_), made, strength_of(order, Kind::modify), {}, where));
    }

    Value initial_{};
};

}  // namespace hakobi::model
