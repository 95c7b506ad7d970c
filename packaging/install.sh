#!/bin/sh
# Installs the tramline binary for Linux on x86-64 without root: downloads the archive, compares its
# checksum, and copies the files below a prefix. `sh install.sh --help` lists the options.
set -eu

VERSION="@VERSION@"
TARGET="@TARGET@"
GLIBC_MIN="@GLIBC@"
FROM="@RELEASES@"
PREFIX="${HOME:-}/.local"
DRY_RUN=no

usage() {
    cat <<USAGE
Usage: sh install.sh [--prefix DIR] [--from URL_OR_DIR] [--dry-run]

  --prefix DIR        install into DIR/bin and DIR/share [default: ~/.local]
  --from URL_OR_DIR   where the archive and SHA256SUMS are
                      [default: $FROM]
  --dry-run           check everything and show what would be written
  --help              print this help
USAGE
}

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case "$1" in
        --prefix | --from)
            [ $# -ge 2 ] || fail "$1 needs a value"
            [ -n "$2" ] || fail "$1 needs a value that is not empty"
            case "$1" in
                --prefix) PREFIX="$2" ;;
                --from) FROM="$2" ;;
            esac
            shift 2
            ;;
        --dry-run)
            DRY_RUN=yes
            shift
            ;;
        --help | -h)
            usage
            exit 0
            ;;
        *) fail "unknown argument: $1 (--help lists the options)" ;;
    esac
done

case "$PREFIX" in
    /.local) fail "HOME is not set; choose a directory with --prefix" ;;
    /*) ;;
    *) PREFIX="$(pwd)/$PREFIX" ;;
esac

[ "$(uname -s)" = Linux ] || fail "this archive is for Linux; build from source with cargo instead"
case "$(uname -m)" in
    x86_64 | amd64) ;;
    *) fail "this archive is for x86-64, not $(uname -m); build from source with cargo instead" ;;
esac

# `getconf` prints "glibc 2.36"; other C libraries don't know the variable.
GLIBC="$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc //p')" || GLIBC=""
[ -n "$GLIBC" ] || fail "this binary needs glibc $GLIBC_MIN or newer; this system has another C library"
if [ "$(printf '%s\n%s\n' "$GLIBC_MIN" "$GLIBC" | sort -t . -k 1,1n -k 2,2n | head -n 1)" != "$GLIBC_MIN" ]; then
    fail "this binary needs glibc $GLIBC_MIN or newer; this system has $GLIBC"
fi

NAME="tramline-$VERSION-$TARGET"
WORK="$(mktemp -d)" || fail "cannot create a directory for the download"
trap 'rm -rf "$WORK"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fetch() {
    case "$FROM" in
        https://* | http://127.0.0.1:*)
            if command -v curl >/dev/null 2>&1; then
                curl --fail --silent --show-error --location --output "$WORK/$1" "$FROM/$1" ||
                    fail "cannot download $FROM/$1"
            elif command -v wget >/dev/null 2>&1; then
                wget --quiet --output-document="$WORK/$1" "$FROM/$1" || fail "cannot download $FROM/$1"
            else
                fail "curl or wget is needed to download $FROM/$1"
            fi
            ;;
        *://*) fail "--from takes a directory or an https address, not $FROM" ;;
        *)
            [ -f "$FROM/$1" ] || fail "$FROM/$1 does not exist"
            cp "$FROM/$1" "$WORK/$1"
            ;;
    esac
}

fetch SHA256SUMS
fetch "$NAME.tar.gz"

EXPECTED="$(sed -n "s/^\([0-9a-f]\{64\}\)  $NAME\.tar\.gz\$/\1/p" "$WORK/SHA256SUMS")"
[ -n "$EXPECTED" ] || fail "SHA256SUMS does not list $NAME.tar.gz"
if command -v sha256sum >/dev/null 2>&1; then
    ACTUAL="$(sha256sum "$WORK/$NAME.tar.gz")"
elif command -v shasum >/dev/null 2>&1; then
    ACTUAL="$(shasum -a 256 "$WORK/$NAME.tar.gz")"
else
    fail "sha256sum or shasum is needed to check the download"
fi
ACTUAL="${ACTUAL%% *}"
[ "$ACTUAL" = "$EXPECTED" ] ||
    fail "the checksum of $NAME.tar.gz is $ACTUAL, but SHA256SUMS says $EXPECTED; nothing was installed"

tar -xzf "$WORK/$NAME.tar.gz" -C "$WORK" || fail "cannot unpack $NAME.tar.gz"
"$WORK/$NAME/bin/tramline" --version >/dev/null || fail "the binary does not start on this system"

# Copied next to its destination and renamed, so that a running program is never overwritten.
install_file() {
    if [ "$DRY_RUN" = yes ]; then
        printf 'would write %s\n' "$PREFIX/$1"
        return
    fi
    mkdir -p "$(dirname "$PREFIX/$1")" || fail "cannot create $(dirname "$PREFIX/$1"); choose another --prefix"
    cp "$WORK/$NAME/$1" "$PREFIX/$1.new" || fail "cannot write $PREFIX/$1; choose another --prefix"
    chmod "$2" "$PREFIX/$1.new"
    mv -f "$PREFIX/$1.new" "$PREFIX/$1"
    printf 'wrote %s\n' "$PREFIX/$1"
}

install_file share/man/man1/tramline.1 644
install_file share/bash-completion/completions/tramline 644
install_file share/zsh/site-functions/_tramline 644
install_file share/fish/vendor_completions.d/tramline.fish 644
install_file bin/tramline 755

[ "$DRY_RUN" = no ] || exit 0
case ":$PATH:" in
    *":$PREFIX/bin:"*) ;;
    *) printf 'note: %s is not on your PATH\n' "$PREFIX/bin" ;;
esac
printf 'next: tramline init hello\n'
