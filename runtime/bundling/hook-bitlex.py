"""What PyInstaller does not see: modules of families, which are imported by name, and what the generator reads (and `bitlex generate` copies)."""

from pathlib import Path

import bitlex
from bitlex.generated import FAMILIES

hiddenimports = [f"bitlex.generated.python.{name}" for name in FAMILIES]
datas = [(str(Path(bitlex.__file__).parent / folder), f"bitlex/{folder}") for folder in ("tables", "generator/templates", "generated/c")]
