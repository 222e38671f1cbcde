// Sums over covers, as Python calls them.
#include "count/covers.hpp"

#include "bindings/bindings.hpp"

namespace polyrule {
namespace {

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void py_cover_sums(const Matrix<const Word>& covers, const Vector<Word>& rows, const Matrix<const double>& worth,
                   const Matrix<double>& out, int threads) {
  const std::size_t bodies = covers.shape(0), words = covers.shape(1), columns = worth.shape(1);
  if (rows.shape(0) != words || words != words_for(worth.shape(0)) || out.shape(0) != bodies || out.shape(1) != columns)
    throw nb::value_error("cover_sums: wrong shapes");
  if (const std::size_t end = worth.shape(0) % 64; end && rows.data()[words - 1] >> end)
    throw nb::value_error("cover_sums: rows that there are not");
  const nb::gil_scoped_release release;
  cover_sums(covers.data(), bodies, words, rows.data(), worth.data(), columns, threads, out.data());
}

}  // namespace

void register_covers(nb::module_& m) {
  m.def("cover_sums", &py_cover_sums, "covers"_a, "rows"_a, "worth"_a, "out"_a, "threads"_a);
}

}  // namespace polyrule
