"""Make docs/images/report-*.png: the page of a frontier, at two sizes and in two themes.

Needs the extra ``dev`` and a Chromium.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZES = {"wide": (1000, 1900, 1.0), "phone": (390, 844, 1.5)}


def main(page_file: str) -> None:
    """Take the screenshots."""
    chromium = shutil.which("chromium") or sys.exit("There is no chromium: install the package of that name.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for size, (width, height, scale) in SIZES.items():
            for scheme in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme=scheme,
                    device_scale_factor=scale,
                    offline=True,
                )
                page = context.new_page()
                page.set_default_timeout(180_000)  # the machine may be busy
                page.goto(Path(page_file).resolve().as_uri())
                page.wait_for_selector("html[data-ready]", state="attached")
                page.screenshot(path=IMAGES / f"report-{size}-{scheme}.png")
                context.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
