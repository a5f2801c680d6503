#!/usr/bin/env bash
# Several hosts on this machine: network namespaces on a bridge; needs root and iproute2.
# Usage: bash tests/hosts.sh up NAME SUBNET N | cut NAME I | heal NAME I | down NAME N
# Host I is the namespace NAME-I with the address SUBNET.I, as 10.77.0.1; this machine is SUBNET.254.
set -euo pipefail
name=$2

up() {
    local subnet=$3
    ip link add "$name" type bridge
    ip address add "$subnet.254/24" dev "$name"
    ip link set "$name" up
    for i in $(seq "$4"); do
        ip netns add "$name-$i"
        ip link add "$name-$i" type veth peer name eth0 netns "$name-$i"
        ip link set "$name-$i" master "$name" up
        ip -n "$name-$i" address add "$subnet.$i/24" dev eth0
        ip -n "$name-$i" link set eth0 up
        ip -n "$name-$i" link set lo up
    done
}

cut() {   # silently: whoever is connected to that host is told nothing
    ip link set "$name-$3" down
}

heal() {
    ip link set "$name-$3" up
}

down() {
    for i in $(seq "$3"); do ip netns delete "$name-$i" 2>/dev/null || true; done
    ip link delete "$name" 2>/dev/null || true
}

"$1" "$@"
