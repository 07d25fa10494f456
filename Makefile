# A thin front door to meson. `make run` and `make test` work on a fresh Debian 12, as root or with sudo.
BUILD ?= build

.PHONY: all build setup run test install clean

all: build

setup:
	@tools/setup

# Configured once; ninja notices later changes by itself.
$(BUILD)/build.ninja:
	@tools/setup --build-only
	@meson setup $(BUILD)

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

# Exit code 1 of ortfit means that a cause was found: an answer, not a failure.
run: build
	@echo; echo "== this machine"; $(BUILD)/ortfit || test $$? -eq 1
	@echo; echo "== an example: $(EXAMPLE)"; $(BUILD)/ortfit --from $(EXAMPLE) || test $$? -eq 1

EXAMPLE = examples/wheels-not-reached.json

test: setup build
	@tools/test $(BUILD)

install: build
	@meson install -C $(BUILD)

clean:
	@rm -rf $(BUILD)
