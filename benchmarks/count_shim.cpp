// Counting and deciding behind a C interface, for machines where the extension is not built: g++ -O3 -shared -fPIC.
#include <algorithm>

#include "../native/count/count.hpp"

extern "C" void count_bytes(const std::uint8_t* codes, const std::uint64_t* truth, const std::uint64_t* set,
                            const std::uint64_t* value, std::size_t features, std::size_t rows, std::size_t words,
                            std::size_t labels, const std::uint32_t* chosen, std::size_t n, const std::int32_t* columns,
                            const std::int64_t* starts, std::size_t n_columns, const std::uint8_t* usual,
                            std::int64_t* kinds, std::int64_t* weight) {
  polyrule_count::BlockView block{codes, false, features, rows, words, labels, truth, set, value, nullptr};
  polyrule_count::count_rows(block, chosen, n, columns, starts, n_columns, usual, kinds, weight);
}

extern "C" int decide_counts(const std::int64_t* kinds, const std::int64_t* weight, const std::int64_t* occurs,
                             const std::int64_t* starts, const std::int64_t* ends, const std::uint8_t* numeric,
                             const std::int32_t* own, const std::uint8_t* allowed, const std::int64_t* total,
                             const std::int64_t* rows, std::size_t labels, std::size_t n_columns, double min_coverage,
                             int single, std::int64_t* out) {
  polyrule_count::NodeView node{kinds, weight, occurs, labels};
  polyrule_count::Measure measure;
  std::copy(rows, rows + 5, measure.num);
  std::copy(rows + 5, rows + 10, measure.den);
  measure.single = single != 0;
  std::vector<polyrule_count::ColumnView> columns;
  for (std::size_t c = 0; c < n_columns; ++c) columns.push_back({starts[c], ends[c], numeric[c] != 0, own[c]});
  const auto found = polyrule_count::decide(node, columns, measure, total, allowed, min_coverage);
  out[0] = static_cast<std::int64_t>(found.column), out[1] = found.bin, out[2] = found.above;
  return found.any;
}
