# For a shell on a host, as the body of one command in braces, with `digest`, `bytes`, `name` and `keeps` set before. It starts
# the agent out of the private folder of the login, and asks for the program where that has none.
#
# Nothing is trusted but what only the login and root can write. The folder is held open as 4, so that nobody can put another
# in its place; what runs is the open file 3 whose digest was taken. Only what dash, busybox and ksh have is used: these close
# descriptors above 2 for other programs, which therefore get them by `<&`.
me=$(id -u) cache=$HOME/.cache folder=$HOME/.cache/fathom
at=/proc/self/fd/4
copy=$at/$name seen=$at/$name.seen

lack() { printf '\001fathom lacks\002%s\n' "$(uname -sm)"; }
refuse() {
    echo "fathom refuses: $1" >&2
    exit 92
}
fail() {
    echo "$1" >&2
    exit 91
}

# Mode and owner, links followed.
look() {
    set -- $(ls -ldnL "$1")
    mode=$1 owner=$3
}
# Whether nobody but the owner may write; an access list counts as the group does.
is_closed() { case $mode in ?????-??-*) ;; *) false ;; esac }

[ -d /proc/self/fd ] || {
    lack
    fail "/proc is not there"
}
for above in "$HOME" "$cache"; do
    [ -e "$above" ] || continue
    look "$above"
    case $owner in
    "$me" | 0) ;;
    *) refuse "\`$above\` belongs to user $owner, who could exchange what runs there; the login needs a HOME of its own, as \`sudo -H\` gives it" ;;
    esac
    case $mode in
    # Of others nothing can be removed there.
    d????????[tT]*) ;;
    *) is_closed || refuse "others can write to \`$above\` and exchange what runs there; run \`chmod go-w $above\` on the host" ;;
    esac
done
[ ! -h "$folder" ] || refuse "\`$folder\` is a symbolic link; remove it on the host, and a folder takes its place"
(umask 077 && mkdir -p "$folder") && exec 4<"$folder" || exit 91
look /proc/self/fd/0 <&4
[ "$owner" = "$me" ] || refuse "\`$folder\` belongs to user $owner and not to the login; remove it on the host"
if ! is_closed; then
    chmod 700 $at 4<&4
    look /proc/self/fd/0 <&4
    is_closed || refuse "others can write to \`$folder\`, and \`chmod 700\` does not change that; remove it on the host"
    # Who could write there may still have one of these files open.
    rm -f $at/@HEX@* 4<&4 || refuse "others could write to \`$folder\`, and it cannot be emptied; remove it on the host"
fi

# The digest is taken once per start of the machine: a mark tells of which file it was. Whoever changes the file changes its
# ctime, which only root can set back, and nobody but the login and root writes marks here.
is_right() {
    boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) &&
        file=$(stat -L -c '%d %i %s %y %z' /proc/self/fd/0 2>/dev/null <&3) && now="$boot $file" || now=
    [ -n "$now" ] && [ -f "$seen" ] && grep -qxF "$now" "$seen" 4<&4 && return
    set -- $(sha256sum <&3)
    [ "$1" = "$digest" ] || return 1
    # Homes may be shared by machines, each with a line of its own.
    [ -z "$now" ] || [ -z "$keeps" ] || (umask 077 && echo "$now" >>"$seen")
}
start() {
    [ -f "$copy" ] && [ -r "$copy" ] || return 1
    exec 3<"$copy"
    look /proc/self/fd/0 <&3
    case $mode in -??[xs]*) ;; *) return 1 ;; esac
    is_closed && [ "$owner" = "$me" ] && is_right || return 1
    [ -n "$keeps" ] || rm -f "$copy" "$seen" 4<&4
    exec /proc/self/fd/3 agent 4<&-
}

start
lack
(umask 077 && head -c "$bytes" >"$copy.$$") && chmod 700 "$copy.$$" 4<&4 && mv -f "$copy.$$" "$copy" 4<&4 && start
rm -f "$copy.$$" "$copy" "$seen" 4<&4
fail "the copy is not what was sent"
