#include "search/sorted_columns.hpp"

#include "core/assert.hpp"

#include <algorithm>

namespace polyrule {

void sort_slots(const Column& column, const Node& node, std::vector<std::uint32_t>& slots) {
  struct Entry {
    double value;
    std::uint32_t slot;
  };
  std::vector<Entry> entries;
  entries.reserve(slots.size());
  column.dense.read([&](auto value) {
    for (const std::uint32_t slot : slots) entries.push_back({double(value(node.row(slot))), slot});
  });
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.value != b.value ? a.value < b.value : a.slot < b.slot; });
  for (std::size_t i = 0; i < entries.size(); ++i)
    slots[i] = entries[i].slot | (i == 0 || entries[i].value != entries[i - 1].value ? kStarts : 0);
}

std::size_t list_covered(const Column& column, const Node& node, std::vector<std::uint32_t>& slots,
                         std::vector<double>& values) {
  slots.clear();
  values.clear();
  std::size_t below = 0;
  for (std::size_t p = 0; p < column.rows.size(); ++p) {
    const Row row = column.row_at(p);
    if (!node.cover.test(row)) continue;
    const double value = column.value_at(p);
    slots.push_back(node.slot(row) | (values.empty() || values.back() != value ? kStarts : 0));
    values.push_back(value);
    below += p < column.below;
  }
  return below;
}

#if POLYRULE_ASSERTS
// Whether slots come by ascending value, each distinct value marked where it starts.
static bool is_ascending(const Column& column, const Node& node, std::span<const std::uint32_t> slots) {
  double last = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const double value = column.dense[node.row(slots[i] & kEntry)];
    if (!node.cover.test(node.row(slots[i] & kEntry)) || (i > 0 && value < last)) return false;
    if ((i == 0 || value != last) != ((slots[i] & kStarts) != 0)) return false;
    last = value;
  }
  return true;
}
#endif

void Sequences::enter(const Node& node) {
  if (node.path_id != path_id_) maps_.clear();
  path_id_ = node.path_id;
  maps_.resize(node.depth + 1);
  maps_[node.depth] = node.from_parent;
}

void Sequences::sort(const Column& column, const Node& node, std::vector<std::uint32_t>& out) const {
  out.clear();
  column.dense.read([&](auto value) {
    for (std::uint32_t p = 0; p < node.rows.size(); ++p)
      if (!std::isnan(double(value(node.rows[p])))) out.push_back(node.slot_at(p));
  });
  sort_slots(column, node, out);
}

std::span<const std::uint32_t> Sequences::of(std::size_t index, const Node& node) {
  Column& column = columns_[index];
  Kept& list = filtered_[index];
  const bool is_sorted = column.shape == Shape::sorted;
  if (is_sorted && node.is_root()) return {column.rows.data(), column.rows.size()};
  if (list.path_id != node.path_id || list.depth > node.depth) {
    list.path_id = node.path_id;
    // Few rows are sorted in less time than they are picked out of all.
    const std::size_t covered = node.rows.size();
    if (is_sorted && covered * std::bit_width(covered) >= column.rows.size() / 4) {
      list.entries.resize(column.rows.size() + 1);
      list.size = filter_entries(column.rows.data(), column.rows.size(), maps_[1].data(), list.entries.data());
      list.depth = 1;
    } else {
      sort(column, node, list.entries);
      list.size = list.entries.size();
      list.depth = node.depth;
    }
  }
  for (; list.depth < node.depth; ++list.depth)
    list.size = filter_entries(list.entries.data(), list.size, maps_[list.depth + 1].data(), list.entries.data());
  POLYRULE_ASSERT(list.size <= node.rows.size() && is_ascending(column, node, {list.entries.data(), list.size}));
  return {list.entries.data(), list.size};
}

}  // namespace polyrule
