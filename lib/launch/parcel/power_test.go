package parcel

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
)

// Whatever some tool runs, or takes permissions from, by itself is known by its name.
func TestIsPower(t *testing.T) {
	for _, name := range []string{
		".claude/settings.json", ".claude/settings.local.json", ".claude/agents/a.md", ".claude/skills/x/run.sh", ".claude/commands/x.md", ".claude",
		".claude-plugin/plugin.json", ".mcp.json", "sub/.mcp.json", "sub/.claude/settings.json", ".CLAUDE/settings.json", ".cl\u200baude/settings.json", "mi\u017fe.toml",
		".codex/config.toml", ".codex/hooks.json", ".agents/hooks.json", ".gemini/settings.json", ".gemini/.env", ".env", ".env.local", "sub/.env",
		".opencode/plugins/x.js", "opencode.json", "opencode.jsonc", ".qwen/settings.json", ".pi/extensions/x.ts", ".cline/plugins/x.js", ".clinerules/hooks/x",
		".kimi/config.toml", ".kimi-code/config.toml", ".cursor/hooks.json", ".cursor/mcp.json", ".copilot/x", ".github/hooks/x.json", ".github/copilot/settings.json",
		".github/agents/x.md", ".github", ".amp/settings.json", ".crush.json", "crush.json", ".goosehints", ".aider.conf.yml", ".windsurf/x", ".roo/mcp.json",
		".gitattributes", "sub/.gitattributes", ".gitmodules", ".gitconfig", ".githooks/pre-commit", ".envrc", "sub/.envrc", "mise.toml", "mise.local.toml",
		"mise.prod.toml", ".mise.toml", ".config/mise/config.toml", ".tool-versions", ".husky/pre-commit", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml",
		".devcontainer/devcontainer.json", ".devcontainer.json", ".vscode/tasks.json", ".vscode/settings.json", ".idea/workspace.xml", "api.code-workspace",
		".zed/tasks.json", ".exrc", ".nvim.lua", ".dir-locals.el", ".npmrc", ".yarnrc.yml", ".pnp.cjs", ".pnpmfile.cjs", "bunfig.toml", ".runtime/requests/x", "node_modules/x/index.js", "a/__pycache__/b.pyc",
		"town.toml", ".bashrc", "devenv.nix", "devenv.local.nix", "GEMINI-EXTENSION.JSON", ".nvmrc", ".python-version", "sub/.node-version",
		"kilo.json", "qwen-extension.json", "lefthook-local.yml", "hk.pkl", "prek.toml", "captainhook.json", "grumphp.yml", "mise/config.toml", "mise/conf.d/x.toml",
		".claude/rules/x.md", ".claude/output-styles/x.md", ".claude/workflows/x.js", ".lsp.json", ".vibe/config.toml", ".kilocode/mcp.json", ".kiro/hooks/x", ".factory/settings.json",
		".antigravity/x", ".agents/skills/x/SKILL.md", ".gemini/extensions/x/gemini-extension.json", ".qwen/extensions/x", ".github/mcp.json", ".github/prompts/x.md", ".github/skills/x",
		".vimrc", ".lvimrc", ".tmux.conf", ".autoenv.zsh", ".shadowenv.d/x.lisp", ".overcommit.yml", ".cargo/config.toml", ".prettierrc", ".config/hk.pkl", ".runtime", ".git-hooks/x",
	} {
		if !isPower(name) {
			t.Errorf("%s is words", name)
		}
	}
	for _, name := range []string{
		"AGENTS.md", "CLAUDE.md", "sub/CLAUDE.md", "GEMINI.md", "main.go", "src/settings.json", "package.json", "Makefile", "run.sh", ".gitignore", "sub/.gitignore",
		".editorconfig", ".github/workflows/ci.yml", ".github/CODEOWNERS", ".github/copilot-instructions.md", "claude/settings.json", "hooks.json",
	} {
		if isPower(name) {
			t.Errorf("%s is power", name)
		}
	}
}

// A file is run by itself, too, if one names it that is.
func TestNamedByPower(t *testing.T) {
	for _, c := range []struct{ file, text, name, want string }{
		{".claude/settings.json", `"command":"scripts/lint.sh --fix"`, "scripts/lint.sh", ".claude/settings.json"},
		{".claude/settings.json", `"command":"\"$CLAUDE_PROJECT_DIR\"/scripts/lint.sh"`, "scripts/lint.sh", ".claude/settings.json"},
		{".claude/settings.json", `"command":"bash ./lint"`, "lint", ".claude/settings.json"},
		{".mcp.json", `"command":"node","args":["${workspaceFolder}/tools/mcp.js"]`, "tools/mcp.js", ".mcp.json"},
		{".mcp.json", `"cwd":"server","args":["index.js"]`, "server/index.js", ".mcp.json"},
		{".mcp.json", `"command":"python","args":["-m","tools.server"]`, "tools/server.py", ".mcp.json"},
		{".mcp.json", `"command":"python","args":["-m","tools.server"]`, "tools/server/__main__.py", ".mcp.json"},
		{".mcp.json", `"command":"go","args":["run","./cmd/mcp"]`, "cmd/mcp/main.go", ".mcp.json"},
		{".mcp.json", `"command":"npm","args":["run","mcp"]`, "package.json", ".mcp.json"},
		{".claude/settings.json", `"command":"/usr/bin/make -s check"`, "Makefile", ".claude/settings.json"},
		{".claude/settings.json", `"command":"npx eslint --fix ."`, "eslint.config.mjs", ".claude/settings.json"},
		{".claude/settings.json", `"command":"pylint src"`, "pylintrc", ".claude/settings.json"},
		{".claude/settings.json", `"command":"python3 -m black ."`, "black.py", ".claude/settings.json"},
		{".mcp.json", `"command":"python","args":["-m","server"]`, "server/__main__.py", ".mcp.json"},
		{".envrc", "pip install -r requirements.txt\n", "requirements.txt", ".envrc"},
		{"package.json", `"check":"cmake --build b && vitest"`, "sub/CMakeLists.txt", "package.json"},
		{"package.json", `"check":"cmake --build b && vitest"`, "vitest.config.ts", "package.json"},
		{"a hook of yours", "prettier --write \"$f\"", "package.json", "a hook of yours"},
		{"a hook of yours", "rustfmt \"$f\"", "rust-toolchain.toml", "a hook of yours"},
		{"a hook of git", "#!/bin/sh\nexec ./scripts/check.sh\n", "scripts/check.sh", "a hook of git"},
		{"a hook of yours", "cd \"$CLAUDE_PROJECT_DIR\" && npm run lint", "package.json", "a hook of yours"},
		{"git", "hookspath = hooks\nst = status -sb\n", "hooks/pre-commit", "git"},
		{"git", "editor = vim\nname = max\nurl = https://example.org/core/api.git\n", "core/editor.go", ""},
		{".envrc", "PATH_add bin\n", "bin/ls", ".envrc"},
		{"tools/check.sh", ". tools/lib.sh", "tools/lib.sh", "tools/check.sh"},
		{"server/index.js", "require('./lib')", "server/lib.js", "server/index.js"},
		{"server/main.py", "import helpers", "server/helpers.py", "server/main.py"},
		{"cmd/mcp/main.go", `"gt/lib/x"`, "other/main.go", ""},
		{".claude/settings.json", `"command":"/home/me/api/scripts/lint.sh"`, "scripts/lint.sh", ".claude/settings.json"},
		{".claude/settings.json", `"url":"https://example.org/api"`, "api/main.go", ""},
		{".envrc", "use flake\n", "flake.nix", ".envrc"},
		{".envrc", "source env.sh", "env.sh", ".envrc"},
		{"git", "[core]\n\thooksPath = tools/hooks\n", "tools/hooks/pre-commit", "git"},
		{"git", "[core]\n\thooksPath = hooks\n", "hooks/pre-commit", "git"},
		{"git", "[include]\n\tpath = ../team.gitconfig\n", "team.gitconfig", "git"},
		{"git", "[filter \"x\"]\n\tclean = tools/clean.sh\n", "tools/clean.sh", "git"},
		{".claude/settings.json", `"allow":["Read(src/**)","Edit(src/app/*)"]`, "src/app/main.go", ""},
		{".claude/settings.json", `"command":"gofmt -l ."`, "main.go", ""},
		{".claude/settings.json", `"Read(README.md)"`, "README.md", ""},
		{"git", "[core]\n\tbare = false\n[branch \"main\"]\n\tremote = origin\n", "core/main.go", ""},
	} {
		all := map[string]string{}
		indexFiles(map[string]git.Entry{c.name: {}}).findNamed(c.file, c.text, all, all)
		if got := all[c.name]; got != c.want {
			t.Errorf("%s: %q names %s: %q, not %q", c.file, c.text, c.name, got, c.want)
		}
	}
}

// What takes its settings from a package.json does not run the package, as npm does.
func TestConfigured(t *testing.T) {
	texts := map[string]string{"package.json": `{"main":"src/index.js","scripts":{"test":"jest"}}`, "src/index.js": "require('./app')", "src/app.js": "", "yarn.lock": ""}
	arrives, members := map[string]git.Entry{}, map[string]File{}
	for name, text := range texts {
		arrives[name] = git.Entry{Path: name, ID: name}
		members[name] = File{Link: text + " "} // a text at hand
	}
	for command, want := range map[string]string{
		"prettier --write": "package.json",
		"eslint --fix":     "package.json",
		"npm test":         "package.json src/app.js src/index.js yarn.lock",
		"eslint && npm t":  "package.json src/app.js src/index.js yarn.lock",
	} {
		h := newHost(t)
		h.write(".claude/settings.json", fmt.Sprintf(`{"hooks":{"PostToolUse":[{"hooks":[{"type":"command","command":%q}]}]}}`, command))
		env := h.env()
		h.git("init", "-q", "src")
		w := &unpacking{Unpacker: Unpacker{Env: env}, plan: plan{Repository: filepath.Join(h.home, "src")}, client: h.table(env).FindClient("claude")}
		all, _, err := w.findNamedFiles(nil, nil, arrives, members)
		testenv.NoError(t, err)
		if got := strings.Join(slices.Sorted(maps.Keys(all)), " "); got != want {
			t.Errorf("%s: %s wait, not %s", command, got, want)
		}
	}
}

// Each of many files that are run is searched for what it runs, the last one as well. Where they
// are too many, that is said.
func TestManyRunFiles(t *testing.T) {
	for n, want := range map[int]int{maxTexts + 100: 0, maxTexts*maxBatches + 3: 3} {
		last := git.Entry{Path: "tools/last.sh", ID: "last"}
		arrives, members := map[string]git.Entry{last.Path: last}, map[string]File{last.ID: {Link: "true"}}
		var run []git.Entry
		for i := range n {
			e := git.Entry{Path: fmt.Sprintf("m%05d/Makefile", i), ID: fmt.Sprint(i)}
			run, arrives[e.Path], members[e.ID] = append(run, e), e, File{Link: "all:"}
		}
		if want == 0 {
			members[run[n-1].ID] = File{Link: "all:\n\tsh tools/last.sh"}
		}
		h := newHost(t)
		h.git("init", "-q", "src")
		w := &unpacking{Unpacker: Unpacker{Env: h.env()}, plan: plan{Repository: filepath.Join(h.home, "src")}, client: h.table(h.env()).FindClient("claude")}
		all, unsearched, err := w.findNamedFiles(nil, run, arrives, members)
		testenv.NoError(t, err)
		if unsearched != want || (all[last.Path] != "") != (want == 0) {
			t.Errorf("of %d files %d were not searched, want %d; %s is named by %q", n, unsearched, want, last.Path, all[last.Path])
		}
	}
}

// The hooks that tools make name more than what they run of the repository.
func TestGeneratedHooks(t *testing.T) {
	names := map[string]git.Entry{}
	for name := range strings.FieldsSeq(`AUTHORS Cargo.toml Gemfile Justfile LICENSE Makefile NOTICE Package.swift README Taskfile.yml app.py build conftest.py
config devbox.json docs/check file go.mod hooks husky.sh install lefthook mix.exs null package-lock.json package.json pre_commit.py pyproject.toml
scripts/tool setup.py sh src/index.js task test this tools/x.sh uv.lock yarn.lock`) {
		names[name] = git.Entry{}
	}
	for _, c := range []struct{ tool, script, want string }{
		{"pre-commit", `#!/usr/bin/env bash
# File generated by pre-commit: https://pre-commit.com
# ID: 138fd403232d2ddd5efb44317e38bf03

# start templated
INSTALL_PYTHON=/home/u/.local/pipx/venvs/pre-commit/bin/python
ARGS=(hook-impl --config=.pre-commit-config.yaml --hook-type=pre-commit)
# end templated

HERE="$(cd "$(dirname "$0")" && pwd)"
ARGS+=(--hook-dir "$HERE" -- "$@")

if [ -x "$INSTALL_PYTHON" ]; then
    exec "$INSTALL_PYTHON" -mpre_commit "${ARGS[@]}"
elif command -v pre-commit > /dev/null; then
    exec pre-commit "${ARGS[@]}"
else
    echo '` + "`" + `pre-commit` + "`" + ` not found.  Did you forget to activate your virtualenv?' 1>&2
    exit 1
fi
`, "pre_commit.py"},
		{"lefthook", `#!/bin/sh

if [ "$LEFTHOOK_VERBOSE" = "1" -o "$LEFTHOOK_VERBOSE" = "true" ]; then
  set -x
fi

if [ "$LEFTHOOK" = "0" ]; then
  exit 0
fi

call_lefthook()
{
  if test -n "$LEFTHOOK_BIN"
  then
    "$LEFTHOOK_BIN" "$@"
  elif lefthook -h >/dev/null 2>&1
  then
    lefthook "$@"
  else
    dir="$(git rev-parse --show-toplevel)"
    osArch=$(uname | tr '[:upper:]' '[:lower:]')
    cpuArch=$(uname -m | sed 's/aarch64/arm64/;s/x86_64/x64/')
    if test -f "$dir/node_modules/lefthook-${osArch}-${cpuArch}/bin/lefthook"
    then
      "$dir/node_modules/lefthook-${osArch}-${cpuArch}/bin/lefthook" "$@"
    elif test -f "$dir/node_modules/lefthook/bin/index.js"
    then
      "$dir/node_modules/lefthook/bin/index.js" "$@"
    elif go tool lefthook -h >/dev/null 2>&1
    then
      go tool lefthook "$@"
    elif bundle exec lefthook -h >/dev/null 2>&1
    then
      bundle exec lefthook "$@"
    elif yarn lefthook -h >/dev/null 2>&1
    then
      yarn lefthook "$@"
    elif pnpm lefthook -h >/dev/null 2>&1
    then
      pnpm lefthook "$@"
    elif swift package lefthook >/dev/null 2>&1
    then
      swift package --build-path "$dir/.build/lefthook" --disable-sandbox lefthook "$@"
    elif command -v mint >/dev/null 2>&1
    then
      mint run csjones/lefthook-plugin "$@"
    elif uv run lefthook -h >/dev/null 2>&1
    then
      uv run lefthook "$@"
    elif mise exec -- lefthook -h >/dev/null 2>&1
    then
      mise exec -- lefthook "$@"
    elif devbox run lefthook -h >/dev/null 2>&1
    then
      devbox run lefthook "$@"
    else
      echo "Can't find lefthook in PATH"
    fi
  fi
}

call_lefthook run "pre-commit" "$@"
`, ""},
		{"gerrit", `#!/bin/sh
# From Gerrit Code Review 3.9.1
#
# Part of Gerrit Code Review (https://www.gerritcodereview.com/)
#
# Copyright (C) 2009 The Android Open Source Project
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

set -u

# avoid [[ which is not POSIX sh.
if test "$#" != 1 ; then
  echo "$0 requires an argument."
  exit 1
fi

if test ! -f "$1" ; then
  echo "file does not exist: $1"
  exit 1
fi
`, ""},
		{"git-lfs", `#!/bin/sh
command -v git-lfs >/dev/null 2>&1 || { printf >&2 "\n%s\n\n" "This repository is configured for Git LFS but 'git-lfs' was not found on your path. If you no longer wish to use Git LFS, remove this hook by deleting the 'post-checkout' file in the hooks directory (set by 'core.hookspath'; usually '.git/hooks')."; exit 2; }
git lfs post-checkout "$@"
`, ""},
		{"husky 4", `#!/bin/sh
# husky

# Created by Husky v4.3.8 (https://github.com/typicode/husky#readme)
#   From: /home/u/api/node_modules/husky (https://github.com/typicode/husky#readme)

. "$(dirname "$0")/husky.sh"
run_command () {
  if command_exists "$1"; then
    "$@" husky-run $hookName "$gitParams"
    if [ $exitCode = 127 ]; then
      echo "Can't find Husky, skipping $hookName hook"
      echo "You can reinstall it using 'npm install husky --save-dev' or delete this hook"
    fi
  fi
}
hookIsDefined () {
  grep -qs $hookName \
    package.json \
    .huskyrc \
    .huskyrc.json \
    .huskyrc.yaml \
    .huskyrc.yml
}
case "$packageManager" in
  "npm") run_command npx --no-install;;
  "pnpm") run_command pnpx --no-install;;
  "yarn") run_command yarn run --silent;;
esac
`, "package.json package-lock.json yarn.lock husky.sh"},
		{"husky 9", `#!/usr/bin/env sh
[ "$HUSKY" = "2" ] && set -x
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n

[ ! -f "$s" ] && exit 0

if [ -f "$HOME/.huskyrc" ]; then
	echo "husky - '~/.huskyrc' is DEPRECATED, please move your code to ~/.config/husky/init.sh"
fi
i="${XDG_CONFIG_HOME:-$HOME/.config}/husky/init.sh"
[ -f "$i" ] && . "$i"

[ "${HUSKY-}" = "0" ] && exit 0

export PATH="node_modules/.bin:$PATH"
sh -e "$s" "$@"
c=$?

[ $c != 0 ] && echo "husky - $n script failed (code $c)"
[ $c = 127 ] && echo "husky - command not found in PATH=$PATH"
exit $c
`, ""},
		{"overcommit", `#!/usr/bin/env ruby
# frozen_string_literal: true

# Entrypoint for Overcommit hook integration. Installing Overcommit will result
# in all of your git hooks being copied from this file.
if hook_type == 'overcommit-hook'
  puts "Don't run ` + "`" + `overcommit-hook` + "`" + ` directly; it is intended to be symlinked " \
       'by each hook in a repo.'
  exit 64 # EX_USAGE
end

if gemfile = YAML.load_file('.overcommit.yml')['gemfile']
  ENV['BUNDLE_GEMFILE'] = gemfile
  require 'bundler'

  begin
    Bundler.setup
  rescue Bundler::BundlerError => e
    puts "Problem loading '#{gemfile}': #{e.message}"
    puts "Try running:\nbundle install --gemfile=#{gemfile}" if e.is_a?(Bundler::GemNotFound)
    exit 78 # EX_CONFIG
  end
end

begin
  require 'overcommit'
rescue LoadError
  puts 'This repository contains hooks installed by Overcommit, but the ' \
       "Overcommit gem is not installed.\n" \
       'Install it with ` + "`" + `gem install overcommit` + "`" + `.'
  exit 64 # EX_USAGE
end
`, ""},
		{"simple-git-hooks", `#!/bin/sh

if [ "$SKIP_SIMPLE_GIT_HOOKS" = "1" ]; then
    echo "[INFO] SKIP_SIMPLE_GIT_HOOKS is set to 1, skipping hook."
    exit 0
fi

if [ -f "$SIMPLE_GIT_HOOKS_RC" ]; then
    . "$SIMPLE_GIT_HOOKS_RC"
fi

npx lint-staged
`, "package.json package-lock.json yarn.lock"},
		{"a message", `#!/bin/sh
# Make sure that the message names a ticket. This is just a check of the
# first line; see the README for how to install it, and the task list.
grep -qE '^[A-Z]+-[0-9]+' "$1" || { echo 'name the ticket' >&2; exit 1; }
`, ""},
		{"a script of one's own", `#!/bin/sh
set -e
make check >/dev/null
"$(git rev-parse --show-toplevel)"/build
TOOL=TOP/scripts/tool
sh tools/x.sh
`, "Makefile build scripts/tool tools/x.sh"},
		{"names without an ending", `#!/bin/sh
. hooks
ROOT=$(git rev-parse --show-toplevel)
sh file
bash "$ROOT/install"
"$GIT_DIR/../build"
S="/other/link/src/tools/x.sh"; $S
`, "build file hooks install tools/x.sh"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			h := newHost(t)
			h.git("init", "-q", "src")
			top := filepath.Join(h.home, "src")
			h.write("src/.git/hooks/pre-commit", strings.ReplaceAll(c.script, "TOP", top))
			got := map[string]string{}
			indexFiles(names).findInGit(top, h.env().Getenv, got, got)
			want := strings.Fields(c.want)
			slices.Sort(want)
			if found := slices.Sorted(maps.Keys(got)); !slices.Equal(found, want) {
				t.Errorf("%q wait, not %q", found, want)
			}
		})
	}
}

// What a parcel brings that is not here waits for a person, whichever way it comes. What is here,
// and what is only work, does not.
func TestPowers(t *testing.T) {
	there, good := hosts(t)
	there.write("src/.claude/settings.json", `{"permissions":{"deny":["Bash"]},"hooks":{"Stop":[{"hooks":[{"command":"tools/check.sh"}]}]}}`)
	there.write("src/.claude/agents/a.md", "An agent.\n")
	there.write("src/.claude/agents/b.md", "Another one.\n")
	there.write("src/.claude/agents/c.md", "A third one.\n")
	there.write("src/tools/check.sh", ". tools/lib.sh\n")
	there.write("src/tools/lib.sh", "true\n")
	there.git("-C", "src", "add", "-A")
	there.git("-C", "src", "commit", "-q", "-m", "settings")
	there.git("config", "--global", "core.hooksPath", "hooks")
	there.write("src/.git/hooks/pre-commit", "#!/bin/sh\nexec scripts/check.sh\n")
	there.write("src/.git/hooks/pre-push.sample", "exec scripts/sample.sh\n")
	there.write("team/hooks/post-checkout", "exec scripts/setup\n")
	there.git("-C", "src", "config", "core.hooksPath", "~/team/hooks")
	there.write(".claude/settings.json", `{"hooks":{"PostToolUse":[{"hooks":[{"type":"command","command":"npm run lint"}]}]}}`)
	maker := newHost(t)
	maker.git("clone", "-q", filepath.Join(there.home, "src"), "src")
	commit := func(script string) string {
		maker.write("run", script)
		maker.git("-C", "src", "-c", "alias.x=!sh ../run", "x")
		maker.git("-C", "src", "add", "-A")
		maker.git("-C", "src", "commit", "-q", "-m", "x")
		return maker.git("-C", "src", "rev-parse", "HEAD")
	}
	// unpack unpacks what these scripts commit, the second one as the index, and a change of the manifest.
	unpack := func(head, index string, change func(b *box)) (Result, *box) {
		t.Helper()
		b := good.clone(t)
		b.Instance.ID, b.Manifest.Session.ID = instance.ID(session.NewID()), session.NewID()
		b.Manifest.Session.Chain = b.Manifest.Session.ID
		b.put(b.Manifest.Session.Thread, fmt.Sprintf(`{"chain_id":%q}`, b.Manifest.Session.ID))
		b.Git.Head, b.Git.Index = commit(head), commit(index)
		maker.git("-C", "src", "update-ref", "refs/gt/index", "HEAD")
		maker.git("-C", "src", "bundle", "create", "-q", "../b", "refs/gt/index", "^origin/main")
		data, err := os.ReadFile(filepath.Join(maker.home, "b"))
		testenv.NoError(t, err)
		b.put(b.Git.Bundle, string(data))
		change(b)
		done, err := there.unpack(b.data(t), nil)
		testenv.NoError(t, err)
		return done, b
	}

	settings := textOf(filepath.Join(there.home, "src/.claude/settings.json"))
	work, _ := unpack("echo 'rm -r /' >tools/other.sh", "ln -s tools/other.sh notes; echo words >CLAUDE.md; mkdir .github; echo x >.gitignore", func(b *box) {
		b.file(".claude/settings.json", settings)
		b.file("sub/main.go", "package main")
	})
	if work.Waits != nil || !atomicfile.Exists(work.Path) {
		t.Errorf("work: %+v", work)
	}

	waits, b := unpack(`echo x >.tool-versions; rm notes`, `rm .tool-versions; echo x >.envrc; chmod +x .claude/agents/a.md; rm .claude/agents/b.md
echo evil >tools/lib.sh; mkdir hooks; echo evil >hooks/pre-commit; ln -s .git/hooks/pre-commit gits; ln -s .claude/agents/a.md agent
ln -s tools/other.sh fine; mkdir sub; ln -s ../docs sub/.claude; echo '* filter=lfs' >.gitattributes
printf '[submodule "m"]\npath=m\nurl=./m\n' >.gitmodules`, func(b *box) {
		b.file(".mcp.json", "{}")
		b.file(".env", "NODE_OPTIONS=--require=./x.js")
		b.file(".runtime/requests/"+sessionID, "{}")
		b.Git.Deleted = append(b.Git.Deleted, ".claude/agents/c.md")
		b.Git.Files = append(b.Git.Files, File{Path: "keys", Link: "../../.ssh/authorized_keys"}, File{Path: ".codex", Link: "conf"},
			File{Path: "d/to", Link: "../e"}, File{Path: "d/out", Link: "to/../../src/x"}, File{Path: "d/in", Link: "../../../src/../x"})
		b.file("package.json", `{"scripts":{"lint":"node lint.js"}}`)
		b.file("lint.js", "evil")
		for _, name := range []string{"check.sh", "sample.sh", "setup", "work.sh"} {
			b.file("scripts/"+name, "evil")
		}
		b.file("other.js", "work")
	})
	var got strings.Builder
	for _, p := range waits.Waits {
		fmt.Fprintf(&got, "%s: %s\n", p.Path, p.What)
	}
	const want = `.claude/agents/a.md: changed
.claude/agents/b.md: is missing there, and may forbid something here
.claude/agents/c.md: is missing there, and may forbid something here
.codex: new
.env: new
.envrc: new
.gitattributes: new
.gitmodules: new
.mcp.json: new
.runtime/requests/` + sessionID + `: new
.tool-versions: new, in its last commit
agent: leads to .claude/agents/a.md
d/in: leads to ../../../src/../x
d/out: leads to to/../../src/x
gits: leads to .git/hooks/pre-commit
hooks/pre-commit: new, and git runs it
keys: leads to ../../.ssh/authorized_keys
lint.js: new, and package.json runs it
package.json: new, and a hook of yours runs it
scripts/check.sh: new, and a hook of git runs it
scripts/setup: new, and a hook of git runs it
sub/.claude: new
tools/lib.sh: changed, and tools/check.sh runs it
`
	if got.String() != want {
		t.Errorf("power:\n%s\nnot\n%s", &got, want)
	}
	if atomicfile.Exists(waits.Path) {
		t.Error("its worktree is there")
	}
	if _, err := there.store(there.env()).Get(b.Instance.ID); err == nil {
		t.Error("its agent is there")
	}
	if done, err := there.accept(waits); err != nil || !atomicfile.Exists(done.Path) {
		t.Errorf("accepted: %+v, %v", done, err)
	}
	if all, err := AllWaiting(there.store(there.env()).State); err != nil || len(all) > 0 {
		t.Errorf("it waits on: %v, %v", all, err)
	}
}

// A host cannot have the notes of a session say that somebody of another host wrote them, nor hand
// over to a session of another chain, nor in another's name. What an agent of a third host wrote is not
// taken for another's.
func TestNotesSayWhoSentThem(t *testing.T) {
	there, good := hosts(t)
	b := good.clone(t)
	own := b.Manifest.Session.Chain
	for i, n := range []mail.Note{
		{From: "max", Subject: "0"}, {From: "web@there", Host: "there", Subject: "1"}, {From: "api@lap@box", Host: "desk", Subject: "2"},
		{From: "max", Type: mail.Handoff, Chain: "aaaaaaaa-0000-4000-8000-00000000000f", Subject: "3"}, {From: "api", Type: mail.Handoff, Chain: string(own), Subject: "4"},
		{Subject: "5"}, {From: "max", Type: mail.Handoff, Chain: string(own), Subject: "6"}, {From: "web@desk", Host: "desk", Type: mail.Handoff, Chain: string(own), Subject: "7"},
		{From: "web@desk", Host: "desk", Subject: "8"}, {From: "web@box", Subject: "9"},
	} {
		name := fmt.Sprintf("1795712515.M155504R0000000%d.x", i)
		text, err := n.Message(name)
		testenv.NoError(t, err)
		member := memberName(len(b.Members) - 1)
		b.Members = slices.Insert(b.Members, len(b.Members)-1, Member{Name: member})
		b.put(member, string(text))
		b.Manifest.Session.Notes = append(b.Manifest.Session.Notes, Named{Name: name, Fresh: true, Member: member})
	}
	done, err := there.unpack(b.data(t), func(u *Unpacker) { u.From = "box" })
	testenv.NoError(t, err)
	h := home.FindOtherHome(place.ScopeOf(there.env().Getenv), done.Path)
	all, err := mail.NewBox(h, h.Identity.Address()).List()
	testenv.NoError(t, err)
	got := map[string]string{}
	for _, n := range all {
		got[n.Subject] = fmt.Sprintf("%s %s of %q", n.Type, n.From, n.Host)
	}
	want := map[string]string{
		"0": `note max@box of "box"`, "1": `note web@there@box of "box"`, "2": `note api@lap@box of "box"`, "3": `note max@box of "box"`, "4": `handoff api of "box"`,
		"5": `note unknown@box of "box"`, "6": `handoff max@box of "box"`, "7": `handoff web@desk@box of "box"`, "8": `note web@desk@box of "box"`, "9": `note web@box of "box"`,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// A parcel that comes back removes files of its own commits only, and none that is the person's alone.
func TestRemovesItsOwn(t *testing.T) {
	here := newHost(t)
	here.git("init", "-q", "-b", "main", "src")
	here.write("src/old", "old\n")
	here.git("-C", "src", "add", "-A")
	here.git("-C", "src", "commit", "-q", "-m", "first")
	deny := filepath.Join(here.home, "src/.claude/settings.local.json")
	here.write("src/.claude/settings.local.json", `{"permissions":{"deny":["Bash"]}}`)
	src := filepath.Join(here.home, "src")
	w := &unpacking{Unpacker: Unpacker{Env: here.env()}, reader: &reader{}, plan: plan{Repository: src, Worktree: src}}
	w.Git = &Git{Index: here.git("-C", "src", "rev-parse", "HEAD"), Deleted: []string{".claude/settings.local.json", "old", "none"}}
	testenv.NoError(t, w.writeChanges())
	if atomicfile.Exists(filepath.Join(src, "old")) || !atomicfile.Exists(deny) {
		t.Error(here.git("-C", "src", "status", "--short"))
	}
}

// A host cannot have sessions wait without end, and one that is not accepted waits on.
func TestMostWaiting(t *testing.T) {
	there, good := hosts(t)
	env := there.env()
	state := there.store(env).State
	send := func(from string) error {
		b := good.clone(t)
		b.Instance.ID, b.Manifest.Session.ID = instance.ID(session.NewID()), session.NewID()
		b.Manifest.Session.Chain = b.Manifest.Session.ID
		b.put(b.Manifest.Session.Thread, fmt.Sprintf(`{"chain_id":%q}`, b.Manifest.Session.ID))
		b.file(".mcp.json", "{}")
		_, err := there.unpack(b.data(t), func(u *Unpacker) { u.From = from })
		return err
	}
	for range mostWaiting {
		testenv.NoError(t, send("box"))
	}
	if err := send("box"); err == nil || !strings.Contains(err.Error(), "8 others wait for a person already") {
		t.Errorf("one too many: %v", err)
	}
	testenv.NoError(t, send("desk"))
	all, err := AllWaiting(state)
	if err != nil || len(all) != mostWaiting+1 {
		t.Fatalf("%d wait, %v", len(all), err)
	}
	no := errors.New("no")
	_, err = Unpacker{Env: env, Store: there.store(env), Table: there.table(env)}.Accept(all[0], func([]Power) error { return no })
	if still, _ := AllWaiting(state); !errors.Is(err, no) || len(still) != len(all) {
		t.Errorf("%d wait, %v", len(still), err)
	}
	testenv.NoError(t, Drop(state, all[0]))
	testenv.NoError(t, send("box"))
	if folders, err := atomicfile.Folders(state.Path("parcels")); err != nil || len(folders) != mostWaiting+1 {
		t.Errorf("%d parcels lie here, %v", len(folders), err)
	}
}

// An agent comes back only from where it went, to its own thread and session.
func TestReturns(t *testing.T) {
	here := newHost(t)
	here.git("init", "-q", "-b", "main", "src")
	here.git("-C", "src", "commit", "-q", "--allow-empty", "-m", "first")
	left := here.pack()
	for i := range left.Members {
		left.Members[i].Size = 0
	}
	env := here.env()
	store := here.store(env)
	state := store.State
	moved := func(m instance.Moved) {
		t.Helper()
		held, err := store.Hold(left.Instance.ID, lockWait)
		testenv.NoError(t, err)
		defer held.Release()
		m.Complete, m.At = true, env.Now()
		held.Moved = &m
		testenv.NoError(t, held.Put(env.Now()))
	}
	const victim = "aaaaaaaa-0000-4000-8000-00000000000f"
	_, err := thread.Update(state, victim, atomicfile.Unsynced, nil, func(t *thread.Thread) { t.Request.Text = "audit the vault" })
	testenv.NoError(t, err)
	for _, c := range []struct {
		name   string
		args   []string
		moved  instance.Moved
		from   string
		key    string
		change func(b *box)
		want   string // "waits", or an error; "" if it is taken
	}{
		{name: "from where it went", moved: instance.Moved{To: "box", Key: "U1"}, from: "box", key: "U1"},
		{name: "to a host renamed since", moved: instance.Moved{To: "desk", Key: "U1"}, from: "box", key: "U1"},
		{name: "a v0.2.0 move", moved: instance.Moved{To: "box"}, from: "box", key: "U1"},
		{name: "by hand", moved: instance.Moved{}, from: ""},
		{name: "a third host", moved: instance.Moved{To: "box", Key: "U1"}, from: "desk", key: "U2", want: "left here for box, not for desk"},
		{name: "another host of that name", moved: instance.Moved{To: "box", Key: "U1"}, from: "box", key: "U2", want: "left here for box"},
		{name: "a third host, v0.2.0", moved: instance.Moved{To: "box"}, from: "desk", key: "U2", want: "left here for box"},
		{name: "of which nothing is known", moved: instance.Moved{}, from: "box", key: "U1", want: "waits"},
		{name: "with another agent's chain", moved: instance.Moved{To: "box"}, from: "box", change: func(b *box) { b.Manifest.Session.Chain = victim }, want: "is known here"},
		{name: "to a client that asks nothing", moved: instance.Moved{To: "box"}, from: "box", args: []string{"--dangerously-skip-permissions"}, want: "waits"},
		{name: "with an old generation", moved: instance.Moved{To: "box"}, from: "box", change: func(b *box) { b.Generation = 0 }, want: "generation"},
		{name: "with no end of generations", moved: instance.Moved{To: "box"}, from: "box", change: func(b *box) { b.Generation = 1 << 40 }, want: "generation"},
		{name: "with a chain of its own", moved: instance.Moved{To: "box"}, from: "box", change: func(b *box) { b.Manifest.Session.Chain = session.NewID() }},
	} {
		b, name := left.clone(t), c.name
		b.Generation = 100
		moved(c.moved)
		if held, err := store.Hold(left.Instance.ID, lockWait); err == nil {
			held.Generation, held.Args = 1, c.args
			testenv.NoError(t, held.Put(env.Now()))
			held.Release()
		}
		if c.change != nil {
			c.change(b)
		}
		if b.Manifest.Session.Thread != "" {
			b.put(b.Manifest.Session.Thread, fmt.Sprintf(`{"chain_id":%q}`, b.Manifest.Session.Chain))
		}
		done, err := here.unpack(b.data(t), func(u *Unpacker) { u.From, u.Key, u.Folder = c.from, c.key, "" })
		switch {
		case c.want == "waits":
			if err != nil || len(done.Waits) != 1 {
				t.Errorf("%s: %+v, %v", name, done, err)
			}
		case c.want == "" && (err != nil || done.Waits != nil):
			t.Errorf("%s: %+v, %v", name, done, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %+v, %v, not %q", name, done, err, c.want)
		}
	}
	if got, err := thread.Read(state, victim, nil); err != nil || got.Request.Text != "audit the vault" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A host that is asked says what it would refuse, and makes nothing.
func TestAsk(t *testing.T) {
	here := newHost(t)
	here.git("init", "-q", "-b", "main", "src")
	here.git("-C", "src", "commit", "-q", "--allow-empty", "-m", "first")
	there := newHost(t)
	env := here.env()
	in := &instance.Instance{Name: "api", Path: filepath.Join(here.home, "src"), Agent: "claude", Desired: instance.Stopped}
	testenv.NoError(t, here.store(env).Create(in, env.Now()))
	question, err := Packer{Env: env, Store: here.store(env), Table: here.table(env)}.Question(in)
	testenv.NoError(t, err)
	ask := func(question string) error {
		env := there.env()
		return Unpacker{Env: env, Store: there.store(env), Table: there.table(env), Choices: Choices{From: "lap"}}.Ask(strings.NewReader(question))
	}
	if err := ask(string(question)); err == nil || !strings.Contains(err.Error(), "no folder that gt knows has its repository") || strings.Contains(err.Error(), "--") {
		t.Errorf("without a clone: %v", err)
	}
	there.git("clone", "-q", filepath.Join(here.home, "src"), "src")
	env = there.env()
	other := &instance.Instance{Name: "other", Path: filepath.Join(there.home, "src"), Agent: "claude", Desired: instance.Stopped}
	testenv.NoError(t, there.store(env).Create(other, env.Now()))
	before := tree(t, there.home)
	testenv.NoError(t, ask(string(question)))
	for old, to := range map[string]string{
		`"agent": "claude"`: `"agent": "nobody"`, `"name": "api"`: `"name": "../api"`, `"format": 1`: `"format": 2`, in.Path: "x", string(in.ID): "x",
		`"roots": [`: `"roots": ["x",`,
	} {
		bad := strings.ReplaceAll(string(question), old, to)
		if err := ask(bad); err == nil && bad != string(question) {
			t.Errorf("%s was taken", to)
		}
	}
	if after := tree(t, there.home); after != before {
		t.Errorf("it left\n%s\nof\n%s", after, before)
	}
}
