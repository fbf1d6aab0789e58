package cluster

// changeLog is the log of changed nodes. Positions are absolute: they grow for
// ever and survive trimming. A reader remembers the end up to which it has
// read; it may skip entries that are not the last of their node.
type changeLog struct {
	keep    int   // how many entries there may be, at least
	base    int64 // the position of entries[0]
	entries []NodeID
	last    []int64 // by NodeID: position after the node's last entry
	static  []int64 // the same, of entries that changed what the node is
}

func (l *changeLog) grow(n int) {
	for len(l.last) < n {
		l.last = append(l.last, 0)
		l.static = append(l.static, 0)
	}
}

// log notes that a node has changed: its usage or counters around it, or with
// static also what it is (labels, taints, allocatable, its existence).
func (l *changeLog) log(id NodeID, static bool) {
	if len(l.entries) >= max(4*len(l.last), l.keep) {
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

// logUncounted logs that pods on a node, or nominated to it, are no longer what they were in
// ways that nothing counts: when they started, whether they are ready.
func (x *Index) logUncounted(id NodeID) {
	if x != nil {
		x.log(id, false)
	}
}

// LogEnd is the position after the last entry.
func (l *changeLog) LogEnd() int64 { return l.base + int64(len(l.entries)) }

// Log are the entries from a position on. ok is false when they are gone.
func (l *changeLog) Log(from int64) (entries []NodeID, ok bool) {
	if from < l.base {
		return nil, false
	}
	return l.entries[from-l.base:], true
}

// IsLast says whether the entry at a position is its node's last.
func (l *changeLog) IsLast(id NodeID, at int64) bool { return l.last[id] == at+1 }

// StaticChangedSince says whether what the node is has changed at or after a position.
func (l *changeLog) StaticChangedSince(id NodeID, from int64) bool { return l.static[id] > from }
