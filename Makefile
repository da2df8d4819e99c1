# SPDX-License-Identifier: GPL-3.0-or-later
# Each target first completes the set-up if parts are missing; see README.md.

# The Python for .venv, 3.11 or newer.
PYTHON ?= /usr/bin/python3
BIN := .venv/bin
# In a checkout of another user's, runs go below one's own home.
ifneq ($(shell [ -w . ] && echo yes),yes)
FROM := $(CURDIR)/
GO := echo "this checkout can't be written to: results go to $$HOME/flent-aqm/results" && \
    mkdir -p "$$HOME/flent-aqm" && cd "$$HOME/flent-aqm" &&
endif
NOT_OURS := -name .git -prune -o -name .venv -prune -o -name results -prune

.PHONY: help gate-coverage infer setup packages test-packages venv test-venv sweep demo test writable lint types scripts bytecode bench identical kills mutants validate docs results reference dist dist-check ci-check demo-check deb-check image debug-check older-check site release clean
.DEFAULT_GOAL := help

help:
	@echo 'make setup         install and build what is missing (make packages: only the system packages)'
	@echo 'make demo          make eight runs and a picture in about a minute'
	@echo 'make sweep         run the default batch, 96 runs, and write a report'
	@echo 'make test          run lint and all tests'
	@echo 'make lint          run ruff, mypy and shellcheck'
	@echo 'make bench         measure the speed of the lab'
	@echo 'make validate      compare the lab with theory; writes docs/results/validation.md'
	@echo 'make reference     write the pages that follow from the code again'
	@echo 'make docs          run make validate, and renew all other numbers in docs/'
	@echo 'make results       renew those results in docs/ that make docs does not; takes hours'
	@echo 'make infer         make runs whose queue is known, and the model of flent-aqm infer; hours'
	@echo 'make identical     prove that runs repeat byte by byte; takes long'
	@echo 'make gate-coverage find which kernel lines the cells of batches/gate.batch run; takes a quarter of an hour'
	@echo 'make mutants       insert small defects, and list those that the tests miss; takes long'
	@echo 'make kills         prove that a sweep survives kill -9 at any moment'
	@echo 'make dist          build wheels with and without the ready-made lab, and the source archive'
	@echo 'make dist-check    install and use both wheels in a new Debian, and time it'
	@echo 'make ci-check      time one CI job of docs/ci.md from both wheels'
	@echo 'make demo-check    time make demo in a new Debian, from nothing to its picture'
	@echo 'make deb-check     build, install and use the Debian packages in a new Debian 13'
	@echo 'make image         build the image for podman and docker, and run the demo in it'
	@echo 'make debug-check   run every queue in a kernel with KASAN and lockdep'
	@echo 'make older-check   run the tests of the lab on Linux 6.12 LTS'
	@echo 'make site          build the documents as a site with search and a gallery: build/site'
	@echo 'make release       make all parts of a release in a folder (see release/publish.py)'
	@echo 'make clean         remove .venv and caches of this source tree; keep results and built tools'

packages:
	@flent_aqm/setup/packages.sh

# What only tests, lint and flent-gui need: a browser, ssh servers, Qt's libraries.
test-packages:
	@flent_aqm/setup/packages.sh run build test gui

venv: packages
	@flent_aqm/setup/venv.sh $(PYTHON)

# The Python packages of tests and lint: more than all others.
test-venv: packages
	@flent_aqm/setup/venv.sh $(PYTHON) test

setup: venv
	@$(BIN)/flent-aqm setup

# The report is written even if some runs have failed: it says why. SWEEP_ARGUMENTS and
# DEMO_ARGUMENTS: further words for Flent, such as '--batch-override aqm=codel'.
sweep: setup
	@$(GO) '$(FROM)$(BIN)/flent' -B '$(FROM)batches/aqm_sweep.batch' $(SWEEP_ARGUMENTS); status=$$?; \
	    '$(FROM)$(BIN)/flent-aqm' report && exit $$status

demo: setup
	@$(GO) '$(FROM)$(BIN)/flent' -B '$(FROM)batches/aqm_sweep.batch' -b quick $(DEMO_ARGUMENTS) && \
	    folder=$$(ls -d results/quick-* | tail -n 1) && '$(FROM)$(BIN)/flent' -q \
	    -p latency_and_throughput -o $$folder/demo.png $$folder/*.flent.gz && \
	    echo "picture: $$(pwd)/$$folder/demo.png"

# Four files at a time, because many of them wait for a clock or a browser. The slowest files, listed in
# tests/conftest.py, come first.
test: writable test-packages test-venv setup
	@$(MAKE) --no-print-directory -j 2 --output-sync=target lint site bytecode SITE_ARGUMENTS=--no-gallery
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder

writable:
	@[ -w . ] || { echo "make test writes build/ and caches into the checkout, and user `id -un` may not write" \
	    "here: run .venv/bin/pytest -m 'not lab', or copy the checkout" >&2; exit 1; }

# The tests start a thousand Python programs, and four workers collect all tests: each would compile
# what is not compiled yet.
unexport PYTHONDONTWRITEBYTECODE
bytecode: test-venv
	@$(BIN)/python -m compileall -q flent_aqm
	@$(BIN)/pytest --collect-only -qq -n 0 >/dev/null || : # the tests themselves tell what is wrong

lint: types scripts
	$(BIN)/ruff check .

types: test-venv
	$(BIN)/mypy

scripts: test-packages
	@# find scripts by .sh, and by their first line: programs lack .sh, sourced files lack the line
	{ find . $(NOT_OURS) -o -name '*.sh' -print; \
	  find . $(NOT_OURS) -o -type f -exec awk 'FNR == 1 && /^#!\/bin\/sh/ { print FILENAME } \
	      { nextfile }' {} +; } | sort -u | xargs shellcheck -x -P SCRIPTDIR

bench: setup
	$(BIN)/python -m research.bench.run $(BENCH_ARGUMENTS)

# If the source tree is read-only: VALIDATE_ARGUMENTS='--output DIR'.
validate: setup
	$(BIN)/python -m research.validation.run $(VALIDATE_ARGUMENTS)

docs: validate
	$(BIN)/python -m research.validation.numbers $(DOCS_ARGUMENTS)
	$(BIN)/python -m research.validation.moderation

# The tables that take hours: papers, speed tests, the study. real_time needs root.
results: test-venv setup
	$(BIN)/python -m research.validation.renew $(RESULTS_ARGUMENTS)

# Runs whose queue is known, the model that `flent-aqm infer` has of them, and its page; hours.
infer: test-venv setup
	$(BIN)/python -m research.infer.recipe make results/infer $(INFER_ARGUMENTS)
	$(BIN)/python -m research.infer.table results/infer -o results/infer/table.parquet
	$(BIN)/python -m research.infer.train results/infer/table.parquet
	$(BIN)/python -m research.infer.page results/infer/table.parquet -o docs

# The parts of README.md and docs/reference/ that follow from the code.
reference: test-venv
	$(BIN)/python -m release.website.reference.write

identical: test-venv setup
	$(BIN)/python -m research.bench.identical $(IDENTICAL_ARGUMENTS)

# A quarter of an hour, less for one queue: GATE_COVERAGE_ARGUMENTS="--queues fq_codel".
gate-coverage: test-venv setup
	$(BIN)/python -m research.bench.gate_coverage $(GATE_COVERAGE_ARGUMENTS)

kills: setup
	$(BIN)/python -m research.bench.kills $(KILLS_ARGUMENTS)

mutants: test-venv
	$(BIN)/python -m research.bench.mutants $(MUTANTS_ARGUMENTS)

# Both wheels and the source archive; the same sources and parts give the same bytes.
dist: test-venv setup
	@# keep dist/deb, which belongs to deb-check
	@rm -f dist/*.whl dist/*.tar.gz dist/SHA256SUMS
	@mkdir -p build dist
	PYTHONPATH=release/build_backend $(BIN)/python -W ignore -c "import flent_aqm_backend as backend; \
	    backend.build_sdist('dist'); backend.build_wheel('dist')" >build/dist.log
	$(BIN)/python -m release.build_backend.lab_wheel dist
	@cd dist && sha256sum *.whl *.tar.gz >SHA256SUMS && ls -l

# Both wheels in a Debian without a compiler, as user nobody, from pip install to the demo's picture.
# Needs root and mmdebstrap.
dist-check: dist
	research/bench/dist_check.sh $(DIST_CHECK_ARGUMENTS)

# One CI job of docs/ci.md, from the wheels to report and conditions.
ci-check: dist
	research/bench/ci_job.sh

demo-check:
	research/bench/demo_check.sh $(DEMO_CHECK_ARGUMENTS)

# The Debian packages, built without network in one Debian 13, installed and used in another.
# Needs root, mmdebstrap, dpkg-dev and cargo; compiles the lab's kernel.
deb-check: test-venv
	research/bench/deb_check.sh $(DEB_CHECK_ARGUMENTS)

# The image for podman and docker, with a base by mmdebstrap in place of an image registry's; the
# demo runs in it. Needs root, buildah and mmdebstrap.
image: dist
	release/container/build.sh

# Deliberate defects, and every queue, on a kernel with KASAN and lockdep, which it compiles.
debug-check: test-venv setup
	$(BIN)/python -m research.bench.debug_kernel $(DEBUG_CHECK_ARGUMENTS)

older-check: test-venv setup
	$(BIN)/python -m research.bench.older_kernel $(OLDER_CHECK_ARGUMENTS)

# The site: open build/site/index.html, or serve the folder.
site: test-venv
	@$(BIN)/python -c 'import material' 2>/dev/null || $(BIN)/python -m pip install --quiet \
	    --disable-pip-version-check -c release/constraints.txt mkdocs-material mkdocstrings-python
	$(BIN)/python -m release.website.build $(SITE_ARGUMENTS)

# All parts of a release in a folder: RELEASE_ARGUMENTS='v0.2.0 /tmp/release'; --trial without a tag.
release: test-venv setup
	$(BIN)/python -m release.publish $(RELEASE_ARGUMENTS)

clean:
	rm -rf .venv .venv.lock build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
