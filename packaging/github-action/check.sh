#!/usr/bin/env bash
# Checks the documents that match the pathspecs in TRAMLINE_CHECK_FILES. No server is started: a pull
# request may come from anyone. Flaws become annotations through the problem matcher.
set -euo pipefail

patterns=()
while IFS= read -r pattern; do
    [ -z "$pattern" ] || patterns+=("$pattern")
done <<<"${TRAMLINE_CHECK_FILES:-}"
files=()
if [ "${#patterns[@]}" -gt 0 ]; then
    # Into a file first, so that a failing git ends the script; names may contain any character.
    listed="$(mktemp)"
    trap 'rm -f "$listed"' EXIT
    git ls-files -z -- "${patterns[@]}" >"$listed"
    while IFS= read -r -d '' file; do
        files+=("$file")
    done <"$listed"
fi
if [ "${#files[@]}" -eq 0 ]; then
    printf '::error::no tracked file matches the input "files" of the Tramline action\n'
    exit 2
fi
options=(--offline)
[ -z "${TRAMLINE_CHECK_CONFIG:-}" ] || options+=(--config "$TRAMLINE_CHECK_CONFIG")
printf '::add-matcher::%s\n' "${TRAMLINE_ACTION_PATH:?}/packaging/github-action/problem-matcher.json"
status=0
tramline check "${options[@]}" -- "${files[@]}" 2>&1 || status=$?
printf '::remove-matcher owner=tramline::\n'
exit "$status"
