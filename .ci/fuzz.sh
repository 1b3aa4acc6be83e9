#!/usr/bin/env bash
# fuzz.sh TIME PACKAGE...: runs every fuzz target of the packages for a while. A failing input
# that it writes to testdata/fuzz belongs into the repository: from then on it is a test. One that
# fails does not keep the others from their time.
set -euo pipefail
time=$1
shift
failed=0
for package; do
	for target in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | cut -d' ' -f2); do
		# One target at a time: the go command asks for that. A short time would be spent on
		# shortening inputs that only reach new code, hence the bound.
		if ! said=$(go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 20x "$package" 2>&1); then
			# Until Go 1.27 the end of the time may look like a failure (go.dev/issue/75804);
			# a true one names its input.
			if [[ $said != *$'\n    context deadline exceeded\n'* || $said == *'Failing input'* || $said == *panic:* ]]; then
				printf 'FAIL %s %s\n%s\n' "$package" "$target" "$said"
				failed=1
				continue
			fi
		fi
		printf 'ok  %s %s\n' "$package" "$target"
	done
done
exit $failed
