// Unit tests of scoring/: the one order of literals, heads and candidates.
#include <doctest/doctest.h>

#include <random>

#include "scoring/rank.hpp"
#include "scoring/shortlist.hpp"

using namespace polyrule;

namespace {

Scored scored(std::int64_t num, std::int64_t den, Count tp, std::uint32_t feature) {
  Condition condition;
  condition.index = feature;
  return {{num, den}, tp, condition};
}

struct Item {
  std::size_t e;
  double gain;
  Count tp;
};

}  // namespace

TEST_CASE("value decides, then true positives; the first found keeps a tie") {
  CHECK(beats(scored(2, 3, 1, 0), scored(1, 2, 9, 0)));
  CHECK(beats(scored(2, 4, 3, 0), scored(1, 2, 2, 0)));
  CHECK_FALSE(beats(scored(2, 4, 2, 0), scored(1, 2, 2, 0)));
}

TEST_CASE("candidates that do not beat each other come in the canonical order of their conditions") {
  CHECK(better(scored(1, 2, 2, 3), scored(1, 2, 2, 4)));
  CHECK_FALSE(better(scored(1, 2, 2, 4), scored(1, 2, 2, 3)));
  Condition below, above, label, below_all;
  above.test = Test::above;
  label.test = Test::label;
  below_all.test = Test::above;
  below_all.below_all = true;
  below_all.edge = 5;
  CHECK(comes_before(below, above));
  CHECK(comes_before(above, label));
  CHECK(comes_before(below_all, below));  // a threshold below every value comes before all others
  CHECK_FALSE(comes_before(below, below));
}

TEST_CASE("of equally good heads the larger wins, then true positives, labels, presence") {
  const HeadLiteral red{0, 1, 5, 0}, not_red{0, 0, 5, 0}, blue{1, 1, 5, 0}, small{2, 1, 1, 0};
  CHECK(outranks({red, small}, {blue}));
  CHECK(outranks({red, blue}, {red, small}));
  CHECK(outranks({red}, {blue}));
  CHECK(outranks({red}, {not_red}));
  CHECK_FALSE(outranks({red}, {red}));
}

TEST_CASE("a label joins a tie with the literal that is right more often, present where both are") {
  std::vector<HeadLiteral> tied;
  join(tied, {0, 1, 2, 0});
  join(tied, {0, 0, 3, 0});
  join(tied, {1, 1, 2, 0});
  join(tied, {1, 0, 2, 0});
  REQUIRE(tied.size() == 2);
  CHECK(tied[0].value == 0);
  CHECK(tied[1].value == 1);
  CHECK(total_tp(tied) == 5);
}

TEST_CASE("a limit keeps those that are right most often, in label order") {
  std::vector<HeadLiteral> literals{{0, 1, 1, 0}, {1, 1, 4, 0}, {2, 1, 4, 0}, {3, 1, 9, 0}};
  keep_most_right(literals, 2);
  REQUIRE(literals.size() == 2);
  CHECK(literals[0].label == 1);
  CHECK(literals[1].label == 3);
}

TEST_CASE("the leader of a label gains more; leaders come in the order of what they gain") {
  const auto see = [](const Item& item) { return item; };
  const std::vector<Item> found =
      leaders(std::vector<Item>{{0, 1, 5}, {0, 2, 1}, {1, 2, 4}, {2, 2, 4}, {2, 2, 3}}, see);
  REQUIRE(found.size() == 3);
  CHECK(found[0].e == 1);
  CHECK(found[1].e == 2);
  CHECK(found[1].tp == 4);
  CHECK(found[2].e == 0);
  CHECK(found[2].gain == 2);
}

TEST_CASE("labels that reach the best value add their true positives, a label's two literals once") {
  BestLiterals best;
  best.meet({1, 2}, 3, 0);
  best.meet({2, 3}, 4, 1);
  best.meet({2, 3}, 6, 1);
  best.meet({2, 3}, 5, 2);
  best.meet({1, 3}, 9, 3);
  CHECK(compare(best.value, {2, 3}) == 0);
  CHECK(best.tp == 11);
}

TEST_CASE("a shortlist keeps the best, whatever order they are offered in") {
  std::mt19937 numbers(3);
  std::vector<Scored> offers;
  for (std::uint32_t feature = 0; feature < 40; ++feature)
    offers.push_back(scored(std::int64_t(numbers() % 5), 5, Count(numbers() % 3), feature));
  std::vector<Scored> sorted = offers;
  std::sort(sorted.begin(), sorted.end(), better);
  for (int round = 0; round < 50; ++round) {
    std::shuffle(offers.begin(), offers.end(), numbers);
    Shortlist whole(4), left(4), right(4);
    for (std::size_t i = 0; i < offers.size(); ++i) {
      whole.offer(offers[i]);
      (i % 2 ? left : right).offer(offers[i]);
    }
    left.merge(right);
    REQUIRE(whole.entries().size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(whole.entries()[i].condition == sorted[i].condition);
      CHECK(left.entries()[i].condition == sorted[i].condition);
    }
  }
}

TEST_CASE("a shortlist with a floor takes only what beats it, and a condition once") {
  Shortlist list(2, {1, 2}, 3);
  list.offer(scored(1, 2, 3, 0));
  CHECK(list.entries().empty());
  list.offer(scored(1, 2, 4, 0));
  list.offer(scored(2, 3, 1, 0));
  REQUIRE(list.entries().size() == 1);
  CHECK(list.entries()[0].tp == 1);
  CHECK_FALSE(list.admits({1, 2}, 3));
  list.raise({3, 4});
  CHECK(list.entries().empty());
  CHECK(list.admits({3, 4}, 1));
}
