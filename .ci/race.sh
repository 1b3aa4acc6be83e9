#!/usr/bin/env bash
# race.sh FLAG...: the short form of the tests under the race detector. By day of the library itself
# with a store in memory, and of the guard of its servers, where the tests start goroutines;
# no driver of a database is compiled for it, which took as long as the tests. At night of
# everything. A package whose run was ended by a fault of the detector's own runtime runs again:
# that is rare, was seen when timers of one bubble of testing/synctest fired at the same moment,
# and says nothing of the package.
set -euo pipefail
said=$(mktemp)
trap 'rm -f "$said"' EXIT
flags=(-race -short -vet=off -timeout "${TIMEOUT:-30m}" "$@")
if [[ -n "${PERDURE_NIGHTLY:-}" ]]; then
	flags+=(-tags databases)
	mapfile -t packages < <(go list ./...)
else
	# The engine takes longest, so it begins first.
	packages=(./internal/engine)
	while read -r package dir; do
		if grep -qsE '^\s*go (func|\w+)|"sync"|"sync/atomic"|"testing/synctest"|\.Parallel\(\)' "$dir"/*_test.go; then
			packages+=("$package")
		fi
	done < <(go list -deps -f '{{with .Module}}{{if .Main}}{{$.ImportPath}} {{$.Dir}}{{end}}{{end}}' . ./store/memory ./internal/web)
fi
go test "${flags[@]}" "${packages[@]}" 2>&1 | tee "$said" && exit
if grep -qE '^(--- FAIL|panic:|WARNING: DATA RACE)' "$said" || ! grep -qE '^(ThreadSanitizer: CHECK failed|SIGSEGV: segmentation violation)' "$said"; then
	exit 1
fi
mapfile -t broken < <(awk '$1 == "FAIL" && NF >= 3 { print $2 }' "$said")
echo "The race detector itself broke down; again: ${broken[*]}"
go test "${flags[@]}" "${broken[@]}"
