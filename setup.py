"""The C extension; everything else stands in pyproject.toml.

It is optional: where no compiler or no Python.h is, bitlex is installed without it and runs in pure Python, with the same results.
Setuptools does so for `pip install .`; for `pip install -e .` it would still look for the file that was not built, hence OptionalExtension.
"""

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext


def at_once(compile: Callable[..., list[str]], sources: list[str], *arguments: Any, **options: Any) -> list[str]:
    """The objects of the sources, as many made at a time as there are processors; the largest sources first, which take the longest."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        largest = sorted(sources, key=os.path.getsize, reverse=True)
        made = dict(zip(largest, pool.map(lambda source: compile([source], *arguments, **options), largest), strict=True))
    return [name for source in sources for name in made[source]]


class OptionalExtension(build_ext):
    def build_extensions(self) -> None:
        self.compiler.compile = partial(at_once, self.compiler.compile)
        super().build_extensions()
        self.extensions = [found for found in self.extensions if Path(self.get_ext_fullpath(found.name)).exists()]


class BuildFromNothing(build):
    """What an earlier build left in build/ would be installed, too: modules that are gone, and an extension that no longer compiles."""

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


def paths(pattern: str) -> list[str]:
    """The files here whose path matches, in an order that does not depend on the machine."""
    return sorted(path.as_posix() for path in Path().glob(pattern))


setup(
    cmdclass={"build": BuildFromNothing, "build_ext": OptionalExtension},
    ext_modules=[
        Extension(
            "bitlex._native",
            [
                *paths("runtime/_*.c"), *paths("runtime/bpe_*.c"), *paths("runtime/train_*.c"), "runtime/specials.c",
                *paths("generated/c/bitlex*.c"),
            ],
            include_dirs=["generated/c", "runtime"],
            depends=paths("runtime/*.h") + paths("generated/c/bitlex*.[ch]") + ["generated/c/nfc.h"],
            extra_compile_args=["-O3"],
            optional=True,
        )
    ],
)
