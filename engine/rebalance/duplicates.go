package rebalance

import (
	"fmt"
	"slices"
	"strings"
)

// RemoveDuplicates spreads the pods of an owner: of pods with the same owners and the same images no
// node keeps more than the average over the nodes that they can run on, rounded up.
type RemoveDuplicates struct {
	Namespaces Namespaces
	// ExcludeOwnerKinds: pods with an owner of such a kind stay where they are.
	ExcludeOwnerKinds []string
}

// Name is the plugin's in policies.
func (*RemoveDuplicates) Name() string { return "RemoveDuplicates" }

// copyKey is what copies have in common: an owner, and their images in order of name.
type copyKey struct{ namespace, kind, owner, images string }

// copies are the pods of one copyKey.
type copies struct {
	key   copyKey
	pods  []*Pod
	on    []*copiesOn   // nodes with more than one, in order
	count map[*Node]int // copies by now; made when first asked for
}

// copiesOn are copies on a node. The first found is no duplicate: it is what the others duplicate.
type copiesOn struct {
	node  *Node
	first *Pod
	more  []*Pod
}

// Run proposes, owner after owner and node after node, the duplicates that are too many.
func (s *RemoveDuplicates) Run(r *Round) {
	reach := newReach(r.Nodes())
	for _, c := range s.find(r) {
		targets := reach.of(c)
		if targets < 2 {
			continue
		}
		most := (len(c.pods) + targets - 1) / targets
		for _, on := range c.on {
			if len(on.more)+1 > most && thin(r, c, on, most) == TotalLimit {
				return
			}
		}
	}
}

// find returns the copies of which some node has more than one, in the order in which they are found.
func (s *RemoveDuplicates) find(r *Round) []*copies {
	all := map[copyKey]*copies{}
	var found []*copies
	here := map[copyKey]*Pod{} // by all their owners
	for _, n := range r.Nodes() {
		clear(here)
		for _, p := range r.PodsOn(n) {
			if !s.counts(r, p) {
				continue
			}
			images := joined(p.Facts.Images)
			first := here[ownersKey(p, images)]
			if first == nil {
				here[ownersKey(p, images)] = p
			}
			for _, o := range p.Facts.Owners {
				key := copyKey{p.Namespace, o.Kind, o.Name, images}
				c := all[key]
				if c == nil {
					c = &copies{key: key}
					all[key] = c
				}
				c.pods = append(c.pods, p)
				if first == nil {
					continue
				}
				if len(c.on) == 0 {
					found = append(found, c)
				}
				c.duplicate(n, first, p)
			}
		}
	}
	return found
}

// counts says whether a pod is counted as a copy. The Kubernetes descheduler counts only those that it
// could evict; a plan counts what is there.
func (s *RemoveDuplicates) counts(r *Round, p *Pod) bool {
	if len(p.Facts.Owners) == 0 || !s.Namespaces.Has(p.Namespace) || p.OwnedBy(s.ExcludeOwnerKinds) {
		return false
	}
	if r.Planned() {
		return !p.Deleting
	}
	return r.Evictable(p) && r.Fits(p)
}

// joined puts images in order of name.
func joined(images []string) string {
	if len(images) == 1 {
		return images[0]
	}
	images = slices.Clone(images)
	slices.Sort(images)
	return strings.Join(images, "\n")
}

// ownersKey tells pods apart by all their owners; for a pod with one owner it is the copyKey.
func ownersKey(p *Pod, images string) copyKey {
	o := p.Facts.Owners
	if len(o) == 1 {
		return copyKey{p.Namespace, o[0].Kind, o[0].Name, images}
	}
	names := make([]string, len(o))
	for i := range o {
		names[i] = o[i].Kind + "/" + o[i].Name
	}
	slices.Sort(names)
	return copyKey{namespace: p.Namespace, owner: strings.Join(names, "\n"), images: images}
}

func (c *copies) duplicate(n *Node, first, p *Pod) {
	if last := len(c.on) - 1; last >= 0 && c.on[last].node == n {
		c.on[last].more = append(c.on[last].more, p)
		return
	}
	c.on = append(c.on, &copiesOn{node: n, first: first, more: []*Pod{p}})
}

// thin proposes what a node has above most. A plan that refuses some of these is offered the node's other copies.
func thin(r *Round, c *copies, on *copiesOn, most int) Outcome {
	tries := on.more[most-1:]
	if r.Planned() {
		tries = slices.Concat(tries, on.more[:most-1], []*Pod{on.first})
	}
	for _, p := range tries {
		if r.Planned() && c.countOn(r, on.node) <= most {
			return Went
		}
		if !r.Evictable(p) || r.Planned() && !r.Fits(p) { // without a plan only those are copies that fit
			continue
		}
		switch r.Evict(c.candidate(r, p, on.node)) {
		case Went:
			c.moved(r, p, on.node)
		case NodeLimit:
			return NodeLimit
		case TotalLimit:
			return TotalLimit
		}
	}
	return Went
}

func (c *copies) candidate(r *Round, p *Pod, n *Node) *Candidate {
	return &Candidate{Pod: p, Node: n,
		Reason: func() string {
			return fmt.Sprintf("%d copies of %s %s/%s on the node", c.countOn(r, n), c.key.kind, c.key.namespace, c.key.owner)
		},
		Gain: func(to *Node) Gain {
			from, there := int64(c.countOn(r, n)), int64(c.countOn(r, to))
			return Gain{Before: max(from, there), After: max(from-1, there+1), Of: "copies on the fuller of the two nodes"}
		},
	}
}

// countOn is how many copies a node has by now.
func (c *copies) countOn(r *Round, n *Node) int {
	if c.count == nil {
		c.count = map[*Node]int{}
		for _, p := range c.pods {
			c.count[r.NodeOf(p)]++
		}
	}
	return c.count[n]
}

func (c *copies) moved(r *Round, p *Pod, from *Node) {
	if c.count != nil {
		c.count[from]--
		c.count[r.NodeOf(p)]++
	}
}
