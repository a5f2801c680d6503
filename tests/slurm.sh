#!/usr/bin/env bash
# A SLURM of its own on this machine, with nodes that share it; needs root, slurm-wlm and munge.
# Usage: NODES=2 CPUS=2 MEMORY=4000 bash tests/slurm.sh start|stop FOLDER; then export SLURM_CONF=FOLDER/slurm.conf
set -euo pipefail
folder=$(realpath -m "$2")
nodes=${NODES:-2} cpus=${CPUS:-2} memory=${MEMORY:-4000}   # processors and MB are made up: nothing is enforced
host=$(hostname -s)
export SLURM_CONF=$folder/slurm.conf

free_ports() {
    python3 - "$1" <<'PYTHON'
import random, socket, sys
from contextlib import suppress

sockets = []
for port in random.sample(range(20_000, 32_768), 1000):  # below those that the system gives to whoever asks for any
    with suppress(OSError):
        sockets.append(socket.create_server(("127.0.0.1", port)))
    if len(sockets) == int(sys.argv[1]):
        break
print(*(s.getsockname()[1] for s in sockets))
PYTHON
}

configure() {
    local ports
    read -ra ports < <(free_ports $((nodes + 1)))
    cat > "$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/socket/munge,cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldPidFile=$folder/state/slurmctld.pid
SlurmdPidFile=$folder/state/slurmd.%n.pid
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.%n.log
SlurmctldTimeout=10
SlurmdTimeout=30
InactiveLimit=0
MinJobAge=300
KillWait=30
Waittime=0
CONF
    for i in $(seq "$nodes"); do
        mkdir -p "$folder/spool/n$i"
        echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[i]} CPUs=$cpus RealMemory=$memory" \
            "State=UNKNOWN" >> "$SLURM_CONF"
    done
    echo "PartitionName=debug Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE State=UP" >> "$SLURM_CONF"
}

start() {
    mkdir -p "$folder"/{state,spool,log,munge,socket}
    chmod 755 "$folder" "$folder/socket"
    chmod 700 "$folder/munge"
    head -c 1024 /dev/urandom > "$folder/munge/key"
    chmod 400 "$folder/munge/key"
    munged --force --key-file="$folder/munge/key" --socket="$folder/socket/munge" --pid-file="$folder/munge/pid" \
        --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" --num-threads=2
    configure
    slurmctld -f "$SLURM_CONF"
    for i in $(seq "$nodes"); do slurmd -f "$SLURM_CONF" -N "n$i"; done
    for _ in $(seq 240); do
        [ "$(sinfo -h -o %T -N 2>/dev/null | grep -cx idle)" -ge "$nodes" ] && return 0
        sleep 0.25
    done
    sinfo || true
    tail -n 5 "$folder"/log/*
    return 1
}

stop() {   # by process id, and waits: whoever called may remove the folder
    if scancel --user "$(id -un)" 2>/dev/null; then
        for _ in $(seq 80); do
            [ -z "$(squeue -h 2>/dev/null)" ] && break
            sleep 0.25
        done
    fi
    local pid pids=()
    for file in "$folder"/state/slurmd.*.pid "$folder/state/slurmctld.pid" "$folder/munge/pid"; do
        [ -s "$file" ] && pids+=("$(cat "$file")")
    done
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for _ in $(seq 20); do
        kill -0 "${pids[@]}" 2>/dev/null || break
        sleep 0.1
    done
    for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
}

"$1"
