// Numbers looked up by code and added up over columns, as Python calls it: what hashes of examples are made of.
#include <algorithm>
#include <cstdint>

#include "bindings/bindings.hpp"

namespace polyrule {
namespace {

constexpr std::size_t kRows = 2048;  // at a time: their sums stay in the nearest cache

// found[row] += tables[starts[column] + codes[column][row]], modulo 2^64; codes may lie by column or by row.
template <class Code>
void add_looked_up(const Table<Code>& codes, const Vector<std::uint64_t>& tables, const Vector<std::int64_t>& starts,
                   const Writable<std::uint64_t, 1>& sums) {
  const std::size_t columns = codes.shape(0), rows = codes.shape(1);
  require_starts(starts, columns, tables.shape(0), "add_looked_up: one table per column is needed");
  require(has_shape(sums, rows), "add_looked_up: one sum per row is needed");
  const std::ptrdiff_t across = codes.stride(0), down = codes.stride(1);
  const bool inside = unlocked([&] {
    bool good = true;
    for (std::size_t first = 0; first < rows; first += kRows) {
      const std::size_t last = std::min(rows, first + kRows);
      for (std::size_t c = 0; c < columns; ++c) {
        const std::uint64_t* table = tables.data() + starts(c);
        const auto size = static_cast<std::uint64_t>(starts(c + 1) - starts(c));
        const Code* code = codes.data() + static_cast<std::ptrdiff_t>(c) * across;
        for (std::size_t r = first; r < last; ++r) {
          const Code entry = code[static_cast<std::ptrdiff_t>(r) * down];
          if (entry >= size) good = false;
          else sums.data()[r] += table[entry];
        }
      }
    }
    return good;
  });
  if (!inside) throw nb::index_error("add_looked_up: a code that its table has no number for");
}

}  // namespace

void register_lookup(nb::module_& m) {
  m.def("add_looked_up", &add_looked_up<std::uint8_t>, "codes"_a, "tables"_a, "starts"_a, "found"_a);
  m.def("add_looked_up", &add_looked_up<std::uint16_t>, "codes"_a, "tables"_a, "starts"_a, "found"_a);
}

}  // namespace polyrule
