"""Check the rule lists and models of the benchmark data sets against their hashes, or write what is missing."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from tests.golden import models
from tests.golden.lists import FILE, QUICK, cases, digest, key, known, learn


def main() -> int:
    """Return 1 if a list or a model has changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="add the hashes that are missing")
    parser.add_argument("--quick", action="store_true", help="only the lists that `make test` checks")
    parser.add_argument("--only", default="", help="only cases with this text in their name")
    parser.add_argument("--reference", type=float, default=0, help="up to so many s, compare with the reference")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no case after so long")
    parser.add_argument("--kind", choices=("lists", "models"), help="only grown lists, or only default models")
    args = parser.parse_args()
    changed = 0 if args.kind == "models" else check_lists(args)
    changed += 0 if args.kind == "lists" else check_models(args)
    print(f"{changed} differ")
    return int(changed > 0)


def check_lists(args: Any) -> int:
    """Return how many lists have changed."""
    hashes, changed, end = known(), 0, time.monotonic() + 60 * args.minutes
    for case in QUICK if args.quick else cases():
        name = key(case)
        if args.only not in name or time.monotonic() > end or (args.write and name in hashes):
            continue
        started = time.process_time()
        found = digest(learn(case))
        seconds = time.process_time() - started
        if args.write:
            hashes[name] = found
            FILE.write_text(json.dumps(dict(sorted(hashes.items())), indent=1) + "\n", encoding="utf-8")
        wrong = found != hashes.get(name)
        if args.reference and seconds < args.reference:
            wrong |= digest(learn(case, "reference")) != found
        changed += wrong
        print(f"{'CHANGED' if wrong else 'ok':8} {seconds:7.2f} s  {name}: {found}", flush=True)
    return changed


def check_models(args: Any) -> int:
    """Return how many models have changed."""
    kept, changed, end = models.known(), 0, time.monotonic() + 60 * args.minutes
    for case in [*models.EMBEDDED, *models.QUICK] if args.quick else models.cases():
        name = models.key(case)
        if args.only not in name or time.monotonic() > end or (args.write and name in kept):
            continue
        entry = {"made_with": models.made_with(case)}
        if name in kept and kept[name]["made_with"] != entry["made_with"]:
            print(f"{'left out':8} {name}: made with {kept[name]['made_with']}", flush=True)
            continue
        started = time.process_time()
        entry["hash"] = models.digest(models.learn(case))
        seconds = time.process_time() - started
        if args.write:
            kept[name] = entry
            models.FILE.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")
        wrong = entry != kept.get(name)
        changed += wrong
        print(f"{'CHANGED' if wrong else 'ok':8} {seconds:7.2f} s  {name}: {entry['hash']}", flush=True)
    return changed


if __name__ == "__main__":
    sys.exit(main())
