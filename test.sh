#!/bin/sh
# Runs gt's tests: go vet and go test over gotestsum, whose last lines say what failed and
# why. It installs programs that the tests need if it can do that without asking (as root,
# or with CI=true). Otherwise it prints the command that installs them.
#
#   ./test.sh            less than three cold builds: every package's tests, the main
#                        scenarios, a sample of kills and faults, and Claude's main story if
#                        Claude Code is installed
#   ./test.sh --ci       what must pass before a change lands: a third of all cases, of the
#                        scenarios and of the stories with real clients from npm among them,
#                        and of what has changed the race detector, staticcheck and vet for
#                        macOS
#   ./test.sh --all      everything, an hour or more: every story, kill and fault, and every
#                        mistake put back, each of which a test must notice
#
#   GT_E2E=required      a missing client, or Chromium, fails and does not skip
#   GT_FAULTS=required   the same for strace and the right to trace
#   GT_BASE=main         what --ci compares with to know what has changed; by default the
#                        newest commit that is a day older than this one
#   GT_TURN=N            which cases a sample takes; by default the commit decides
set -eu

main() {
	cd "$(dirname -- "$0")"
	mode=quick
	case ${1-} in
	'') ;;
	--ci | --all) mode=${1#--} ;;
	*) die "usage: ./test.sh [--ci | --all]" ;;
	esac
	[ $# -le 1 ] || die "usage: ./test.sh [--ci | --all]"
	provide
	forget
	# As install.sh builds, so that nothing is compiled twice.
	export CGO_ENABLED=0 GOFLAGS="-trimpath ${GOFLAGS:-}"
	GT_TURN=${GT_TURN:-$(printf %d "0x$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0)" 2>/dev/null || echo 0)}
	dir=$(mktemp -d) failed=''
	GT_TEST_PROGRAMS=$dir/programs
	export GT_TURN GT_TEST_PROGRAMS
	trap 'rm -rf "$dir"' EXIT
	trap 'exit 130' INT TERM
	chmod 755 "$dir" # for the tests of an ordinary user
	step build go build -ldflags '-s -w' -o "$GT_TEST_PROGRAMS/" ./cmd/...
	[ -z "$failed" ] || die "the programs do not build"
	step gofmt formatted
	"$mode"
	[ -z "$failed" ] || die "FAILED:$failed"
}

quick() {
	step vet vet
	name=tests
	attempt tests -short -tags e2e ./...
}

ci() {
	export GT_SAMPLE=3 # of all cases a third, by the commit
	find_changed
	step stories stories >"$dir/stories" 2>&1 & # they mostly wait
	step vet vet
	step 'vet for macOS' vet_macos $changed
	step staticcheck staticcheck $changed
	concurrent=$(list_concurrent $changed)
	step race race $concurrent
	step 'ordinary user' ordinary
	step mistakes mistakes 48
	# Without those that have just run under the race detector.
	step packages tests -short $(go list -f '{{.Dir}}' ./lib/... ./internal/... ./hooks ./e2e/... ./mutants | grep -vxF "$concurrent")
	finish_stories
	name=scenarios
	attempt tests . ./attacks ./faults
}

all() {
	find_changed
	export GT_THOROUGH=1 GT_E2E_ROUNDS="${GT_E2E_ROUNDS:-20}"
	step vet vet
	step 'vet for macOS' vet_macos ./...
	step staticcheck staticcheck ./...
	step shellcheck shellcheck install.sh test.sh .ci/run internal/release/*.sh
	step race race $(list_concurrent ./...)
	step 'ordinary user' ordinary
	step 'table of secrets' in_module bench/redact
	step traces in_module bench/otlp
	step 'a year' go test -timeout 30m -run TestYear ./lib/reconcile/perform -args -year 1
	step storm go test -timeout 30m -run TestStorm ./lib/relay -args -storm 10m
	step chaos go test -vet=off -timeout 60m -run TestChaos . -args -chaos 480s
	step soak go test -timeout 90m -run TestSoak . -args -soak 1h
	step town go test -timeout 120m -run TestTown . -args -town 1h
	step 'newest tmux' newest_tmux
	step mistakes mistakes 1
	step stories tests -tags e2e -parallel 3 ./e2e ./hooks
	name=tests
	attempt tests ./...
}

# step runs a command and prints its name and how long it took. A failure is noted, and the
# other steps still run.
step() {
	name=$1 began=$(date +%s)
	say "== $name"
	shift
	attempt "$@"
	say "== $name: $(($(date +%s) - began)) s${code:+, FAILED}"
}

# attempt runs a command. If it fails, $code is its exit code and $failed has its name.
attempt() {
	code=''
	set +e
	(set -e && "$@")
	[ $? = 0 ] || code=1 failed="$failed $name"
	set -e
}

# tests runs tests by gotestsum. No result is taken from go test's cache, which does not
# know what the programs under test read.
tests() {
	go run gotest.tools/gotestsum@v1.13.0 --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped -- \
		-vet=off -count=1 -timeout 40m -p 4 -parallel 6 "$@"
}

stories() { tests -tags e2e -parallel 3 ./e2e ./hooks; }

formatted() {
	files=$(gofmt -l .)
	[ -z "$files" ] || die "not formatted: $files"
}

# find_changed sets $changed to the folders of the packages that have changed.
find_changed() {
	base=${GT_BASE:-$(git rev-list -1 --before="$(($(git log -1 --format=%ct) - 86400))" HEAD)}
	GT_CHANGED=$(git diff --name-only "$base")
	export GT_CHANGED
	changed=$(printf '%s\n' "$GT_CHANGED" | sed -n 's|/[^/]*\.go$||p' | sort -u | while read -r folder; do
		[ -z "$(ls "$folder"/*.go 2>/dev/null)" ] || go list "./$folder" 2>/dev/null || :
	done)
	say "changed since $base: $(echo "$changed" | wc -w) packages"
}

# vet collects no garbage in processes that end before they have much.
vet() { GOGC=400 go vet -tags e2e ./...; }

# vet_macos compiles what it needs for its types alone.
vet_macos() { [ $# = 0 ] || GOOS=darwin go vet -gcflags='all=-N -l -dwarf=false' "$@"; }

staticcheck() { [ $# = 0 ] || go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -tags e2e "$@"; }

# list_concurrent prints the folders of those packages that start goroutines.
list_concurrent() {
	[ $# = 0 ] || go list -f '{{.Dir}}' "$@" | grep /lib/ | while read -r folder; do
		! grep -qE '(^|[^a-z])go (func|[a-z.]+\()|cli\.Go\(|cli\.(Parallel|Several)\(|t\.Parallel\(' "$folder"/*.go || echo "$folder"
	done
}

# race runs the tests of packages under the race detector.
race() { [ $# = 0 ] || CGO_ENABLED=1 GORACE=atexit_sleep_ms=10 tests -race -short "$@"; }

# ordinary runs tests that root would skip as a user who owns nothing.
ordinary() {
	[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || return 0
	mkdir "$dir/home"
	chown 65534:65534 "$dir/home"
	for package in . $(grep -rlE --include='*_test.go' 'os.Geteuid\(\) == 0|testenv.PIDNamespace' lib | xargs -n1 dirname | sort -u); do
		pattern=.
		[ "$package" != . ] || pattern='^TestScripts$/^(flow_compaction|handoff_buffer|handoff_pane|prime_alone|session_life|together_busy|town_trust)$'
		go test -vet=off -c -o "$dir/package.test" "./$package"
		(cd "$package" && setpriv --reuid 65534 --regid 65534 --clear-groups \
			env HOME="$dir/home" TMPDIR="$dir/home" USER=nobody LOGNAME=nobody "$dir/package.test" -test.short -test.run "$pattern")
	done
}

# mistakes puts back one in so many of the marked mistakes, each of which a test must notice.
mistakes() { go test -vet=off -timeout 90m ./mutants -args -mutants -sample "$1"; }

# newest_tmux tests sessions and hand-overs with the newest tmux that Debian has.
newest_tmux() {
	mkdir "$dir/tmux"
	internal/newest-tmux.sh "$dir/tmux" >/dev/null
	PATH=$dir/tmux/bin:$PATH
	tmux -V
	tests ./lib/sys/tmux
	tests -run '^TestScripts$/^(session|handoff)_' .
}

in_module() { (cd "$1" && go vet ./... && go test ./...); }

# finish_stories waits for the stories, prints them, and notes whether they failed.
finish_stories() {
	wait
	cat "$dir/stories"
	! grep -q '^== stories: .*FAILED$' "$dir/stories" || failed="$failed stories"
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
		GT_E2E* | GT_FAULTS | GT_BASE | GT_TURN) ;;
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
