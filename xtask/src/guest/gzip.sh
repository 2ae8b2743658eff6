#!/bin/sh
# Is a file safe once gzip has ended? Without --synchronous it removes its input before the output is on the drive. The
# machine goes on for longer than ext4 waits with a commit, which is when the input is gone and the output is not there.
# FLAGS are the words behind `fill`.
case $1 in
fill)
    shift
    head -c 3000000 /dev/urandom >input && sync && gzip -1 "$@" input && echo done && sleep 12
    ;;
check) [ ! -s "$ASSAY_ACKNOWLEDGED" ] || [ -f input ] || gzip -t input.gz ;;
esac
