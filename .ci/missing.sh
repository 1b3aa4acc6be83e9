#!/usr/bin/env bash
# The programs that tests need besides Go. "install" installs those that are missing with apt
# or Homebrew, or prints the line that does where it may not; "report" ends a run with what
# could not be proved without them.
set -euo pipefail

# has NAME...: one of these programs, or files, is there.
has() {
	local name
	for name; do
		command -v "$name" >/dev/null || compgen -G "$name" >/dev/null && return
	done
	return 1
}

apt=() brew=() what=()
needs() { # WHAT APT BREW NAME...; - where no package exists
	local says=$1 deb=$2 cask=$3
	shift 3
	if ! has "$@"; then
		what+=("$says")
		[ "$deb" = - ] || apt+=("$deb")
		[ "$cask" = - ] || brew+=("$cask")
	fi
}
needs 'a PostgreSQL server' postgresql postgresql@17 '/usr/lib/postgresql/*/bin/initdb' initdb
needs 'a browser' chromium-headless-shell chromium chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable \
	'/Applications/Chromium.app/Contents/MacOS/Chromium' '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'
needs 'promtool' prometheus prometheus promtool
needs 'PgBouncer' pgbouncer pgbouncer pgbouncer /usr/sbin/pgbouncer
needs 'curl' curl curl curl
needs 'python3' python3 python3 python3
if [ -n "${PERDURE_NIGHTLY:-}" ]; then
	needs 'Patroni' patroni patroni patroni
	needs 'etcd' etcd-server etcd etcd
fi
[ ${#what[@]} -gt 0 ] || exit 0

list=$(printf '%s, ' "${what[@]}")
list=${list%, }
line='' # that installs them
if command -v apt-get >/dev/null; then
	line="apt-get install -y --no-install-recommends ${apt[*]}"
elif command -v brew >/dev/null; then
	line="brew install ${brew[*]}"
fi

case $1 in
report)
	printf '\nNOT PROVED: this machine lacks %s, so the tests that need them were skipped. Install them: %s\n' \
		"$list" "${line:-with the package manager of this system}"
	;;
install)
	if [[ $line == apt-get* && $(id -u) == 0 ]]; then
		# The tests start servers of their own, so none for the machine is made.
		mkdir -p /etc/postgresql-common
		[ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -q
		$line
	elif [[ $line == brew* ]]; then
		$line
	else
		printf 'The tests that need them will be skipped: %s. Install them: %s\n' "$list" "${line:+sudo }${line:-with the package manager of this system}"
		[ -z "${CI:-}" ] # there nothing may be left out
	fi
	;;
esac
