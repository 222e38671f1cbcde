#include "scoring/monotone_bounds.hpp"

#include <algorithm>

namespace polyrule {

namespace {

constexpr std::size_t kMostKnown = 200'000;

}  // namespace

void MonotoneBounds::begin(double level, Count max_count) {
  if (begun_ && level == level_ && max_count == max_count_) return;
  if (values_.size() > kMostKnown || max_count != max_count_) {
    low_.clear();
    high_.clear();
    values_.clear();
  }
  // what a point says may be the opposite now
  std::vector<Point>&from = level > level_ ? high_ : low_, moved;
  for (const Point& point : from)
    if ((point.value > level) != (level > level_)) moved.push_back(point);
  std::erase_if(from, [&](const Point& point) { return (point.value > level) != (level > level_); });
  begun_ = true;
  level_ = level;
  max_count_ = max_count;
  for (const Point& point : moved) keep(point.at, point.value);
}

// Of points that say the same, the one that speaks for most is kept.
void MonotoneBounds::keep(const Counts& counts, double value) {
  if (value > level_) {
    for (const Point& point : high_)
      if (speaks_for(counts, point.at)) return;
    std::erase_if(high_, [&](const Point& point) { return speaks_for(point.at, counts); });
    high_.push_back({counts, value});
    return;
  }
  const bool ties = value == level_;
  for (const Point& point : low_)
    if (speaks_for(point.at, counts) && (ties || point.value < level_)) return;
  std::erase_if(low_,
                [&](const Point& point) { return speaks_for(counts, point.at) && (!ties || point.value == level_); });
  low_.push_back({counts, value});
}

bool MonotoneBounds::is_said(const Counts& counts, Answer& answer) {
  bool ties = false;
  for (std::size_t i = 0; i < low_.size(); ++i) {
    if (!speaks_for(low_[i].at, counts)) continue;
    if (low_[i].value == level_) {
      ties = true;
      continue;
    }
    if (i > 0) std::swap(low_[i], low_[i / 2]);  // what is of use moves forward
    answer = Answer::below;
    return true;
  }
  answer = ties ? Answer::tie : Answer::perhaps;
  if (ties) return true;
  for (std::size_t i = 0; i < high_.size(); ++i) {
    if (!speaks_for(counts, high_[i].at)) continue;
    if (i > 0) std::swap(high_[i], high_[i / 2]);
    return true;
  }
  return false;
}

MonotoneBounds::Answer MonotoneBounds::look(const Counts& counts) {
  Answer answer;
  if (is_said(counts, answer)) return answer;
  // TN and FN as they are, as good as can be, and as bad as can be
  const Counts best{counts.tp, counts.fp, max_count_, 0}, worst{counts.tp, counts.fp, 0, max_count_};
  bool any = false;  // an answer given for another level may have been forgotten
  for (const Counts& c : {counts, best, worst})
    if (const auto cached = values_.find(c); cached != values_.end()) {
      keep(c, cached->second);
      any = true;
    }
  if (any && is_said(counts, answer)) return answer;
  std::vector<Counts> all{counts, best, worst};
  const auto part = [](Count count, int step) { return std::max<Count>(step, count * step / 32); };
  for (int step = 1; step <= 32; step *= 2) {
    for (const Counts& c : {counts, best}) {
      all.push_back({std::min(max_count_, c.tp + part(c.tp, step)), c.fp, c.tn, c.fn});
      all.push_back({c.tp, std::max<Count>(0, c.fp - part(c.fp, step)), c.tn, c.fn});
    }
    // points that are worth less may still be worth enough
    all.push_back({std::max<Count>(0, counts.tp - part(counts.tp, step)), counts.fp, 0, max_count_});
    all.push_back({counts.tp, std::min(max_count_, counts.fp + part(counts.fp, step)), 0, max_count_});
  }
  learn(all);
  for (const Counts& c : all) keep(c, values_.at(c));
  const double value = values_.at(counts);
  return value < level_ ? Answer::below : value == level_ ? Answer::tie : Answer::perhaps;
}

double MonotoneBounds::value(const Counts& counts) {
  learn({counts});
  return values_.at(counts);
}

void MonotoneBounds::learn(const std::vector<Counts>& all) {
  std::vector<Counts> unknown;
  for (const Counts& c : all)
    if (!values_.contains(c)) unknown.push_back(c);
  if (unknown.empty()) return;
  Question question(unknown.size());
  for (const Counts& c : unknown) question.add(c);
  const std::vector<double>& values = valuer_->ask(question);
  for (std::size_t i = 0; i < unknown.size(); ++i) values_[unknown[i]] = values[i];
}

}  // namespace polyrule
