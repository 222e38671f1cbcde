// count_rows behind a C interface, for machines where the extension is not built: g++ -O3 -shared -fPIC.
#include "../native/count/count.hpp"

extern "C" void count_bytes(const std::uint8_t* codes, const std::uint64_t* truth, const std::uint64_t* set,
                            const std::uint64_t* value, std::size_t features, std::size_t rows, std::size_t words,
                            std::size_t labels, const std::uint32_t* chosen, std::size_t n, const std::int32_t* columns,
                            const std::int64_t* starts, std::size_t n_columns, const std::uint8_t* usual,
                            std::int64_t* kinds, std::int64_t* weight) {
  polyrule_count::BlockView block{codes, false, features, rows, words, labels, truth, set, value, nullptr};
  polyrule_count::count_rows(block, chosen, n, columns, starts, n_columns, usual, kinds, weight);
}
