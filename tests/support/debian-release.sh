#!/usr/bin/env bash
# Unpacks packages of a release of Debian into a folder, without installing them. With --with-libraries, all libraries
# that they need come with them: those of this machine may be older.
#   debian-release.sh RELEASE FOLDER [--with-libraries] PACKAGE…
set -euo pipefail
release=$1 folder=$2
shift 2
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources | head -1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >"$apt/release.list"
mkdir -p "$apt/lists/partial" "$apt/parts"
of_release=(-qq -o "Dir::Etc::sourcelist=$apt/release.list" -o "Dir::Etc::sourceparts=$apt/parts"
  -o "Dir::State::lists=$apt/lists" -o Dir::State::status=/dev/null -o APT::Sandbox::User=root)
cd "$apt"
apt-get "${of_release[@]}" update
if [ "$1" = --with-libraries ]; then
  shift
  all=(apt-cache "${of_release[@]}" depends --recurse --important "$@")
  mapfile -t libraries < <("${all[@]}" | grep -E '^(lib|lua|zlib)' | sort -u)
  set -- "$@" "${libraries[@]}"
fi
apt-get "${of_release[@]}" download "$@"
for package in ./*.deb; do dpkg -x "$package" "$folder"; done
