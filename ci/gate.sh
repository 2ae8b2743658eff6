#!/bin/sh
# Runs one gate in CI, writes its files, and exits with its exit code. Environment:
#
#   ASSAY_ARGS      the line to run, as in a shell: run --command ./old --command ./new --gate 5%
#   ASSAY_PROGRAM   path of the program, or of the archive of a release (.tar.gz); default: cargo builds this checkout
#   ASSAY_URL       address of one of the two, instead of ASSAY_PROGRAM
#   ASSAY_SHA256    SHA-256 of that file; required for a download
#   ASSAY_OUT       output directory, default assay-gate: comment.md (the table), gate.xml (JUnit) and result.assay
#                   (the result, for assay import)
#   ASSAY_HOME      directory of the results; default: a temporary directory
#   ASSAY_COMMENT   name of this gate among the comments of a pull request; default: no comment. Needs gh and GH_TOKEN
#
# Exit codes are those of assay: 0 passed, 1 failed, 2 usage error, 3 refused (also a wrong checksum), 5 inconclusive.
set -eu

say() {
    printf 'assay-gate: %s\n' "$1" >&2
}

mistake() {
    say "$1"
    exit 2
}

refuse() {
    say "$1"
    exit 3
}

line=${ASSAY_ARGS:-}
given=${ASSAY_PROGRAM:-}
url=${ASSAY_URL:-}
sum=${ASSAY_SHA256:-}
out=${ASSAY_OUT:-assay-gate}
home=${ASSAY_HOME:-}
name=${ASSAY_COMMENT:-}
root=$(dirname "$0")/..
made=

# Some runners let everybody write to what is made, and root trusts no results in such a directory.
[ "$(umask)" != 0000 ] || umask 022
# What fails here must not end with 1: no gate failed.
mkdir -p "$out" || refuse "$out cannot be made"
# What an earlier job left says nothing of this one.
rm -f "$out/comment.md" "$out/gate.xml" "$out/result.assay" || refuse "what is in $out cannot be removed"

[ -n "$line" ] || mistake 'ASSAY_ARGS is empty: run --command A --command B --gate 5%'
[ -z "$given" ] || [ -z "$url" ] || mistake 'ASSAY_PROGRAM and ASSAY_URL: say one of them'
[ -n "$given$url" ] || [ -f "$root/crates/assay/Cargo.toml" ] ||
    mistake 'no program: set ASSAY_PROGRAM or ASSAY_URL, or run ci/gate.sh in a checkout of assay'
[ -z "$url" ] || [ -n "$sum" ] || mistake 'ASSAY_URL needs ASSAY_SHA256: a download is not run unseen'

# Whoever writes the line writes the job, too; `*` is left to the commands in it, and line ends are blanks, with or
# without a backslash before them.
line=$(printf '%s\n' "$line" | sed 's/\\$//' | tr '\n' ' ')
set -f
eval "set -- $line"
set +f
if [ "${1:-}" = assay ]; then
    shift
fi
[ "${1:-}" = run ] || mistake "ASSAY_ARGS is a line of assay run, not: $line"

if [ -z "$given$url" ]; then
    cargo build --release --locked --package assay --manifest-path "$root/Cargo.toml" --target-dir "$root/target" >&2 ||
        refuse "cannot build assay from $root"
    given=$root/target/release/assay
elif [ -n "$url" ]; then
    path=${url%%[?#]*}
    given=$out/${path##*/}
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --retry 3 --output "$given" "$url" ||
            refuse "$url could not be downloaded"
    elif command -v wget >/dev/null; then
        wget -q -O "$given" "$url" || refuse "$url could not be downloaded"
    else
        mistake 'neither curl nor wget is here: say ASSAY_PROGRAM'
    fi
fi
[ -f "$given" ] || mistake "there is no file $given"
if [ -n "$sum" ]; then
    found=$(sha256sum <"$given") || refuse "$given cannot be read"
    found=${found%% *}
    wanted=$(printf '%s' "$sum" | tr 'A-F' 'a-f')
    [ "$found" = "$wanted" ] || refuse "$given has the SHA-256 $found and not $wanted: it is not run"
fi

case $given in
*.tar.gz | *.tgz)
    rm -rf "$out/program"
    mkdir "$out/program" || refuse "$out/program cannot be made"
    # By its content: tar takes a name with a colon for that of another machine.
    tar -xzf - -C "$out/program" <"$given" || refuse "$given could not be unpacked"
    program=
    for each in "$out"/program/assay "$out"/program/*/assay; do
        if [ -f "$each" ]; then
            program=$each
        fi
    done
    [ -n "$program" ] || mistake "no assay is in $given"
    ;;
*)
    program=$given
    if [ -n "$url" ]; then
        chmod +x "$program" || refuse "$program cannot be made executable"
    fi
    ;;
esac
case $program in
/*) ;;
*) program=$PWD/$program ;;
esac
[ -x "$program" ] || mistake "$program is no program: it cannot be executed"

if [ -z "$home" ]; then
    # Not in the checkout: it is gone when all of it that counts is kept.
    made=$(mktemp -d "${TMPDIR:-/tmp}/assay-gate.XXXXXX") || refuse 'there is no place for results'
    home=$made
fi
export ASSAY_HOME="$home"

# The results are named by their time: the newest one is the last.
newest() {
    last=
    for each in "$ASSAY_HOME"/results/[0-9]*/; do
        if [ -d "$each" ]; then
            last=${each%/}
        fi
    done
    printf '%s' "$last"
}

# Whether a journal tells of what is not put back, also that of a program that was killed.
is_left() {
    for each in "$ASSAY_HOME"/journal/*.jsonl; do
        if [ -e "$each" ]; then
            return 0
        fi
    done
    return 1
}

# Writes the comment of this gate, or updates the comment of an earlier run.
comment() {
    of=repos/$GITHUB_REPOSITORY/issues
    number=${GITHUB_REF#refs/pull/}
    new=$of/${number%%/*}/comments
    mark="<!-- assay $name -->"
    ids=$(gh api --paginate "$new" --jq ".[] | select(.body | startswith(\"$mark\")) | .id") || return 1
    id=$(printf '%s\n' "$ids" | head -n 1)
    printf '%s\n\n' "$mark" | cat - "$out/comment.md" >"$out/body.md"
    if [ -n "$id" ]; then
        gh api --silent --method PATCH "$of/comments/$id" --field "body=@$out/body.md"
    else
        gh api --silent "$new" --field "body=@$out/body.md"
    fi
}

before=$(newest)
code=0
"$program" "$@" --junit "$out/gate.xml" || code=$?
result=$(newest)

if [ -n "$result" ] && [ "$result" != "$before" ]; then
    "$program" export "$result" --format markdown -o "$out/comment.md" || say 'there is no comment'
    "$program" export "$result" --format bundle -o "$out/result.assay" >/dev/null || say 'the result is not kept'
fi
if [ -f "$out/comment.md" ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY" || say 'there is no summary'
fi
case $name:${GITHUB_REF:-} in
?*:refs/pull/*)
    [ ! -f "$out/comment.md" ] || comment ||
        say 'cannot comment on the pull request; install gh and give the job the permission pull-requests: write'
    ;;
esac
if [ "$code" -eq 0 ] && grep -q '<skipped' "$out/gate.xml"; then
    echo "${GITHUB_ACTIONS:+::warning title=assay::}the gate is inconclusive: no row failed, but not all passed"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    printf 'code=%s\n' "$code" >>"$GITHUB_OUTPUT" || say 'there is no output'
fi
if [ "$code" -eq 4 ] || { [ -n "$made" ] && is_left; }; then
    say "settings are not as they were: put them back with ASSAY_HOME='$ASSAY_HOME' assay restore"
elif [ -n "$made" ]; then
    rm -rf "$made" || say "$made cannot be removed"
fi
exit "$code"
