#!/bin/sh
# Runs gt's checks: a line a step with its time, the outcome in the last one. What the
# tests need and is not here it installs where nobody has to be asked (as root, or with
# CI=true); elsewhere it prints the one command that does.
#
#   ./test.sh            minutes: all that needs no client from npm, a sample of the
#                        sweeps, and Claude's main story where Claude Code is there
#   ./test.sh --ci       what has to pass before a change lands: .ci/run
#   ./test.sh --all      everything, an hour or more: every client's stories, every kill
#                        and fault, and all mistakes put back, each of which a test has
#                        to notice (GT_THOROUGH=1 says the same)
#   … --only 'vet|fmt'   the steps with such names
#
#   GT_E2E=required      a missing client, or Chromium, is a failure, not a
#                        reason to skip
#   GT_FAULTS=required   the same for strace and the right to trace
#   GT_BASE=main         which branch a change is compared with, for --ci to know whose
#                        stories it can touch
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
	# Not go run, which would not pass on that it is to end.
	check=$(mktemp -d)
	trap 'rm -rf "$check"' EXIT
	go build -o "$check/check" ./internal/check || die "the checks do not build"
	code=0
	"$check/check" "$@" || code=$?
	return $code
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
