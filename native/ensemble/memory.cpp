// Which sums per bin are kept, and from which of them others follow.
#include "ensemble/memory.hpp"

#include <algorithm>
#include <numeric>

namespace polyrule {
namespace {

constexpr std::size_t kMostKept = 16;        // sets of rows: most of those that one rule asks about
constexpr std::size_t kMostCells = 1 << 19;  // of each of them, 4 MB

bool includes(const std::vector<std::int64_t>& all, const std::vector<std::int64_t>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

POLYRULE_VECTOR_CLONES void combine(Sum* __restrict to, const Sum* __restrict base, const Sum* __restrict other,
                                    Sum sign, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] = base[j] + sign * other[j];
}

// Calls visit(cell in lines of `all`, cell in lines of `some`) for both slopes of each label of `some`, line by line.
template <class Visit>
void each_cell(const Labels& all, const Labels& some, std::size_t lines, const Visit& visit) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < some.wide; ++i)
    places.push_back(
        static_cast<std::size_t>(std::lower_bound(all.labels, all.labels + all.wide, some.labels[i]) - all.labels));
  for (std::size_t b = 0; b < lines; ++b)
    for (std::size_t part = 0; part < 2; ++part)
      for (std::size_t i = 0; i < some.wide; ++i)
        visit(b * all.line() + part * all.half() + places[i], b * some.line() + part * some.half() + i);
}

// The other way round: columns of some labels into lines of sums of all.
void spread(const Sum* from, std::size_t count, const Labels& some, const Labels& all, Sum* lines) {
  if (some.wide == all.wide) return void(std::copy_n(from, count * all.line(), lines));
  each_cell(all, some, count, [&](std::size_t there, std::size_t here) { lines[there] = from[here]; });
}

}  // namespace

const Sum* columns(const Sum* lines, std::size_t count, const Labels& from, const Labels& wanted,
                   LineArray<Sum>& room) {
  if (wanted.wide == from.wide) return lines;
  room.assign(count * wanted.line(), 0);
  each_cell(from, wanted, count, [&](std::size_t there, std::size_t here) { room[here] = lines[there]; });
  return room.get();
}

void Kept::begin(Bits of, std::size_t number, std::vector<std::int64_t> judging, std::size_t lines,
                 std::size_t features) {
  rows = std::move(of), count = number, labels = std::move(judging);
  total.assign(block().line(), 0);
  sums.resize(lines * block().line());
  known.assign(features, 0);
}

bool Kept::knows(const Asked& asked) const {
  return std::all_of(asked.features, asked.features + asked.chosen,
                     [&](std::int64_t f) { return known[static_cast<std::size_t>(f)] != 0; });
}

void Memory::renew(const Bins& bins, std::size_t labels, const std::int64_t* versions) {
  if (versions_.size() != labels || first_.size() != bins.features + 1) {
    first_.assign(1, 0);
    for (std::size_t f = 0; f < bins.features; ++f)
      first_.push_back(first_.back() + static_cast<std::size_t>(bins.count[f]) + 1);
    versions_.assign(labels, -1);
    std::vector<std::int64_t> every(labels);
    std::iota(every.begin(), every.end(), 0);
    Bits rows(bins.rows);
    for (std::size_t r = 0; r < bins.rows; ++r) rows.set(r);
    root_.begin(std::move(rows), bins.rows, std::move(every), first_.back(), bins.features);
    std::fill_n(root_.sums.get(), first_.back() * root_.block().line(), 0.0);
  }
  std::vector<std::int64_t> changed, stale;
  for (std::size_t l = 0; l < labels; ++l)
    if (versions_[l] != versions[l]) changed.push_back(static_cast<std::int64_t>(l)), versions_[l] = versions[l];
  if (changed.empty()) return;
  std::move(kept_.begin(), kept_.end(), std::back_inserter(spare_));
  kept_.clear();
  std::set_union(stale_.begin(), stale_.end(), changed.begin(), changed.end(), std::back_inserter(stale));
  stale_ = std::move(stale);
}

const Sum* Memory::sums(const Kept& kept, std::size_t f, const Labels& block, LineArray<Sum>& room) const {
  const Labels own = kept.block();
  return columns(kept.sums.get() + first_[f] * own.line(), first_[f + 1] - first_[f], own, block, room);
}

Lines Memory::lines(const Kept& kept, std::size_t f, const Labels& block, LineArray<Sum>& room) const {
  const Labels own = kept.block();
  const std::int64_t* from = std::lower_bound(own.labels, own.labels + own.wide, block.labels[0]);
  const std::size_t place = static_cast<std::size_t>(from - own.labels);
  // What they are filled up with must be empty there, too.
  const bool filled = place % kEight == 0 && (block.wide % kEight == 0 || place + block.wide == own.wide);
  if (!filled || !std::equal(block.labels, block.labels + block.wide, from))
    return {sums(kept, f, block, room), block.line(), block.half()};
  return {kept.sums.get() + first_[f] * own.line() + place, own.line(), own.half()};
}

void Memory::keep(const Plan& plan, std::size_t f, const Labels& block, const Sum* counted, Desk& desk) const {
  Kept& kept = *plan.kept;
  const std::size_t line = kept.block().line(), lines = first_[f + 1] - first_[f];
  Sum* to = kept.sums.get() + first_[f] * line;
  if (!plan.base) return spread(counted, lines, block, kept.block(), to);
  const Sum* other = plan.between ? sums(*plan.between, f, block, desk.columns[1]) : counted;
  combine(to, sums(*plan.base, f, block, desk.columns[0]), other, plan.sign, lines * line);
}

void Memory::keep_total(const Plan& plan, const Labels& block, const Sum* counted) const {
  Kept& kept = *plan.kept;
  LineArray<Sum> room[2];
  const auto total = [&](const Kept& of, LineArray<Sum>& into) {
    return columns(of.total.get(), 1, of.block(), block, into);
  };
  if (!plan.base) return spread(counted, 1, block, kept.block(), kept.total.get());
  combine(kept.total.get(), total(*plan.base, room[0]), plan.between ? total(*plan.between, room[1]) : counted,
          plan.sign, block.line());
}

Kept* Memory::find(const Bits& rows, const std::vector<std::int64_t>& labels) const {
  for (const auto& kept : kept_)
    if (kept->rows == rows && includes(kept->labels, labels)) return kept.get();
  return nullptr;
}

Kept* Memory::fresh() {
  if (kept_.size() == kMostKept) {
    spare_.push_back(std::move(kept_.front()));
    kept_.erase(kept_.begin());
  }
  if (spare_.empty()) spare_.push_back(std::make_unique<Kept>());
  kept_.push_back(std::move(spare_.back()));
  spare_.pop_back();
  return kept_.back().get();
}

Plan Memory::plan_root(const Bins& bins, const Asked& asked) {
  Plan plan{&root_, root_.knows(asked) ? stale_ : root_.labels, {}};
  plan.rows.resize(plan.labels.empty() ? 0 : bins.rows);
  std::iota(plan.rows.begin(), plan.rows.end(), 0);
  if (!plan.labels.empty()) std::fill(root_.known.begin(), root_.known.end(), std::uint8_t{0});
  stale_.clear();
  return plan;
}

Plan Memory::plan(const Bins& bins, const Slopes& slopes, const Asked& asked, const std::int64_t* versions) {
  renew(bins, slopes.labels, versions);
  if (asked.count == bins.rows && asked.wide == slopes.labels) return plan_root(bins, asked);
  // Of more labels some judge, others for each body: to take theirs out of the sums of all is no quicker than to count.
  if (slopes.labels > kOneBlock || first_.back() * Labels{asked.judges, asked.wide}.line() > kMostCells) return {};
  Bits rows(bins.rows);
  for (std::size_t k = 0; k < asked.count; ++k) rows.set(static_cast<std::size_t>(asked.rows[k]));
  std::vector<std::int64_t> judges(asked.judges, asked.judges + asked.wide);
  Plan plan;
  plan.kept = find(rows, judges);
  if (plan.kept && plan.kept->knows(asked)) return plan;
  if (!plan.kept) {
    plan.kept = fresh();
    plan.kept->begin(rows, asked.count, std::move(judges), first_.back(), bins.features);
  }
  plan.labels = plan.kept->labels;
  std::size_t fewest = asked.count;
  Bits counted = rows;
  const auto consider = [&](const Kept& known) {
    if (&known == plan.kept || !known.knows(asked) || !includes(known.labels, plan.labels)) return;
    Bits apart = rows;
    for (std::size_t w = 0; w < apart.words(); ++w) apart.data()[w] ^= known.rows.data()[w];
    const std::size_t number = static_cast<std::size_t>(count_bits(apart.data(), apart.words()));
    if (number != std::max(known.count, asked.count) - std::min(known.count, asked.count)) return;
    const Kept* between = find(apart, plan.labels);
    if (between && (between == plan.kept || !between->knows(asked))) between = nullptr;
    if ((between ? 0 : number) >= fewest) return;
    fewest = between ? 0 : number;
    plan.base = &known, plan.between = between, plan.sign = known.count > asked.count ? -1 : 1;
    counted = std::move(apart);
  };
  if (stale_.empty()) consider(root_);
  for (const auto& known : kept_) consider(*known);
  if (plan.between) return plan;
  plan.rows.reserve(fewest);
  for_each_bit(counted, [&](std::size_t r) { plan.rows.push_back(static_cast<std::int32_t>(r)); });
  return plan;
}

}  // namespace polyrule
