#include "mpiio/hidden.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/forked.hpp"
#include "io/policy.hpp"
#include "mpiio/closing.hpp"
#include "mpiio/datatype.hpp"
#include "mpiio/file_table.hpp"

namespace hakobi::mpiio {
namespace {

std::atomic<bool> may_hide{false}, is_unheard{false};

template <class Do>
void for_each_handle(const OpenFile& file, const Do& act) {
    if (!may_have_hidden_writes()) return;
    for (const auto& each : handles_of(file)) act(*each);
}

bool is_failure_wanted() {
    const char* const text = std::getenv("HAKOBI_HIDDEN_ERRORS");
    return text == nullptr || std::string_view(text) != "warn";
}

/// Made by the process that hides: its children have nothing under way.
const Maker& hiding_process() {
    static const Maker maker;
    return maker;
}

/// `exit`, with or without MPI_Finalize before it.
void at_exit(int status, void*) {
    if (!hiding_process().is_this_process()) return;
    end_open_files();
    end_closing_alone();
    if (status != EXIT_SUCCESS || !is_unheard.load() || !is_failure_wanted()) return;
    // The exit's other functions run with the new status.
    std::exit(EXIT_FAILURE);  // NOLINT(concurrency-mt-unsafe)
}

/// Before a child process begins, which may read what this one has written. Any thread.
void before_child() {
    if (!hiding_process().is_this_process()) return;
    for (const auto& file : all_files()) file->engine_side.wait_for_hidden_apart();
    for (const auto& file : closing_files()) file->engine_side.wait_for_hidden_apart();
}

void look_after_children() {
    using Settle = void (*)();
    // The front's (front_children.c).
    if (auto* const slot =
            static_cast<std::atomic<Settle>*>(::dlsym(RTLD_DEFAULT, "hakobi_mpiio_before_child")))
        slot->store(before_child, std::memory_order_release);
}

}  // namespace

void end_open_files() {
    for (const auto& file : all_files()) {
        io::Engine* const engine = file->engine_side.engine();
        if (engine == nullptr || !engine->may_hide()) continue;
        if (const Status status = engine->take_hidden_error(); !status.ok()) tell_unheard(*file, status);
    }
}

bool may_have_hidden_writes() {
    return may_hide.load(std::memory_order_acquire);
}

void expect_hidden_writes() {
    static std::once_flag once;
    std::call_once(once, [] {
        (void)hiding_process();
        ::on_exit(at_exit, nullptr);
        look_after_children();
    });
    may_hide.store(true, std::memory_order_release);
}

void settle(const OpenFile& file) {
    for_each_handle(file, [](OpenFile& each) { each.engine_side.wait_for_hidden(); });
}

void settle_others(const OpenFile& file) {
    for_each_handle(file, [&](OpenFile& each) {
        if (&each != &file) each.engine_side.wait_for_hidden();
    });
}

void settle_for(OpenFile& file, const Access& access) {
    if (!may_have_hidden_writes()) return;
    const std::optional<Region> asked = asked_for(file, access);
    if (!asked || !file.program.is_native) return settle(file);
    if (asked->empty()) return;
    const std::int64_t begin_bytes = asked->begin_bytes(), end_bytes = asked->end_bytes();
    // A read beyond the present end of the file finds zeros once bytes behind them are there.
    const bool sees_end = !access.is_write && file.facts.size_bytes() < end_bytes;
    for_each_handle(file, [&](OpenFile& each) {
        if (sees_end || each.engine_side.has_hidden(begin_bytes, end_bytes))
            each.engine_side.wait_for_hidden();
    });
}

std::optional<std::int64_t> defer(OpenFile& file, const Access& access) {
    if (!may_have_hidden_writes() || !file.is_taken() || access.count <= 0 || handles_of(file).size() != 1)
        return {};
    if (access.type == MPI_DATATYPE_NULL || (access.offset ? *access.offset < 0 : is_called_by_threads()))
        return {};
    const Layout type = committed_layout_of(access.type);
    std::int64_t bytes = 0;
    if (!type.is_committed || !type.is_known || !type.is_dense() ||
        __builtin_mul_overflow(access.count, type.size_bytes, &bytes) ||
        bytes > io::policy_limits::most_behind || bytes % file.program.view.etype_bytes() != 0)
        return {};
    const std::optional<Region> asked = asked_for(file, access);
    if (!asked || !asked->is_contiguous()) return {};
    file.engine_side.wait_for_left_calls();
    const std::span memory{static_cast<const std::byte*>(access.buffer), static_cast<std::size_t>(bytes)};
    if (!file.engine_side.defer(memory, asked->begin_bytes())) return {};
    if (!access.offset) file.library_side.advance_pointer(bytes);
    return bytes;
}

std::int64_t hidden_end_bytes(const OpenFile& file) {
    std::int64_t end = 0;
    for_each_handle(file, [&](OpenFile& each) { end = std::max(end, each.engine_side.hidden_end_bytes()); });
    return end;
}

std::int64_t size_bytes(const OpenFile& file) {
    // In this order: what is stored in between counts twice, not never.
    const std::int64_t hidden = hidden_end_bytes(file), stored = file.facts.size_bytes();
    return stored < 0 ? stored : std::max(stored, hidden);
}

void tell_unheard(const OpenFile& file, const Status& status) {
    std::fprintf(stderr, "hakobi: %s: rank %d: hidden output is not stored whole: %s\n",
                 file.facts.name.c_str(), file.facts.rank, status.text().c_str());
    end_with_failure();
}

void end_with_failure() {
    is_unheard.store(true);
}

}  // namespace hakobi::mpiio
