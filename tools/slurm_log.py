"""Make the log of a real Slurm controller over made-up nodes: `python3 tools/slurm_log.py OUT`, as root, half an hour.

Real are slurmctld, slurmd and slurmdbd, their schedulers, limits and accounting; one machine plays all nodes, GPUs are
empty files, jobs are `sleep`. OUT gets the files of docs/traces.md, submissions, the controller's log and by the minute
queue, priorities and shares. The site is what stands in capitals below: change it. Debian has slurmctld slurmd slurmdbd
slurm-client munge mariadb-server libnss-wrapper. Ports are on 127.0.0.1, users exist for these processes alone.
"""

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PORT, UID, SEED, JOBS_S, DRAIN_S = 24000, 20000, 1, 1200, 420
SLURM = """
SelectType=select/cons_tres
AccountingStorageTRES=gres/gpu,gres/gpu:a100,gres/gpu:l40s
AccountingStorageEnforce=associations,limits,qos
SchedulerParameters=bf_interval=10,bf_window=60,bf_continue
PriorityType=priority/multifactor
PriorityDecayHalfLife=00:10:00
PriorityCalcPeriod=00:01:00
PriorityWeightFairshare=4000
PriorityWeightQOS=2000
NodeName=a100-[01-04] CPUs=64 RealMemory=512000 Weight=2 Gres=gpu:a100:8
NodeName=l40s-[01-04] CPUs=48 RealMemory=384000 Weight=1 Gres=gpu:l40s:4
PartitionName=main Nodes=a100-[01-04],l40s-[01-04] Default=YES MaxTime=30 DefaultTime=10 DefMemPerCPU=4000
PartitionName=short Nodes=a100-04,l40s-[03-04] MaxTime=4 DefaultTime=2 DefMemPerCPU=4000 PriorityTier=3
"""
ACCOUNTS = """
modify qos normal set Priority=10 MaxTRESPU=gres/gpu=16
add qos high Priority=100 MaxTRESPU=gres/gpu=8
add account vision fairshare=30
add account physics fairshare=10 GrpTRES=gres/gpu=20
add user ada,ben account=vision fairshare=2 qos=normal,high defaultqos=normal
add user cara,dan account=physics qos=normal,high defaultqos=normal
"""
# How many, users, options, GPUs (one is drawn), median of the seconds.
KINDS: dict[str, tuple[int, str, str, list[str], float]] = {
    "wide": (65, "ada ben", "--account=vision", ["a100:2", "a100:4", "a100:8", "4"], 70),
    "small": (190, "ada cara dan", "", ["1", "1", "2", "l40s:2"], 60),
    "urgent": (60, "ben cara", "--partition=short", ["1", "2"], 30),
    "high": (40, "ada dan", "--qos=high", ["2", "a100:4"], 60),
    "array": (12, "cara dan", "--account=physics --array=1-8%2", ["1"], 50),
    "no GPU": (40, "ben dan", "", ["0"], 60),
}
COMMANDS = {
    1: "scontrol create reservation Reservation=fan Start=now+600 Duration=5 Nodes=a100-01 Users=root Flags=MAINT",
    300: "scontrol update NodeName=l40s-02 State=DRAIN Reason=fan",
    600: "scontrol update NodeName=l40s-02 State=RESUME",
}
DUMPS = {
    "sacct": "sacct -a -X -D -S {since} --parsable2 --format=JobID,User,Account,Partition,QOS,Submit,Eligible,Start,"
    "End,Elapsed,Timelimit,State,Reason,NNodes,NodeList,AllocTRES,ReqTRES,Constraints,Reservation,Priority,Flags,"
    "SubmitLine",
    "nodes": "scontrol show nodes",
    "partitions": "scontrol show partitions",
    "config": "scontrol show config",
    "assoc": "sacctmgr -P show assoc tree",
    "qos": "sacctmgr -P show qos",
    "events": "sacctmgr -P show event Start={since} format=NodeName,ClusterNodes,TimeStart,TimeEnd,State",
    "reservations": "sacctmgr -P show reservation Start={since} format=Name,Start,End,NodeNames,Flags",
}
BY_THE_MINUTE = {
    "squeue": "squeue -r -o %i|%P|%q|%u|%a|%T|%r|%V|%S|%l|%D|%C|%b|%Q|%E|%N",
    "sprio": "sprio -l",
    "sshare": "sshare -a -l -P",
}
OUT, HOST = Path(sys.argv[1]).resolve(), os.uname().nodename.split(".")[0]
CONF = f"""
ClusterName=made; SlurmUser=root; SlurmctldHost={HOST}(127.0.0.1); SlurmctldPort={PORT}; GresTypes=gpu
AuthInfo=socket={OUT}/munge/socket; CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={OUT}/state; SlurmdSpoolDir={OUT}/spool/%n; SlurmctldPidFile={OUT}/slurmctld.pid
SlurmdPidFile={OUT}/spool/%n.pid; SlurmctldLogFile={OUT}/slurmctld.log; SlurmdLogFile={OUT}/spool/%n.log
DebugFlags=Backfill; ProctrackType=proctrack/linuxproc; SwitchType=switch/none
SlurmdParameters=config_overrides; ReturnToService=2; AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1; AccountingStoragePort={PORT + 1}; AccountingStoragePass={OUT}/munge/socket
"""
DBD = f"""
SlurmUser=root; DbdHost={HOST}; DbdAddr=127.0.0.1; DbdPort={PORT + 1}; AuthInfo=socket={OUT}/munge/socket
CommunicationParameters=NoInAddrAny; StorageType=accounting_storage/mysql; StorageHost=127.0.0.1
StoragePort={PORT + 2}; StorageUser=slurm; StoragePass=slurm; LogFile={OUT}/slurmdbd.log; PidFile={OUT}/slurmdbd.pid
"""
USERS = sorted({user for _, users, *_ in KINDS.values() for user in users.split()})
ENV = os.environ | {"SLURM_CONF": f"{OUT}/slurm.conf", "TZ": "UTC", "LD_PRELOAD": "libnss_wrapper.so"}
ENV |= {"NSS_WRAPPER_PASSWD": f"{OUT}/passwd", "NSS_WRAPPER_GROUP": f"{OUT}/group"}
daemons: list[subprocess.Popen[bytes]] = []


def run(*command: str, user: str | None = None) -> str:
    """What a command printed, its errors too."""
    uid = UID + USERS.index(user) if user else None
    done = subprocess.run(command, env=ENV, user=uid, group=uid, cwd="/", text=True, capture_output=True)
    return done.stdout + done.stderr


def write(folder: str, prefix: str, commands: dict[str, str]) -> None:
    for name, command in commands.items():
        (OUT / folder / f"{prefix}{name}.txt").write_text(run(*command.split()))


def daemon(*command: str) -> None:
    with (OUT / "daemons.log").open("ab") as log:
        daemons.append(subprocess.Popen(command, env=ENV, stdout=log, stderr=log))


def until(what: str, ready: Callable[[], bool]) -> None:
    end = time.time() + 90
    while not ready():
        if time.time() > end:
            raise TimeoutError(f"{what}: not ready after 90 s, see {OUT}/*.log")
        time.sleep(0.5)


def start() -> None:
    """Files, key, database, accounting, controller, nodes; then accounts (TRES are known once a controller ran)."""
    for folder in ("munge", "db", "state", "spool", "minutes"):
        (OUT / folder).mkdir(parents=True)
    for name, rest in (("passwd", ":{}::/:/bin/sh"), ("group", ":")):
        people = [f"{user}:x:{UID + i}{rest.format(UID + i)}\n" for i, user in enumerate(USERS)]
        (OUT / name).write_text(Path("/etc", name).read_text() + "".join(people))
    conf = CONF.replace("; ", "\n")
    (OUT / "slurm.conf").write_text(conf)  # for scontrol, which knows no nodes yet
    nodes: list[str] = []
    gres = ""
    for line in SLURM.strip().splitlines():
        if found := re.match(r"NodeName=(\S+)", line):
            first = PORT + 3 + len(nodes)
            nodes += run("scontrol", "show", "hostnames", found[1]).split()
            line += f" NodeAddr=127.0.0.1 Port=[{first}-{PORT + 2 + len(nodes)}]"
            for kind, count in re.findall(r"gpu:(\w+):(\d+)", line):
                gres += f"NodeName={found[1]} Name=gpu Type={kind} File={OUT}/spool/{kind}-[0-{int(count) - 1}]\n"
                for i in range(int(count)):
                    (OUT / f"spool/{kind}-{i}").touch()
        conf += line + "\n"
    (OUT / "slurm.conf").write_text(conf)
    (OUT / "gres.conf").write_text(gres)
    (OUT / "slurmdbd.conf").touch(mode=0o600)
    (OUT / "slurmdbd.conf").write_text(DBD.replace("; ", "\n"))
    (OUT / "munge/key").write_bytes(os.urandom(128))
    (OUT / "munge/key").chmod(0o600)
    files = [f"--{name}-file={OUT}/munge/{name}" for name in ("key", "pid", "log", "seed")]
    daemon("munged", "-F", "--force", f"--socket={OUT}/munge/socket", *files)
    sql = ("mariadb", f"--socket={OUT}/db/socket", "-e")
    home = ("--no-defaults", "--user=root", f"--datadir={OUT}/db")
    run("mariadb-install-db", "--skip-test-db", *home)
    daemon("mariadbd", *home, f"--socket={OUT}/db/socket", "--bind-address=127.0.0.1", f"--port={PORT + 2}")
    until("mariadbd", lambda: run(*sql, "SELECT 1").startswith("1"))
    run(*sql, "CREATE USER slurm@localhost IDENTIFIED BY 'slurm'; GRANT ALL ON *.* TO slurm@localhost")
    daemon("slurmdbd", "-D")
    until("slurmdbd", lambda: "rror" not in run("sacctmgr", "-n", "show", "cluster"))
    run("sacctmgr", "-i", "add", "cluster", "made")
    for qos in re.findall(r"^PartitionName.* QOS=(\S+)", SLURM, re.M):
        run("sacctmgr", "-i", "add", "qos", qos)
    daemon("slurmctld", "-D", "-c")
    for node in nodes:
        daemon("slurmd", "-D", "-N", node)
    until("nodes", lambda: run("sinfo", "-h", "-N", "-o", "%n %T").count(" idle") >= len(nodes))
    for line in ACCOUNTS.strip().splitlines():
        print(line, run("sacctmgr", "-i", *line.split()))


def sbatch(dice: random.Random, kind: str) -> str:
    _, users, options, gpus, median = KINDS[kind]
    user, gpu, seconds = dice.choice(users.split()), dice.choice(gpus), round(5 + median * dice.lognormvariate(0, 0.8))
    options += f" --cpus-per-task={4 * max(1, int(gpu.split(':')[-1]))} --output=/dev/null"
    options += f" --time={1 + round(seconds * dice.uniform(0.9, 4) / 60)}" + f" --gres=gpu:{gpu}" * (gpu != "0")
    return f"{user} {options} {seconds} s: " + run("sbatch", *options.split(), f"--wrap=sleep {seconds}", user=user)


def main() -> None:
    dice = random.Random(SEED)
    todo: list[tuple[float, str]] = [(dice.uniform(0, JOBS_S), kind) for kind in KINDS for _ in range(KINDS[kind][0])]
    todo += [(60.0 * minute, "") for minute in range((JOBS_S + DRAIN_S) // 60)]
    try:
        start()
        begin, since = time.time(), time.strftime("%FT%T", time.gmtime())
        with (OUT / "submissions.txt").open("w") as told:
            for at, what in sorted([*todo, *COMMANDS.items()]):
                time.sleep(max(0.0, begin + at - time.time()))
                if what:
                    print(at, sbatch(dice, what) if what in KINDS else what + run(*what.split()), file=told, flush=True)
                else:
                    write("minutes", f"{at:04.0f}-", BY_THE_MINUTE)
        write(".", "", {name: command.format(since=since) for name, command in DUMPS.items()})
        for state in ("PENDING", "RUNNING"):
            run("scancel", f"--state={state}")
        until("the last job's end", lambda: not run("squeue", "-h"))
    finally:
        for one in reversed(daemons):
            one.terminate()
            one.wait()


if __name__ == "__main__":
    main()
