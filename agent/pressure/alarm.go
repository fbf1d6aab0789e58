package pressure

import (
	"errors"
	"time"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/engine/pressure"
)

// setAlarm sets the alarm that the kernel offers. Without one the clock does it
// all.
func (s *Shell) setAlarm() {
	if s.opts.NoAlarm || len(s.needs.memory) == 0 {
		return
	}
	capacity, err := s.figures.Memory(&s.memory)
	if err == nil {
		err = s.alarmAt(capacity)
	}
	if err != nil {
		s.opts.Log.Error(err, "Memory is watched by the clock alone")
	}
}

func (s *Shell) alarmAt(capacity int64) error {
	need := most(s.needs.memory, capacity)
	if need <= 0 || need >= capacity {
		return errors.New("the threshold leaves no memory to use")
	}
	path, levels := s.opts.Cgroup, ladder(capacity, need)
	if s.opts.Host.Mode == cgroup.V2 {
		levels = []int64{capacity - need + slack(need)}
		if path == "/" { // the root has no memory.high
			if err := s.opts.Host.Make(s.opts.Pods, cgroup.Limits{}); err != nil {
				return err
			}
			path = s.opts.Pods
		}
		if s.memory.Usage >= levels[0] { // page cache, mostly; it is moved down later
			levels[0] = s.memory.Usage + slack(need)
		}
	}
	a, err := s.opts.Host.Alarm(path, levels)
	if err == nil {
		s.watch.set(path, a)
	}
	return err
}

// ladder are the levels of usage on version 1: one in good time, so that the
// machine sees memory grow; the threshold itself; and some above, since working set
// may pass the threshold when usage, which has page cache in it, is far above.
func ladder(capacity, need int64) []int64 {
	at := capacity - need
	levels := []int64{max(at-max(need, capacity/16), at/2), at}
	for i := range int64(3) {
		levels = append(levels, at+need*(i+1)/4)
	}
	return levels
}

// slack is how far above the threshold version 2's memory.high is: the kernel holds
// usage there, and the threshold must be passed.
func slack(need int64) int64 { return min(need/16, 4<<20) }

// moveAlarm follows, on version 2, what the pods may use until the node's
// threshold is passed.
func (s *Shell) moveAlarm(now time.Time) {
	a := s.watch.alarm
	if a == nil || !a.Moves() || now.Sub(s.lastTended) < s.opts.Slow {
		return
	}
	s.lastTended = now
	stat := &s.obs.Signals[pressure.MemoryAvailable]
	need := most(s.needs.memory, stat.Capacity)
	usage, level := s.memory.Usage, stat.Capacity-need+slack(need)
	if s.watch.path != s.opts.Cgroup {
		if _, ok, err := s.figures.Allocatable(&s.pods); err != nil || !ok {
			return
		}
		usage = s.pods.Usage
		level = s.pods.WorkingSet() + max(stat.Available-need, 0) + slack(need)
	}
	level = max(level, usage+slack(need))
	if far := level - a.Level(); far > need/16 || far < -need/16 {
		s.fault("alarm", a.Set(level))
	}
}
