#!/bin/sh
# Process 1 of the Soft-RoCE guest. The kernel's command line has ip=ADDRESS/PREFIX and mtu=BYTES.
export PATH=/bin:/usr/bin PYTHONPATH=/usr/lib/python3/dist-packages
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
while read -r module; do
    insmod "/modules/$module.ko" || echo "module $module failed"
done </modules/order
for word in $(cat /proc/cmdline); do
    case $word in
    guest.ip=*) address=${word#*=} ;;
    guest.mtu=*) mtu=${word#*=} ;;
    esac
done
# busybox's shell has an applet of the same name.
/bin/ip link set lo up
/bin/ip link set eth0 mtu "$mtu" up
/bin/ip addr add "$address" dev eth0
rdma link add rxe0 type rxe netdev eth0
ulimit -l unlimited
stty -F /dev/ttyS1 raw -echo
python3.11 -u /agent.py </dev/ttyS1 >/dev/ttyS1
poweroff -f
