package preemption

import "github.com/berthproject/berth/engine/cluster"

// dirtyLog logs the nodes whose results may have changed because of their pods or a budget.
// Positions are absolute.
type dirtyLog struct {
	base    int64
	entries []cluster.NodeID
	last    []int64 // by NodeID: position after the node's last entry
}

// reset empties the log and invalidates all positions.
func (d *dirtyLog) reset(nodes int) {
	d.base = d.end() + 1
	d.entries = d.entries[:0]
	d.grow(nodes)
}

func (d *dirtyLog) grow(nodes int) {
	for len(d.last) < nodes {
		d.last = append(d.last, 0)
	}
}

func (d *dirtyLog) end() int64 { return d.base + int64(len(d.entries)) }

func (d *dirtyLog) add(id cluster.NodeID) {
	d.grow(int(id) + 1)
	if len(d.entries) >= 4*len(d.last)+64 {
		half := len(d.entries) / 2
		d.entries = d.entries[:copy(d.entries, d.entries[half:])]
		d.base += int64(half)
	}
	d.entries = append(d.entries, id)
	d.last[id] = d.end()
}

// since returns the entries from a position on; ok is false if they were dropped.
func (d *dirtyLog) since(pos int64) (entries []cluster.NodeID, ok bool) {
	if pos < d.base {
		return nil, false
	}
	return d.entries[pos-d.base:], true
}
