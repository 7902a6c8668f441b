// SPDX-License-Identifier: Apache-2.0
// Answers about a trace: docs/analyses.md. Part of tracesmith.hpp.
//
//     tracesmith::Analysis analysis(tracesmith::Trace("my.sbt"), {"kernels"});
//     std::cout << analysis[0].text();
#ifndef TRACESMITH_ANALYSIS_HPP
#define TRACESMITH_ANALYSIS_HPP

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/trace.hpp"

namespace tracesmith {

// One answer; borrowed from its Analysis. `raw` has its tables as numbers.
class Report {
  public:
    explicit Report(const tsmith_report *report) noexcept : report_(report) {}
    std::string_view name() const noexcept { return report_->name; }
    std::string_view question() const noexcept { return report_->question; }
    std::string_view finding() const noexcept { return report_->finding; }
    const tsmith_report &raw() const noexcept { return *report_; }
    // For people: tables of at most `max_rows` rows, lines of at most `width` characters; 0: 20 and 100.
    std::string text(std::size_t max_rows = 0, std::size_t width = 0) const {
        return written([&](const tsmith_output *output, tsmith_error *error) {
            return tsmith_report_write_text_to(report_, max_rows, width, output, error);
        });
    }
    std::string json() const {
        return written([&](const tsmith_output *output, tsmith_error *error) {
            return tsmith_report_write_json_to(report_, output, error);
        });
    }
    std::string csv() const {
        return written([&](const tsmith_output *output, tsmith_error *error) {
            return tsmith_report_write_csv_to(report_, output, error);
        });
    }

  private:
    // The library calls it, which is C: nothing may be thrown through it.
    static tsmith_status append(void *context, const void *bytes, std::size_t size) {
        try {
            static_cast<std::string *>(context)->append(static_cast<const char *>(bytes), size);
            return TSMITH_OK;
        } catch (...) {
            return TSMITH_ERROR_NO_MEMORY;
        }
    }
    template <typename Function> static std::string written(Function &&function) {
        std::string text;
        const tsmith_output output = {append, &text};
        detail::call({}, [&](tsmith_error *error) { return function(&output, error); });
        return text;
    }
    const tsmith_report *report_;
};

// The reports of a whole trace, in the order of tsmith_analysis_name.
class Analysis {
  public:
    // Which analyses; none: all. Throws NotFoundError, whose message lists them, for an unknown name.
    explicit Analysis(const Trace &trace, const std::vector<const char *> &names = {},
                      std::optional<Window> window = {}) {
        tsmith_analysis_options options{};
        options.size = sizeof options;
        options.names = names.empty() ? nullptr : names.data();
        options.name_count = names.size();
        if (window) {
            options.has_window = 1;
            options.from = window->from;
            options.to = window->to;
        }
        tsmith_analysis *made = nullptr;
        detail::call({}, [&](tsmith_error *error) { return tsmith_analysis_create(&options, &made, error); });
        analysis_.reset(made);
        Source source = trace.batches();
        while (const auto batch = source.next())
            detail::call(trace.path(), [&](tsmith_error *error) {
                return tsmith_analysis_add(made, source.dictionary().get(), batch->get(), error);
            });
        detail::call(trace.path(), [&](tsmith_error *error) {
            return tsmith_analysis_finish(made, source.dictionary().get(), error);
        });
        while (const tsmith_report *report = tsmith_analysis_report(made, reports_.size()))
            reports_.emplace_back(report);
    }
    std::size_t size() const noexcept { return reports_.size(); }
    const Report &operator[](std::size_t index) const { return reports_.at(index); }
    auto begin() const noexcept { return reports_.begin(); }
    auto end() const noexcept { return reports_.end(); }

  private:
    struct Destroy {
        void operator()(tsmith_analysis *analysis) const noexcept { tsmith_analysis_destroy(analysis); }
    };
    std::unique_ptr<tsmith_analysis, Destroy> analysis_;
    std::vector<Report> reports_;
};

} // namespace tracesmith

#endif
