package pods

import (
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// oomKillLog is what the kernel says of the processes it killed for want of memory: a line of
// /dev/kmsg names the cgroup of each, which on version 1 is gone when the end of its container is seen.
// It is read when somebody asks, so that it costs nothing before.
type oomKillLog struct {
	mu         sync.Mutex
	fd         int
	readable   bool
	containers map[string]bool // of containers
}

// start begins to listen; without /dev/kmsg only cgroups are believed.
func (k *oomKillLog) start(log klog.Logger) {
	k.containers = map[string]bool{}
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Seek(fd, 0, unix.SEEK_END)
	}
	if err != nil {
		log.Info("The kernel's log cannot be read; which containers it killed for want of memory is told by their cgroups alone", "why", err.Error())
		return
	}
	k.fd, k.readable = fd, true
}

func (k *oomKillLog) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.readable {
		unix.Close(k.fd)
		k.readable = false
	}
}

// maxRecordedKills bounds what is remembered of containers that nobody asks about.
const maxRecordedKills = 4096

// consume says whether the kernel has killed in the container, and forgets it.
func (k *oomKillLog) consume(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drain()
	was := k.containers[id]
	delete(k.containers, id)
	return was
}

// add remembers a kill that was seen elsewhere.
func (k *oomKillLog) add(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.containers[id] = true
}

// drain reads what was logged since.
func (k *oomKillLog) drain() {
	if !k.readable {
		return
	}
	line := make([]byte, 8192)
	for {
		n, err := unix.Read(k.fd, line)
		switch {
		case err == unix.EPIPE || err == unix.EINTR: // some were overwritten before they were read
			continue
		case err != nil || n == 0:
			return
		}
		if id := killedContainerID(string(line[:n])); id != "" {
			if len(k.containers) >= maxRecordedKills {
				clear(k.containers)
			}
			k.containers[id] = true
		}
	}
}

// killedContainerID is the container that a line of the kernel's log tells the kill of; empty if it tells of none.
func killedContainerID(line string) string {
	_, rest, ok := strings.Cut(line, "task_memcg=")
	if !ok {
		return ""
	}
	group, _, _ := strings.Cut(rest, ",")
	for part := range strings.SplitSeq(group, "/") {
		part = strings.TrimSuffix(strings.TrimPrefix(part, "cri-containerd-"), ".scope")
		if len(part) == containerIDLength && strings.Trim(part, "0123456789abcdef") == "" {
			return part
		}
	}
	return ""
}

// containerIDLength is that of a container's id.
const containerIDLength = 64

// recordOOMKill looks whether the kernel has killed in a container of which the runtime says so: it
// says so of all containers of a node at once, and the cgroup does not stay for long.
func (r *Runner) recordOOMKill(c *run) {
	if n := r.oomKillCount(path.Join(Cgroup(r.opts.CgroupRoot, c.pod.latest()), c.id)); n > 0 {
		r.oomLog.add(c.id)
	}
}

// oomKillCount counts those of a cgroup; 0 also where it cannot be read.
func (r *Runner) oomKillCount(group string) int64 {
	if r.opts.Cgroups == nil {
		return 0
	}
	return r.opts.Cgroups.OOMKills(group)
}

// wasOOMKilled says whether there is evidence that the kernel killed in a container that ended with
// SIGKILL: the kernel's log, its own cgroup while it is there, or on version 2 a new kill counted in its pod's.
// p.mu is held.
func (r *Runner) wasOOMKilled(p *pod, id string) bool {
	group := Cgroup(r.opts.CgroupRoot, p.object)
	inPod := r.oomKillCount(group)
	more := inPod > p.oomKills
	p.oomKills = max(p.oomKills, inPod)
	return r.oomLog.consume(id) || r.oomKillCount(path.Join(group, id)) > 0 || more
}

// resetOOMKillCount takes those that the pod's cgroup has counted by now as told: they are evidence of no later end.
func (p *pod) resetOOMKillCount() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.oomKills = max(p.oomKills, p.runner.oomKillCount(Cgroup(p.runner.opts.CgroupRoot, p.object)))
}
