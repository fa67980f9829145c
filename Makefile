# make            what there is to make
# make demo       from a bare checkout; each target sets up what it needs, and again costs nothing

PYTHON ?= python3
VENV ?= .venv
FAMILY ?=
ARGS ?=
K ?= 5
SECONDS ?= 60
COUNT ?= 100000
SEED ?= 1
CLANG ?= clang
PY = $(VENV)/bin/python

# An editable install links to files by name and compiles C: it is done again when either changes, and not otherwise.
NAMES = ls runtime runtime/bundling runtime/commands runtime/compat runtime/compat/tiktoken runtime/training runtime/vocabularies generator generator/templates generated generated/python generated/c tables tables/unicode | grep -v -e __pycache__ -e '\.so$$'
STATE := $(shell { $(NAMES); cat pyproject.toml setup.py runtime/*.[ch] generated/c/bitlex*; } | cksum | cut -d ' ' -f 1)
CORE = $(VENV)/installed-core-$(STATE)
DEV = $(VENV)/installed-dev-$(STATE)
BENCH = $(VENV)/installed-bench-$(STATE)
# Tokenizers to be measured against, in environments of their own: two versions of one package cannot be in one.
PEERS = build/peers/installed build/peers-1/installed

FUZZED = bitlex bitlex_lanes bitlex_stream cl100k clip falcon o200k

.DEFAULT_GOAL := help
.PHONY: help demo test bench peers exhaustive cuts fuzz strings vectors generate check tables clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(CORE) ## split README.md with the cl100k lexer
	@$(VENV)/bin/bitlex split --family cl100k README.md | head -n 20
	@$(PY) -c "import bitlex; lexer, text = bitlex.lexer('cl100k'), open('README.md', 'rb').read(); \
	print(f'... the first 20 of {lexer.count(text):,} pieces; {len(text):,} bytes in all, by', lexer); \
	print('Next: $(VENV)/bin/bitlex --help, $(VENV)/bin/bitlex families, make test')"

test: $(DEV) ## run all tests, as many at a time as there are processors (8 at most), and say which were skipped and why
	@$(PY) -m pytest -q -rs -n auto --maxprocesses 8 --dist worksteal

bench: $(BENCH) ## how fast, next to what else there is; ARGS="--quick" or ARGS=--help; tokenizers: ARGS="tokens --quick"
	@$(PY) -m bench $(ARGS)

peers: $(PEERS) ## tokenizers for `make bench ARGS=tokens` to measure, those that are to be had here

generate: $(DEV) ## write generated/ again; FAMILY="cl100k o200k" for some only
	@$(PY) -m generator $(FAMILY)

check: $(DEV) ## generated/ is what the generator writes; ruff; mypy
	@$(PY) -m generator --check
	@$(PY) -m ruff check -q .
	@$(PY) -m mypy --no-error-summary -p bitlex
	@$(PY) -m mypy --no-error-summary --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls --no-warn-unused-ignores tests

exhaustive: $(DEV) ## all texts of 1..K characters, PCRE2 against the emitted C; FAMILY=o200k K=6
	@$(PY) -m tests.exhaustive $(or $(FAMILY),cl100k) --k $(K) --publish

cuts: $(DEV) ## all texts of 1..K characters, cut in every way: streams in C against the whole text; FAMILY=o200k K=6
	@$(PY) -m tests.stream_exhaustive $(or $(FAMILY),cl100k) --k $(K) $(ARGS)

fuzz: $(DEV) ## a fifth of SECONDS each: libFuzzer (clang) on the C, with large and small blocks and without lanes; pattern text twice; SECONDS=600
	@mkdir -p build/fuzz/corpus
	@for sizes in "6144 1" "16 1" "320 321"; do set -- $$sizes; \
		$(CLANG) -std=c99 -g -O2 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -DBITLEX_BLOCK=$$1 -DBITLEX_LANES_FROM=$$2 -DBITLEX_WHOLE_FROM=1 -Igenerated/c \
		tests/fuzz.c $(FUZZED:%=generated/c/%.c) -o build/fuzz/fuzz$$1 && \
		build/fuzz/fuzz$$1 -fork=$$(getconf _NPROCESSORS_ONLN) -max_total_time=$$(($(SECONDS) / 5)) -max_len=4096 \
		-artifact_prefix=build/fuzz/ build/fuzz/corpus || exit 1; \
	done
	@$(PY) -m tests.fuzz_patterns $$(($(SECONDS) / 5))
	@$(PY) -m tests.fuzz_references $$(($(SECONDS) / 5))

strings: $(DEV) ## COUNT random and adversarial strings, bitlex against tiktoken and tokenizers; COUNT=10000000 SEED=2; needs BITLEX_DATA
	@$(PY) -m tests.strings --count $(COUNT) --seed $(SEED) $(ARGS)

vectors: $(DEV) ## fetch the test vectors of gpt-tokenizer and llama.cpp, and Mistral's vocabularies, for the tests
	@$(PY) -m tests.fetch_vectors

tables: $(DEV) ## fetch the Unicode data again (CPython 3.11)
	@$(PY) -m generator.pin_unicode

clean: ## remove what the other targets made
	@rm -rf $(VENV) build dist bitlex.egg-info runtime/*.so .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "bitlex needs Python 3.11 or later, and $(PYTHON) is none; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || \
	{ echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(CORE): | $(PY)
	@echo "installing bitlex in $(VENV)"
	@$(PY) -m pip install -q --disable-pip-version-check -e .
	@touch $@

# pip sees that bitlex is there, and does not build it again.
$(DEV): $(CORE)
	@echo "installing what the tests of bitlex need in $(VENV)"
	@$(PY) -m pip install -q --disable-pip-version-check 'bitlex[dev]'
	@touch $@

# What is measured against is optional, and not to be had everywhere: each package is tried by itself where all at once do not install.
build/%/installed: bench/tokens/%.txt
	@echo "installing what is measured by ARGS=tokens in build/$*"
	@$(PYTHON) -m venv build/$*
	@while read -r package; do \
		build/$*/bin/python -m pip install -q --disable-pip-version-check "$$package" 2> /dev/null || echo "not to be had here: $$package"; \
	done < $<
	@touch $@

$(BENCH): $(CORE)
	@echo "installing what bitlex is measured against in $(VENV)"
	@$(PY) -m pip install -q --disable-pip-version-check 'bitlex[bench]' || \
		$(PY) -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['bench'], sep='\n')" | \
		while read -r package; do \
			$(PY) -m pip install -q --disable-pip-version-check "$$package" 2> /dev/null || echo "not to be had here: $$package"; \
		done
	@touch $@
