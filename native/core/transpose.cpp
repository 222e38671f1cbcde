#include "core/transpose.hpp"

namespace polyrule {

POLYRULE_VECTOR_CLONES
void transpose(Word* words) {
  Word mask = 0x00000000ffffffff;
  for (std::size_t j = 32; j != 0; j >>= 1, mask ^= mask << j)
    for (std::size_t base = 0; base < 64; base += 2 * j)
      for (std::size_t k = base; k < base + j; ++k) {
        const Word swap = ((words[k] >> j) ^ words[k + j]) & mask;
        words[k] ^= swap << j;
        words[k + j] ^= swap;
      }
}

}  // namespace polyrule
