#include "series/receipts.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

#include "base/checksum.hpp"
#include "base/descriptor.hpp"
#include "series/pending_commit.hpp"
#include "series/series.hpp"
#include "series/step_file.hpp"
#include "storage/joined.hpp"
#include "storage/paced_copy.hpp"

namespace hakobi::series {
namespace {

constexpr std::int64_t block_bytes = 4096;  // what O_DIRECT and the caches of network file systems count in
constexpr std::array<char, 8> receipt_magic = {'h', 'k', 'b', 's', 't', 'r', 'd', '1'};

struct Receipt {
    std::array<char, 8> magic{};
    std::uint64_t token = 0;
    std::int64_t file_bytes = 0;
    std::int64_t writer = 0, num_writers = 0;
    std::uint64_t check = 0;  // of what stands before it

    [[nodiscard]] std::uint64_t sum() const {
        return checksum_of(std::as_bytes(std::span(this, 1)).first(offsetof(Receipt, check)));
    }
};

struct alignas(block_bytes) Block {
    Receipt receipt;
    std::array<std::byte, block_bytes - sizeof(Receipt)> rest{};
};
static_assert(sizeof(Block) == block_bytes);

std::int64_t first_block(std::int64_t file_bytes) {
    return (file_bytes + block_bytes - 1) / block_bytes * block_bytes;
}

/// Whether a receipt of the step stands at `offset`.
Result<bool> read_at(storage::File& file, std::int64_t offset, std::uint64_t token, Receipt& receipt) {
    const Result<std::int64_t> read = file.read_at(std::as_writable_bytes(std::span(&receipt, 1)), offset);
    if (!read.ok()) return read.status();
    return read.value() == static_cast<std::int64_t>(sizeof(Receipt)) && receipt.magic == receipt_magic &&
           receipt.check == receipt.sum() && receipt.token == token && receipt.file_bytes >= 0 &&
           receipt.file_bytes <= offset && receipt.writer >= 0 && receipt.writer <= offset / block_bytes &&
           receipt.writer < receipt.num_writers &&
           first_block(receipt.file_bytes) + receipt.writer * block_bytes == offset;
}

Result<Receipts> read_all(storage::File& file, std::uint64_t token) {
    Receipts receipts;
    const Result<std::int64_t> size = file.size_bytes();
    if (!size.ok()) return size.status();
    if (size.value() < block_bytes || size.value() % block_bytes != 0) return receipts;
    Receipt last;
    const Result<bool> has_any = read_at(file, size.value() - block_bytes, token, last);
    if (!has_any.ok()) return has_any.status();
    if (!has_any.value()) return receipts;
    receipts = {.file_bytes = last.file_bytes, .num_writers = last.num_writers, .num_stored = 1};
    for (std::int64_t writer = 0; writer < last.writer; ++writer) {
        Receipt one;
        const Result<bool> found =
            read_at(file, first_block(last.file_bytes) + writer * block_bytes, token, one);
        if (!found.ok()) return found.status();
        if (found.value() && one.num_writers == last.num_writers) ++receipts.num_stored;
    }
    return receipts;
}

}  // namespace

ReceiptOf receipt_of(const Step& step) {
    if (step.step_in_file >= 0) return receipt_of_commit(step);
    return {.token = token(step.run, step.number), .file_bytes = step.layout.file_bytes};
}

bool has_receipts(const Step& step) {
    return step.place->limits().has_system_names;
}

void write_receipt(storage::File& file, const ReceiptOf& of, int writer, int num_writers) noexcept {
    assert(writer >= 0 && writer < num_writers);
    if (!of.is_wanted() || file.descriptor_behind() < 0) return;
    const Descriptor other(of.path.empty() ? -1 : ::open(of.path.c_str(), O_WRONLY | O_CLOEXEC));
    const int descriptor = of.path.empty() ? file.descriptor_behind() : other.get();
    if (descriptor < 0) return;
    Block block;
    block.receipt = {.magic = receipt_magic,
                     .token = of.token,
                     .file_bytes = of.file_bytes,
                     .writer = writer,
                     .num_writers = num_writers};
    block.receipt.check = block.receipt.sum();
    const std::int64_t offset = first_block(of.file_bytes) + writer * block_bytes;
    while (::pwrite(descriptor, &block, sizeof block, offset) < 0 && errno == EINTR) {
    }
}

Result<Receipts> read_receipts(const std::string& path) {
    Result<storage::FilePtr> file = storage::open_file(path, {.regular_only = true});
    if (!file.ok()) return file.status();
    return read_all(*file.value(), parse(path).token);
}

FileState state_of(const Name& name, const Receipts& receipts) {
    if (name.form == Name::Form::final) return FileState::named;
    if (name.form == Name::Form::whole) return receipts.num_writers > 0 ? FileState::whole : FileState::cut;
    return receipts.are_all_there() ? FileState::stored : FileState::part;
}

namespace {

/// Has the name stand for a copy of the file, where the file has others.
Status leave_other_names(const std::string& path) {
    if (const std::string folder = storage::joined_folder(path); !folder.empty())
        return leave_other_names(storage::rest_path(folder));
    if (!has_other_names(path)) return {};
    Result<storage::FilePtr> from = storage::open_file(path, {.regular_only = true});
    if (!from.ok()) return from.status();
    const Result<std::int64_t> bytes = from.value()->size_bytes();
    if (!bytes.ok()) return bytes.status();
    const std::string copy = part_path(path, random_run_id()[0]);
    Result<storage::FilePtr> to = storage::open_file(
        copy, {.read = false, .write = true, .create = true, .exclusive = true, .regular_only = true});
    if (!to.ok()) return to.status();
    Discarding discarding(copy);
    Status status =
        storage::copy_paced(*from.value(), *to.value(), bytes.value(), [](std::int64_t) { return true; });
    if (status.ok()) status = to.value()->sync();
    status.keep_first(to.value()->close());
    if (status.ok()) status = storage::rename_file(copy, path);
    if (status.ok()) discarding.keep();
    return status;
}

/// 4.
Status cut_receipts(const std::string& path, std::int64_t file_bytes) {
    if (Status status = leave_other_names(path); !status.ok()) return status;
    Result<storage::FilePtr> file =
        storage::open_file(path, {.read = false, .write = true, .regular_only = true});
    if (!file.ok()) return file.status();
    Status status = file.value()->set_size(file_bytes);
    status.keep_first(file.value()->close());
    return status;
}

Status carry_out(Event event, const FileNames& names) {
    if (event == Event::call_whole) return storage::rename_file(names.part, names.whole);
    if (event == Event::cut) return cut_receipts(names.whole, names.file_bytes);
    assert(event == Event::name);
    return finish_step(names.whole, names.path, true);
}

}  // namespace

FileNames names_of(const Step& step) {
    assert(step.step_in_file < 0);
    return {.part = step.part_path,
            .whole = whole_path(step.part_path),
            .path = step.path,
            .file_bytes = step.layout.file_bytes};
}

Status advance(const FileNames& names, FileState& state, FileState goal) {
    while (state != goal) {
        const std::optional<Event> event = to_complete(state);
        assert(event);
        if (Status status = carry_out(*event, names); !status.ok()) return status;
        state = *next(state, *event);
    }
    return {};
}

}  // namespace hakobi::series
