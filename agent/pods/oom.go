package pods

import (
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// killLog is what the kernel says of the processes it killed for want of memory: a line of
// /dev/kmsg names the cgroup of each, which on version 1 is gone when the end of its container is seen.
// It is read when somebody asks, so that it costs nothing before.
type killLog struct {
	mu    sync.Mutex
	fd    int
	reads bool
	ids   map[string]bool // of containers
}

// open begins to listen; without /dev/kmsg only cgroups are believed.
func (k *killLog) open(log klog.Logger) {
	k.ids = map[string]bool{}
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Seek(fd, 0, unix.SEEK_END)
	}
	if err != nil {
		log.Info("The kernel's log cannot be read; which containers it killed for want of memory is told by their cgroups alone", "why", err.Error())
		return
	}
	k.fd, k.reads = fd, true
}

func (k *killLog) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reads {
		unix.Close(k.fd)
		k.reads = false
	}
}

// maxKills bounds what is remembered of containers that nobody asks about.
const maxKills = 4096

// killed says whether the kernel has killed in the container, and forgets it.
func (k *killLog) killed(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drain()
	was := k.ids[id]
	delete(k.ids, id)
	return was
}

// add remembers a kill that was seen elsewhere.
func (k *killLog) add(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ids[id] = true
}

// drain reads what was logged since.
func (k *killLog) drain() {
	if !k.reads {
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
		if id := victim(string(line[:n])); id != "" {
			if len(k.ids) >= maxKills {
				clear(k.ids)
			}
			k.ids[id] = true
		}
	}
}

// victim is the container that a line of the kernel's log tells the kill of; empty if it tells of none.
func victim(line string) string {
	_, rest, ok := strings.Cut(line, "task_memcg=")
	if !ok {
		return ""
	}
	group, _, _ := strings.Cut(rest, ",")
	for part := range strings.SplitSeq(group, "/") {
		part = strings.TrimSuffix(strings.TrimPrefix(part, "cri-containerd-"), ".scope")
		if len(part) == idLength && strings.Trim(part, "0123456789abcdef") == "" {
			return part
		}
	}
	return ""
}

// idLength is that of a container's id.
const idLength = 64

// witness looks whether the kernel has killed in a container of which the runtime says so: it
// says so of all containers of a node at once, and the cgroup does not stay for long.
func (r *Runner) witness(c *run) {
	if n := r.kills(path.Join(Cgroup(r.opts.CgroupRoot, c.pod.seen()), c.id)); n > 0 {
		r.kernel.add(c.id)
	}
}

// kills counts those of a cgroup; 0 also where it cannot be read.
func (r *Runner) kills(group string) int64 {
	if r.opts.Cgroups == nil {
		return 0
	}
	return r.opts.Cgroups.OOMKills(group)
}

// oomKilled says whether there is evidence that the kernel killed in a container that ended with
// SIGKILL: the kernel's log, its own cgroup while it is there, or on version 2 a new kill counted in its pod's.
// p.mu is held.
func (r *Runner) oomKilled(p *pod, id string) bool {
	group := Cgroup(r.opts.CgroupRoot, p.object)
	inPod := r.kills(group)
	more := inPod > p.kills
	p.kills = max(p.kills, inPod)
	return r.kernel.killed(id) || r.kills(path.Join(group, id)) > 0 || more
}

// countKills takes those that the pod's cgroup has counted by now as told: they are evidence of no later end.
func (p *pod) countKills() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kills = max(p.kills, p.runner.kills(Cgroup(p.runner.opts.CgroupRoot, p.object)))
}
