#!/bin/sh
# Runs before a package is removed, and not before an upgrade: takes the hooks that run its
# programs out of the settings of everybody here, so that no agent calls a program that is gone.
case ${1:-} in
upgrade | failed-upgrade | [1-9]) exit 0 ;; # as dpkg and rpm say it
esac
{ getent passwd || cat /etc/passwd; } 2>/dev/null | while IFS=: read -r user _ uid _ _ home _; do
	[ "$uid" = 0 ] || { [ "$uid" -ge 1000 ] && [ "$uid" -lt 65534 ]; } || continue
	[ -d "$home" ] || continue
	export HOME="$home"
	su -s /bin/sh "$user" -c "exec env -i HOME=\"\$HOME\" PATH=/usr/bin:/bin /usr/bin/gt-hooks uninstall --all --own" </dev/null 2>&1 |
		sed -n "/ removed \| error: /s/^/gt: $user: /p"
done
exit 0
