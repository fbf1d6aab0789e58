package pods

import (
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// oomKillLog records the containers in which the kernel's OOM killer has killed a process. The line
// of each kill in /dev/kmsg names the process's cgroup. On cgroup v1 the cgroup no longer exists
// when the exit of the container is handled. The log is read only on demand.
type oomKillLog struct {
	mu         sync.Mutex
	fd         int
	readable   bool
	containers map[string]bool // by ID
}

// start opens /dev/kmsg at its end. If that fails, the Runner detects OOM kills only with cgroup counters.
func (l *oomKillLog) start(log klog.Logger) {
	l.containers = map[string]bool{}
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Seek(fd, 0, unix.SEEK_END)
	}
	if err != nil {
		log.Info("Cannot read the kernel log, detecting OOM kills only through cgroups", "err", err.Error())
		return
	}
	l.fd, l.readable = fd, true
}

func (l *oomKillLog) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readable {
		unix.Close(l.fd)
		l.readable = false
	}
}

// maxRecordedKills bounds the containers that are recorded but never queried.
const maxRecordedKills = 4096

// consume reports whether the OOM killer has killed a process of the container, and deletes the
// record.
func (l *oomKillLog) consume(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drain()
	killed := l.containers[id]
	delete(l.containers, id)
	return killed
}

// add records a kill that was detected by other means.
func (l *oomKillLog) add(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.containers[id] = true
}

// drain reads the lines that were logged since the last call.
func (l *oomKillLog) drain() {
	if !l.readable {
		return
	}
	line := make([]byte, 8192)
	for {
		n, err := unix.Read(l.fd, line)
		switch {
		case err == unix.EPIPE || err == unix.EINTR: // EPIPE: lines were overwritten before they were read
			continue
		case err != nil || n == 0:
			return
		}
		if id := killedContainerID(string(line[:n])); id != "" {
			if len(l.containers) >= maxRecordedKills {
				clear(l.containers)
			}
			l.containers[id] = true
		}
	}
}

// killedContainerID returns the ID of the container for which a kernel log line reports an OOM kill,
// or "".
func killedContainerID(line string) string {
	_, after, ok := strings.Cut(line, "task_memcg=")
	if !ok {
		return ""
	}
	group, _, _ := strings.Cut(after, ",")
	for part := range strings.SplitSeq(group, "/") {
		part = strings.TrimSuffix(strings.TrimPrefix(part, "cri-containerd-"), ".scope")
		if len(part) == containerIDLength && strings.Trim(part, "0123456789abcdef") == "" {
			return part
		}
	}
	return ""
}

const containerIDLength = 64

// recordOOMKill checks the container's cgroup after the runtime reported an OOM kill. The runtime
// may report it for all containers of a node, and the cgroup exists only for a short time.
func (r *Runner) recordOOMKill(c *run) {
	if n := r.oomKillCount(path.Join(Cgroup(r.opts.CgroupRoot, c.pod.latest()), c.id)); n > 0 {
		r.oomLog.add(c.id)
	}
}

// oomKillCount returns the number of OOM kills in a cgroup, or 0 if it cannot be read.
func (r *Runner) oomKillCount(group string) int64 {
	if r.opts.Cgroups == nil {
		return 0
	}
	return r.opts.Cgroups.OOMKills(group)
}

// wasOOMKilled reports whether there is evidence of an OOM kill in a container that ended with
// SIGKILL. Evidence is in the kernel's log, in the container's cgroup, or on cgroup v2 a new
// kill in the pod's cgroup. p.mu must be held.
func (r *Runner) wasOOMKilled(p *pod, id string) bool {
	group := Cgroup(r.opts.CgroupRoot, p.object)
	inPod := r.oomKillCount(group)
	podCountGrew := inPod > p.oomKills
	p.oomKills = max(p.oomKills, inPod)
	return r.oomLog.consume(id) || r.oomKillCount(path.Join(group, id)) > 0 || podCountGrew
}

// resetOOMKillCount ignores all kills that the pod's cgroup has counted so far, so that they are
// not attributed to a later exit.
func (p *pod) resetOOMKillCount() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.oomKills = max(p.oomKills, p.runner.oomKillCount(Cgroup(p.runner.opts.CgroupRoot, p.object)))
}
