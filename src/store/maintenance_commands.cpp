#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <shared_mutex>
#include <thread>

#include "overview/statistics.hpp"
#include "store/commands.hpp"
#include "store/listing.hpp"
#include "store/maintenance.hpp"
#include "store/survey.hpp"

namespace hakobi::store {

namespace {

constexpr int not_in_order = 1;

struct Arguments : CommandArguments {
    std::string target, keep_in;
    bool is_deep = false, is_removed = false, is_sure = false, is_replaced_only = false, also_damaged = false;
    bool from_beginning = false, is_json = false;
    double interval_s = 0.2, timeout_s = 0;
    std::int64_t num_fields = 0;
    int num_threads = 4;
};
using Shared = std::shared_ptr<Arguments>;

long long whole(std::int64_t number) {
    return static_cast<long long>(number);
}

/// Lists with a fixed number of lines, so that damage in a million places stays readable.
void print_lines(const std::vector<std::string>& lines) {
    constexpr std::size_t most = 20;
    for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) std::printf("  %s\n", lines[i].c_str());
    if (lines.size() > most) std::printf("  … and %zu more\n", lines.size() - most);
}

std::string json_of(const std::vector<std::string>& texts) {
    std::string json;
    for (const std::string& text : texts) json += (json.empty() ? "" : ", ") + overview::json(text);
    return "[" + json + "]";
}

/// One line, all problems in it.
void print_as_json(const CheckReport& report, bool is_deep, bool is_in_order) {
    std::printf(R"({"in_order": %s, "deep": %s, "fields": %lld, "lost": %lld, "writers_at_work": %lld, )",
                is_in_order ? "true" : "false", is_deep ? "true" : "false", whole(report.num_fields),
                whole(report.num_lost), whole(report.num_alive));
    std::printf(R"("damage": %s, "orphans": %s, "orphan_bytes": %lld})"
                "\n",
                json_of(report.problems).c_str(), json_of(report.orphans).c_str(),
                whole(report.orphan_bytes));
}

int run_check(const Arguments& arguments) {
    const Folder folder = Folder::open(arguments.path, "");
    const CheckReport report = check(folder, arguments.is_deep, arguments.num_threads);
    const bool is_in_order = report.problems.empty() && report.orphans.empty() && report.num_lost == 0;
    if (arguments.is_json) {
        print_as_json(report, arguments.is_deep, is_in_order);
        return is_in_order ? 0 : not_in_order;
    }
    std::printf("%lld fields are whole%s", whole(report.num_fields),
                arguments.is_deep ? " (all were read)" : "");
    if (report.num_alive > 0) std::printf("; %lld writers are at work", whole(report.num_alive));
    std::printf("\n");
    if (report.num_lost > 0) std::printf("%lld flushed fields are lost\n", whole(report.num_lost));
    if (!report.problems.empty()) {
        std::printf("damage:\n");
        print_lines(report.problems);
    }
    if (!report.orphans.empty()) {
        std::printf("of no field, %s: 'hakobi store recover' takes it away:\n",
                    bytes_text(static_cast<double>(report.orphan_bytes)).c_str());
        print_lines(report.orphans);
    }
    if (is_in_order) std::printf("in order\n");
    return is_in_order ? 0 : not_in_order;
}

int run_recover(const Arguments& arguments) {
    const Folder folder = Folder::open(arguments.path, "");
    const RecoverReport report =
        recover(folder, {.keep_in = arguments.keep_in, .also_damaged = arguments.also_damaged});
    print_lines(report.actions);
    std::printf("freed %s\n", bytes_text(static_cast<double>(report.freed_bytes)).c_str());
    if (!report.left.empty()) {
        std::printf("left as they are:\n");
        print_lines(report.left);
    }
    return 0;
}

int run_wipe(const Arguments& arguments) {
    const Folder folder = Folder::open(arguments.path, "");
    const Store store = Store::open(arguments.path);
    Listing fields = store.list(arguments.text(), {.with_replaced = true});
    if (arguments.is_replaced_only) {
        const auto replaced = fields.impl().without_fields();
        for (std::size_t i = 0; i < fields.impl().rows.size(); ++i) {
            if (fields.impl().is_replaced[i]) replaced->rows.push_back(fields.impl().rows[i]);
        }
        fields = Listing(replaced);
    }
    const WipePlan plan = plan_wipe(fields);
    std::printf("%lld fields, %s, in %zu data files\n", whole(plan.num_fields),
                bytes_text(static_cast<double>(plan.num_bytes)).c_str(), plan.parts.size());
    if (plan.num_fields == 0) return 0;
    if (!arguments.is_removed) {
        std::printf("nothing is removed: --remove does it\n");
        return 0;
    }
    if (!arguments.is_sure) {
        if (::isatty(STDIN_FILENO) == 0) {
            throw Error(ErrorCode::invalid_argument,
                        "there is no terminal to ask on: --yes removes without a question");
        }
        std::printf("remove them for good? [yes/no] ");
        std::fflush(stdout);
        std::string answer;
        std::getline(std::cin, answer);
        if (answer != "yes") {
            std::printf("nothing is removed\n");
            return 0;
        }
    }
    wipe(folder, plan);
    std::printf("removed\n");
    return 0;
}

int run_move(const Arguments& arguments) {
    if (arguments.items.empty()) {
        move_store(Folder::open(arguments.path, ""), arguments.target);
        std::printf("moved to %s\n", arguments.target.c_str());
        return 0;
    }
    const Store source = Store::open(arguments.path);
    const std::int64_t count = move_fields(source, arguments.text(), arguments.target);
    std::printf("%lld fields moved to %s\n", whole(count), arguments.target.c_str());
    return 0;
}

int run_follow(const Arguments& arguments) {
    const Store store = Store::open(arguments.path);
    Follower follower(store, arguments.text(), arguments.from_beginning);
    const auto begin = std::chrono::steady_clock::now();
    std::int64_t count = 0;
    for (;;) {
        const Listing fields = follower.next();
        std::string text;
        for (std::int64_t i = 0; i < fields.size(); ++i) {
            fields.append_text(i, text);
            text += '\n';
        }
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
            throw Error(ErrorCode::io, "cannot write the output");
        }
        count += fields.size();
        if (arguments.num_fields > 0 && count >= arguments.num_fields) return 0;
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        if (arguments.timeout_s > 0 && passed.count() >= arguments.timeout_s) {
            return arguments.num_fields > 0 ? not_in_order : 0;
        }
        std::this_thread::sleep_for(std::chrono::duration<double>(arguments.interval_s));
    }
}

struct Sum {
    std::int64_t num_fields = 0, num_bytes = 0, num_replaced = 0, replaced_bytes = 0;
};
using Sums = std::map<std::string, Sum>;

/// By the dataset's keywords.
Sums sums_of(const Listing& all) {
    Sums datasets;
    const Catalogue& catalogue = *all.impl().catalogue;
    const std::shared_lock lock(catalogue.mutex);
    std::vector<std::string> names(catalogue.groups.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        const GroupName& name = catalogue.groups[i]->name;
        for (std::size_t k = 0; k < name.keywords[dataset_level].size(); ++k) {
            if (name.values[dataset_level][k].empty()) continue;
            names[i] += (names[i].empty() ? "" : ",") + name.keywords[dataset_level][k].name + "=" +
                        name.values[dataset_level][k];
        }
    }
    for (std::size_t i = 0; i < all.impl().rows.size(); ++i) {
        const RowReference reference = all.impl().rows[i];
        const std::int64_t length = catalogue.groups[reference.group]->rows.lengths[reference.row];
        Sum& sum = datasets[names[reference.group]];
        const bool is_replaced = all.impl().is_replaced[i];
        (is_replaced ? sum.num_replaced : sum.num_fields) += 1;
        (is_replaced ? sum.replaced_bytes : sum.num_bytes) += length;
    }
    return datasets;
}

/// JSON lines, one for a dataset.
int print_stats_as_json(const Sums& datasets) {
    for (const auto& [name, sum] : datasets) {
        std::printf(
            R"({"dataset": %s, "fields": %lld, "bytes": %lld, "replaced": %lld, "replaced_bytes": %lld})"
            "\n",
            overview::json(name).c_str(), whole(sum.num_fields), whole(sum.num_bytes),
            whole(sum.num_replaced), whole(sum.replaced_bytes));
    }
    return 0;
}

int run_stats(const Arguments& arguments) {
    const Folder folder = Folder::open(arguments.path, "");
    const Store store = Store::open(arguments.path);
    const Listing all = store.list(arguments.text(), {.with_replaced = true});
    print_warnings(store);
    const Sums datasets = sums_of(all);
    if (arguments.is_json) return print_stats_as_json(datasets);
    Sum total;
    for (const auto& [name, sum] : datasets) {
        total.num_fields += sum.num_fields;
        total.num_bytes += sum.num_bytes;
        total.num_replaced += sum.num_replaced;
        total.replaced_bytes += sum.replaced_bytes;
    }
    const auto print = [](const char* name, const Sum& sum) {
        std::printf("%12lld  %10s  %10lld  %10s  %s\n", whole(sum.num_fields),
                    bytes_text(static_cast<double>(sum.num_bytes)).c_str(), whole(sum.num_replaced),
                    bytes_text(static_cast<double>(sum.replaced_bytes)).c_str(), name);
    };
    std::printf("%12s  %10s  %10s  %10s  %s\n", "fields", "size", "replaced", "size", "dataset");
    for (const auto& [name, sum] : datasets) print(name.c_str(), sum);
    print("all", total);
    const FolderContents contents = folder.contents();
    std::int64_t data_bytes = 0, index_bytes = 0, num_data = 0;
    for (const WriterFiles& files : contents.writers) {
        for (const Extent& extent : folder.place().data_extents(files.stem))
            data_bytes += extent.length_bytes;
        LogTail log{.files = &files};
        folder.place().read_logs(std::span(&log, 1));
        index_bytes += log.size_bytes;
        num_data += files.has_data ? 1 : 0;
    }
    const auto catalogue = folder.place().size_of(catalogue_name);
    const std::int64_t catalogue_bytes = catalogue.ok() ? catalogue.value().value_or(0) : 0;
    std::printf("\n%lld data files, %s; indexes %s", whole(num_data),
                bytes_text(static_cast<double>(data_bytes)).c_str(),
                bytes_text(static_cast<double>(index_bytes)).c_str());
    const std::int64_t num_rows = total.num_fields + total.num_replaced;
    if (num_rows > 0 && arguments.items.empty()) {
        std::printf(" (%.1f bytes a field)",
                    static_cast<double>(index_bytes) / static_cast<double>(num_rows));
    }
    std::printf("; catalogue %s\n", catalogue_bytes > 0
                                        ? bytes_text(static_cast<double>(catalogue_bytes)).c_str()
                                        : "not consolidated");
    return 0;
}

}  // namespace

void add_maintenance_commands(CLI::App& app, int& exit_status) {
    const auto shared = std::make_shared<Arguments>();
    const auto add = [&](const char* name, const char* text, bool takes_request,
                         int (*run)(const Arguments&)) {
        CLI::App* command = app.add_subcommand(name, text);
        shared->add_to(*command, false);
        if (takes_request) shared->add_request_to(*command);
        command->callback([shared, run, &exit_status] { exit_status = run(*shared); });
        return command;
    };
    add("stats", "Print how many fields there are, and the space that they take.", true, run_stats)
        ->add_flag("--json", shared->is_json, "JSON lines, one for a dataset");

    CLI::App* follow = add("follow", "Print fields as they are flushed.", true, run_follow);
    follow->add_flag("--from-beginning", shared->from_beginning, "first those that are there already");
    follow->add_option("--interval", shared->interval_s, "seconds between two looks")
        ->check(CLI::PositiveNumber);
    follow->add_option("--fields", shared->num_fields, "end after so many")->check(CLI::PositiveNumber);
    follow
        ->add_option("--timeout", shared->timeout_s,
                     "end after so many seconds (with --fields: exit status 1)")
        ->check(CLI::PositiveNumber);

    CLI::App* checking = add(
        "check", "Hold indexes and data against each other. Exit status 1: not in order.", false, run_check);
    checking->add_flag("--deep", shared->is_deep, "read every field and hold it against its checksum");
    checking->add_option("--threads", shared->num_threads, "that read")->check(CLI::Range(1, 256));
    checking->add_flag("--json", shared->is_json, "one line of JSON, with all that is not in order");

    CLI::App* recovering =
        add("recover", "Free what killed writers left behind their last flush.", false, run_recover);
    recovering->add_option("--keep", shared->keep_in,
                           "a folder for the data that is cut off, one file a writer");
    recovering->add_flag("--damaged", shared->also_damaged, "also behind a last record that is damaged");

    CLI::App* wiping =
        add("wipe", "Say what removing fields would free; --remove removes them.", true, run_wipe);
    wiping->add_flag("--remove", shared->is_removed, "remove them, after a question");
    wiping->add_flag("--yes", shared->is_sure, "without the question");
    wiping->add_flag("--replaced", shared->is_replaced_only, "only fields that a later flush replaced");

    CLI::App* moving =
        app.add_subcommand("move", "Move a store, or the fields that a request selects to another store.");
    shared->add_to(*moving, false);
    moving->add_option("TARGET", shared->target, "the folder to move to, on any file system, or objects")
        ->required();
    shared->add_request_to(*moving);
    moving->callback([shared, &exit_status] { exit_status = run_move(*shared); });

    add("consolidate", "Put all indexes into one file that is read faster; beside running writers.", false,
        [](const Arguments& arguments) {
            consolidate(Folder::open(arguments.path, ""));
            return 0;
        });
}

}  // namespace hakobi::store
