#!/bin/sh
# What Tab makes of a line in a real shell: options, their values, and commands, keys, cards and models inside -e.
#
#     completions.sh BUILD bash|zsh|fish
set -eu
build=$(cd "$1" && pwd)
shell=$2
command -v "$shell" >/dev/null || { echo "skipped: no $shell"; exit 77; }
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT
export PATH="$build:$PATH" HOME="$to" XDG_CONFIG_HOME="$to" XDG_STATE_HOME="$to" XDG_DATA_HOME="$to" TERM=dumb MFUPLAN_CALIBRATIONS=

# The candidates of its last word; of a shell that only completes, the word.
cat >"$to/bash" <<'END'
. "$1/mfuplan"
compopt() { :; }
eval "COMP_WORDS=($3)"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_mfuplan
printf '%s\n' "${COMPREPLY[@]}"
END
cat >"$to/fish" <<'END'
source $argv[1]/mfuplan.fish
complete -C $argv[2]
END
cat >"$to/zsh" <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT=; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; bindkey '^I' complete-word
show() { print -r -- \"<\$BUFFER>\"; exit }; zle -N show; bindkey '^X^X' show; print REA''DY"
zpty -r shell out '*READY*'
zpty -n -w shell "$2"$'\t\x18\x18'
zpty -r shell out '*<*>*'
print -r -- ${${out##*<}%%>*}
END

# LINE, its last word in bash's quotes, what it becomes
check() {
    case $shell in
    bash) bash "$to/bash" "$build/completions" '' "$2" ;;
    fish) fish --no-config "$to/fish" "$build/completions" "$1" ;;
    zsh) zsh -f "$to/zsh" "$build/completions" "$1" ;;
    esac >"$to/got" 2>&1 || true
    tr '\r\t' '\n\n' <"$to/got" | sed 's/ *$//' | grep -qE -- "(^|['\" ])$3\$" || {
        echo "$shell completes \"$1\" to:" && cat "$to/got"
        exit 1
    }
}
check "mfuplan --no-cal" "mfuplan --no-cal" --no-calibration
check "mfuplan --completion z" "mfuplan --completion z" zsh
check "mfuplan -e 'gpu h100-sxm; set optimizer_in" "mfuplan -e \"'gpu h100-sxm; set optimizer_in\"" 'gpu h100-sxm; set optimizer_in_backward'
check "mfuplan -e 'adv" "mfuplan -e \"'adv\"" advise
check "mfuplan -q -e 'model gpt2-x" "mfuplan -q -e \"'model gpt2-x\"" 'model gpt2-xl'
check "mfuplan -e 'gpu h100-sx" "mfuplan -e \"'gpu h100-sx\"" "gpu h100-sxm(-96gb)?"
[ "$shell" != fish ] || ! fish --no-config "$to/fish" "$build/completions" "mfuplan -e 'adv" | grep -q 'these commands' || {
    echo "the option's meaning stands beside its value" && exit 1
}
