#!/bin/sh
# Installs gt from this folder, a clone that it builds or a release archive, wires it
# into the coding agents that are here, and shows what it does. --help tells more.
set -eu

usage() {
	cat <<'END'
usage: ./install.sh [--only PART] [--hooks AGENTS | --no-hooks] [--[no-]allow]
                    [--[no-]record] [--[no-]completion] [--no-demo]
       ./install.sh --uninstall

Puts gt's programs into ~/.local/bin, or into $PREFIX/bin where PREFIX is set: those
of a release archive, without Go and a network, and in a clone those that it builds.
A second run is an upgrade, which keeps every note, record and chain.

  --only thread   install what the hooks need and nothing else: gt-prime, gt-handoff,
                  gt-checkpoint, gt-keepalive, gt-mail, gt-hooks, gt-krc and gt-seance;
                  an upgrade stays with these until --only all, which is the default
  --hooks AGENTS  wire gt into the user settings of these agents ("claude codex");
                  by default into those of every agent that is here
  --no-hooks      leave the settings of every agent alone
  --allow         let the agents run gt-handoff and gt-mail without asking you each time;
                  by default the first installation asks in a terminal
  --no-allow      leave that as it is
  --record        keep a copy of every conversation, without secrets, in ~/.agent
                  (docs/record.md); --no-record ends that
  --completion    complete the commands with <Tab> in those of bash, zsh and fish that you
                  use; by default the first installation asks in a terminal
  --no-completion leave the shells alone
  --no-demo       do not show a hand-over at the end
  --uninstall     take gt out of the user settings and remove its binaries

Exit status: 0 done, 1 something went wrong and stands on standard error.
END
}

main() {
	here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
	bin=${PREFIX:-$HOME/.local}/bin
	man=${PREFIX:-$HOME/.local}/share/man/man1
	hooks=auto demo=yes allow=ask record=ask wired=no completion=ask only='' task=install stage='' stall='' todo=''
	share=${XDG_DATA_HOME:-$HOME/.local/share}
	zshrc=${ZDOTDIR:-$HOME}/.zshrc
	while [ $# -gt 0 ]; do
		case $1 in
		--only) only=${2:-none}; [ $# -lt 2 ] || shift ;;
		--only=*) only=${1#*=} ;;
		--hooks) hooks=${2:-}; [ $# -lt 2 ] || shift ;;
		--hooks=*) hooks=${1#*=} ;;
		--no-hooks) hooks=none ;;
		--allow) allow=yes ;;
		--no-allow) allow=no ;;
		--record) record=yes ;;
		--no-record) record=no ;;
		--completion) completion=yes ;;
		--no-completion) completion=no ;;
		--no-demo) demo=no ;;
		--uninstall) task=uninstall ;;
		-h | --help) usage; exit 0 ;;
		*) die "unknown argument '$1'; see ./install.sh --help" ;;
		esac
		shift
	done
	case $only in
	'' | all | thread) ;;
	none) die "--only takes the name of a part, thread or all" ;;
	*) die "no part '$only': there are thread and all; see ./install.sh --help" ;;
	esac
	[ $task = install ] || [ -z "$only" ] || die "--uninstall removes all programs; leave --only out"
	[ -n "$hooks" ] || die "--hooks takes the names of agents; see ./install.sh --help"
	case $bin in
	/*) ;;
	*) die "PREFIX has to be an absolute path, not '$PREFIX'" ;;
	esac
	archive=no
	[ ! -x "$here/bin/gt-hooks" ] || archive=yes
	[ $archive = yes ] || [ -f "$here/go.mod" ] ||
		die "run install.sh from the folder of a release archive or of gt's source"
	[ "$(id -u)" != 0 ] || [ -O "$HOME" ] ||
		die "$HOME belongs to another user, and this runs as root; run it as that user, or by sudo -H"
	cd "$here"
	programs=
	for program in $([ $archive = yes ] && echo bin/* || echo cmd/*/); do
		programs="$programs $(basename "$program")"
	done
	trap clean EXIT
	trap 'exit 1' HUP INT PIPE TERM
	$task
}

# choose_part sets parts to the programs that are installed: those of the part that was
# asked for, otherwise of the one that is here. What else is here is brought up to date too,
# for programs of two versions do not go together.
choose_part() {
	parts=$programs
	[ -n "$only" ] || [ ! -e "$bin/gt-hooks" ] || [ -e "$bin/gt-session" ] || only=thread
	[ "$only" = thread ] || return 0
	parts=
	for program in $programs; do
		case $program in
		gt-checkpoint | gt-handoff | gt-hooks | gt-keepalive | gt-krc | gt-mail | gt-prime | gt-seance) ;;
		*) [ -e "$bin/$program" ] || continue ;;
		esac
		parts="$parts $program"
	done
	case $record$parts in
	yes*gt-record*) ;;
	yes*) die "--record needs gt-record, which is no program of the part thread; use --only all" ;;
	esac
}

install() {
	check
	choose_part
	build
	failed=no
	# shellcheck disable=SC2086 # each word is an agent
	case $hooks in
	none) ;;
	auto) wire --all ;;
	*) wire $hooks ;;
	esac
	offer_towns
	check_path
	complete
	[ $demo = no ] || demonstrate
	next
	[ $failed = no ]
}

# next says last what is left for the person to do, where it is not scrolled away.
next() {
	if [ -z "$old" ] && [ $wired = yes ]; then
		remind 'start an agent in a tmux pane and work as before; /handoff in it hands over' ''
		[ $record != ask ] || [ ! -e "$bin/gt-record" ] || remind 'if you want a copy of every conversation kept:' 'gt-hooks install --all --record'
		remind 'what is wired, and does it fire:' 'gt-hooks prove'
	fi
	[ -n "$todo" ] || return 0
	say ''
	say "Do this next:$todo"
}

# remind adds something to do, and a command that does it.
remind() {
	todo="$todo
  - $(printf '%s\n' "$1" | fold -s -w 74 | sed '2,$s/^/    /; s/ *$//')"
	[ -z "$2" ] || todo="$todo
      $2"
}

# wire wires gt into agents. gt-hooks says what was wired where, and asks what a person
# has to decide. What it warns of is something to do, and no failure of the installation.
wire() {
	code=0
	case $allow in
	yes) set -- "$@" --allow ;;
	no) set -- "$@" --no-allow ;;
	esac
	case $record in
	yes) set -- "$@" --record ;;
	no) set -- "$@" --no-record ;;
	esac
	"$bin/gt-hooks" install --brief "$@" 2>"$stage/said" || code=$?
	if [ "$code" -gt 1 ]; then
		failed=yes
		cat "$stage/said" >&2
		warn "correct what stands above, then: gt-hooks install $*"
	else
		[ $code = 1 ] || wired=yes
		while read -r line; do
			remind "${line#gt-hooks: *: }" ''
		done <"$stage/said"
	fi
}

# complete has the shells that the person uses complete gt's commands.
complete() {
	shells=
	for shell in bash zsh fish; do
		! uses $shell || shells="$shells $shell"
	done
	[ -n "$shells" ] || completion=no
	if [ "$completion" = ask ] && [ -n "$old" ]; then # asked before: what is there goes on
		completion=no
		! completed || completion=yes
	fi
	if [ "$completion" = ask ]; then
		if [ -t 0 ]; then
			printf 'Complete the commands with <Tab> in%s? [Y/n] ' "$(echo "$shells" | sed 's/\([a-z]\) /\1, /g')"
			read -r answer || answer=n
			case $answer in
			'' | [Yy]*) completion=yes ;;
			esac
		else
			say "to complete the commands with <Tab> in your shell: ./install.sh --completion"
		fi
	fi
	[ "$completion" = yes ] || return 0
	for shell in $shells; do
		"complete_$shell" || warn "cannot write what completes the commands in $shell"
	done
}

# completed tells whether a shell completes gt's commands by what complete has put there.
completed() {
	[ -e "${BASH_COMPLETION_USER_DIR:-$share/bash-completion}/completions/gt-hooks" ] || [ -e "$share/gt/completion.zsh" ] ||
		[ -e "${XDG_CONFIG_HOME:-$HOME/.config}/fish/completions/gt-hooks.fish" ]
}

# uses tells whether a shell is here, and is the person's or has a start-up file of theirs.
uses() {
	command -v "$1" >/dev/null || return 1
	case ${SHELL:-}/$1 in
	*/"$1/$1") return 0 ;;
	*/bash) [ -e "$HOME/.bashrc" ] || [ -e "$HOME/.bash_profile" ] ;;
	*/zsh) [ -e "$zshrc" ] ;;
	*/fish) [ -e "${XDG_CONFIG_HOME:-$HOME/.config}/fish/config.fish" ] ;;
	esac
}

complete_bash() {
	dir=${BASH_COMPLETION_USER_DIR:-$share/bash-completion}/completions
	complete_in "$dir" bash '' || return
	say "completion for bash: $(tilde "$dir") (needs bash-completion)"
}

complete_fish() {
	dir=${XDG_CONFIG_HOME:-$HOME/.config}/fish/completions
	complete_in "$dir" fish .fish || return
	say "completion for fish: $(tilde "$dir")"
}

# complete_in writes a file for each program into a folder: its shell, and what ends its name.
complete_in() {
	mkdir -p "$1" || return
	for program in $parts; do
		"$bin/$program" completion "$2" >"$1/$program$3" || return
	done
}

# zsh has no folder of its person's own that it looks into, so one line in its start-up
# file reads the file.
complete_zsh() {
	file=$share/gt/completion.zsh
	mkdir -p "$share/gt" || return
	{
		# shellcheck disable=SC2016 # zsh's own
		echo '(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }'
		for program in $parts; do
			"$bin/$program" completion zsh || return
		done
	} >"$file" || return
	has_line ||
		printf "[ ! -r '%s' ] || . '%s' # gt: completion\n" "$file" "$file" >>"$zshrc" || return
	say "completion for zsh: $(tilde "$file"), by a line in $(tilde "$zshrc")"
}

# has_line tells whether zsh's start-up file has the line that complete_zsh adds.
has_line() {
	[ -f "$zshrc" ] || return 1
	case $(cat "$zshrc") in
	*'# gt: completion'*) return 0 ;;
	esac
	return 1
}

# uncomplete takes out what complete has put there.
uncomplete() {
	for program in $programs; do
		rm -f "${BASH_COMPLETION_USER_DIR:-$share/bash-completion}/completions/$program" \
			"${XDG_CONFIG_HOME:-$HOME/.config}/fish/completions/$program.fish"
	done
	rm -f "$share/gt/completion.zsh"
	for dir in "$share/gt" "${BASH_COMPLETION_USER_DIR:-$share/bash-completion}" "${XDG_CONFIG_HOME:-$HOME/.config}/fish"; do
		rmdir "$dir/completions" 2>/dev/null || :
		rmdir "$dir" 2>/dev/null || :
	done
	if has_line; then
		if rest=$(LC_ALL=C sed '/# gt: completion$/d' "$zshrc" && echo x); then
			printf '%s' "${rest%x}" >"$zshrc" # through a link, and with its mode
			[ -s "$zshrc" ] || [ -L "$zshrc" ] || rm -f "$zshrc"
		fi
	fi
}

# offer_towns offers the Gas Town workspaces that are here to be trusted. Without a
# terminal nobody can be asked, and no town is trusted; an upgrade asks nothing again.
offer_towns() {
	named=$("$bin/gt-hooks" trust --list 2>/dev/null) || :
	for town in "${GT_ROOT:-}" "${GT_TOWN_ROOT:-}" "$HOME/gt"; do
		[ -n "$town" ] && [ -f "$town/mayor/town.json" ] || continue
		town=$(CDPATH='' cd -- "$town" && pwd -P) || continue
		case "
$named
" in
		*"
$town  trusted
"*) continue ;;
		esac
		named="$named
$town  trusted" # once is enough
		if [ -t 0 ] && [ -z "$old" ]; then
			say "$town is a Gas Town workspace."
			"$bin/gt-hooks" trust "$town" || say "later: gt-hooks trust $town"
		else
			say "$town is a Gas Town workspace; for its agents to share its log and mail: gt-hooks trust $town"
		fi
	done
}

# clean removes what the installation made for itself, however it ends.
clean() {
	[ -z "$stage" ] || rm -rf "$stage"
	[ -z "$stall" ] || close_stall
}

# check says what is missing and how to get it. Only Go, in a clone, cannot be done without.
check() {
	[ $archive = yes ] || check_go
	command -v git >/dev/null ||
		warn "git is missing, so gt cannot tell a successor what was changed; install it with: $(how git)"
	case "$(tmux -V 2>/dev/null)" in 'tmux 1.'* | 'tmux 2.'* | 'tmux 3.0'*) warn "$(tmux -V) is too old: gt needs tmux 3.1 or later" ;; esac
	command -v tmux >/dev/null ||
		warn "tmux is missing, so a hand-over cannot put the successor into the same pane; install it with: $(how tmux)"
}

check_go() {
	want=$(sed -n 's/^go //p' go.mod)
	if ! command -v go >/dev/null; then
		offered=$(offered)
		if at_least "${offered:-0}" "$want"; then
			die "Go $want or newer is missing; install it with: $(how go), or from https://go.dev/dl/"
		fi
		die "Go $want or newer is missing${offered:+, and the packages here have $offered}; install it from https://go.dev/dl/"
	fi
	# A Go that may fetch the version that go.mod asks for has it after this.
	if ! have=$(go env GOVERSION 2>/dev/null) || ! at_least "${have#go}" "$want"; then
		[ -n "$have" ] || have=$(cd / && GOTOOLCHAIN=local go env GOVERSION 2>/dev/null) || have=
		die "Go $want or newer is needed, and this is ${have:-another}; install it from https://go.dev/dl/"
	fi
}

# offered prints the version of Go that this system's packages have. One that fetches the
# version that go.mod asks for is as good as that.
offered() {
	have=$(
		if command -v apt-cache >/dev/null; then
			apt-cache show --no-all-versions golang-go | sed -n 's/^Version: [0-9]*:*\([0-9.]*\).*/\1/p'
		elif command -v dnf >/dev/null; then
			dnf -q --cacheonly info golang | awk '/^Version/ { print $3; exit }'
		elif command -v brew >/dev/null; then
			echo 99 # it has the newest
		fi 2>/dev/null
	) || have=
	if [ -n "$have" ] && at_least "$have" 1.21; then have=$want; fi
	echo "$have"
}

# pages copies the manual pages of a folder to where man looks for those of the programs in
# $bin. gt works without them.
pages() {
	for program in $parts; do
		[ ! -f "$1/$program.1" ] || set -- "$@" "$1/$program.1"
	done
	shift
	[ $# != 0 ] || return 0
	# shellcheck disable=SC2015 # either failing is worth the warning
	mkdir -p "$man" && cp "$@" "$man/" || warn "cannot write the manual pages to '$man'"
}

# at_least says whether version $1 is $2 or newer.
at_least() {
	printf '%s.0.0\n' "$1" "$2" | sed 's/[a-z].*\.0\.0$/.0.0/' | awk -F. '
		{ for (i = 1; i <= 3; i++) v[NR, i] = $i + 0 }
		END {
			for (i = 1; i <= 3; i++)
				if (v[1, i] != v[2, i]) exit v[1, i] < v[2, i]
		}'
}

# how prints the command that installs a program here.
how() {
	sudo=
	[ "$(id -u)" = 0 ] || sudo='sudo '
	if command -v apt-get >/dev/null; then
		[ "$1" != go ] || set -- golang-go
		echo "${sudo}apt-get install $1"
	elif command -v dnf >/dev/null; then
		[ "$1" != go ] || set -- golang
		echo "${sudo}dnf install $1"
	elif command -v brew >/dev/null; then
		echo "brew install $1"
	else
		echo "your package manager"
	fi
}

# build puts the binaries into place, each by a rename: a hook that runs
# meanwhile has the old one or the new, never half of one.
build() {
	old=$("$bin/gt-hooks" --version 2>/dev/null) || old=
	mkdir -p "$bin" || die "cannot make '$bin'"
	stage=$(mktemp -d "$bin/.gt-install.XXXXXX") || die "cannot write to '$bin'"
	if [ $archive = yes ]; then unpack; else compile; fi
	chmod 755 "$stage"/*
	mv -f "$stage"/* "$bin/"
	report
}

# unpack takes the programs and manual pages of a release archive.
unpack() {
	if ! version=$(bin/gt-hooks --version); then
		case $(xattr bin/gt-hooks 2>/dev/null) in
		*com.apple.quarantine*) die "macOS runs no program that a browser downloaded until you type: xattr -dr com.apple.quarantine $(quoted "$here")" ;;
		esac
		die "gt does not run here: is the archive one for $(uname -s) on $(uname -m)?"
	fi
	version=${version#gt-hooks }
	version=${version%% *}
	for program in $parts; do
		cp "bin/$program" "$stage/" || die "cannot write to '$bin'"
	done
	[ ! -d man ] || pages man
}

compile() {
	version=$(sed -n 's/^const Number = "\(.*\)"$/\1/p' lib/cli/version.go)
	commit=$(git log -1 --abbrev=8 --format='%h, %cs' 2>/dev/null) || commit=
	[ -z "$commit" ] || git diff --quiet HEAD 2>/dev/null || commit=${commit%%,*}-dirty,${commit#*,}
	say "building gt $version; the first time takes some minutes"
	mkfifo "$stage/.steps" || die "cannot write to '$bin'"
	show_steps <"$stage/.steps" >&2 &
	set -- ./internal/man
	for program in $parts; do
		set -- "$@" "./cmd/$program"
	done
	CGO_ENABLED=0 go build -v -trimpath -buildvcs=false \
		-ldflags "-s -w -X 'gt/lib/cli.commit=$commit'" -o "$stage/" "$@" 2>"$stage/.steps" ||
		unbuilt
	wait
	rm -f "$stage/.steps" "$stage/said"
	if mkdir "$stage/.pages" && "$stage/man" "$stage/.pages"; then
		pages "$stage/.pages"
	else
		warn "cannot make the manual pages in '$man'"
	fi
	rm -rf "$stage/man" "$stage/.pages"
}

# report says what was installed, in the place of what.
report() {
	new=$("$bin/gt-hooks" --version) || die "gt does not run here"
	new=${new#gt-hooks }
	old=${old#gt-hooks }
	case $old in
	'') say "installed gt $new into $(tilde "$bin")" ;;
	"$new") say "installed gt $new into $(tilde "$bin") again" ;;
	v[0-9]*)
		if before=${old%% *} && at_least "${version#v}" "${before#v}"; then
			say "upgraded gt from $old to $new in $(tilde "$bin")"
		else
			say "went back from gt $old to $new in $(tilde "$bin")"
		fi
		;;
	*) say "upgraded gt from $old to $new in $(tilde "$bin")" ;;
	esac
	[ -n "$old" ] || [ "$only" != thread ] ||
		say "these are the programs that the hooks need; ./install.sh --only all adds the others"
}

# show_steps shows what go build -v is at: on a terminal in one line, otherwise every
# hundredth package. Everything else that go prints goes to the file said.
show_steps() {
	awk -v said="$stage/said" -v terminal="$([ ! -t 2 ] || echo 1)" '
		function show(line) {
			if (terminal) printf "\r%-79.79s", line
			else if (line ~ /00 packages/) print line
			fflush()
		}
		/^go: downloading / { show("  downloading " $3 " " $4); next }
		/^[^ #:]+$/ { show("  compiled " ++n " packages, now " $1); next }
		{ print >said }
		END { if (terminal) printf "\r%79s\r", "" }'
}

# unbuilt says why the build failed. Without a network Go says so for each library.
unbuilt() {
	wait
	: >>"$stage/said"
	case $(cat "$stage/said") in
	*'dial tcp'* | *'no such host'* | *proxyconnect* | *'i/o timeout'* | *'TLS handshake'* | *'module lookup disabled'*)
		die "cannot fetch the libraries that gt is built with: no network. Nothing was installed; run ./install.sh again when you are online" ;;
	esac
	cat "$stage/said" >&2
	die "the build failed; nothing was installed"
}

check_path() {
	case :$PATH: in
	*":$bin:"*) ;;
	*)
		case ${SHELL:-} in
		*/bash) rc=' (~/.bashrc)' ;;
		*/zsh) rc=" ($(tilde "$zshrc"))" ;;
		*/fish)
			remind "$(tilde "$bin") is not on PATH; type this once:" "fish_add_path '$bin'"
			return
			;;
		*) rc= ;;
		esac
		remind "$(tilde "$bin") is not on PATH; put this into your shell's start-up file$rc and open a new one:" "export PATH=\"$bin:\$PATH\""
		return
		;;
	esac
	found=$(command -v gt-prime) || found=
	[ "$found" = "$bin/gt-prime" ] || remind "another gt-prime comes first on PATH: $found" ''
}

# demonstrate shows a hand-over: in a town, a home folder and a tmux server of
# its own, which are gone afterwards. A stand-in plays the agent.
demonstrate() {
	say ''
	if ! command -v tmux >/dev/null; then
		say "A hand-over would be shown here, but it needs tmux."
		return
	fi
	# In /tmp, for the path of a socket has to be short.
	stall=$(mktemp -d /tmp/gt-demo.XXXXXX) || return 0
	mkdir "$stall/home" "$stall/town" "$stall/parser"
	stand_in >"$stall/claude"
	chmod 755 "$stall/claude"

	subject='the parser is half done'
	message='Next: empty input. The failing test is TestEmpty in parse_test.go.'
	if aside new-session -d -s parser -c "$stall/parser" "$stall/claude" && told 1 && before=$(pane) &&
		aside send-keys -t =parser: "gt-handoff -s '$subject' -m '$message'" Enter && told 2; then
		say 'What gt does: an agent works in a tmux pane, and before it loses the thread it'
		say 'runs'
		say ''
		say "    gt-handoff -s '$subject' \\"
		say "        -m '$message'"
		say ''
		say "That was ${before#* } in pane ${before%% *}. Now it is $(pane | cut -d ' ' -f 2-), in the same"
		say 'pane, and this is what gt-prime tells it before anything else:'
		say ''
		fold -s -w 72 "$stall/told.2" | sed 's/^/    | /'
		say ''
		say 'A stand-in played the agent, in a scratch folder that is gone again. With a real'
		say 'agent, the hooks do the same for a compaction and for a crash.'
	else
		warn "the demonstration did not work here; gt is installed all the same"
	fi
	close_stall
}

# aside runs tmux with a server that nobody else has.
aside() {
	env -i PATH="$bin:$PATH" HOME="$stall/home" SHELL=/bin/sh GT_ROOT="$stall/town" LANG=C.UTF-8 \
		TERM=screen TMUX_TMPDIR="$stall" tmux -L gt -f /dev/null "$@"
}

# pane tells which pane that is, and which process runs in it.
pane() { aside display-message -p -t =parser: '#{pane_id} process #{pane_pid}'; }

close_stall() {
	aside kill-server 2>/dev/null || :
	# What ends there may still be writing.
	rm -rf "$stall" 2>/dev/null || { sleep 1; rm -rf "$stall"; }
	stall=
}

# stand_in prints a program that does what a client does with gt: it runs
# gt-prime as the hook of a session that starts, and then what it is told to.
stand_in() {
	cat <<END
#!/bin/sh
n=1
while [ -e '$stall/told.'\$n ]; do n=\$((n + 1)); done
printf '{"session_id":"00000000-0000-4000-8000-00000000000%s","hook_event_name":"SessionStart","source":"startup","cwd":"%s"}' \$n "\$PWD" |
	gt-prime --hook --agent claude >'$stall/telling'
mv '$stall/telling' '$stall/told.'\$n
while read -r line; do
	sh -c "\$line"
done
END
}

# told waits until the stand-in that started as the \$1-th was told something.
told() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
		[ ! -s "$stall/told.$1" ] || return 0
		sleep 0.5 || sleep 1
	done
	return 1
}

uninstall() {
	running= towns=
	if [ -x "$bin/gt-hooks" ]; then
		# Asked before the programs are gone.
		running=$("$bin/gt-seance" list --live --limit 0 --format '{{.Agent}} {{.TmuxPane}} in {{.CWD}}' 2>/dev/null) || :
		towns=$("$bin/gt-hooks" trust --list 2>/dev/null | sed -n 's/  trusted$//p') || :
		"$bin/gt-hooks" uninstall --all ||
			die "no program was removed: without its binaries, the hooks that are still wired would only fail"
	fi
	units=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user agents=$HOME/Library/LaunchAgents
	real=$(CDPATH='' cd -- "$bin" 2>/dev/null && pwd -P) || real=$bin # as a unit names it
	for unit in "$units/gt-relay.service" "$units/gt-reconcile.service" "$agents/gt-relay.plist" "$agents/gt.reconcile.plist"; do
		grep -qF -e "$bin/gt-re" -e "$real/gt-re" "$unit" 2>/dev/null || continue
		name=$(basename "$unit")
		systemctl --user disable --now "$name" 2>/dev/null || launchctl bootout "gui/$(id -u)/${name%.plist}" 2>/dev/null || :
		rm -f "$unit"
		say "removed $(tilde "$unit")"
	done
	removed=0
	for binary in $programs; do
		rm -f "$man/$binary.1"
		[ -f "$bin/$binary" ] || continue
		rm -f "$bin/$binary"
		removed=$((removed + 1))
	done
	say "removed $removed programs from $(tilde "$bin")"
	uncomplete
	if [ -n "$running" ]; then
		say "these agents run and have read their hooks; restart them:"
		say "$running" | sed 's/  */ /g; s/^/  /'
		say "until then $(leave_behind)"
		say "stand in $(tilde "$bin") and do nothing; to remove these: ./install.sh --uninstall, once more"
	fi
	rmdir "$units" "${units%/*}" 2>/dev/null || :
	[ -n "${PREFIX:-}" ] || rmdir "$man" "${man%/*}" "$bin" 2>/dev/null || :
	kept='' away=''
	keep "${XDG_STATE_HOME:-$HOME/.local/state}/gt" 'sessions, notes, checkpoints and events, of all folders'
	keep "${XDG_CONFIG_HOME:-$HOME/.config}/gt" 'your settings and roles'
	keep "${AGENT_HOME:-$HOME/.agent}/sessions" 'recorded conversations'
	keep "${AGENT_HOME:-$HOME/.agent}/context" 'large results in them'
	keep "${AGENT_HOME:-$HOME/.agent}/told" 'what hooks told of conversations'
	mine=$away
	while read -r town; do
		[ -z "$town" ] || keep "$town" 'a town that you trusted: its log and mail are shared'
	done <<END
$towns
END
	for file in "${CLAUDE_CONFIG_DIR:-$HOME/.claude}" "${CODEX_HOME:-$HOME/.codex}" "$HOME/.gemini" "$HOME/.qwen" \
		"$HOME/.copilot" "$HOME/.cursor" "${KIMI_CODE_HOME:-$HOME/.kimi-code}" "$HOME/.gemini/config"; do
		for file in "$file"/*.gt-backup; do
			keep "$file" 'the settings as they were before gt'
		done
	done
	for file in "$HOME/.tmux.conf" "${XDG_CONFIG_HOME:-$HOME/.config}/tmux/tmux.conf" "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json"; do
		! grep -qE '(^|[^a-z-])gt-[a-z]+([^a-z-]|$)' "$file" 2>/dev/null || keep "$file" 'names programs of gt, in a line of yours'
	done
	! crontab -l 2>/dev/null | grep -qE '(^|[^a-z-])gt-[a-z]+([^a-z-]|$)' || say "your crontab names programs of gt: crontab -e"
	[ -n "$kept" ] || say "nothing of gt is left"
	[ -z "$mine" ] || say "to delete those that only gt uses:
  rm -r$(printf '%s' "$mine" | tr '\n' ' ')"
}

# keep says that something stays, where it is there.
keep() {
	[ -e "$1" ] || return 0
	[ -n "$kept" ] || say "kept, since it is yours:"
	kept=yes
	say "  $(tilde "$1")   $2"
	away="$away $(quoted "$1")
"
}

# tilde is a path as a person reads it.
tilde() {
	case $1 in
	"$HOME"/*) printf '~%s\n' "${1#"$HOME"}" ;;
	*) printf '%s\n' "$1" ;;
	esac
}

# quoted is a path as a shell takes it.
quoted() {
	case $1 in
	"$HOME"/*)
		case ${1#"$HOME"} in
		*[!a-zA-Z0-9./_-]*) ;;
		*) tilde "$1"; return ;;
		esac
		;;
	esac
	printf "'%s'\n" "$(printf '%s\n' "$1" | sed "s/'/'\\\\''/g")"
}

# leave_behind puts, in the place of the programs that hooks run, scripts that do nothing
# and are gone in two days: a client that runs goes on calling what it read at its start,
# and would tell its person of an error at each turn. It prints their names.
leave_behind() {
	for binary in gt-prime gt-handoff gt-checkpoint gt-keepalive; do
		cat >"$bin/$binary" <<'END'
#!/bin/sh
# gt was uninstalled while an agent ran that calls this. Remove it when you like.
if [ -t 0 ]; then
	echo "gt was uninstalled; this only stands in for it until the agents have ended that call it" >&2
	exit 1
fi
cat >/dev/null
[ -z "$(find "$0" -mtime +1 2>/dev/null)" ] || rm -f "$0"
END
		chmod 755 "$bin/$binary"
	done
	echo 'gt-prime, gt-handoff, gt-checkpoint and gt-keepalive'
}

say() { printf '%s\n' "$*"; }
warn() { printf 'install.sh: warning: %s\n' "$*" >&2; }
die() {
	printf 'install.sh: error: %s\n' "$*" >&2
	exit 1
}

main "$@"
