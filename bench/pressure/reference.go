package main

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
)

// reference samples the usage of a cgroup more often than any watcher.
type reference struct {
	crossed   atomic.Int64 // Unix time in ns at which usage first exceeded the level; 0 if never
	recovered atomic.Int64 // Unix time in ns at which usage was first at or below the level afterwards; 0 if never
	peak      atomic.Int64 // maximum usage in bytes
	rate      atomic.Int64 // bytes/s during the 100 ms before the crossing
	stop      chan struct{}
	done      chan struct{}
}

const sampleInterval = 500 * time.Microsecond

// startReference samples the usage of the cgroup path. level is the usage, in bytes, at which the threshold is
// crossed.
func startReference(h *cgroup.Host, path string, level int64) (*reference, error) {
	g, err := h.Open(path)
	if err != nil {
		return nil, err
	}
	r := &reference{stop: make(chan struct{}), done: make(chan struct{})}
	go r.run(g, level)
	return r, nil
}

// sample is a usage in bytes and its Unix time in ns.
type sample struct{ at, usage int64 }

func (r *reference) run(g *cgroup.Group, level int64) {
	defer close(r.done)
	defer g.Close()
	runtime.LockOSThread() // not unlocked: the thread ends with the goroutine, because its priority is raised
	raisePriority()
	var history [200]sample // 100 ms
	sleep := unix.NsecToTimespec(sampleInterval.Nanoseconds())
	for i := 0; ; i++ {
		select {
		case <-r.stop:
			return
		default:
		}
		usage, err := g.Usage()
		now := time.Now().UnixNano()
		if err == nil {
			r.record(now, usage, level, history[(i+1)%len(history)])
			history[i%len(history)] = sample{now, usage}
		}
		_ = unix.Nanosleep(&sleep, nil)
	}
}

// record records a usage. oldest is the sample of 100 ms before, if there is one.
func (r *reference) record(now, usage, level int64, oldest sample) {
	r.peak.Store(max(r.peak.Load(), usage))
	switch {
	case r.crossed.Load() == 0 && usage > level:
		r.crossed.Store(now)
		if oldest.at > 0 {
			r.rate.Store(int64(float64(usage-oldest.usage) / float64(now-oldest.at) * 1e9))
		}
	case r.crossed.Load() != 0 && r.recovered.Load() == 0 && usage <= level:
		r.recovered.Store(now)
	}
}

func (r *reference) close() {
	close(r.stop)
	<-r.done
}

// raisePriority sets the policy SCHED_FIFO for this thread, or the highest priority if that is not allowed.
func raisePriority() {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 10}
	if unix.SchedSetAttr(0, &attr, 0) != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
	}
}
