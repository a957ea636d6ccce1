#!/bin/sh
# Runs gt's checks. It prints a line with the time for each step, and the result in the
# last line. It installs programs that the tests need if it can do that without asking (as
# root, or with CI=true). Otherwise it prints the command that installs them.
#
#   ./test.sh            takes minutes: everything that needs no client from npm, a sample
#                        of the sweeps, and Claude's main story if Claude Code is installed
#   ./test.sh --ci       what must pass before a change lands: .ci/run
#   ./test.sh --all      everything, an hour or more: the stories of every client, every
#                        kill and fault, and all mistakes put back, each of which a test
#                        must notice (the same with GT_THOROUGH=1)
#   … --only 'vet|fmt'   only the steps whose names match
#
#   GT_E2E=required      a missing client, or Chromium, is a failure and not a reason to
#                        skip
#   GT_FAULTS=required   the same for strace and the right to trace
#   GT_BASE=main         the branch that --ci compares with, to know whose stories the
#                        change can affect
set -eu

main() {
	cd "$(dirname -- "$0")"
	case ${1-} in
	'') [ -z "${GT_THOROUGH:-}" ] || set -- --all ;;
	--ci | --all | --only) ;;
	*) die "usage: ./test.sh [--ci | --all] [--only EXPRESSION]" ;;
	esac
	provide
	forget
	# Not go run, which does not forward signals.
	check=$(mktemp -d)
	trap 'rm -rf "$check"' EXIT
	go build -o "$check/check" ./internal/check || die "the checks do not build"
	code=0
	"$check/check" "$@" || code=$?
	return $code
}

# provide installs the programs that the tests need, or says how to.
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
	say "the tests need$commands; to install: $get"
	case $commands in
	*' git'* | *' tmux'*) die "the tests cannot run without git and tmux" ;;
	esac
}

# lack records the packages of a command that is not installed.
lack() {
	command -v "$1" >/dev/null && return
	commands="$commands $1"
	shift
	packages="$packages $*"
}

# forget unsets variables of a surrounding session, which would affect the programs under
# test.
forget() {
	for name in $(env | sed -n -E 's/^((GT|CLAUDE|ANTHROPIC|TMUX)[A-Z0-9_]*)=.*/\1/p'); do
		case $name in
		GT_E2E* | GT_FAULTS | GT_BASE) ;;
		*) unset "$name" ;;
		esac
	done
}

say() { printf '%s\n' "$*"; }
die() {
	printf 'test.sh: error: %s\n' "$*" >&2
	exit 1
}

main "$@"
