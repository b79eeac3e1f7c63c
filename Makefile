PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
BENCH_STAMP := .venv/.installed-bench
ENGINES_STAMP := .venv/.installed-engines
MUTANTS_STAMP := .venv/.installed-mutants
EXPORTS_STAMP := .venv/.installed-exports
FULL_STAMP := .venv/.installed-full
KERNELS_STAMP := .venv/.kernels
DOCS_STAMP := .venv/.installed-docs
BROWSER_STAMP := .venv/.installed-browser

# Another Python's environments, and those of other versions, stand beside the one that is worked in.
OTHER = build/venvs/$(notdir $(PYTHON))

# A worker that hung or died is not replaced: the run ends with what the others have.
PYTEST = $(BIN)/pytest -n 2 --dist worksteal --max-worker-restart 0
WHOLE = -m "not slow and not engines and not site"

# Without bytecode on disk each of their processes would compile the library and rewrite all tests again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: venv demo docs test-notebooks test-site dist sign test test-all planted test-slow test-seeds test-bounds test-oldest test-newest lint bench audit fuzz mutants test-postgres test-ledgers test-exports test-engines test-federated types

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -e ".[test,lint,demo]" -c constraints.txt
	touch $@

$(BENCH_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet -e ".[bench]" -c constraints.txt
	touch $@

$(EXPORTS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet -e ".[exports]" -c constraints.txt
	touch $@

$(FULL_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet -e ".[full]" -c constraints.txt
	touch $@

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet -e ".[docs]" -c constraints.txt
	touch $@

$(BROWSER_STAMP): $(DOCS_STAMP)
	$(BIN)/python -m pip install --quiet -e ".[browser]" -c constraints.txt
	touch $@

$(ENGINES_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet -e ".[dask,spark]" -c constraints.txt
	touch $@

$(MUTANTS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet -e ".[mutants]" -c constraints.txt
	touch $@

demo: venv
	$(BIN)/hedgerow demo

# The documentation site, in build/docs/index.html. Its pages' code is run; warnings are errors; nothing is fetched.
# After a build that failed early the theme copies its logo to _static: as a file of that name, if there is no such folder.
docs: $(DOCS_STAMP)
	@mkdir -p build/docs/_static
	$(BIN)/sphinx-build -j 2 -b html -d build/doctrees --fail-on-warning --keep-going --quiet docs build/docs

# Every tutorial as a notebook, run from top to bottom by Jupyter's own client, in an environment of its own.
test-notebooks: build/venvs/notebooks/.installed
	rm -rf build/notebooks
	$(BIN)/python docs/extensions/notebooks.py build/notebooks docs/tutorials/*.md
	cd build/notebooks && PATH="$(CURDIR)/build/venvs/notebooks/bin:$$PATH" NUMBA_CACHE_DIR=$(CURDIR)/build/venvs/notebooks/numba \
		$(CURDIR)/build/venvs/notebooks/bin/jupyter execute *.ipynb

build/venvs/notebooks/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet -e ".[demo,plot,sign]" nbclient ipykernel -c constraints.txt
	touch $@

# The built site in a real browser: no error, no request to another host, nothing too wide; its links; pictures in build/screenshots.
test-site: docs $(BROWSER_STAMP)
	@command -v chromium >/dev/null || { echo "Chromium is not installed: apt-get install chromium" >&2; exit 1; }
	$(BIN)/pytest tests/site -m site

# Each of pytest's processes would compile the kernels, so one does it before, while mypy has the other core.
test: lint
	$(MAKE) --no-print-directory -j 2 types $(KERNELS_STAMP)
	$(PYTEST)

types: venv
	$(BIN)/mypy

$(KERNELS_STAMP): $(STAMP) $(wildcard src/hedgerow/*/kernels.py)
	$(BIN)/python tests/systems/test_seeded_fits.py >/dev/null
	touch $@

# A Spark session and its successor in one process share a JVM, in which killed executors come back late: one process a file.
# Without pyspark its file has no tests, which pytest tells by exit code 5.
ENGINE_FILES = dask groups_clusters spark
run_engines = for name in $(ENGINE_FILES); do $(BIN)/pytest tests/engines/test_$$name.py $(1) || [ $$? -eq 5 ] || exit 1; done

# The rest of what any change must pass, and each system's bits on clusters, Spark's where there is Java; workers are killed in
# `make test-engines`. `make test test-all` runs the quick tests once.
test-all: test $(EXPORTS_STAMP) $(FULL_STAMP) $(if $(shell command -v java),$(ENGINES_STAMP))
	HEDGEROW_EXAMPLES=100 $(PYTEST) -m full
	$(call run_engines,-m engines -k "same or as_written")

test-slow: venv
	$(PYTEST) -m slow

# Ledger stores and exported statements on PostgreSQL, which other targets skip where it is not installed.
test-postgres: venv
	@ls -d /usr/lib/postgresql/*/bin >/dev/null 2>&1 || { echo "PostgreSQL is not installed: apt-get install postgresql" >&2; exit 1; }
	$(PYTEST) $(WHOLE) tests/ledgers tests/export -k "postgresql or server"

# Models as ONNX, SQL and JSON in the programs that they are for, which other targets skip where these are not installed.
test-exports: $(EXPORTS_STAMP)
	$(BIN)/python -c "import duckdb, onnx, onnxruntime"
	$(PYTEST) $(WHOLE) tests/export tests/cli/test_export_command.py

# Thousands of processes that race for one ledger or are killed, on both stores (docs/ledgers.md).
test-ledgers: venv
	$(BIN)/python tests/ledgers/store_processes.py sqlite --kills 2000 --attempts 4000
	$(BIN)/python tests/ledgers/store_processes.py postgresql --kills 400 --attempts 4000

# Owners over Flower with TLS, in an environment of its own, since Flower requires other versions of four packages; and
# owners that are killed at every message and line.
test-federated: build/venvs/federated/.installed
	$(<D)/bin/pytest tests/cli/test_federate.py tests/engines/test_killed_owners.py -m slow -o faulthandler_timeout=0

build/venvs/federated/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(@D)
	grep -v '^\(certifi\|packaging\|protobuf\|rich\)==' constraints.txt > $(@D)/constraints.txt
	$(@D)/bin/python -m pip install --quiet -e ".[federated]" hypothesis pandas pytest pytest-timeout -c $(@D)/constraints.txt
	touch $@

# Fits on Dask and Spark clusters of this machine, whose workers are killed at every question.
test-engines: $(ENGINES_STAMP)
	@command -v java >/dev/null || { echo "Java is not installed: apt-get install default-jre-headless" >&2; exit 1; }
	$(BIN)/python -c "import dask.dataframe, distributed, pyspark"
	$(BIN)/pytest tests/engines -m "not slow and not engines"
	$(call run_engines,-m engines)

# The whole suite with other seeds: no test hangs on its own.
test-seeds: $(FULL_STAMP)
	for shift in 1 2 3; do HEDGEROW_EXAMPLES=100 HEDGEROW_SEED_SHIFT=$$shift $(PYTEST) $(WHOLE) || exit 1; done

# The suite with the oldest versions that pyproject.toml admits, and with the newest under any Python:
# PYTHON=python3.11 make test-oldest, PYTHON=python3.14 make test-newest.
test-oldest test-newest: test-%: $(OTHER)-%/.installed
	NUMBA_CACHE_DIR=$(CURDIR)/$(OTHER)-$*/numba $(OTHER)-$*/bin/pytest -n 2 $(WHOLE)

$(OTHER)-oldest/.installed: constraints-oldest.txt
$(OTHER)-newest/.installed: constraints.txt
$(OTHER)-oldest/.installed $(OTHER)-newest/.installed: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet -e ".[test,demo,full]" -c $(filter constraints%,$^)
	touch $@

# Kernels that check every index. numba's cache does not tell them from the others, so they have one of their own.
test-bounds: $(FULL_STAMP)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/numba-bounds $(PYTEST) $(WHOLE)

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

bench: $(BENCH_STAMP)
	$(BIN)/python benchmarks/edprf.py

# Every private form of every system, both adjacencies, 99.9 % for the whole run; it goes on where it was broken off.
audit: venv
	$(BIN)/hedgerow audit --all --minutes 50 --jobs 2 --page build/audit.html --force

# Changes 300 places of the code, drawn by SEED and by the harm of a wrong line; what no test notices is listed (docs/mutants.md).
mutants: $(MUTANTS_STAMP)
	$(BIN)/python mutation/run.py --sample 300 --seed $(or $(SEED),0) --jobs 2

# Mistakes that somebody could make: the test that is named for each must fail with it, and pass without.
planted: venv
	$(BIN)/python mutation/plant.py --jobs 2

# Damaged model files: each is refused by FileFormatError or works, within 5 s of processor time and 1 GiB.
fuzz: venv
	$(BIN)/python tests/fuzz_model_files.py --inputs 20000

# The wheel and the source distribution in dist/, each built twice with the same hash, with SHA256SUMS and a bill of materials, each installed in clean environments and tried: the wheel with the newest
# versions, the source distribution with the oldest. PYTHON=python3.13 make dist tries both with the newest under another Python.
DIST_CHECKS = newest $(if $(filter 3.11,$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')),oldest)
dist: venv
	rm -rf dist build/dist
	$(BIN)/python -m pip install --quiet build -c constraints.txt
	$(BIN)/python -m build --quiet --outdir dist .
	$(BIN)/python -m build --quiet --outdir build/dist/again .
	cd dist && sha256sum *.whl *.tar.gz > SHA256SUMS
	cd build/dist/again && sha256sum --check --quiet $(CURDIR)/dist/SHA256SUMS
	$(MAKE) $(addprefix build/dist/,$(DIST_CHECKS))
	$(BIN)/python release/sbom.py dist/*.whl build/dist/newest/bin/python > build/dist/sbom.json
	cp build/dist/sbom.json $$(echo dist/*.whl | sed 's/-py3.*/.cdx.json/')
	cd dist && sha256sum *.whl *.tar.gz *.cdx.json > SHA256SUMS

# Whoever publishes signs SHA256SUMS with a key of their own: KEY=name@example.org make sign. `gpg --verify` and `sha256sum --check` verify.
sign:
	gpg --local-user $(KEY) --armor --detach-sign --yes dist/SHA256SUMS

build/dist/newest: CONSTRAINTS = constraints.txt
build/dist/newest: KIND = whl
build/dist/oldest: CONSTRAINTS = constraints-oldest.txt
build/dist/oldest: KIND = tar.gz
build/dist/newest build/dist/oldest:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install --quiet dist/hedgerow-*.$(KIND) -c $(CONSTRAINTS)
	cd $@ && NUMBA_CACHE_DIR=numba bin/python -I $(CURDIR)/tests/smoke.py
