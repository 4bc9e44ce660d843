# The commands of this repository. Nothing is installed globally: Python packages are in .venv, Node packages in node_modules,
# everything else in build and target.
#
#   make quickstart              builds, installs into .venv, runs the Python example and shows the steps
#   make test                    all tests: all bindings, scenarios, and the documentation
#   make test-stores SERVERS=    the stores on real servers: PostgreSQL (where Debian's package is installed), S3 (moto), Azure (azurite) and
#                                MinIO, which Go builds in about six minutes
#   make test-fleet SCHEDULERS=  sets of stacks on clusters: dask and ray
#   make test-aws                the example with pulumi_aws over a scripted plugin; downloads that package
#   make scenarios DIR= BINDING= plays a folder of scenarios through a binding: rust, c, python, python-sync or node; or relay: each
#                                operation through another binding, on one stack. SCOPE=binding keeps those that depend
#                                on the binding, SCOPE=sample also a part of the others, another one at each commit
#   make hunt NAME= CASES=       property tests with new cases
#   make simulate SEED= RUNS=    simulations of operations with crashes and faults, of RUNS seeds from SEED on
#   make bench ONLY=             measures, all or those figures whose names begin with ONLY
#   make install-c PREFIX=       header, libraries, pkg-config and CMake files, and the command stackwright
#   make docs                    the documentation site, in build/site
#   make test-docs               builds the site, runs the blocks of all pages and the examples of docstrings, checks the links and opens each page
#                                in Chromium
#   make lint                    formatting, words, lints and types
#   make generate                the C header, the Node types, the list of the public API and the coverage of the rules
#                                and of the Automation APIs;
#                                check-generated fails when they differ
#   make packages                the wheel, the npm packages and the archive for C, in build
#   make test-packages           checks them, the source distribution and the crates
#   make dist TARGET=            what is published, for the oldest supported glibc: wheel, source distribution, npm packages, archive for C; in build/dist

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

# dev shares the build of cargo test; release is shipped and measured.
PROFILE ?= dev
BUILT = target/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))
CARGO := cargo
VENV := $(CURDIR)/.venv
PYTHON ?= python3
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

DIR ?= scenarios
BINDING ?= rust
SCOPE ?= all
ONLY ?=

.PHONY: all quickstart test test-rust test-c test-c-release go-plugins test-python test-node test-sdks test-oldest-python-sdk test-newest-python-sdk test-newest-node-sdk test-scenarios scenarios bench install-c c-library \
	scenario-runner-c wheel install-python node npm-package c-archive packages test-packages test-examples dist lint generate documents check-generated clean hunt simulate

all: test

# ---- tools of the languages, local to this folder ----

$(VENV)/bin/maturin:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check "$$(grep ^maturin requirements-dev.txt)"

$(VENV)/.complete: requirements-dev.txt requirements-stores.txt | $(VENV)/bin/maturin
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt --requirement requirements-stores.txt
	touch $@

node_modules/.package-lock.json: package.json package-lock.json
	# Not `npm ci`: it rejects lock files that leave out the binaries of other platforms.
	npm install --no-save --no-audit --no-fund
	touch $@

# ---- Python ----

wheel: | $(VENV)/bin/maturin
	rm -rf build/wheels
	$(VENV)/bin/python distribution/build wheel --profile $(PROFILE) --out build/wheels

install-python: wheel
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps build/wheels/*.whl

quickstart: PROFILE := release
quickstart: install-python
	rm -rf build/quickstart && mkdir -p build/quickstart
	cd build/quickstart && $(VENV)/bin/python $(CURDIR)/examples/python/quickstart.py

# Tests host components in TypeScript.
# The plugins and the program in Go that tests run. They are built beforehand, because a first build takes longer than a test may; without Go,
# the tests that need them are skipped. With the flags of the tests: other ones, or the commit in the executable, would replace it while another test
# runs it.
GO_BUILD := go build -buildvcs=false
go-plugins:
	command -v go > /dev/null || exit 0; for pair in provider:pulumi-resource-gofiles component:pulumi-resource-gobox automation:go-automation; do \
	    (cd testkit/go-$${pair%%:*} && $(GO_BUILD) -o $(CURDIR)/target/testkit/$${pair##*:} .) || exit 1; done; \
	cd testkit/go-component && $(GO_BUILD) -modfile=newest.mod -tags=newest -o $(CURDIR)/target/testkit/pulumi-resource-gobox-newest .

test-python: $(VENV)/.complete install-python node_modules/.package-lock.json go-plugins
	$(VENV)/bin/python -m mypy.stubtest stackwright._stackwright
	STACKWRIGHT_TEST_MOTO=$(VENV)/bin/python $(VENV)/bin/python -m pytest

# The package for AWS is large: it has an environment of its own, and no part in `make test`.
.PHONY: test-aws
test-aws: wheel
	$(PYTHON) -m venv build/aws
	build/aws/bin/pip install --quiet --disable-pip-version-check --no-compile $(PYTHON_SDKS) pulumi_aws "$$(grep '^pytest[=>]' requirements-dev.txt)" \
	    "$$(grep ^pytest-timeout requirements-dev.txt)"
	build/aws/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps build/wheels/*.whl
	build/aws/bin/python -c 'import importlib.metadata as m; print("pulumi_aws", m.version("pulumi_aws"))'
	build/aws/bin/python -m pytest -p no:cacheprovider bindings-python/tests/test_automation_scripts.py -k aws

# ---- Node ----

node: node_modules/.package-lock.json
	npm run --silent build$(if $(filter dev,$(PROFILE)),:debug)

npm-package: node
	$(PYTHON) distribution/build npm --profile $(PROFILE) --out build/npm

# node-folder FOLDER: makes a folder with the layout of this one, where tests use the npm packages that are installed in it, as a user has them. The
# components in TypeScript are copied, so that they and their hosts use the same SDK; other plugins are those of this folder.
define node-folder
	mkdir -p $(1) build/plugins
	find $(1) -mindepth 1 -maxdepth 1 ! -name node_modules -exec rm -rf {} +
	rm -rf $(1)/node_modules/stackwright $(1)/node_modules/@stackwright
	mkdir $(addprefix $(1)/,bindings-node build testkit)
	cp -r bindings-node/tests $(1)/bindings-node/tests
	cp -r testkit/node-* $(1)/testkit
	ln -s $(addprefix ../../../,$(filter-out testkit/node-%,$(wildcard testkit/*))) $(1)/testkit
	ln -s ../../plugins $(1)/build/plugins
	ln -s $(addprefix ../../,target api bindings-python docs examples) $(1)
endef
INSTALL_NPM_PACKAGES := npm install --no-audit --no-fund --silent ../npm/*.tgz
# Variables of tests with installed packages.
NODE_TEST_VARIABLES = STACKWRIGHT_TEST_PACKAGES=$(CURDIR)/build/npm STACKWRIGHT_TEST_PYTHON=$(VENV)/bin/python STACKWRIGHT_TEST_MOTO=$(VENV)/bin/python

# All tests, with the packages. `npm test` runs them with the working tree. The folder has the locked versions, without the tools that only build.
NODE_TESTS := build/node-tests
NODE_TESTS_PACKAGE = node -p 'const { scripts, devDependencies: { "@napi-rs/cli": napi, typedoc, ...devDependencies } } = require("./package.json"); \
	JSON.stringify({ private: true, scripts, devDependencies })'
test-node: npm-package $(VENV)/.complete go-plugins
	$(call node-folder,$(NODE_TESTS))
	$(NODE_TESTS_PACKAGE) > $(NODE_TESTS)/package.json
	cp package-lock.json $(NODE_TESTS)
	cd $(NODE_TESTS) && $(INSTALL_NPM_PACKAGES)
	cd $(NODE_TESTS) && $(call node-matrix,node,oldest,20,$(OLDEST_NODE_SDK))
	cd $(NODE_TESTS) && npm run --silent test:types
	cd $(NODE_TESTS) && $(NODE_TEST_VARIABLES) npm test

# The ends of the supported ranges: the oldest and the newest SDK for Python, each in a folder of its own, and the newest for Node, on Node 22, with
# the npm packages; node_modules has the oldest one for Node.
OLDEST_PYTHON_SDK := 3.248.0
OLDEST_NODE_SDK := 3.248.0
PYTHON_SDKS := $(shell sed -n 's/^automation = \["\(.*\)"\]/\1/p' pyproject.toml)
# With all tests of components, in Python with those that Python and Go host; `bindings-python/tests/test_matrix.py` compares the lists with the folders.
PYTHON_SDK_TESTS := $(patsubst %,bindings-python/tests/test_%.py,sdk sdk_callbacks sdk_callback_failures sdk_components sdk_differences sdk_features \
	sdk_packages project_callbacks policies) $(wildcard bindings-python/tests/test_component_*.py)
SDK_TESTS := $(patsubst %,bindings-node/tests/%.test.mjs,installed sdk sdk_callbacks sdk_components sdk_differences sdk_callback_failures sdk_packages \
	project_callbacks policies)
COMPONENT_TESTS := $(wildcard bindings-node/tests/component_*.test.mjs) bindings-node/tests/module_plugins.test.mjs

# node-matrix EXECUTABLE NAME MAJOR SDK: prints the versions of Node and the SDK. Where tests run in CI, that of Node has to be MAJOR; that of the SDK
# has to be SDK, if that is given.
node-matrix = $(1) -e 'const [node, sdk] = [process.version, require("@pulumi/pulumi/package.json").version]; \
	console.log("the $(2) SDK for Node: " + sdk + ", on Node " + node); \
	process.exitCode = (process.env.CI && !node.startsWith("v$(3).")) || ("$(4)" && sdk !== "$(4)") ? 1 : 0'

test-sdks: test-oldest-python-sdk test-newest-python-sdk test-newest-node-sdk

SDK_VERSION := -c 'import importlib.metadata as m; print(m.version("pulumi"))'
test-oldest-python-sdk: PYTHON_SDK = pulumi==$(OLDEST_PYTHON_SDK)
test-newest-python-sdk: PYTHON_SDK = $(PYTHON_SDKS)
test-oldest-python-sdk test-newest-python-sdk: test-%-python-sdk: wheel $(VENV)/.complete
	$(PYTHON) -m venv build/sdk-$*-python
	build/sdk-$*-python/bin/pip install --quiet --disable-pip-version-check --upgrade "$(PYTHON_SDK)" "$$(grep ^pytest= requirements-dev.txt || \
	    grep '^pytest>' requirements-dev.txt)" "$$(grep ^pytest-timeout requirements-dev.txt)" "$$(grep ^pulumi-policy requirements-dev.txt)"
	build/sdk-$*-python/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps build/wheels/*.whl
	@version=$$(build/sdk-$*-python/bin/python $(SDK_VERSION)); echo "the $* SDK for Python: $$version"; \
	if [ $* = newest ] && [ "$$version" = "$$($(VENV)/bin/python $(SDK_VERSION))" ]; then \
	    echo "it is the version that all tests of Python run with (make test-python)"; \
	else \
	    build/sdk-$*-python/bin/python -m pytest -p no:cacheprovider -k "not tsbox" $(PYTHON_SDK_TESTS); \
	fi

NEWEST_NODE_SDK := build/sdk-newest
test-newest-node-sdk: npm-package $(VENV)/.complete go-plugins
	$(call node-folder,$(NEWEST_NODE_SDK))
	echo '{"private": true}' > $(NEWEST_NODE_SDK)/package.json
	cd $(NEWEST_NODE_SDK) && $(INSTALL_NPM_PACKAGES) @pulumi/pulumi@latest @pulumi/policy@latest node@22
	cd $(NEWEST_NODE_SDK) && $(call node-matrix,node_modules/.bin/node,newest,22)
	cd $(NEWEST_NODE_SDK) && $(NODE_TEST_VARIABLES) \
	    node_modules/.bin/node --test --test-concurrency=2 --test-timeout=300000 $(SDK_TESTS) $(COMPONENT_TESTS)

# ---- packages ----

c-archive: c-library
	$(PYTHON) distribution/build c --profile $(PROFILE) --out build/c-archive

packages: wheel npm-package c-archive

# Of what `make packages` has made.
test-packages: $(VENV)/.complete
	$(VENV)/bin/python distribution/build sdist --out build/sdist
	$(VENV)/bin/python distribution/audit build/wheels build/npm build/c-archive build/sdist
	PYTHONPATH=distribution $(VENV)/bin/python -m pytest -p no:cacheprovider distribution/tests

# Examples, also those of the test kit, with the packages that `make packages` has made, in clean folders.
test-examples:
	.ci/packages

$(VENV)/.zig: requirements-dist.txt | $(VENV)/.complete
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --requirement requirements-dist.txt
	touch $@

# All products are compiled together, with zig, for a target of distribution/targets.json.
TARGET ?=
dist: $(VENV)/.zig node_modules/.package-lock.json
	npm run --silent build:facade
	rm -rf build/dist
	$(VENV)/bin/python distribution/build wheel sdist npm c --profile release --zig $(if $(TARGET),--target $(TARGET)) --out build/dist
	$(VENV)/bin/python distribution/audit build/dist --released

# ---- C ----

c-library:
	$(CARGO) build --quiet --package stackwright-c --package stackwright-cli --profile $(PROFILE)

# Installs the release build; PROFILE=dev on the command line overrides this.
install-c: PROFILE := release
install-c: c-library
	@test -n "$(PREFIX)" || { echo "PREFIX is missing: make install-c PREFIX=/some/where" >&2; exit 1; }
	bindings-c/packaging/install "$(PREFIX)" $(BUILT) $(VERSION)

test-c: c-library
	bindings-c/packaging/install build/c $(BUILT) $(VERSION)
	build/c/bin/stackwright version
	examples/c/run build/c build/example-c

# The library as it is installed: valgrind finds other errors in an optimised build.
test-c-release: PROFILE := release
test-c-release: test-c

scenario-runner-c: c-library
	bindings-c/packaging/install build/c $(BUILT) $(VERSION)
	$${CC:-cc} -std=c11 -O1 -Wall -Wextra -Wpedantic -Werror -Ibuild/c/include bindings-c/tests/scenario_runner.c \
	    -o target/scenario_runner_c -Lbuild/c/lib -Wl,-rpath,$(CURDIR)/build/c/lib -lstackwright -lpthread

# ---- Rust, and all bindings ----

# The last line is the sum over all test binaries. One test runs a program of the Python SDK, which .venv has.
# A test executable that runs for longer hangs. That of stores kills and suspends very often against each server.
deadline = --config 'target."cfg(unix)".runner = ["timeout", "--kill-after=10", "$(1)"]'
TEST_DEADLINE := $(call deadline,900)
STORES_DEADLINE := $(call deadline,7200)

test-rust: $(VENV)/.complete go-plugins
	mkdir -p build
	STACKWRIGHT_TEST_PYTHON=$(VENV)/bin/python $(CARGO) test $(TEST_DEADLINE) --no-fail-fast --workspace --exclude stackwright-api --exclude stackwright-node 2>&1 | tee build/test-rust.log
	awk '/^test result:/ { passed += $$4; failed += $$6 } END { print passed " passed, " failed " failed" }' build/test-rust.log

# Servers of stores: moto from PyPI in .venv, azurite from npm, MinIO as a Go module. Those of SERVERS must be there; others are skipped with a line
# that names them.
SERVERS ?= PostgreSQL,S3,Azure,MinIO
KILLS ?= 50
SUSPENSIONS ?= 20
AZURITE = $(CURDIR)/build/azurite
MINIO = $(CURDIR)/build/minio/minio
MINIO_MODULE = github.com/minio/minio@v0.0.0-20250907161309-07c3a429bfed

$(AZURITE)/node_modules/azurite/package.json:
	mkdir -p $(AZURITE)
	cd $(AZURITE) && echo '{"private": true}' > package.json && npm install --no-audit --no-fund --silent azurite@3

$(MINIO):
	GOBIN=$(dir $(MINIO)) GOTOOLCHAIN=local CGO_ENABLED=0 go install -trimpath -ldflags '-s -w' $(MINIO_MODULE)

.PHONY: test-stores
test-stores: $(if $(findstring S3,$(SERVERS)),$(VENV)/.complete) \
		$(if $(findstring Azure,$(SERVERS)),$(AZURITE)/node_modules/azurite/package.json) \
		$(if $(findstring MinIO,$(SERVERS)),$(MINIO))
	STACKWRIGHT_TEST_STORES_REQUIRED=$(SERVERS) STACKWRIGHT_TEST_KILLS=$(KILLS) STACKWRIGHT_TEST_SUSPENSIONS=$(SUSPENSIONS) \
	    STACKWRIGHT_TEST_MOTO=$(if $(findstring S3,$(SERVERS)),$(VENV)/bin/python) \
	    STACKWRIGHT_TEST_AZURITE=$(if $(findstring Azure,$(SERVERS)),$(AZURITE)/node_modules/azurite/dist/src/blob/main.js) \
	    STACKWRIGHT_TEST_MINIO=$(if $(findstring MinIO,$(SERVERS)),$(MINIO)) \
	    $(CARGO) test $(STORES_DEADLINE) --workspace --exclude stackwright-api --exclude stackwright-node --test stores

# Clusters from PyPI, in a folder of their own with the wheel. SCHEDULERS selects from dask and ray; the examples run on the same.
SCHEDULERS ?= dask,ray
FLEET = $(CURDIR)/build/fleet
COMMA := ,

$(FLEET)/.dask: requirements-fleet.txt
	$(PYTHON) -m venv $(FLEET)
	$(FLEET)/bin/pip install --quiet --disable-pip-version-check --requirement requirements-fleet.txt
	touch $@

$(FLEET)/.ray: requirements-fleet-ray.txt | $(FLEET)/.dask
	$(FLEET)/bin/pip install --quiet --disable-pip-version-check --requirement requirements-fleet-ray.txt
	touch $@

.PHONY: test-fleet
test-fleet: export RAY_USAGE_STATS_ENABLED := 0
test-fleet: wheel $(VENV)/.complete $(FLEET)/.dask $(if $(findstring ray,$(SCHEDULERS)),$(FLEET)/.ray)
	$(FLEET)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps build/wheels/*.whl
	STACKWRIGHT_TEST_MOTO=$(VENV)/bin/python $(FLEET)/bin/python -m pytest -p no:cacheprovider --durations=10 \
	    $(patsubst %,bindings-python/tests_fleet/test_%.py,$(subst $(COMMA), ,$(SCHEDULERS)))
	for scheduler in $(subst $(COMMA), ,$(SCHEDULERS)); do rm -rf build/fleet-state; \
	    FLEET_PASSPHRASE=example FLEET_TOKEN=example timeout 300 $(FLEET)/bin/python examples/fleet/on_$$scheduler.py \
	    file://$(CURDIR)/build/fleet-state --shops 6 || exit 1; done

# Property tests with new random cases; NAME selects some.
CASES ?= 10000
hunt:
	PROPTEST_RNG_SEED=$$(date +%s%N) PROPTEST_CASES=$(CASES) $(CARGO) test --package stackwright $(NAME)

# Simulations of consecutive seeds; one run prints its trace.
SEED ?= 1
RUNS ?= 1000
simulate:
	$(CARGO) run --quiet --package stackwright-testkit --bin simulate -- $(SEED) $(RUNS)

scenarios: scenarios-$(BINDING)

.PHONY: scenarios-rust scenarios-c scenarios-python scenarios-python-sync scenarios-node scenarios-relay
# A part of the scenarios that do not depend on the binding, selected by the number of commits, so that it rotates.
SAMPLE_PARTS := 5
SAMPLE = $(shell git rev-list --count HEAD 2> /dev/null || echo 0)/$(SAMPLE_PARTS)
PLAY = $(CARGO) run --quiet --package stackwright-testkit --profile $(PROFILE) --bin scenarios -- --dir "$(DIR)" \
	--scope "$(if $(filter sample,$(SCOPE)),sample:$(SAMPLE),$(SCOPE))"

scenarios-rust:
	$(PLAY) --binding rust

scenarios-c: scenario-runner-c
	$(PLAY) --binding c

scenarios-python: install-python
	$(PLAY) --binding python --runner "$(VENV)/bin/python bindings-python/tests/scenario_runner.py"

# The same operations through the synchronous API.
scenarios-python-sync: install-python
	$(PLAY) --binding python --runner "$(VENV)/bin/python bindings-python/tests/scenario_runner.py --sync"

scenarios-node: node
	$(PLAY) --binding node

# Each operation continues from the state that another binding has written.
scenarios-relay: scenario-runner-c install-python node
	$(PLAY) --binding relay --python $(VENV)/bin/python

# Scenarios that depend on the binding run through all of them, the others through Rust and a sample through the relay.
test-scenarios: scenarios-rust
	$(MAKE) scenarios BINDING=c SCOPE=binding
	$(MAKE) scenarios BINDING=python SCOPE=binding
	$(MAKE) scenarios BINDING=python-sync SCOPE=binding
	$(MAKE) scenarios BINDING=node SCOPE=binding
	$(MAKE) scenarios BINDING=relay SCOPE=sample

# All that the tests compile.
.PHONY: compile
compile: $(VENV)/.complete
	$(CARGO) test --quiet --no-run --workspace --exclude stackwright-api --exclude stackwright-node
	$(MAKE) install-python node c-library

test: test-rust test-c test-python test-node test-sdks test-scenarios test-docs packages test-packages test-examples

# ---- measuring ----

bench: PROFILE := release
bench: $(VENV)/.complete install-python node c-library
	bindings-c/packaging/install build/c $(BUILT) $(VERSION)
	STACKWRIGHT_TEST_MOTO=$(VENV)/bin/python bench/run "$(ONLY)"

# ---- documentation ----

DOCS := $(CURDIR)/build/docs-venv
# build/reference is added to the site: that of Node from typedoc, that of Rust from rustdoc.
.PHONY: docs rust-reference node-reference test-docs

$(DOCS)/.complete: docs/requirements.txt requirements-dev.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check --requirement docs/requirements.txt "$$(grep ^pulumi== requirements-dev.txt)"
	touch $@

rust-reference:
	RUSTDOCFLAGS="-D rustdoc::broken-intra-doc-links -D rustdoc::bare-urls -D rustdoc::invalid-html-tags" $(CARGO) doc --quiet --no-deps --lib --package stackwright --package stackwright-project --package stackwright-command
	rm -rf build/reference/rust && mkdir -p build/reference
	cp -r target/doc build/reference/rust && rm -f build/reference/rust/*.json build/reference/rust/.lock
	# What other crates say of their traits has links to pages that are not here.
	find build/reference/rust -name '*.html' -exec perl -pi -e 's{<a href="(?!https?:)(?:[^"]*::[^"]*|dispatcher#[^"]*)"[^>]*>(.*?)</a>}{$$1}g' {} +
	# Pages of traits ask for the list of their implementations in other crates also where there is none.
	grep -rhoP --include='*.html' 'src="[^"]*\Ktrait\.impl/[^"]+' build/reference/rust | sort -u | while read -r script; do \
	    [ -e "build/reference/rust/$$script" ] || { mkdir -p "build/reference/rust/$${script%/*}" && touch "build/reference/rust/$$script"; }; done
	# The page that those of the settings and of the help lead back to.
	{ echo '<!doctype html><meta charset="utf-8"><title>The crates of Stackwright</title><h1>The crates of Stackwright</h1><ul>'; \
	    for crate in stackwright:'the engine' stackwright_project:'projects in folders, their settings and programs' \
	        stackwright_command:'the command that runs in the process'; do \
	        echo "<li><a href=\"$${crate%%:*}/index.html\">$${crate%%:*}</a>: $${crate##*:}</li>"; done; echo '</ul>'; } > build/reference/rust/index.html

node-reference: node_modules/.package-lock.json
	rm -rf build/reference/node
	npx --no-install typedoc --options docs/typedoc.json --logLevel Error
	# typedoc writes the link of docs/typedoc.json into all pages as it is, also into those a folder below.
	find build/reference/node -mindepth 2 -name '*.html' -exec sed -i 's|href="../../index.html"|href="../../../index.html"|' {} +

# Chromium opens the pages of the documentation and the pictures. Where it cannot be installed, a line of the tests states that.
.PHONY: chromium
chromium:
	sudo=; [ "$$(id -u)" = 0 ] || sudo='sudo -n'; \
	command -v chromium chromium-browser google-chrome > /dev/null || \
	    { $$sudo apt-get update -qq && $$sudo apt-get install -y -qq --no-install-recommends chromium; } > /dev/null 2>&1 || \
	    echo "Chromium could not be installed"

docs: $(DOCS)/.complete rust-reference node-reference
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict

# The site is built anew, as it is made of more than its pages: docstrings, the header, and the types of Node.
# Blocks run with what is built and installed as users get it: the wheel, the npm package, and the C library below build/c.
DOCS_TESTS ?= docs/tests
test-docs: $(DOCS)/.complete chromium docs install-python npm-package c-library
	bindings-c/packaging/install build/c $(BUILT) $(VERSION)
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps build/wheels/*.whl
	$(DOCS)/bin/python -m pytest -p no:cacheprovider -rs $(DOCS_TESTS)

# ---- checks ----

lint: lint-texts
	# The Node module's exports exist only outside of its test build, so that is not linted.
	$(CARGO) clippy --workspace --exclude stackwright-node --all-targets --quiet -- -D warnings
	$(CARGO) clippy --package stackwright-node --quiet -- -D warnings

# All but the lints of Rust, which .ci/run has from the compilation of the tests.
.PHONY: lint-texts
lint-texts: $(VENV)/.complete node_modules/.package-lock.json
	$(PYTHON) .ci/check-words
	$(PYTHON) .ci/check-features
	$(CARGO) fmt --all --check
	$(VENV)/bin/python -m mypy
	npx --no-install tsc --noEmit --project bindings-node/tsconfig.json

# Files that are generated and committed: the header, the types of the native Node module, the documents of Python and Node,
# the list of the engine's exports, and the scenarios of each rule. The documents come first, because the Node package is
# built from them. The stubs of the native Python module are written by hand; stubtest compares them with the module, as part
# of test-python.
GENERATED := include/stackwright.h bindings-node/native.d.ts bindings-node/lib/documents.ts bindings-node/lib/event.ts \
	bindings-python/python/stackwright/options.py bindings-python/python/stackwright/resource_options.py \
	bindings-python/python/stackwright/_results.py bindings-python/python/stackwright/events.py docs/api.txt \
	scenarios/COVERAGE.md docs/automation-coverage.md

documents:
	$(CARGO) run --quiet --package stackwright-c --example generate_header
	$(CARGO) run --quiet --package stackwright-schema
	$(CARGO) run --quiet --package stackwright-testkit --bin scenarios -- --dir scenarios --coverage

generate: documents $(VENV)/.complete
	$(MAKE) node
	$(VENV)/bin/python api/automation/coverage.py
	RUSTDOC=$(CURDIR)/api/rustdoc $(CARGO) rustdoc --quiet --package stackwright --lib -- -Z unstable-options --output-format json
	$(CARGO) run --quiet --package stackwright-api -- target/doc/stackwright.json > docs/api.txt

check-generated: generate
	git diff --exit-code -- $(GENERATED)

clean:
	rm -rf build target $(VENV) node_modules
