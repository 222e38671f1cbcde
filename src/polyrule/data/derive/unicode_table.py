"""Characters of words and their lower case, by Unicode 14.0.0: equal in all versions of Python and of JavaScript."""

from __future__ import annotations

UNICODE_VERSION = "14.0.0"

WORD_RANGES = (
    "1c 9 8 p 7 p 1c 0 8 1 2 0 4 1 2 2 2 m 2 u 2 cp 5 b f 4 8 0 2 0 i 38 2 1 3 3 2 0 7 0 2 2 2 0 2 j 2 2a 2 3u 2 "
    "4s 2 11 3 0 7 14 9 18 2 0 2 1 2 1 2 0 9 q 5 3 u a 6 21 5 2t 2 7 3 9 2 i 3 0 h 1m 3 2s f 1h 5 0 3 0 3 19 j r "
    "5 a 6 n 2 5 a 21 2 3k 3 9 2 i 2 7 3 1 3 l 2 6 2 0 4 3 3 8 3 1 3 3 9 0 5 1 2 4 3 b 3 5 3 0 2 0 3 2 2 5 5 1 3 "
    "l 2 6 2 1 2 1 2 1 3 0 2 4 5 1 3 2 4 0 8 3 2 0 8 f c 2 2 8 2 2 2 l 2 6 2 1 2 4 3 9 2 2 2 2 3 0 g 3 3 9 a 6 2 "
    "2 2 7 3 1 3 l 2 6 2 1 2 4 3 8 3 1 3 2 8 2 5 1 2 4 3 9 2 6 b 1 2 5 4 2 2 3 4 1 2 0 2 1 4 1 4 2 4 b 5 4 4 2 2 "
    "3 3 0 7 0 f c e c 2 2 2 m 2 f 3 8 2 2 2 3 8 1 2 2 3 0 3 3 3 9 9 6 2 3 2 7 2 2 2 m 2 9 2 4 3 8 2 2 2 3 8 1 7 "
    "1 2 3 3 9 2 1 e c 2 2 2 1e 2 2 2 4 6 f 3 i 2 5 2 2 2 h 4 n 2 8 2 0 3 6 4 0 5 5 2 0 2 7 7 9 3 1 e 1l 6 e 2 9 "
    "14 1 2 0 2 4 2 n 2 0 2 m 3 4 2 0 2 5 3 9 3 3 x 0 o 1 7 j 2 0 2 0 2 0 5 9 2 z 5 j 2 h 2 z a 0 1m 21 7 25 3 11"
    " 2 0 6 0 3 16 2 98 2 3 3 6 2 0 2 3 3 14 2 3 3 w 2 3 3 6 2 0 2 3 3 e 2 1k 2 3 3 1u 3 2 a j 4 f h 2d 3 5 4 h7 "
    "3 g 2 p 6 22 4 a 8 l a l c j d c 2 2 2 1 d 2b 4 0 5 1 3 9 7 9 i 2 2 a 7 2g 8 16 6 1x b u 2 b 5 b b 13 3 4 c "
    "17 5 p 7 a 12 r 5 1q 2 s 3 a 7 9 e 0 9 u 1e 24 4 9 i 8 d 37 d 1j 9 9 4 1c 3 8 8 16 3 2 h 2 2 12 6 et 3 5 3 "
    "11 3 5 3 7 2 0 2 0 2 0 2 u 3 1g 2 6 2 0 4 2 2 6 4 3 3 5 5 c 6 2 2 6 38 1 3 5 6 a 7 c 1g w i 0 5 0 3 9 2 0 4 "
    "4 7 0 2 0 2 0 2 3 2 a 3 3 6 4 5 0 2 1l k7 1n 27 l hj t vh 6c 7 8 a 0 3 11 2 0 6 0 3 1j 8 0 g n a 6 2 6 2 6 2"
    " 6 2 6 2 6 2 6 2 6 2 v 1c 0 d2 2 q e 2 4 3 4 5 2d 3 1 3 2 2 2h 2 3 6 16 2 2l 4 3 b v 1d f x 9 v 7 2 e x 9 14"
    " e 8x 533 1t h3g 1w 19 3 7g 4 r l 1e 2 9 2 36 12 8 3 2u 3 1r 6 1 2 0 2 4 p 1h 5 0 4 5 b 1f d 1x b 9 7 n 4 0 "
    "2 1c 3 z d s 4 1s f a 7 u 2 1i a d 3 9 7 m 4 20 p 2 3 f 3 4 b 5 3 5 3 5 a 6 2 6 2 16 2 d 7 3e 2 1 3 9 7 8mb "
    "d m 5 1c 6it a5 3 2x 13 6 d 4 6 b 2 c 2 4 2 0 2 1 2 1 2 2z y a2 j 1r 3 1h 15 b 5 f h f 1t 4 2 3q k 9 8 p 7 p"
    " c 2g 4 5 3 5 3 5 3 2 10 b 2 p 2 i 2 1 2 e 3 d z 3e d 18 d 1k i 1 36 0 3n s 4 1c g r 5 z a t 6 16 6 t 3 z 5 "
    "7 2 4 17 4d 3 9 7 z 5 z 5 13 9 1f d a 2 e 2 6 2 1 2 a 2 e 2 6 2 1 1w 8m a l b 7 p 5 2 15 2 8 1y 5 3 0 2 17 2"
    " 1 4 0 3 m 3 u 3 11 9 8 1d i 2 1 6 w 5 p 1z 1j 5 j 3 1d 2 1 6 7 2 2 2 s 3 2 5 9 o u 2 v x 7 2 t 5 4 h 1h b l"
    " 3 q 6 p o 6 29 20 1k 1e e 1e 8 19 9 9 87 u 2 15 2 1 4 1 27 13 9 10 s l 17 r l m a 1y c z a 1n 8 0 e o 8 9 7"
    " 1g 2 9 5 3 9 z 3 0 a 1w 5 3 2 c 2 0 5 j c h 2 10 7 0 1u 6 2 0 2 3 2 e 2 9 8 1m 6 9 7 3 2 7 3 1 3 l 2 6 2 1 "
    "2 4 2 9 3 1 3 2 3 0 7 0 6 6 3 6 4 4 3w 22 6 9 5 3 v 1x 2 0 9 9 4n 1h 3 8 o 5 z 1s 4 0 c 9 13 1k 8 9 1j q 3 e"
    " 5 b 5 6 56 1m 2u 2a d 7 3 0 3 7 2 1 2 t 2 1 3 8 d 9 1z 7 3 19 3 7 2 1 s 1q 9 0 9 21 4 0 j 20 7c 8 2 18 2 8 "
    "g s 6 t 3 l 2 d 22 6 2 1 2 17 4 0 2 1 2 8 9 9 7 5 2 1 2 10 2 1 2 5 8 9 8n m 56 0 g k 18 pl 2v 32 i 5f 219 2o"
    " g tq 34i g6 6nu fs 8 u 2 9 7 26 2 9 7 t 3 4 c 1i a 3 d 9 2 6 2 k 6 i j5 2e 2y 22 5 1k 8 g 1t 1 2 1 c 1 f "
    "4qf 9 yd 17 8 6w8 3 2 6 2 1 2 82 1a 2 i 3 9 az 1s5 2y 6 c 4 8 8 9 4 1 3mq 19 3 m f3 4 4 5 9 7 3 6 v 3 45 2 "
    "4c j 31 o 3s 2c 2 1y 2 1 3 0 3 1 3 3 2 b 2 0 2 6 2 1s 2 3 3 7 2 6 2 r 2 3 2 4 2 0 4 6 2 9f 3 o 2 o 2 u 2 o 2"
    " u 2 o 2 u 2 o 2 u 2 o 2 7 3 1d e9 1i 5 1d 9 0 f 0 n 4 2 e up u 6a 6 2 g 3 6 2 1 2 4 5y 18 4 d 3 9 5 0 8y u "
    "i 1l yv 6 2 3 2 1 2 e 2 5g 3 f 16 23 5 9 m0 1m 2 2 2 3 25 18 2 e 5f 3 2 q 2 1 2 0 3 0 2 9 2 3 2 0 2 0 7 0 5 "
    "0 2 0 2 0 2 2 2 1 2 0 3 0 2 0 2 0 2 0 2 0 2 1 2 0 3 3 2 6 2 3 2 3 2 0 2 9 2 g 6 2 2 4 2 g g5 c 25g 9 sn wyn "
    "x 37c 8 65 3 4g1 f 5rk 2e8 f1 15v 3t6 fcmu 6n"
)
"""Letters, digits and marks (general categories L, N and M), as ranges in base 36.

Each range is its distance from the end of the one before, and its last character less its first.
"""

LOWER_RUNS = (
    "1t q w 5c n w 60 7 w 74 o' 1 8g 1 -5j 8i 3' 1 8p 8' 1 96 n' 1 ag 1 -3d ah 3' 1 ap 1 5u aq 2' 1 au 1 5q av 1 "
    "1 ax 2 5p az 1 1 b2 1 27 b3 1 5m b4 1 5n b5 1 1 b7 1 5p b8 1 5r ba 1 5v bb 1 5t bc 1 1 bg 1 5v bh 1 5x bj 1 "
    "5y bk 3' 1 bq 1 62 br 1 1 bt 1 62 bw 1 1 by 1 62 bz 1 1 c1 2 61 c3 2' 1 c7 1 63 c8 1 1 cc 1 1 ck 1 2 cl 1 1 "
    "cn 1 2 co 1 1 cq 1 2 cr 9' 1 da 9' 1 dt 1 2 du 2' 1 dy 1 -2p dz 1 -1k e0 k' 1 f4 1 -3m f6 9' 1 fu 1 8bv fv 1"
    " 1 fx 1 -4j fy 1 8bs g1 1 1 g3 1 -5f g4 1 1x g5 1 1z g6 5' 1 og 2' 1 om 1 1 ov 1 38 p2 1 12 p4 3 11 p8 1 1s "
    "pa 2 1r pd h w pv 9 w qq 1 1 r3 1 8 rc c' 1 s4 1 -1o s7 1 1 s9 1 -7 sa 1 1 sd 3 -3m sg g 28 sw w w v4 h' 1 "
    "wa r' 1 xs 1 f xt 7' 1 y8 1c' 1 10x 12 1c 3a8 12 5ls 3bb 1 5ls 3bh 1 5ls 3vk 28 tzk 3xs 6 8 5n4 17 -2bk 5od "
    "3 -2bk 5xc 23' 1 61q 1 -5vj 61s 1c' 1 64o 8 -8 654 6 -8 65k 8 -8 660 8 -8 66g 6 -8 66x 4' -8 67c 8 -8 688 8 "
    "-8 68o 8 -8 694 8 -8 69k 2 -8 69m 2 -22 69o 1 -9 6a0 4 -2e 6a4 1 -9 6ag 2 -8 6ai 2 -2s 6aw 2 -8 6ay 2 -34 "
    "6b0 1 -7 6bc 2 -3k 6be 2 -3i 6bg 1 -9 6jq 1 -5st 6ju 1 -6gv 6jv 1 -6di 6k2 1 s 6lc g g 6mb 1 1 792 q q 8ow "
    "1c 1c 8rk 1 1 8rm 1 -8af 8rn 1 -2xy 8ro 1 -89z 8rr 3' 1 8rx 1 -8bg 8ry 1 -8al 8rz 1 -8bj 8s0 1 -8bi 8s2 1 1 "
    "8s5 1 1 8se 2 -8cf 8sg 1e' 1 8vf 2' 1 8vm 1 1 wu8 n' 1 ww0 e' 1 x0i 7' 1 x0y v' 1 x2x 2' 1 x31 1 -r9g x32 5'"
    " 1 x3f 1 1 x3h 1 -wmg x3k 2' 1 x3q a' 1 x4a 1 -wn8 x4b 1 -wnj x4c 1 -wnf x4d 1 -wn5 x4e 1 -wn8 x4g 1 -wlu "
    "x4h 1 -wmi x4i 1 -wlx x4j 1 ps x4k 8' 1 x50 1 -1c x51 1 -wn7 x52 1 -raw x53 2' 1 x5c 1 1 x5i 2' 1 x6d 1 1 "
    "1ee9 q w 1fcw 14 14 1fhs 10 14 1fn4 b 13 1fng f 13 1fnw 7 13 1fo4 2 13 1h1c 1f 1s 1jfk w w 20cg w w 2olc y y"
)
"""Simple lower case, and the final sigma as a sigma, as runs in base 36.

A run is its first character, the number of characters (with an apostrophe: of every other character), and the
difference of the lower case.
"""


def word_ranges() -> list[tuple[int, int]]:
    """Return the first and last code points of ranges of characters of words.

    >>> word_ranges()[:3] == [(ord("0"), ord("9")), (ord("A"), ord("Z")), (ord("a"), ord("z"))]
    True
    """
    numbers = [int(digits, 36) for digits in WORD_RANGES.split()]
    ranges: list[tuple[int, int]] = []
    last = 0
    for distance, length in zip(numbers[::2], numbers[1::2], strict=True):
        first = last + distance
        last = first + length
        ranges.append((first, last))
    return ranges


def lower_case() -> dict[int, int]:
    """Return the lower case of the characters that differ from theirs.

    >>> chr(lower_case()[ord("Å")])
    'å'
    """
    parts = LOWER_RUNS.split()
    mapping: dict[int, int] = {}
    for start, length, difference in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        first, step, count = int(start, 36), 2 if length.endswith("'") else 1, int(length.removesuffix("'"), 36)
        for code in range(first, first + step * count, step):
            mapping[code] = code + int(difference, 36)
    return mapping
