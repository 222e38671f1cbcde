"""``polyrule pack``: from files of any size to a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyrule.cli.arguments import data_options, naming, reading_options
from polyrule.cli.command import command, json_option
from polyrule.cli.output import counting_progress, note, print_json
from polyrule.errors import OptionError


@command("pack")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The folder to make.")
@click.option("--max-bins", type=int, default=255, show_default=True, help="Most bins of a numeric feature.")
@click.option("--keep-values", is_flag=True, help="Keep the original values, too, for 'train --refine'.")
@click.option("--block-rows", type=click.IntRange(min=1), default=1 << 20, show_default=True, help="Rows of a block.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@data_options
@json_option
def pack(
    files: tuple[str, ...],
    output: Path,
    max_bins: int,
    keep_values: bool,
    block_rows: int,
    quiet: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    r"""Pack FILES into a store: codes of at most 255 bins a feature and label bits, ready for 'polyrule train'.

    Cuts are exact quantiles of the whole data; a feature with fewer distinct values loses nothing. Files are read two
    or three times and never held in memory. An interrupted packing goes on where it stopped.

    \b
    Examples:
      polyrule pack big/part-*.parquet --labels "y_*" -o store
      polyrule pack songs.csv --labels calm,sad,happy --max-bins 64 -o songs.store
    """
    from polyrule.store import pack as pack_files

    options = reading_options(reading)
    for name in ("label_file", "tags"):
        if name in options:
            raise OptionError(f"--{name.replace('_', '-')} cannot be packed; give the labels as columns with --labels")
    with counting_progress("rows", None, quiet) as show, naming(files[0] if len(files) == 1 else ""):
        store = pack_files(
            list(files),
            out=output,
            max_bins=max_bins,
            keep_values=keep_values,
            block_rows=block_rows,
            progress=lambda what, rows: show(rows),
            **options,
        )
    size = store.header.size
    if as_json:
        print_json(
            {
                "output": str(output),
                "examples": len(store),
                "features": len(store.features),
                "labels": len(store.label_names),
                "blocks": len(store.blocks),
                "bytes": size,
            }
        )
        return
    note(
        f"{len(store)} examples, {len(store.features)} features and {len(store.label_names)} labels packed "
        f"into {output} ({size / 1e6:.1f} MB in {len(store.blocks)} block(s))"
    )
