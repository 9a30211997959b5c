#!/bin/sh
# no_device.sh PROGRAM: without a GPU it says why in one sentence and ends with
# 1; a wrong command line ends with 2; no file is left behind.
program=$1
status=0
folder=$(mktemp -d) && cd "$folder" || exit 1
export CUDA_VISIBLE_DEVICES=

# expect STATUS WORDS ARGUMENT...: one line on standard error that holds WORDS.
expect()
{
    wanted=$1 words=$2
    shift 2
    "$program" "$@" >out 2>err
    got=$?
    if [ $got -ne "$wanted" ] || [ "$(wc -l <err)" -ne 1 ] || [ -s out ] || ! grep -q "^mfuplan-calibrate: .*$words" err
    then
        echo "mfuplan-calibrate $*: expected status $wanted and '$words', got $got and:"
        cat out err
        status=1
    fi
    rm -f out err
}

expect 1 'there is no NVIDIA \(driver\|GPU\)\|driver is older'
expect 1 'there is no NVIDIA \(driver\|GPU\)\|driver is older' --quick --probe gemm --output samples.yaml
expect 2 "there is no probe 'gem'" --probe gem
expect 2 'expected a number' --device first
expect 2 "unexpected 'more'" more
expect 1 'No such file' --shapes missing.txt
printf '8192 768\n' >shapes.txt
expect 1 "line 1: expected 'm n k dtype'" --shapes shapes.txt
rm shapes.txt
export RANK=3 WORLD_SIZE=2
expect 1 'RANK and WORLD_SIZE do not say'
export RANK=1
expect 1 'there is no NVIDIA \(driver\|GPU\)\|driver is older'
unset RANK WORLD_SIZE
[ -z "$(ls -A)" ] || { echo "files left behind:"; ls -A; status=1; }
cd / && rm -r "$folder"
exit $status
