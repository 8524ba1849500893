#!/bin/sh
# Prints the version of this tree. A commit with the tag v1.2.3 is 1.2.3. Any other state is
# 1.2.3-dev+COMMIT, where 1.2.3 is the first heading of CHANGELOG.md: the next release. A changed tree
# is 1.2.3-dev+COMMIT.dirty, and a tree outside git is 1.2.3-dev.
cd "$(dirname "$0")/.." || exit
tag=$(git describe --tags --exact-match --dirty --match 'v[0-9]*' 2>/dev/null)
commit=$(git describe --always --abbrev=10 --dirty=.dirty --exclude '*' 2>/dev/null)
case $tag in
'' | *-dirty)
	next=$(sed -n '/^## [0-9]/ { s/## \([0-9.]*\).*/\1/p; q; }' CHANGELOG.md)
	echo "$next-dev${commit:++$commit}"
	;;
*) echo "${tag#v}" ;;
esac
