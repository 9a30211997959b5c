#!/bin/sh
# Includes point one way, towards base: a folder of src/ uses itself and what
# stands before it in the list.
#
#     layers.sh SRC
layers="base descriptor scenario parallel kernel graph cost simulate plan read answer report repl"
below=""
status=0
for layer in $layers; do
    below="$below $layer"
    for file in $(find "$1/$layer" -name "*.[ch]" 2>/dev/null); do
        [ -e "$file" ] || continue
        for used in $(sed -n 's|^ *# *include "\([^"/]*\)/.*|\1|p' "$file" | sort -u); do
            case " $below " in
            *" $used "*) ;;
            *) echo "$file: '$layer' must not include '$used'"; status=1 ;;
            esac
        done
    done
done
for folder in "$1"/*/; do
    case " $layers " in
    *" $(basename "$folder") "*) ;;
    *) echo "$folder is in no layer"; status=1 ;;
    esac
done
exit $status
