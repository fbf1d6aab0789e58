package embedded

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// maxKillRounds bounds the rounds in which new processes of a command appear.
const maxKillRounds = 20

// killCommand kills those processes of a container that belong to a command: its session and
// process group, and their descendants. Daemons that have left all of them stay in the container.
func (r *Runtime) killCommand(group string, child int) {
	sent := map[int]bool{}
	for range maxKillRounds {
		members, err := r.commandProcesses(group, child)
		if err != nil {
			r.log.Error(err, "Failed to list processes of a command", "cgroup", group)
		}
		foundNew := false
		for pid, start := range members {
			if !sent[pid] {
				sent[pid], foundNew = true, true
				killProcess(pid, start)
			}
		}
		if !foundNew {
			return
		}
	}
}

// killProcess kills the process with that ID and start time.
func killProcess(pid int, start string) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if shim.StartTime(pid) == start { // the ID was not reused before it was opened
		_ = unix.PidfdSendSignal(fd, syscall.SIGKILL, nil, 0)
	}
}

// commandProcesses returns the processes of a command that have not exited, with their start times.
func (r *Runtime) commandProcesses(group string, child int) (map[int]string, error) {
	pids, err := r.host.Procs(group)
	stats := map[int]shim.ProcessStat{}
	for _, pid := range pids {
		if s, ok := shim.ReadStat(pid); ok && s.State != 'Z' && s.State != 'X' {
			stats[pid] = s
		}
	}
	members := map[int]string{}
	for previous := -1; previous != len(members); { // until no descendant is added
		previous = len(members)
		for pid, s := range stats {
			_, isChild := members[s.Parent]
			if pid == child || s.Group == child || s.Session == child || isChild {
				members[pid] = s.Start
			}
		}
	}
	return members, err
}
