#!/bin/sh
# The Debian package as strangers get it: built, unpacked into a new root, and used there, where
# nothing of the clone is named.  Then what lies in it: manual page, completions, licence, schema.
#
#     run.sh BUILD [CLEAN_ROOT]     with CLEAN_ROOT, a bare Debian (debootstrap), apt installs it there
set -eu
build=$(cd "$1" && pwd)
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT
command -v dpkg-shlibdeps >/dev/null || { echo 'skipped: no dpkg-shlibdeps (package dpkg-dev)'; exit 77; }

fail() {
    echo "$*" >&2
    exit 1
}

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$to/built" >"$to/cpack.log" 2>&1 || {
    cat "$to/cpack.log" >&2
    exit 1
}
package=$(echo "$to"/built/*.deb)
dpkg-deb --info "$package" >"$to/info"
# Libraries that were not linked from their archives are needed.
for library in libfyaml libjansson libreadline libc; do
    ldd "$build/mfuplan" | grep -q "$library\.so" || continue
    grep -q "Depends:.*${library}[0-9]" "$to/info" || fail "the package does not depend on $library"
done

dpkg-deb -x "$package" "$to/root"
usr=$to/root/usr
answer() { (cd / && env -i HOME="$to" MFUPLAN_CALIBRATIONS= "$1" --json -e 'gpu rtx4070; model gpt2; set batch 8; print step_time_s'); }
answer "$usr/bin/mfuplan" >"$to/packaged"
answer "$build/mfuplan" >"$to/here"
tail -1 "$to/here" | grep -q '"value":[0-9.]*[1-9]' || fail 'the program plans nothing'
[ "$(tail -1 "$to/packaged")" = "$(tail -1 "$to/here")" ] || fail 'the packaged program plans otherwise'
grep -q "\"path\":\"$usr/share/mfuplan/models/gpt2.yaml\"" "$to/packaged" || fail 'its models are not those of the package'

# The published runs are the package's; a program that is alone says which file it lacks.
(cd / && "$usr/bin/mfuplan" -e 'import published nanogpt-0002' >"$to/run") || fail 'the package has no published runs'
cp "$usr/bin/mfuplan" "$to/alone"
! (cd / && "$to/alone" -e 'import published nanogpt-0002') 2>"$to/run" || fail 'a program alone has published runs'
grep -q '^mfuplan: examples/measured/published.csv: ' "$to/run" || fail "a program alone says: $(cat "$to/run")"

for file in share/man/man1/mfuplan.1 share/mfuplan/schema.json share/doc/mfuplan/LICENSE \
    share/bash-completion/completions/mfuplan share/zsh/site-functions/_mfuplan \
    share/fish/vendor_completions.d/mfuplan.fish; do
    [ -s "$usr/$file" ] || fail "the package lacks $file"
done

# The manual names every option, command and setting that the program knows.
manual=$usr/share/man/man1/mfuplan.1
"$usr/bin/mfuplan" --help | sed -n 's/^  .\{4\}--\([a-z-]*\).*/\1/p' >"$to/options"
[ "$(wc -l <"$to/options")" -gt 10 ] || fail '--help lists no options'
while read -r option; do
    grep -q -- "\\\\-\\\\-$(echo "$option" | sed 's/-/\\\\-/g')" "$manual" || fail "the manual lacks --$option"
    grep -q -- "--$option" "$usr/share/bash-completion/completions/mfuplan" || fail "bash does not complete --$option"
    grep -q -- "--$option" "$usr/share/zsh/site-functions/_mfuplan" || fail "zsh does not complete --$option"
    grep -q -- "-l $option" "$usr/share/fish/vendor_completions.d/mfuplan.fish" || fail "fish does not complete --$option"
done <"$to/options"
if command -v mandoc >/dev/null; then
    mandoc -Tlint -Werror "$manual" || fail 'mandoc finds errors in the manual'
fi

# Position independent, relocations read-only, the stack not executable.
if command -v readelf >/dev/null; then
    readelf -d "$usr/bin/mfuplan" | grep -q 'BIND_NOW' || fail 'the program is not linked with -z now'
    readelf -d "$usr/bin/mfuplan" | grep -q 'Flags:.* PIE' || fail 'the program is not position independent'
    readelf -lW "$usr/bin/mfuplan" | grep -q GNU_RELRO || fail 'the program is not linked with -z relro'
    readelf -lW "$usr/bin/mfuplan" | grep -q 'GNU_STACK.*RW ' || fail 'the stack is executable'
fi

[ $# -gt 1 ] || exit 0
cp "$package" "$2/tmp/mfuplan.deb"
chroot "$2" sh -ec 'apt-get -qq install -y --no-install-recommends /tmp/mfuplan.deb >/dev/null
    mfuplan -e "gpu rtx4070; model gpt2; set batch 8; plan"
    dpkg -r mfuplan >/dev/null
    [ ! -e /usr/bin/mfuplan ]'
