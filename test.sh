#!/bin/sh
# Runs every check that gt has, and ends with the tests. What the tests need and
# is not here it installs where nobody has to be asked (as root, or with CI=true);
# elsewhere it prints the one command that does.
#
#   GT_E2E=required      a missing client, or Chromium, is a failure, not a
#                        reason to skip
#   GT_FAULTS=required   the same for strace and the right to trace
#   GT_THOROUGH=1        every kill and fault, not a sample; and mistakes put back,
#                        each of which a test has to notice: with CI=true a twelfth
#                        of them
set -eu

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2

main() {
	cd "$(dirname -- "$0")"
	provide
	forget

	failed=0
	step gofmt
	unformatted=$(gofmt -l .)
	[ -z "$unformatted" ] || fail "not formatted by gofmt: $unformatted"
	step go vet, for this system and for macOS
	go vet ./... || fail
	go vet -tags e2e ./... || fail
	GOOS=darwin go vet ./... || fail
	if command -v shellcheck >/dev/null; then
		step shellcheck
		shellcheck install.sh test.sh .ci/run || fail
	fi
	step staticcheck
	if go run $staticcheck -version >/dev/null; then
		go run $staticcheck -tags e2e ./... || fail
	elif [ "${CI:-}" = true ]; then
		fail "staticcheck cannot be had"
	else
		say "left out: staticcheck cannot be had"
	fi

	step the scenarios
	# They start thousands of processes, each of which the race detector slows
	# down by a factor of ten. What has goroutines has tests of its own.
	go test -timeout 20m . || fail
	step all other tests
	race=-race
	if ! command -v "${CC:-cc}" >/dev/null; then
		race=
		say "without the race detector, which needs a C compiler"
	fi
	# These compute much and start nothing at once, so that the detector would only
	# make them ten times slower.
	plain="gt/attacks gt/lib/conversation gt/lib/catalog/scan gt/lib/catalog/search gt/lib/text/redact gt/lib/catalog gt/lib/view/timeline gt/lib/command/hooks $(go list ./lib/client/.../conversation)"
	# Each process of the detector's waits for a second before it ends, which some
	# tests start hundreds of.
	# shellcheck disable=SC2046,SC2086 # a word for each package
	GORACE=atexit_sleep_ms=10 go test $race -timeout 20m $(go list ./... | grep -vx -e gt -e gt/faults -e gt/mutants $(printf -- '-e %s ' $plain)) || fail
	# shellcheck disable=SC2086
	go test -timeout 20m $plain || fail
	step every command, killed and failed at its system calls
	figures ./faults ${GT_THOROUGH:+-full} || fail
	if [ -n "${GT_THOROUGH:-}" ] || [ "${CI:-}" = true ]; then
		step mistakes, put back one at a time
		# All of them take half an hour.
		sample=12
		[ -z "${GT_THOROUGH:-}" ] || sample=1
		figures ./mutants -mutants -sample $sample || fail
	fi
	step the table of secrets, judged by the rules of a scanner
	# A module of its own, so that gt does not depend on the scanner.
	if (cd bench/redact && go mod download); then
		(cd bench/redact && go vet ./... && go test ./...) || fail
	elif [ "${CI:-}" = true ]; then
		fail "the scanner cannot be had"
	else
		say "left out: the scanner cannot be had"
	fi
	step the reader of SQLite files, judged by SQLite
	if (cd bench/sqlite && go mod download); then
		(cd bench/sqlite && go vet ./... && go test ./...) || fail
	elif [ "${CI:-}" = true ]; then
		fail "SQLite cannot be had"
	else
		say "left out: SQLite cannot be had"
	fi
	step the stories with the real clients
	command -v npm >/dev/null || [ -n "${GT_E2E_CLAUDE:-}" ] ||
		say "no npm to install the clients with: those that are not in the cache are skipped"
	go test -tags e2e -count 1 -timeout 35m ./hooks ./e2e/... || fail
	return $failed
}

# figures runs tests whose figures are wanted also where all is well, without the
# comings and goings of go test -v.
figures() {
	report=$(mktemp)
	code=0
	go test -v -timeout 25m "$@" >"$report" 2>&1 || code=$?
	grep -v -e '^=== ' -e '^ *--- PASS' "$report" || :
	rm -f "$report"
	return $code
}

# fail notes that a check failed, so that the others still run.
fail() {
	[ $# = 0 ] || say "$*"
	failed=1
}

# provide sees to it that the programs are there that the tests run.
provide() {
	command -v go >/dev/null || die "Go is missing; ./install.sh says how to get it"
	commands='' packages=''
	lack git git
	lack tmux tmux
	lack npm npm
	lack "${CC:-cc}" gcc libc6-dev
	[ "$(uname)" != Linux ] || lack strace strace
	[ "$(uname)" != Linux ] || lack bwrap bubblewrap
	[ "$(uname)" != Linux ] || lack socat socat
	# A browser, for the page of gt-seance timeline: any Chrome will do.
	[ "$(uname)" != Linux ] || command -v google-chrome >/dev/null || lack chromium chromium
	lack zsh zsh
	lack fish fish
	[ -n "$commands" ] || return 0

	if command -v apt-get >/dev/null; then
		get="apt-get update -q && apt-get install -q -y --no-install-recommends$packages"
		[ "$(id -u)" = 0 ] || get="sudo sh -c '$get'"
		if [ "$(id -u)" = 0 ] || [ "${CI:-}" = true ]; then
			say "installing what the tests need:$packages"
			DEBIAN_FRONTEND=noninteractive sh -c "$get" </dev/null >/dev/null
			return
		fi
	elif command -v dnf >/dev/null; then
		get="sudo dnf install$(echo "$packages" | sed 's/ libc6-dev//')"
	elif command -v brew >/dev/null; then
		get="brew install$(echo "$packages" | sed 's/ gcc libc6-dev//; s/ npm/ node/')"
	else
		get="install with your package manager:$commands"
	fi
	say "the tests lack$commands; to get it: $get"
	case $commands in
	*' git'* | *' tmux'*) die "nothing works without git and tmux" ;;
	esac
}

# lack notes the packages of a command that is not here.
lack() {
	command -v "$1" >/dev/null && return
	commands="$commands $1"
	shift
	packages="$packages $*"
}

# forget drops what a surrounding session would tell the programs under test.
forget() {
	for name in $(env | sed -n -E 's/^((GT|CLAUDE|ANTHROPIC|TMUX)[A-Z0-9_]*)=.*/\1/p'); do
		case $name in
		GT_E2E* | GT_FAULTS | GT_THOROUGH) ;;
		*) unset "$name" ;;
		esac
	done
}

step() { printf '== %s\n' "$*"; }
say() { printf '%s\n' "$*"; }
die() {
	printf 'test.sh: error: %s\n' "$*" >&2
	exit 1
}

main "$@"
