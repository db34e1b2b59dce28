"""The documents that linkwise implements, rebuilt: one folder each, and a ledger of their claims.

``python -m papers.<document> --quick`` (or ``--full``) computes a document's tables and figures
into ``papers/<document>/results/``; ``python -m papers.claims`` does so for all of them and writes
`CLAIMS.md`.
"""
