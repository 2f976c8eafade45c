#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <hakobi/comm.hpp>
#include <memory>
#include <string>
#include <vector>

namespace hakobi::pending {

/// A collective call that messages are pending across; made once for each test, on every rank.
class Call {
  public:
    virtual ~Call() = default;
    /// Collective, nothing pending: opens what the call needs.
    virtual void prepare() {}
    virtual void run() = 0;
    /// Collective, nothing pending.
    virtual void finish() {}
};

/// A call by its name: a test's parameter.
struct Row {
    std::string name;
    std::function<std::unique_ptr<Call>()> make;
};
inline void PrintTo(const Row& row, std::ostream* os) {
    *os << row.name;
}
inline std::string name_of_row(const testing::TestParamInfo<Row>& info) {
    return info.param.name;
}

/// Makes the call with every form of message (across.cpp has the table) and every size pending across it. One
/// rank is late with its message, in turns: the others are in the call by then, and the message needs them. A
/// case that does not end is named on stderr, and the program ended.
void make_across_messages(const Row& row);

/// A call of few words.
class Simple : public Call {
  public:
    explicit Simple(std::function<void()> body) : body_(std::move(body)) {}
    void run() override { body_(); }

  private:
    std::function<void()> body_;
};

}  // namespace hakobi::pending
