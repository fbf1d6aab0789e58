package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/descheduling"
)

// RemoveDuplicates spreads the pods of an owner. Of pods with the same owner and images, no
// node keeps more than the average over the nodes that they can run on, rounded up.
type RemoveDuplicates struct {
	Namespaces descheduling.Namespaces
	// ExcludeOwnerKinds: pods with an owner of such a kind are not evicted.
	ExcludeOwnerKinds []string
}

// Name returns the plugin name used in policies.
func (*RemoveDuplicates) Name() string { return "RemoveDuplicates" }

// ownerImagesKey identifies duplicates: the owner and the sorted images.
type ownerImagesKey struct{ namespace, kind, owner, images string }

// duplicateGroup are the pods of one key.
type duplicateGroup struct {
	key         ownerImagesKey
	pods        []*descheduling.Pod
	nodes       []*nodeDuplicates          // nodes with more than one, in order
	podsPerNode map[*descheduling.Node]int // current pods per node, computed on demand
}

// nodeDuplicates are the pods of a group on a node. The first one found is not a duplicate.
type nodeDuplicates struct {
	node       *descheduling.Node
	first      *descheduling.Pod
	duplicates []*descheduling.Pod
}

// Run proposes the excess duplicates, by owner and node.
func (s *RemoveDuplicates) Run(r *descheduling.Round) {
	eligible := newEligibleNodes(r.Nodes())
	for _, c := range s.findGroups(r) {
		targets := eligible.countForGroup(c)
		if targets < 2 {
			continue
		}
		maxPerNode := (len(c.pods) + targets - 1) / targets
		for _, d := range c.nodes {
			if len(d.duplicates)+1 > maxPerNode && evictExcess(r, c, d, maxPerNode) == descheduling.TotalLimit {
				return
			}
		}
	}
}

// findGroups returns the groups with more than one pod on a node, in the order in which they
// are found.
func (s *RemoveDuplicates) findGroups(r *descheduling.Round) []*duplicateGroup {
	all := map[ownerImagesKey]*duplicateGroup{}
	var found []*duplicateGroup
	firstOnNode := map[ownerImagesKey]*descheduling.Pod{} // by all owners
	for _, n := range r.Nodes() {
		clear(firstOnNode)
		for _, p := range r.PodsOn(n) {
			if !s.isCounted(r, p) {
				continue
			}
			images := joinImages(p.Details.Images)
			first := firstOnNode[allOwnersKey(p, images)]
			if first == nil {
				firstOnNode[allOwnersKey(p, images)] = p
			}
			for _, o := range p.Details.Owners {
				key := ownerImagesKey{p.Namespace, o.Kind, o.Name, images}
				c := all[key]
				if c == nil {
					c = &duplicateGroup{key: key}
					all[key] = c
				}
				c.pods = append(c.pods, p)
				if first == nil {
					continue
				}
				if len(c.nodes) == 0 {
					found = append(found, c)
				}
				c.addDuplicate(n, first, p)
			}
		}
	}
	return found
}

// isCounted reports whether p counts as a pod of its group. As in the Kubernetes descheduler,
// only evictable pods count in compatible mode; a plan counts all pods.
func (s *RemoveDuplicates) isCounted(r *descheduling.Round, p *descheduling.Pod) bool {
	if len(p.Details.Owners) == 0 || !s.Namespaces.Has(p.Namespace) || p.OwnedBy(s.ExcludeOwnerKinds) {
		return false
	}
	if r.Planned() {
		return !p.Deleting
	}
	return r.Evictable(p) && r.PreEvictionFilter(p)
}

// joinImages joins the sorted images.
func joinImages(images []string) string {
	if len(images) == 1 {
		return images[0]
	}
	images = slices.Clone(images)
	slices.Sort(images)
	return strings.Join(images, "\n")
}

// allOwnersKey identifies pods by all their owners; with one owner it is the ownerImagesKey.
func allOwnersKey(p *descheduling.Pod, images string) ownerImagesKey {
	o := p.Details.Owners
	if len(o) == 1 {
		return ownerImagesKey{p.Namespace, o[0].Kind, o[0].Name, images}
	}
	names := make([]string, len(o))
	for i := range o {
		names[i] = o[i].Kind + "/" + o[i].Name
	}
	slices.Sort(names)
	return ownerImagesKey{namespace: p.Namespace, owner: strings.Join(names, "\n"), images: images}
}

func (c *duplicateGroup) addDuplicate(n *descheduling.Node, first, p *descheduling.Pod) {
	if last := len(c.nodes) - 1; last >= 0 && c.nodes[last].node == n {
		c.nodes[last].duplicates = append(c.nodes[last].duplicates, p)
		return
	}
	c.nodes = append(c.nodes, &nodeDuplicates{node: n, first: first, duplicates: []*descheduling.Pod{p}})
}

// evictExcess proposes the pods of a node above maxPerNode. If a plan refuses some of them, it
// proposes the others.
func evictExcess(r *descheduling.Round, c *duplicateGroup, d *nodeDuplicates, maxPerNode int) descheduling.Outcome {
	excess := d.duplicates[maxPerNode-1:]
	if r.Planned() {
		excess = slices.Concat(excess, d.duplicates[:maxPerNode-1], []*descheduling.Pod{d.first})
	}
	for _, p := range excess {
		if r.Planned() && c.podsOn(r, d.node) <= maxPerNode {
			return descheduling.Accepted
		}
		if !r.Evictable(p) || r.Planned() && !r.PreEvictionFilter(p) { // without a plan, isCounted has checked the filter
			continue
		}
		switch r.Evict(c.candidate(r, p, d.node)) {
		case descheduling.Accepted:
			c.podMoved(r, p, d.node)
		case descheduling.NodeLimit:
			return descheduling.NodeLimit
		case descheduling.TotalLimit:
			return descheduling.TotalLimit
		}
	}
	return descheduling.Accepted
}

func (c *duplicateGroup) candidate(r *descheduling.Round, p *descheduling.Pod, n *descheduling.Node) *descheduling.Candidate {
	return &descheduling.Candidate{Pod: p, Node: n,
		Reason: func() string {
			return fmt.Sprintf("%d copies of %s %s/%s on the node", c.podsOn(r, n), c.key.kind, c.key.namespace, c.key.owner)
		},
		Gain: func(to *descheduling.Node) descheduling.Gain {
			from, onTarget := int64(c.podsOn(r, n)), int64(c.podsOn(r, to))
			return descheduling.Gain{Before: max(from, onTarget), After: max(from-1, onTarget+1), Metric: "duplicates on the fuller of the two nodes"}
		},
	}
}

// podsOn returns the current number of pods of the group on n.
func (c *duplicateGroup) podsOn(r *descheduling.Round, n *descheduling.Node) int {
	if c.podsPerNode == nil {
		c.podsPerNode = map[*descheduling.Node]int{}
		for _, p := range c.pods {
			c.podsPerNode[r.NodeOf(p)]++
		}
	}
	return c.podsPerNode[n]
}

func (c *duplicateGroup) podMoved(r *descheduling.Round, p *descheduling.Pod, from *descheduling.Node) {
	if c.podsPerNode != nil {
		c.podsPerNode[from]--
		c.podsPerNode[r.NodeOf(p)]++
	}
}
