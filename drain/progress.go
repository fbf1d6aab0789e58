package drain

import (
	"fmt"

	"github.com/berthproject/berth/engine/evacuation"
)

// progressLog is the last message per pod.
type progressLog struct{ last map[string]string }

// report emits a line for each pod whose progress has changed.
func (l *progressLog) report(m *evacuation.Drain, emit func(string)) {
	if l.last == nil {
		l.last = map[string]string{}
	}
	moves := m.Moves()
	n := 0
	for _, x := range moves {
		if x.Evicted() && (x.Deleted() || !x.AlreadyTerminating()) {
			n++
		}
	}
	for _, x := range moves {
		s := describeProgress(x)
		if s == "" || l.last[x.Pod.UID] == s {
			continue
		}
		l.last[x.Pod.UID] = s
		emit(fmt.Sprintf("[%d/%d] %s", n, len(moves), s))
	}
}

// describeProgress describes the progress of a pod in a line; it is empty before its first
// check.
func describeProgress(x *evacuation.Move) string {
	name, r := x.Pod.Key(), x.Replacement
	switch {
	case !x.Evicted() && x.Block != nil && x.Block.Kind != evacuation.ByWorkload:
		return name + " is blocked: " + x.Block.Describe()
	case !x.Evicted():
		return ""
	case x.AlreadyTerminating() && x.Deleted():
		return name + " is deleted (was already terminating)"
	case x.AlreadyTerminating():
		return name + " is already terminating"
	case r != nil && r.Ready:
		return fmt.Sprintf("%s is replaced by %s, Ready on %s", name, r.Key(), r.NodeName)
	case r != nil && r.NodeName != "":
		return fmt.Sprintf("%s is replaced by %s, starting on %s", name, r.Key(), r.NodeName)
	case r != nil && r.UnschedulableReason != "":
		return fmt.Sprintf("%s is replaced by %s, which is unscheduled", name, r.Key())
	case x.Stage == evacuation.Finished:
		return name + " is deleted"
	}
	return name + " is evicted"
}
