#!/bin/sh
# Fetches the newest tmux that Debian has (sid), with the libraries that it needs, into the
# folder $1, and links it as $1/bin/tmux. Nothing is installed.
set -eu
cd "$1"
mkdir -p state/lists/partial cache/archives/partial bin
: >status # nothing counts as installed, so that apt brings the libraries as well
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Label: Debian' | head -n 1)
[ -n "$archive" ] || { echo 'apt knows no archive of Debian (apt-get update)' >&2; exit 1; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive sid main" >sources.list
apt() {
	apt-get -q -o Acquire::Languages=none -o APT::Sandbox::User= -o Debug::NoLocking=1 -o APT::Update::Error-Mode=any \
		-o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::SourceList="$PWD/sources.list" \
		-o Dir::State="$PWD/state" -o Dir::State::status="$PWD/status" -o Dir::Cache="$PWD/cache" "$@"
}
apt update
apt install --yes --download-only --no-install-recommends tmux patchelf
for package in cache/archives/*.deb; do dpkg-deb -x "$package" root; done
loader=$(ls "$PWD"/root/usr/lib*/ld-linux*.so.*)
libraries=$(ls -d "$PWD"/root/usr/lib/*-linux-gnu*)
"$loader" --library-path "$libraries" root/usr/bin/patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" root/usr/bin/tmux
ln -s "$PWD/root/usr/bin/tmux" bin/tmux
