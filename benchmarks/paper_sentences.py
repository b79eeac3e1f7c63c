"""Draw sentences of a paper's text at random, to look each up in the account of the reproductions.

    python benchmarks/paper_sentences.py eDPRF.txt [--seed 52] [--count 20]

The text is Markdown in Chinese, as converters write it. Drawn from are the sentences that a paper states of its own work: the
abstract, its contributions, and everything from its analysis to its conclusion. How its algorithms work is left to the map of
the paper, which has every numbered item; definitions and other papers' work are left out.
"""

from __future__ import annotations

import argparse
import random
import re
from pathlib import Path

CHINESE = re.compile(r"[\u4e00-\u9fff]")
HEADING = re.compile(r"^(?:#+ *)?(?:\*\*)?(\d(?:\.\d)*) +\S")
END = re.compile(r"^(?:#+ *)?(?:\*\*)?(参考文献|References|致 +谢)")
OWN = re.compile(r"(主要贡献|主要工作|贡献包括)")  # the lists of contributions follow
FROM_SECTION = {"eDPRF": 4, "DPAda": 3.3, "CART-DPsAdaBoost": 3.3}
LEAST = 12  # Chinese characters of a sentence


def sentences(text: str, first_section: float) -> list[tuple[str, str]]:
    """Return the place and the words of each sentence that a paper states of its own work."""
    place, kept, found = "", False, []
    for line in text.splitlines():
        heading = HEADING.match(line.strip())
        if END.match(line.strip()):
            break
        if heading and len(line) < 40 and "\u3002" not in line:
            place = heading[1]
            kept = float(".".join(place.split(".")[:2])) >= first_section
            continue
        if re.match(r"^\W*摘 *要", line):
            place, kept = "abstract", True
        elif re.match(r"^\W*(关键词|Abstract)", line):
            kept = False
        elif OWN.search(line):
            place, kept = "contributions", True
        for sentence in re.split(r"(?<=[\u3002\uff1b])|(?<=[\u4e00-\u9fff\]\)])\. ", line) if kept else ():
            words = re.sub(r"\s+", " ", sentence).strip(" *#-")
            if len(CHINESE.findall(words)) >= LEAST and not re.match(r"^[图表] ?\d", words):
                found.append((place, words))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--seed", type=int, default=52)
    parser.add_argument("--count", type=int, default=20)
    given = parser.parse_args()
    text = given.text.read_text("utf-8")
    paper = next(name for name in FROM_SECTION if name in text[:4000])
    found = sentences(text, FROM_SECTION[paper])
    print(f"{paper}: {len(found)} sentences, seed {given.seed}")
    for number in sorted(random.Random(given.seed).sample(range(len(found)), given.count)):
        print(f"{number}. ({found[number][0]}) {found[number][1]}")


if __name__ == "__main__":
    main()
