"""nvir explore over the corpus: seconds to open a page and to answer an edit, exported sizes.

    python -m benchmarks explore [--corpus FOLDER] [--only N] [--half choose|report] [--sizes]
                                 [--browser]

Of each PTX file: the processor's seconds from the server's start until the page has all that it
shows first (imports, the document of the file, the lines of the largest kernel), of the server and
its processes together; those of an edit (a comment at the file's middle line, so that no figure
can be taken from before, with the largest kernel shown) in a process that already runs; with
--sizes the bytes of the exported page and the processor's seconds that it takes, those of ptxas
with it. What ptxas does is not in the first two, for the page shows it when it comes. The limits
are 2 s, 1 s and 3 MB. With --browser seconds by the clock in the system's Chromium besides: from
the server's start until the page is ready, and from a key until the status line says that the edit
was analysed or why not.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
LIMITS = {"open": 2.0, "edit": 1.0, "bytes": 3_000_000}


def opened(path: Path) -> float:
    """Processor seconds of `nvir explore` and its processes until a page has its first answers."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-u", "-m", "nvir", "explore", str(path), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base, token = process.stdout.readline().strip().split("/#token=")

        def ask(**body: str) -> dict[str, Any]:
            headers = {"x-nvir-token": token}
            request = Request(f"{base}/data", json.dumps(body).encode(), headers)
            with urlopen(request) as answer:
                made: dict[str, Any] = json.load(answer)
                return made

        first = ask(what="summary").get("opens")
        if first is not None:
            ask(what="kernel", kernel=first)
        process.send_signal(signal.SIGINT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def edited(path: Path) -> float:
    """Processor seconds of the answer to an edit."""
    from nvir.explore.data import Version
    from nvir.explore.options import Options

    lines = path.read_text("utf-8", "replace").split("\n")
    lines.insert(len(lines) // 2, "// edited")
    start = time.process_time()
    v = Version("\n".join(lines), str(path), Options())
    made = v.summary()
    first = made.get("opens")
    assert json.dumps([made, v.kernel(first) if first is not None else None], allow_nan=False)
    return time.process_time() - start


def exported(path: Path) -> tuple[int, float]:
    """Bytes of the exported page, and the processor seconds that it takes with its tools."""
    from nvir.explore.data import Version, everything
    from nvir.explore.export import page
    from nvir.explore.options import Options

    def seconds() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + used.ru_utime + used.ru_stime

    start = seconds()
    v = Version(path.read_text("utf-8", "replace"), str(path), Options())
    return len(page(everything(v)).encode()), seconds() - start


def browsed(path: Path, browser: Any) -> tuple[float, float]:
    """Seconds by the clock in a browser until a page is ready, and until an edit is answered."""
    command = [sys.executable, "-u", "-m", "nvir", "explore", str(path), "--no-open"]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        page = browser.new_page()
        page.goto(process.stdout.readline().strip())
        page.wait_for_selector("body[data-ready]", timeout=120_000)
        ready = time.perf_counter() - start
        page.click(".cm-content[contenteditable=true]:not([aria-readonly]) .cm-line >> nth=0")
        page.keyboard.press("Control+End")
        start = time.perf_counter()
        page.keyboard.type(" ")
        page.wait_for_selector("#status.bad, #status:has-text('analysed in')", timeout=120_000)
        answered = time.perf_counter() - start
        if page.query_selector("#status.bad"):
            print(f"{path.name}: {page.inner_text('#status')}")
        page.close()
        process.send_signal(signal.SIGINT)
    return ready, answered


def shown(name: str, values: Sequence[float], limit: float) -> str:
    """A line of the distribution."""
    values = sorted(values)
    within = sum(v <= limit for v in values)
    ninety = values[min(len(values) - 1, int(0.9 * len(values)))]
    return (f"{name:<18} median {statistics.median(values):.6g}, 90 % {ninety:.6g}, "
            f"most {values[-1]:.6g}; {within} of {len(values)} within {limit:g}")


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--corpus", type=Path, default=CORPUS)
    p.add_argument("--only", type=int, metavar="N", help="every Nth file")
    p.add_argument("--half", choices=("choose", "report"))
    p.add_argument("--sizes", action="store_true", help="export every page too: minutes")
    p.add_argument("--browser", action="store_true", help="in Chromium too, by the clock")
    options = p.parse_args()
    if not (options.corpus / "index.json").is_file():
        print(f"{options.corpus}: no corpus here")
        return 0
    index = json.loads((options.corpus / "index.json").read_text("utf-8"))
    files = sorted(options.corpus / "ptx" / x["ptx"] for x in index.values()
                   if options.half in (None, x["half"]))[:: options.only or 1]
    found: dict[str, list[float]] = {k: [] for k in (
        "open", "edit", "bytes", "export", "opens in a browser", "edits in a browser")}
    for path in files:
        row: dict[str, float] = {"open": opened(path), "edit": edited(path)}
        if options.sizes:
            row["bytes"], row["export"] = exported(path)
        for k, value in row.items():
            found[k].append(value)
        print(path.name, *(f"{k} {value:.6g}" for k, value in row.items()), flush=True)
    if options.browser:
        from playwright.sync_api import sync_playwright

        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for path in files:
                ready, answered = browsed(path, browser)
                found["opens in a browser"].append(ready)
                found["edits in a browser"].append(answered)
            browser.close()
    print("processor seconds and bytes, in a browser seconds by the clock:")
    for name, values in found.items():
        if values:
            limit = next((n for k, n in LIMITS.items() if name.startswith(k)), 60.0)
            print(shown(name, values, limit))
    ok = max(found["open"]) <= LIMITS["open"] and max(found["bytes"], default=0) <= LIMITS["bytes"]
    return 0 if ok and sum(x <= LIMITS["edit"] for x in found["edit"]) >= 0.9 * len(files) else 1


if __name__ == "__main__":
    sys.exit(main())
