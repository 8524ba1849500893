#!/bin/bash
# Starts and stops a Slurm of one node on localhost, as root, without systemd. Needs the
# packages slurm-wlm and munge.
#
#   slurm.sh up DIR      starts it and prints the path for SLURM_CONF
#   slurm.sh down DIR    stops what up has started
set -euo pipefail

command=$1
dir=$(mkdir -p "$2" && cd "$2" && pwd)
export SLURM_CONF=$dir/slurm.conf

# free says whether nothing listens on a port of this machine.
free() {
	! (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

up() {
	local host port
	host=$(hostname -s)
	install -d -o munge -g munge -m 755 /run/munge
	install -d -o munge -g munge -m 700 /var/log/munge /var/lib/munge
	if ! pgrep -x munged >/dev/null; then
		runuser -u munge -- /usr/sbin/munged
		touch "$dir/munged"
	fi
	mkdir -p "$dir/state" "$dir/spool"
	# Below 32768, where the kernel takes the ports of clients from.
	port=$((20000 + $$ % 10000))
	until free "$port" && free $((port + 1)); do
		port=$((port + 2))
	done
	# Four tasks on fewer cores: the node pretends to have eight.
	cat >"$SLURM_CONF" <<-CONF
		ClusterName=ci
		SlurmctldHost=$host(127.0.0.1)
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		CredType=cred/munge
		MpiDefault=none
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		SchedulerType=sched/backfill
		ReturnToService=2
		SlurmctldPort=$port
		SlurmdPort=$((port + 1))
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/slurmd.pid
		SlurmctldLogFile=$dir/slurmctld.log
		SlurmdLogFile=$dir/slurmd.log
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool
		SlurmdParameters=config_overrides
		NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
		PartitionName=ci Nodes=$host Default=YES MaxTime=10 State=UP OverSubscribe=YES
	CONF
	echo "CgroupAutomount=no" >"$dir/cgroup.conf"
	slurmctld -i >&2
	slurmd >&2
	for _ in $(seq 100); do
		if sinfo -h -o %t 2>/dev/null | grep -qx idle; then
			echo "$SLURM_CONF"
			return
		fi
		sleep 0.1
	done
	sinfo >&2 || true
	tail -n 5 "$dir"/*.log >&2
	return 1
}

down() {
	local pid
	for pid in "$dir"/slurmctld.pid "$dir"/slurmd.pid; do
		[ ! -f "$pid" ] || kill "$(cat "$pid")" || true
	done
	[ -f "$dir/munged" ] || return 0
	pid=$(pgrep -x munged) || return 0
	kill "$pid" || true
	for _ in $(seq 100); do # the next start must not meet it
		kill -0 "$pid" 2>/dev/null || return 0
		sleep 0.1
	done
}

case $command in
up) up ;;
down) down ;;
*)
	echo "slurm.sh: up or down" >&2
	exit 2
	;;
esac
