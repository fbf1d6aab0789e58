package assumption

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Node is a node with assumptions.
type Node struct {
	name         string
	reported     *model.Node // nil if unknown
	expiry       [model.NumPressures]time.Time
	lastEviction [model.NumPressures]time.Time
	corrections  []correction
}

// New returns a node without assumptions. reported is the node as reported, or nil if it is unknown.
func New(name string, reported *model.Node) *Node { return &Node{name: name, reported: reported} }

// Name returns the node's name.
func (n *Node) Name() string { return n.name }

// Reported returns the node as reported, or nil.
func (n *Node) Reported() *model.Node { return n.reported }

// SetReported stores the node as reported.
func (n *Node) SetReported(r *model.Node) { n.reported = r }

// AddPressure assumes a pressure after an eviction at the given time. It reports whether the eviction is
// newer than all earlier ones.
func (n *Node) AddPressure(p model.Pressure, evicted, until time.Time) bool {
	if !evicted.After(n.lastEviction[p]) {
		return false
	}
	n.lastEviction[p], n.expiry[p] = evicted, until
	return true
}

// NextExpiry returns when the first assumption expires.
func (n *Node) NextExpiry() (expiry time.Time) {
	for _, end := range n.expiry {
		if !end.IsZero() && (expiry.IsZero() || end.Before(expiry)) {
			expiry = end
		}
	}
	for i := range n.corrections {
		if end := n.corrections[i].expires; expiry.IsZero() || end.Before(expiry) {
			expiry = end
		}
	}
	return expiry
}

// Expire drops assumptions that expired or that the node's conditions replace. It reports whether any
// remains. A condition that is True replaces an assumption only once its taint exists.
func (n *Node) Expire(now time.Time) bool {
	pending := false
	for k := range n.expiry {
		replaced := false
		if n.reported != nil {
			c := &n.reported.Pressures[k]
			replaced = c.Written.After(n.lastEviction[k]) && (!c.True || slices.Contains(n.reported.Taints, model.Pressure(k).Taint()))
		}
		if replaced || !n.expiry[k].After(now) {
			n.expiry[k] = time.Time{}
		}
		pending = pending || !n.expiry[k].IsZero()
	}
	n.expireCorrections(now)
	return pending || len(n.corrections) > 0
}

// Assumed returns the reported node with the assumed taints and corrections.
func (n *Node) Assumed() *model.Node {
	out := *n.reported
	out.Taints = slices.Clone(out.Taints)
	for k, end := range n.expiry {
		if t := model.Pressure(k).Taint(); !end.IsZero() && !slices.Contains(out.Taints, t) {
			out.Taints = append(out.Taints, t)
		}
	}
	n.applyCorrections(&out)
	return &out
}
