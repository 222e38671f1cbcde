// Unit tests of core/: exact numbers, bitsets, tallies, transposition. Each is held against the obvious way.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <random>

#include "core/fraction.hpp"
#include "core/natural.hpp"
#include "core/parallel.hpp"
#include "core/popcount.hpp"

using namespace polyrule;

namespace {

std::mt19937_64 numbers(7);

std::int64_t between(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(numbers);
}

Bits random_bits(std::size_t size) {
  Bits bits(size);
  for (std::size_t i = 0; i < size; ++i)
    if (between(0, 1)) bits.set(i);
  return bits;
}

}  // namespace

TEST_CASE("fractions compare as their products do") {
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t a = between(-50, 50), b = between(1, 50), c = between(-50, 50), d = between(1, 50);
    const int order = a * d < c * b ? -1 : a * d > c * b;
    CHECK(compare(Fraction{a, b}, Fraction{c, d}) == order);
    // Both sides of each fraction times the same large number: the way of the continued fractions.
    const Wide large = (Wide{1} << 80) + 3, other = (Wide{1} << 70) + 9;
    CHECK(compare(Fraction{a * large, b * large}, Fraction{c * other, d * other}) == order);
  }
}

TEST_CASE("fractions are made in lowest terms, and 0 where there is nothing to divide by") {
  const Fraction half = make_fraction(-6, -12);
  CHECK(half.num == 1);
  CHECK(half.den == 2);
  CHECK(make_fraction(5, 0).num == 0);
  CHECK(make_fraction(5, 0).den == 1);
}

TEST_CASE("the nearest fraction below is the largest that is not above") {
  for (int round = 0; round < 90; ++round) {  // the obvious way is slow
    const Fraction target{between(-300, 300), between(1, 97)};
    const std::int64_t most = between(1, 20);
    Fraction best{-1000, 1};
    for (std::int64_t den = 1; den <= most; ++den)
      for (std::int64_t num = -400 * den; num <= 400 * den; ++num)
        if (compare({num, den}, target) <= 0 && compare({num, den}, best) > 0) best = {num, den};
    CHECK(compare(nearest_below(target, most), best) == 0);
  }
}

TEST_CASE("two words calculate as the compiler's 128 bits do") {
#ifdef POLYRULE_INT128
  using Own = POLYRULE_INT128;
  const auto same = [](const TwoWords& words, Own own) {
    return static_cast<std::uint64_t>(words) == static_cast<std::uint64_t>(own) &&
           static_cast<std::uint64_t>(words >> 64) == static_cast<std::uint64_t>(own >> 64);
  };
  for (int round = 0; round < 5000; ++round) {
    const std::int64_t a = static_cast<std::int64_t>(numbers()) >> between(0, 63), b = between(-9, 9);
    const std::int64_t c = (static_cast<std::int64_t>(numbers()) >> between(0, 63)) | 1;
    const TwoWords x = TwoWords(a) * TwoWords(c) + TwoWords(b), y = TwoWords(c);
    const Own own = Own(a) * c + b;
    CHECK(same(x, own));
    CHECK(same(x / y, own / c));
    CHECK(same(x % y, own % c));
    CHECK(same(x - y, own - c));
    CHECK((x < y) == (own < Own(c)));
    CHECK(double(x) == double(own));
  }
#endif
}

TEST_CASE("the sign of a sum of fractions is exact where doubles see nothing") {
  CHECK(sign_of_sum({{1, 3}, {1, 6}, {-1, 2}}) == 0);
  CHECK(sign_of_sum({{1, 4294967291u}, {-1, 4294967279u}}) == -1);
  CHECK(sign_of_sum({{Count{1} << 62, 7}, {-(Count{1} << 62), 7}, {1, 4294967291u}}) == 1);
  CHECK(sign_of_sum({}) == 0);
}

TEST_CASE("counting bits is counting bits") {
  for (std::size_t size : {1u, 63u, 64u, 65u, 700u, 5000u}) {
    const Bits a = random_bits(size), b = random_bits(size), c = random_bits(size);
    Count one = 0, both = 0, inside = 0, outside = 0, three[3] = {}, found[3];
    for (std::size_t i = 0; i < size; ++i) {
      one += a.test(i);
      both += a.test(i) && b.test(i);
      inside += a.test(i) && b.test(i) && c.test(i);
      outside += a.test(i) && b.test(i) && !c.test(i);
      three[0] += a.test(i) && b.test(i);
      three[1] += a.test(i) && c.test(i);
      three[2] += a.test(i) && b.test(i) && c.test(i);
    }
    CHECK(count_bits(a.data(), a.words()) == one);
    CHECK(count_common(a.data(), b.data(), a.words()) == both);
    CHECK(count_common(a.data(), b.data(), c.data(), false, a.words()) == inside);
    CHECK(count_common(a.data(), b.data(), c.data(), true, a.words()) == outside);
    count_three(a.data(), b.data(), c.data(), a.words(), found);
    CHECK(std::equal(three, three + 3, found));
    std::vector<std::uint32_t> running(a.words() + 1);
    running_counts(a.data(), a.words(), running.data());
    CHECK(Count(running.back()) == one);
    std::vector<std::size_t> visited;
    for_each_bit(a, [&](std::size_t i) { visited.push_back(i); });
    CHECK(Count(visited.size()) == one);
    CHECK(std::is_sorted(visited.begin(), visited.end()));
  }
}

TEST_CASE("popcounts count every bit of the listed records") {
  constexpr std::size_t kRecords = 3000, kStride = 8;
  std::vector<Word> records(kRecords * kStride);
  for (Word& word : records) word = numbers();
  for (std::size_t listed : {0u, 1u, 15u, 16u, 17u, 2999u}) {
    std::vector<std::uint32_t> rows(listed);
    for (std::uint32_t& row : rows) row = static_cast<std::uint32_t>(between(0, kRecords - 1));
    std::vector<std::uint16_t> counts(512, 9), expected(512, 0);
    for (const std::uint32_t row : rows)
      for (std::size_t bit = 0; bit < 512; ++bit) expected[bit] += records[row * kStride + bit / 64] >> (bit % 64) & 1;
    popcount_records(records.data(), kStride, rows.data(), listed, 2, counts.data());
    CHECK(counts == expected);
  }
}

TEST_CASE("parallel work is done once each, and an exception comes back") {
  std::vector<std::atomic<int>> done(100);
  parallel_for(done.size(), 4, [&](std::size_t i) { ++done[i]; });
  CHECK(std::all_of(done.begin(), done.end(), [](const std::atomic<int>& times) { return times == 1; }));
  CHECK_THROWS_AS(parallel_for(8, 3,
                               [](std::size_t i) {
                                 if (i == 5) throw std::out_of_range("five");
                               }),
                  std::out_of_range);
}
