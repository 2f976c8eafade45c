#include "transfer.hpp"

#include <algorithm>
#include <array>
#include <hakobi/buffer_array.hpp>
#include <hakobi/error.hpp>
#include <hakobi/halo.hpp>
#include <string>
#include <vector>

#include "mpi/comm_state.hpp"

namespace hakobi::bench {
namespace {

using mpi::check;

constexpr std::string_view names[] = {"mpi", "mpi-packed", "mpi-rows", "halo", "buffer-arrays"};

/// MPI's messages: what a kind of them starts is waited for together.
class Messages : public Transfer {
  public:
    Messages(const Link& link, const Payload& payload, int slot)
        : Transfer(link, payload),
          comm_(link.pair.handle()),
          other_(link.other()),
          tag_(slot),
          sends_(payload.way != Way::receive),
          receives_(payload.way != Way::send) {}
    void wait() override {
        check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
              "MPI_Waitall");
        requests_.clear();
    }
    [[nodiscard]] int num_calls() const override { return num_ways() + 1; }

  protected:
    [[nodiscard]] bool sends() const { return sends_; }
    [[nodiscard]] bool receives() const { return receives_; }
    [[nodiscard]] int num_ways() const { return (sends_ ? 1 : 0) + (receives_ ? 1 : 0); }
    void send(const void* data, std::int64_t num, MPI_Datatype type) {
        check(MPI_Isend(data, static_cast<int>(num), type, other_, tag_, comm_, &requests_.emplace_back()),
              "MPI_Isend");
    }
    void receive(void* data, std::int64_t num, MPI_Datatype type) {
        check(MPI_Irecv(data, static_cast<int>(num), type, other_, tag_, comm_, &requests_.emplace_back()),
              "MPI_Irecv");
    }

  private:
    MPI_Comm comm_;
    int other_, tag_;
    bool sends_, receives_;
    std::vector<MPI_Request> requests_;
};

class Datatypes : public Messages {
  public:
    Datatypes(const Link& link, const Payload& payload, int slot) : Messages(link, payload, slot) {
        check(MPI_Type_vector(static_cast<int>(face().num_rows()), static_cast<int>(face().row_words()),
                              static_cast<int>(face().pitch_words()), MPI_UINT64_T, &rows_),
              "MPI_Type_vector");
        check(MPI_Type_commit(&rows_), "MPI_Type_commit");
    }
    ~Datatypes() override { MPI_Type_free(&rows_); }
    void start() override {
        const bool is_whole = face().num_rows() == 1;
        const std::int64_t num = is_whole ? face().row_words() : 1;
        MPI_Datatype type = is_whole ? MPI_UINT64_T : rows_;
        if (receives()) receive(face().ghosts(), num, type);
        if (sends()) send(face().own(), num, type);
    }

  private:
    MPI_Datatype rows_ = MPI_DATATYPE_NULL;
};

class Packed : public Messages {
  public:
    Packed(const Link& link, const Payload& payload, int slot)
        : Messages(link, payload, slot),
          out_(static_cast<std::size_t>(payload.bytes / 8)),
          in_(out_.size()) {}
    void start() override {
        const auto num = static_cast<std::int64_t>(out_.size());
        if (receives()) receive(in_.data(), num, MPI_UINT64_T);
        if (!sends()) return;
        std::uint64_t* at = out_.data();
        face().each_row(face().own(),
                        [&](const std::uint64_t* row) { at = std::copy_n(row, face().row_words(), at); });
        send(out_.data(), num, MPI_UINT64_T);
    }
    void wait() override {
        Messages::wait();
        if (!receives()) return;
        const std::uint64_t* at = in_.data();
        face().each_row(face().ghosts(), [&](std::uint64_t* row) {
            std::copy_n(at, face().row_words(), row);
            at += face().row_words();
        });
    }

  private:
    std::vector<std::uint64_t> out_, in_;
};

class Rows : public Messages {
  public:
    using Messages::Messages;
    void start() override {
        if (receives())
            face().each_row(face().ghosts(),
                            [&](std::uint64_t* row) { receive(row, face().row_words(), MPI_UINT64_T); });
        if (sends())
            face().each_row(face().own(),
                            [&](std::uint64_t* row) { send(row, face().row_words(), MPI_UINT64_T); });
    }
    [[nodiscard]] int num_calls() const override {
        return num_ways() * static_cast<int>(face().num_rows()) + 1;
    }
};

class ByHalo : public Transfer {
  public:
    ByHalo(const Link& link, const Payload& payload, const std::string& path)
        : Transfer(link, payload), halo_(plan(link.pair, face(), path)) {}
    void start() override { halo_.start(); }
    void wait() override { halo_.wait(); }
    [[nodiscard]] int num_calls() const override { return 2; }
    /// How it reaches the other rank, as Halo::explain says: "rank 0 from rank 1: parts in, ...".
    [[nodiscard]] std::string path() const {
        const std::string text = halo_.explain();
        const std::size_t colon = text.find(": ") + 2;
        return text.substr(colon, text.find(' ', colon) - colon);
    }

  private:
    static Halo plan(const Comm& pair, Face& face, const std::string& path) {
        const std::int64_t width = face.row_words();
        const HaloGrid grid{
            .extents = {face.num_rows(), width},
            .ghosts = {{}, {face.high_receives() ? width : 0, face.low_receives() ? width : 0}},
            .ranks = {1, 2},
            .is_periodic = {}};
        const HaloField field = HaloField::dense(face.data(), grid, 8);
        return Halo::plan(pair, grid, std::span(&field, 1), {.path = path});
    }
    Halo halo_;
};

class ByBufferArrays : public Transfer {
  public:
    ByBufferArrays(const Link& link, const Payload& payload, const BufferArrays& arrays, int slot)
        : Transfer(link, payload), out_(arrays.make()), in_(arrays.make()), other_(link.other()), tag_(slot) {
        const std::int64_t row_bytes = 8 * face().row_words();
        if (payload.way != Way::receive)
            face().each_row(face().own(), [&](std::uint64_t* row) { out_.append(row, row_bytes); });
        if (payload.way != Way::send)
            face().each_row(face().ghosts(), [&](std::uint64_t* row) { in_.append(row, row_bytes); });
    }
    void start() override {
        if (in_.bytes() > 0) in_.receive(other_, tag_);
        if (out_.bytes() > 0) out_.send(other_, tag_);
    }
    void wait() override {
        if (out_.bytes() > 0) out_.wait();
        if (in_.bytes() > 0) in_.wait();
    }
    [[nodiscard]] int num_calls() const override {
        return 2 * ((in_.bytes() > 0 ? 1 : 0) + (out_.bytes() > 0 ? 1 : 0));
    }

  private:
    BufferArray out_, in_;
    int other_, tag_;
};

class Maker : public TransferMaker {
  public:
    Maker(std::string_view name, const Link& link, const Payload& payload)
        : name_(name), link_(link), payload_(payload) {
        if (name == "buffer-arrays") arrays_ = BufferArrays::get(link.pair);
    }
    std::unique_ptr<Transfer> make(int slot) override {
        if (name_ == "mpi") return std::make_unique<Datatypes>(link_, payload_, slot);
        if (name_ == "mpi-packed") return std::make_unique<Packed>(link_, payload_, slot);
        if (name_ == "mpi-rows") return std::make_unique<Rows>(link_, payload_, slot);
        if (name_ == "halo") {
            auto made = std::make_unique<ByHalo>(link_, payload_, halo_path_);
            halo_path_ = made->path();
            return made;
        }
        return std::make_unique<ByBufferArrays>(link_, payload_, arrays_, slot);
    }

  private:
    std::string_view name_;
    const Link& link_;
    Payload payload_;
    BufferArrays arrays_;
    std::string halo_path_ = "auto";  // then what the first one found: planning takes a few exchanges
};

}  // namespace

std::span<const std::string_view> transfer_names() {
    return names;
}

std::unique_ptr<TransferMaker> make_transfer_maker(std::string_view name, const Link& link,
                                                   const Payload& payload) {
    const auto* const known = std::find(std::begin(names), std::end(names), name);
    if (known == std::end(names))
        throw Error(ErrorCode::invalid_argument, "there is no contender '" + std::string(name) + "'");
    return std::make_unique<Maker>(*known, link, payload);
}

}  // namespace hakobi::bench
