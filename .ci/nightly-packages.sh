# Nightly steps for packages, dependencies and compilers. Source this file at the top of the tree, then call a function.
# Each function prints SKIP with the reason if this machine cannot run the step, and returns 1 on a failure.

# Tools are installed here, and stay for the next night.
tools=${CARGO_INSTALL_ROOT:-$PWD/target/tools}
PATH=$tools/bin:$PATH
unset RUSTC_WORKSPACE_WRAPPER

# Installs NAME@VERSION without optimization, which compiles faster.
tool() {
    cargo install --quiet --locked --debug --root "$tools" "$1" ||
        { echo "SKIP $1: cargo cannot install it" && return 1; }
}

# Installs the standard library of a target.
target() {
    [[ -d $(rustc --print target-libdir --target "$1") ]] || rustup target add "$1" ||
        { echo "SKIP $1: rustup cannot install the target" && return 1; }
}

# Builds the packages and checks them, the manual pages and the crates.
packages() {
    local failed=0 name page unpublished=()
    # All crates that may be published, together: each finds the others as if they were on a registry.
    for name in $(grep -sl '^publish = false' crates/*/Cargo.toml xtask/Cargo.toml xtask/*/Cargo.toml); do
        unpublished+=(--exclude "$(sed -n 's/^name = "\(.*\)"/\1/p' "$name" | head -n 1)")
    done
    cargo package --workspace "${unpublished[@]}" --no-verify --allow-dirty --quiet || failed=1
    if command -v man >/dev/null; then
        for page in docs/man/*.1; do
            [[ -z $(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null |
                tee /dev/stderr) ]] || failed=1
        done
    else
        echo "SKIP manual pages: man is not installed"
    fi
    for name in $(ci/package --tools); do
        tool "$name" || return $failed
    done
    target x86_64-unknown-linux-musl || return $failed
    rm -rf target/dist
    ci/package || return 1
    if command -v lintian >/dev/null; then
        # The program is static on purpose, and CHANGELOG.md is not a Debian changelog.
        lintian --allow-root --fail-on error --suppress-tags statically-linked-binary,no-changelog target/dist/*.deb || failed=1
    else
        echo "SKIP lintian: not installed"
    fi
    if command -v rpmlint >/dev/null; then
        rpmlint target/dist/*.rpm || failed=1
    else
        echo "SKIP rpmlint: not installed"
    fi
    return $failed
}

# Succeeds if there are packages.
packed() {
    [[ -x target/dist/stage/assay ]] || packages || return
    [[ -x target/dist/stage/assay ]]
}

# Installs, uses and removes the packages, and those of the 32-bit program.
roots() {
    packed || { echo "SKIP roots: no packages in target/dist" && return 0; }
    ci/roots || return
    target i686-unknown-linux-musl || return 0
    PROFILE=dev ci/package i686-unknown-linux-musl && ci/roots i686-unknown-linux-musl
}

# Uses the static program with the system calls of Linux 4.18.
old_calls() {
    packed || { echo "SKIP old calls: no packages in target/dist" && return 0; }
    local program=$PWD/target/dist/stage/assay home failed=0 arguments
    home=$(mktemp -d)
    for arguments in "check $home --quick" "watch --for 2s" "run depth $home --quick" list "report --output $home/page.html"; do
        # shellcheck disable=SC2086
        HOME=$home ci/old-calls "$program" $arguments >"$home/output" 2>&1 ||
            { echo "assay $arguments:" && cat "$home/output" && failed=1; }
    done
    grep -q '</html>' "$home/page.html" || failed=1
    rm -r "$home"
    return $failed
}

# Licenses, sources, advisories and unused dependencies.
audit() {
    local failed=0
    if tool cargo-deny@0.20.2; then
        cargo deny check --hide-inclusion-graph licenses bans sources || failed=1
        if cargo deny fetch db; then
            cargo deny check --hide-inclusion-graph advisories || failed=1
        else
            echo "SKIP advisories: cargo deny cannot fetch the list"
        fi
    fi
    if tool cargo-machete@0.9.2; then
        cargo machete --with-metadata || failed=1
    fi
    return $failed
}

# The oldest Rust that Cargo.toml promises.
oldest_rust() {
    local rust
    rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    rustup run "$rust" rustc --version ||
        rustup toolchain install "$rust" --profile minimal --no-self-update ||
        { echo "SKIP Rust $rust: rustup cannot install it" && return 0; }
    rustup run "$rust" cargo check --locked --workspace --target-dir "${CARGO_TARGET_DIR:-target}/oldest"
}

# Targets other than this machine: clippy where most differs (32 bits), else the compiler.
other_machines() {
    local failed=0 name
    if target i686-unknown-linux-musl; then
        cargo clippy --workspace --all-targets --target i686-unknown-linux-musl -- --deny warnings || failed=1
    fi
    for name in aarch64-unknown-linux-musl armv7-unknown-linux-musleabihf riscv64gc-unknown-linux-musl; do
        target "$name" || continue
        cargo check --package assay --target "$name" || failed=1
    done
    return $failed
}
