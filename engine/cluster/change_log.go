package cluster

// changeLog is a log of changed nodes. Positions only increase; trimming does not change
// them. A reader stores the position up to which it has read. It may skip entries that are
// not the last of their node.
type changeLog struct {
	minEntries int   // minimum number of entries before the log is trimmed
	base       int64 // position of entries[0]
	entries    []NodeID
	last       []int64 // by NodeID: position after the node's last entry
	static     []int64 // the same for static changes
}

func (l *changeLog) grow(n int) {
	for len(l.last) < n {
		l.last = append(l.last, 0)
		l.static = append(l.static, 0)
	}
}

// log records a change of a node: of its usage or a counter, or, with static, of its
// labels, taints, allocatable resources or existence.
func (l *changeLog) log(id NodeID, static bool) {
	if len(l.entries) >= max(4*len(l.last), l.minEntries) {
		half := len(l.entries) / 2
		n := copy(l.entries, l.entries[half:])
		l.entries = l.entries[:n]
		l.base += int64(half)
	}
	l.entries = append(l.entries, id)
	l.last[id] = l.LogEnd()
	if static {
		l.static[id] = l.LogEnd()
	}
}

// logUncounted logs a change of pods on a node that changes no counter, such as readiness.
func (x *Index) logUncounted(id NodeID) {
	if x != nil {
		x.log(id, false)
	}
}

// LogEnd returns the position after the last entry.
func (l *changeLog) LogEnd() int64 { return l.base + int64(len(l.entries)) }

// Log returns the entries from a position on. ok is false if they were trimmed.
func (l *changeLog) Log(from int64) (entries []NodeID, ok bool) {
	if from < l.base {
		return nil, false
	}
	return l.entries[from-l.base:], true
}

// IsLast reports whether the entry at a position is the last of its node.
func (l *changeLog) IsLast(id NodeID, position int64) bool { return l.last[id] == position+1 }

// StaticChangedSince reports whether a node had a static change at or after a position.
func (l *changeLog) StaticChangedSince(id NodeID, from int64) bool { return l.static[id] > from }
