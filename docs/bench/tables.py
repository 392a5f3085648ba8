"""The recorded benchmarks as text: the tables of the documentation's page, the README's section.

The reports beside this file are what ``wager bench GAME --json docs/bench/GAME.json`` wrote.
``python docs/bench/tables.py`` writes the README's section anew from them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
README = HERE.parent.parent / "README.md"
OPENED, CLOSED = "## Speed\n", "## Installing\n"

Row = tuple[str, str, str, str, dict[str, str], str]
"""A row of the README: label, report, contender, unit, a name for each peer, what else to say."""
ROWS: list[Row] = [
    (
        "Grand Exchange, vector, whole episodes",
        "grand_exchange",
        "vector",
        "a second",
        {
            "plain-Python loop": "a plain-Python loop",
            "SyncVectorEnv": "`SyncVectorEnv` over the scalar environment",
        },
        "",
    ),
    (
        "Grand Exchange Live, vector",
        "grand_exchange",
        "Live vector",
        "steps a second",
        {"Live scalar": "scalar"},
        "; without the making of markets",
    ),
    (
        "Garble, vector, quoters in all seats",
        "garble",
        "vector with quoters",
        "five-seat turns a second",
        {"scalar with quoters": "the scalar environment with quoters"},
        "",
    ),
    (
        "Garble, scalar `parallel_env`",
        "garble",
        "scalar",
        "agent-steps a second",
        {"rps_v2": "PettingZoo's `rps_v2`"},
        "",
    ),
    (
        "Poker, vector, six-max no-limit hold'em",
        "poker",
        "holdem-6max vector",
        "decisions a second",
        {
            "OpenSpiel universal_poker, 6 seats": "OpenSpiel",
            "PettingZoo texas_holdem_no_limit_v6, 6 seats raw_env": "PettingZoo's classic",
            "RLCard no-limit-holdem, 6 seats": "RLCard",
            "PokerKit no-limit hold'em, 6 seats": "PokerKit",
        },
        "",
    ),
    (
        "Poker, `raw_env`, the same table",
        "poker",
        "holdem-6max raw_env",
        "decisions a second",
        {
            "PettingZoo texas_holdem_no_limit_v6, 6 seats raw_env": "PettingZoo's classic",
            "RLCard no-limit-holdem, 6 seats": "RLCard",
            "PokerKit no-limit hold'em, 6 seats": "PokerKit",
        },
        "",
    ),
]


def load(name: str) -> dict[str, Any]:
    """A recorded report: ``grand_exchange``, ``garble`` or ``poker``."""
    report: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text("utf-8"))
    return report


def rounded(rate: float) -> str:
    """Three digits, the rest zeros."""
    return f"{float(f'{rate:.3g}'):,.0f}"


def times(ratio: float) -> str:
    """From ten on whole, from one on to a tenth, else to a hundredth."""
    return f"{ratio:,.0f}x" if ratio >= 9.95 else f"{ratio:.1f}x" if ratio >= 1 else f"{ratio:.2f}x"


def page(name: str) -> str:
    """One report: what it ran on, how to repeat it, its rates and its ratios, in Markdown."""
    report = load(name)
    machine, rounds = report["machine"], report["config"]["rounds"]
    game = report["subject"]
    lines = [
        f"One core of an {machine['processor']} ({machine['kernels']}), {machine['system']};"
        f" wager {report['version']}, Python {machine['python']}, NumPy {machine['numpy']},"
        f" Numba {machine['numba']}; {rounds} rounds.",
        "",
        "```bash",
        f"wager bench {game} --rounds {rounds} --json report.json",
        "```",
        "",
        "| | by | rate, median | slowest | fastest | |",
        "| - | - | -: | -: | -: | - |",
    ]
    for row in report["rows"]:
        by = f"{row['package']} {row['version']}" if "package" in row else ""
        if "missing" in row:
            lines.append(f"| {row['name']} | {by} | left out | | | {row['missing']} |")
            continue
        rates = " | ".join(rounded(row[key]) for key in ("rate", "slowest", "fastest"))
        lines.append(f"| {row['name']} | {by} | {rates} | {row['unit']} |")
    lines += ["", "| | against | ratio, median | least | most |", "| - | - | -: | -: | -: |"]
    for row in report["rows"]:
        for peer, ratio in row.get("ratios", {}).items():
            found = " | ".join(times(ratio[key]) for key in ("median", "least", "most"))
            lines.append(f"| {row['name']} | {peer} | {found} |")
    return "\n".join(lines) + "\n"


def section() -> str:
    """The README's section: the rows that matter most, of the reports."""
    reports = {name: load(name) for _, name, *_ in ROWS}
    machines = {(r["machine"]["processor"], r["machine"]["kernels"]) for r in reports.values()}
    ((processor, kernels),) = machines
    rounds = [f"{report['subject']} {report['config']['rounds']}" for report in reports.values()]
    lines = [
        OPENED,
        f"On one core of an {processor} ({kernels}), medians over rounds ({', '.join(rounds)});"
        " ratios are within a",
        "round. [All figures](docs/benchmarks.md), their spread, the peers' versions and the"
        " commands:",
        "",
        "| | rate | |",
        "| - | -: | - |",
    ]
    for label, name, contender, unit, peers, tail in ROWS:
        row = next(row for row in reports[name]["rows"] if row["name"] == contender)
        ratios = (f"{times(row['ratios'][peer]['median'])} {said}" for peer, said in peers.items())
        lines.append(f"| {label} | {rounded(row['rate'])} {unit} | {', '.join(ratios)}{tail} |")
    return "\n".join(lines) + "\n\n"


def renewed(readme: str) -> str:
    """The README's text with the section of now."""
    before, _, rest = readme.partition(OPENED)
    _, _, after = rest.partition(CLOSED)
    return before + section() + CLOSED + after


if __name__ == "__main__":
    README.write_text(renewed(README.read_text("utf-8")), "utf-8")
