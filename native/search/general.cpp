#include "search/general.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/assert.hpp"
#include "core/parallel.hpp"
#include "scoring/heads.hpp"
#include "scoring/shortlist.hpp"
#include "search/filter.hpp"

namespace polyrule {

namespace {

// Looks at the columns of one node, by one thread.
class GeneralScan {
 public:
  GeneralScan(const Node& node, const State& state, Columns& columns, Sequences& sequences, const Codes& codes,
              const Form& form, Count min_coverage, std::size_t stretch, Shortlist shortlist,
              const TimeCheck& time_check)
      : node_(node), state_(state), columns_(columns), sequences_(sequences), form_(form),
        judge_(node.labels, state, form, time_check), sums_(node, state, codes),
        filter_(make_filter({node.labels, state, form, sums_})), min_coverage_(min_coverage),
        shortlist_(std::move(shortlist)), stretch_(stretch), outcomes_(node.labels.size()),
        question_(form.valuer ? kAskAtOnce + 2 * node.labels.size() : 0) {
    raise();
  }

  const Shortlist& shortlist() const { return shortlist_; }
  // The bodies judged since the last time.
  std::uint64_t judged() { return std::exchange(judged_, 0); }

  void label(std::size_t label) {
    for (int value = 0; value < 2; ++value) {
      sums_.begin();
      for (std::size_t w = 0; w < node_.cover.words(); ++w)
        for_each_bit(node_.cover.data()[w] & label_rows(state_, label, value != 0, w), w * 64,
                     [&](std::size_t i) { sums_.add(node_.slot(static_cast<Row>(i))); });
      joined([&] { return Condition{Test::label, false, static_cast<std::uint32_t>(label), double(value)}; });
    }
  }

  void feature(std::size_t index) {
    index_ = static_cast<std::uint32_t>(index);
    Column& column = columns_[index];
    columns_.follow(index_, state_.now().working);
    list(column);
    sums_.begin();
    for (const Row row : column.missing)
      if (node_.cover.test(row)) sums_.add(node_.slot(row));
    const Count missing = sums_.moved();
    total_ = node_.weight - missing;
    if (missing) sums_.leave_out();
    else sums_.leave_out_none();
    block_weight_ = column.has_block ? sum_up_block() : 0;
    if (column.nominal) nominal(column);
    else numeric(column, missing > 0);
  }

  // Judge the candidates that still wait for their values. Call at the end.
  void finish() {
    if (!waiting_.empty()) answer();
  }

 private:
  // The weight of the block; its sums are kept.
  Count sum_up_block() {
    sums_.begin();
    sums_.add(list_, size_);
    sums_.keep_rest(total_);
    return sums_.rest_weight();
  }

  // The covered slots of a feature by ascending value, marked where a distinct value starts, without its block.
  void list(Column& column) {
    if (column.shape == Shape::sorted || column.shape == Shape::binned) {
      const std::span<const std::uint32_t> sequence = sequences_.of(index_, node_);
      list_ = sequence.data();
      size_ = sequence.size();
      return;
    }
    list_covered(column, node_, listed_, values_);
    list_ = listed_.data();
    size_ = listed_.size();
  }

  double value_of(const Column& column, std::size_t i) const {
    const bool by_row = column.shape == Shape::sorted || column.shape == Shape::binned;
    return by_row ? column.dense[node_.row(list_[i] & kEntry)] : values_[i];
  }

  void nominal(const Column& column) {
    for (std::size_t i = 0; i < size_;) {
      const std::size_t first = i;
      do ++i;
      while (i < size_ && !(list_[i] & kStarts));
      sums_.begin();
      sums_.add(list_ + first, i - first);
      joined([&] { return Condition{Test::category, false, index_, value_of(column, first)}; });
    }
    if (block_weight_ == 0) return;
    sums_.begin();
    sums_.add_rest();
    joined([&] { return Condition{Test::category, false, index_, column.block}; });
  }

  void numeric(const Column& column, bool misses) {
    if (total_ == 0) return;
    const std::size_t split = block_weight_ > 0 ? block_place(column) : SIZE_MAX;
    sums_.begin();
    if (misses && column.min_value < (split == 0 ? column.block : value_of(column, 0)))
      left([&] { return Condition{Test::above, true, index_, 0}; });
    place_marks(split);
    const std::size_t last = marks_.size() - 1;
    for (std::size_t first = 0; first < last; first += kTogether)
      walk(column, first, std::min(first + kTogether, last), true, true);
    const double highest = split == size_ ? column.block : value_of(column, size_ - 1);
    if (misses && column.max_value > highest) {
      sums_.go_to(last, marks_[last].moved);
      joined([&] { return Condition{Test::at_most, false, index_, highest}; });
    }
  }

  // The first row of the list whose value is above that of the block.
  std::size_t block_place(const Column& column) const {
    std::size_t low = 0, high = size_;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (value_of(column, middle) > column.block) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // Sums at places a few rows apart, with the block as a row of its own.
  void place_marks(std::size_t split) {
    marks_.clear();
    sums_.clear_marks();
    const auto mark = [&](std::size_t place, bool is_block) {
      marks_.push_back({place, sums_.moved(), is_block});
      sums_.mark();
    };
    mark(0, false);
    for (std::size_t i = 0; i < size_ || split != SIZE_MAX;) {
      if (i == split) {
        sums_.add_rest();
        split = SIZE_MAX;
        mark(i, true);
        continue;
      }
      const std::size_t next = std::min(i + stretch_, i < split ? std::min(split, size_) : size_);
      sums_.add(list_ + i, next - i);
      i = next;
      mark(i, false);
    }
  }

  // The boundaries behind one mark up to another, on the sides that are asked for.
  void walk(const Column& column, std::size_t first, std::size_t last, bool joins, bool leaves) {
    POLYRULE_ASSERT(first < last && last < marks_.size());
    if (has_level_ && filter_) {  // prunes by the stretch bound
      const auto may = [&](bool leaving, Count moved) {
        return filter_->judge(sums_.between(first, last, leaving, moved)) >= double(shortlist_.least_tp());
      };
      joins = joins && may(false, marks_[first].moved);
      leaves = leaves && may(true, total_ - marks_[last].moved);
    }
    if (!joins && !leaves) return;
    if (last - first > 1) {
      const std::size_t middle = (first + last) / 2;
      walk(column, first, middle, joins, leaves);
      walk(column, middle, last, joins, leaves);
      return;
    }
    const auto look = [&](double edge) {
      if (sums_.moved() == total_) return;
      if (joins) joined([&] { return Condition{Test::at_most, false, index_, edge}; });
      if (leaves) left([&] { return Condition{Test::above, false, index_, edge}; });
    };
    if (marks_[last].is_block) {
      sums_.go_to(last, marks_[last].moved);
      look(column.block);
      return;
    }
    sums_.go_to(first, marks_[first].moved);
    for (std::size_t i = marks_[first].place; i < marks_[last].place;) {
      const std::size_t from = i;
      do ++i;
      while (i < marks_[last].place && !(list_[i] & kStarts));
      sums_.add(list_ + from, i - from);
      if (i == size_ || (list_[i] & kStarts)) look(value_of(column, i - 1));
    }
  }

  // The rows added so far, or all others, are a candidate; make() gives its condition, which few candidates need.
  template <class Make>
  void joined(Make&& make) {
    const Count weight = sums_.moved();
    if (weight != 0 && weight != node_.weight) consider(make, weight, false);
  }

  template <class Make>
  void left(Make&& make) {
    const Count weight = total_ - sums_.moved();
    if (weight != 0) consider(make, weight, true);
  }

  template <class Make>
  void consider(Make&& make, Count weight, bool leaving) {
    POLYRULE_ASSERT(weight > 0 && weight <= node_.weight);
    if (weight < min_coverage_) return;
    ++judged_;
    const Stretch body = sums_.current(leaving, weight);
    if (filter_ && has_level_) {  // prunes by the stretch bound of this body alone
      const double tp = filter_->judge(body);
      if (tp < double(shortlist_.least_tp()) || !shortlist_.admits_tie(tp, make())) return;
    }
    for (std::size_t e = 0; e < node_.labels.size(); ++e) {
      const auto [of, same] = sums_.ends(body, e);
      outcomes_[e] = {{of[1], of[0], of[3] - of[1], of[2] - of[0]}};
    }
    if (filter_) solve(make());
    else ask(make());
  }

  // Values of a function are asked for in batches; a candidate waits until the answers are there.
  void ask(const Condition& condition) {
    if (!question_.has_room(node_.labels.size() * 2)) answer();
    waiting_.push_back({condition, question_.size()});
    judge_.each_literal(outcomes_, [&](const HeadLiteral& literal, const Counts& counts) {
      question_.add(counts);
      literals_.push_back(literal);
    });
  }

  void answer() {
    const std::size_t end = question_.size();
    const double* values = form_.valuer->ask(question_).data();
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const std::size_t first = waiting_[i].first, last = i + 1 < waiting_.size() ? waiting_[i + 1].first : end;
      double best = -std::numeric_limits<double>::infinity();
      for (std::size_t k = first; k < last; ++k) best = std::max(best, values[k]);
      if (first == last || (has_level_ && best < floor_)) continue;
      std::vector<HeadLiteral> tied;
      for (std::size_t k = first; k < last; ++k)
        if (values[k] == best) join(tied, literals_[k]);
      keep_most_right(tied, form_.max_head);
      shortlist_.offer({{Valuer::in_order(best), 1}, total_tp(tied), waiting_[i].condition});
      raise();
    }
    waiting_.clear();
    literals_.clear();
  }

  void solve(const Condition& condition) {
    Bits cover;
    if (form_.kind == HeadKind::subset || form_.kind == HeadKind::example)
      cover = covered_by(condition, node_.cover, columns_, state_);
    const Fraction* level = shortlist_.has_level() ? &shortlist_.level() : nullptr;
    const Head head = judge_.solve(outcomes_, cover, level);
    if (!head.any()) return;
    shortlist_.offer({head.value, head.tp, condition});
    raise();
  }

  void raise() {
    if (!shortlist_.has_level()) return;
    const Fraction& level = shortlist_.level();
    if (has_level_ && compare(level, level_) == 0) return;
    has_level_ = true;
    level_ = level;
    if (form_.valuer) floor_ = Valuer::from_order(static_cast<Count>(level.num));
    if (filter_) filter_->set_level(level);
  }

  const Node& node_;
  const State& state_;
  Columns& columns_;
  Sequences& sequences_;
  const Form& form_;
  HeadJudge judge_;
  Sums sums_;
  const std::unique_ptr<Filter> filter_;  // none: values of a function are asked for as they come
  Count min_coverage_;
  std::uint64_t judged_ = 0;
  Shortlist shortlist_;
  bool has_level_ = false;
  Fraction level_;
  double floor_ = 0;  // the value of a function that must be reached

  std::uint32_t index_ = 0;
  const std::uint32_t* list_ = nullptr;
  std::size_t size_ = 0;
  std::vector<std::uint32_t> listed_;
  std::vector<double> values_;  // of the listed slots
  Count total_ = 0, block_weight_ = 0;
  struct Mark {
    std::size_t place;
    Count moved;
    bool is_block;  // the rows of the block have just joined
  };
  static constexpr std::size_t kTogether = 8;  // marks
  const std::size_t stretch_;
  std::vector<Mark> marks_;
  std::vector<OutcomeCounts> outcomes_;  // of the body at hand, by label

  struct Waiting {
    Condition condition;
    std::size_t first;  // of its literals
  };
  static constexpr std::size_t kAskAtOnce = 16'384;
  Question question_;
  std::vector<Waiting> waiting_;
  std::vector<HeadLiteral> literals_;  // that are asked about
};

}  // namespace

bool GeneralSearch::search(const Query& query, Shortlist& best) {
  constexpr std::size_t kMarkedSums = std::size_t{1} << 28;
  const Watch& watch = query.watch;
  const Node& node = query.node;
  const Form& form = query.form;
  const Codes codes(node, state_, HeadLanes::of(node, state_, form));
  std::vector<std::size_t> columns, labels;
  for (std::size_t j = 0; j < columns_.size(); ++j)
    if (columns_[j].shape != Shape::constant) columns.push_back(j);
  for (std::size_t l = 0; l < state_.labels && label_conditions_; ++l)
    if (state_.ever_set[l]) labels.push_back(l);
  // Marks of many sums are farther apart.
  const std::size_t stretch = limits_.stretch_rows * (1 + node.rows.size() * codes.sums() / kMarkedSums);
  const std::size_t units = columns.size() + labels.size();
  const std::size_t work = (node.rows.size() + codes.work()) * units;
  const int threads = work < limits_.threaded_work ? 1 : std::min<int>(threads_, static_cast<int>(units));
  std::vector<std::unique_ptr<GeneralScan>> workers(static_cast<std::size_t>(threads));
  const auto visit = [&](int w, std::size_t unit) {
    auto& worker = workers[static_cast<std::size_t>(w)];
    if (!worker)
      worker.reset(new GeneralScan(node, state_, columns_, sequences_, codes, form, min_coverage_, stretch, best,
                                   TimeCheck(&watch)));
    if (unit < columns.size()) worker->feature(columns[unit]);
    else worker->label(labels[unit - columns.size()]);
    watch.bodies.fetch_add(worker->judged(), std::memory_order_relaxed);
  };
  try {
    over_all(watch, units, threads, 1, visit);
    for (const auto& worker : workers)
      if (worker) worker->finish();
  } catch (const TimeIsUp&) {  // what was found until then still counts
    watch.late = true;
  }
  for (const auto& worker : workers)
    if (worker) best.merge(worker->shortlist());
  return false;
}

}  // namespace polyrule
