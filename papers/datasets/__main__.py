"""List the files that the papers' scripts read: python -m papers.datasets."""

from __future__ import annotations

from ._catalog import ENTRIES


def main() -> None:
    """Print a Markdown table of files, the names they are loaded by, and their sources."""
    files: dict[tuple[str, str], list[str]] = {}
    for entry in ENTRIES.values():
        if entry.kind != "sklearn":
            files.setdefault((entry.file, entry.source), []).append(entry.name)
    print("| file in LINKWISE_DATA | loaded as | source |\n|---|---|---|")
    for (file, source), names in sorted(files.items()):
        print(f"| {file} | {', '.join(names)} | {source} |")


if __name__ == "__main__":
    main()
