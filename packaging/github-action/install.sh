#!/usr/bin/env bash
# Installs a release for the following steps of a GitHub workflow. Inputs are environment variables, so
# that nothing from a pull request becomes part of this script.
set -euo pipefail

from="${TRAMLINE_INSTALL_FROM:?}"
target="${RUNNER_TEMP:?}/tramline"
script="$RUNNER_TEMP/tramline-install.sh"
case "$from" in
    https://*) curl --fail --silent --show-error --location --output "$script" "$from/install.sh" ;;
    *) cp -- "$from/install.sh" "$script" ;;
esac
sh "$script" --from "$from" --prefix "$target"
printf '%s\n' "$target/bin" >>"${GITHUB_PATH:?}"
