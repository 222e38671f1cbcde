// Which conditions every row satisfies, where a condition is a whole list of rows: those on listed columns, and those
// on what earlier rules have set.
//
// Every such condition has a number. As long as there is room, a row's record has one bit per condition, and adding up
// the records of some rows (popcount.hpp) counts those rows for all conditions at once. In wide sparse tables only the
// conditions on labels are kept as bits, and every row lists the others it satisfies.
#pragma once

#include <vector>

#include "core/arrays.hpp"
#include "core/limits.hpp"
#include "data/columns.hpp"
#include "data/state.hpp"

namespace polyrule {

struct WeightClasses {
  explicit WeightClasses(const State& state);

  std::vector<std::uint8_t> of_row;
  std::vector<std::uint32_t> counted;   // by class, as what a row counts
  std::vector<Bits> rows;               // by class
  double min_ratio = 1, max_ratio = 1;  // of a row's weight divided by what it counts
  bool exact() const { return min_ratio == 1 && max_ratio == 1; }
  Count weigh(const Word* mask) const;
};

// The rows with wanted(place). Nobody can predict that, so there is no branch.
template <class Wanted>
void pick(const std::vector<Row>& rows, Wanted&& condition, std::vector<Row>& picked) {
  picked.resize(rows.size());
  std::size_t size = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    picked[size] = rows[i];
    size += static_cast<std::size_t>(condition(i));
  }
  picked.resize(size);
}

class ConditionRows {
 public:
  ConditionRows(const Columns& columns, const State& state, bool label_conditions, const Limits& limits);

  std::size_t size() const { return conditions_.size(); }
  // Counts go by number, in vectors of 256; some at the end of a part stand for nothing.
  std::size_t counters() const { return counters_; }
  std::size_t vectors() const { return counters_ / 256; }
  bool all_in_records() const { return listed_from_ == counters_; }
  const Condition& operator[](std::size_t number) const { return conditions_[number]; }
  bool has_labels() const { return labels_ > 0; }
  bool is_label(std::size_t number) const { return number >= first_label_ && number < first_label_ + 2 * labels_; }
  std::size_t number_of(std::size_t label, int value) const { return first_label_ + (value ? labels_ : 0) + label; }

  const Word* records() const { return records_.get(); }
  const Word* record(std::size_t row) const { return records_.get() + row * stride_; }
  std::size_t stride() const { return stride_; }
  // The rows of a condition on a feature, as bits; only where all are in the records.
  const Word* bits_of(std::size_t number) const {
    return features_[number < first_label_ ? number : number - 2 * labels_];
  }

  // A rule is about to set labels.
  void begin_sets();
  // These of the 64 rows from w * 64 on have the label set now.
  void set_label(std::size_t label, int value, std::size_t w, Word rows) {
    if (labels_ == 0) return;
    const std::size_t number = number_of(label, value);
    for_each_bit(rows, w * 64, [&](std::size_t i) {
      mark(&records_[i * stride_], number);
      if (keeps_last_) mark(&last_[i * last_stride()], number - first_vector_ * 256);
    });
    if (keeps_last_) last_rows_.data()[w] |= rows;
  }
  // Whether the last rule alone has set labels since: then the rows it did that on, and what it has added to counts of
  // some of these.
  bool is_last(const Stamp& stamp) const { return keeps_last_ && stamp.sets == sets_before_; }
  const Bits& last_rows() const { return last_rows_; }
  template <class Counter>
  void add_last(const std::vector<Row>& rows, Counter* counts, bool in_classes) const;

  // The weight of the given rows by condition, for the first `vectors` vectors; `counts` has room for all.
  template <class Counter>
  void count(const std::vector<Row>& rows, std::size_t vectors, Counter* counts, bool in_classes = false) const;
  // The weight of a condition's rows among some.
  Count count_among(std::size_t number, const Word* among) const;
  // Weights of many bits are costly to count. Rows whose weights are alike are a class, in which all count the same:
  // such counts bound the weight.
  const WeightClasses& classes() const { return classes_; }
  Count count_label_in_classes(std::size_t number, const Word* among) const;

 private:
  // The rows of a condition: a stretch of a column's list, or what that list and the missing rows leave.
  struct Where {
    std::uint32_t column = 0;
    std::uint32_t first = 0, last = 0;
    bool is_block = false;
  };

  void number_conditions(const Columns& columns, bool label_conditions, bool sparse);
  void fill_records(const Columns& columns);
  void fill_lists(const Columns& columns);
  static void mark(Word* record, std::size_t number) { record[number / 64] |= Word{1} << number % 64; }
  std::size_t last_stride() const { return (last_vector_ - first_vector_) * 4; }
  template <class Counter>
  void count_records(const Word* records, std::size_t stride, const std::vector<Row>& rows, std::size_t vectors,
                     Counter* counts, bool in_classes) const;
  template <class Counter>
  void count_listed(const std::vector<Row>& rows, Counter* counts, bool in_classes) const;

  const Columns& columns_;
  const State& state_;
  std::size_t first_label_ = 0, labels_ = 0, stride_ = 0, counters_ = 0, listed_from_ = 0;
  std::vector<Condition> conditions_;
  std::vector<Where> where_;
  BitMatrix features_;
  LineArray<Word> records_;
  // The part of each row's record that is new since the last rule, of the vectors in which conditions on labels are.
  bool keeps_last_ = false;
  std::size_t first_vector_ = 0, last_vector_ = 0, sets_before_ = 0;
  LineArray<Word> last_;
  Bits last_rows_;
  // By row, the numbers of its listed conditions; a column's missing rows have a counter behind the conditions.
  std::vector<std::uint32_t> first_, listed_;
  struct Block {
    std::uint32_t number, first, last;  // its condition, and those whose rows it lacks
    std::uint32_t missing;              // the counter of the missing rows, or 0
  };
  std::vector<Block> blocks_;
  std::size_t all_counters_ = 0;  // with those of missing rows
  WeightClasses classes_;
};

}  // namespace polyrule
