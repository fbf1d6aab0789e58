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
	// ExcludeOwnerKinds are the kinds of owners whose pods are not evicted.
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
	for _, g := range s.findGroups(r) {
		targets := eligible.countForGroup(g)
		if targets < 2 {
			continue
		}
		maxPerNode := (len(g.pods) + targets - 1) / targets
		for _, d := range g.nodes {
			if len(d.duplicates)+1 > maxPerNode && evictExcess(r, g, d, maxPerNode) == descheduling.TotalLimit {
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
				g := all[key]
				if g == nil {
					g = &duplicateGroup{key: key}
					all[key] = g
				}
				g.pods = append(g.pods, p)
				if first == nil {
					continue
				}
				if len(g.nodes) == 0 {
					found = append(found, g)
				}
				g.addDuplicate(n, first, p)
			}
		}
	}
	return found
}

// isCounted reports whether p counts as a pod of its group. As in the Kubernetes descheduler, only evictable pods
// count in compatible mode; a plan counts all pods that are not terminating.
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

func (g *duplicateGroup) addDuplicate(n *descheduling.Node, first, p *descheduling.Pod) {
	if last := len(g.nodes) - 1; last >= 0 && g.nodes[last].node == n {
		g.nodes[last].duplicates = append(g.nodes[last].duplicates, p)
		return
	}
	g.nodes = append(g.nodes, &nodeDuplicates{node: n, first: first, duplicates: []*descheduling.Pod{p}})
}

// evictExcess proposes the pods of a node above maxPerNode. If a plan refuses some of them, it
// proposes the others.
func evictExcess(r *descheduling.Round, g *duplicateGroup, d *nodeDuplicates, maxPerNode int) descheduling.Outcome {
	excess := d.duplicates[maxPerNode-1:]
	if r.Planned() {
		excess = slices.Concat(excess, d.duplicates[:maxPerNode-1], []*descheduling.Pod{d.first})
	}
	for _, p := range excess {
		if r.Planned() && g.podsOn(r, d.node) <= maxPerNode {
			return descheduling.Accepted
		}
		// Without a plan, isCounted has checked the filter.
		if !r.Evictable(p) || r.Planned() && !r.PreEvictionFilter(p) {
			continue
		}
		switch r.Evict(g.candidate(r, p, d.node)) {
		case descheduling.Accepted:
			g.podMoved(r, p, d.node)
		case descheduling.NodeLimit:
			return descheduling.NodeLimit
		case descheduling.TotalLimit:
			return descheduling.TotalLimit
		}
	}
	return descheduling.Accepted
}

func (g *duplicateGroup) candidate(r *descheduling.Round, p *descheduling.Pod, n *descheduling.Node) *descheduling.Candidate {
	return &descheduling.Candidate{Pod: p, Node: n,
		Reason: func() string {
			return fmt.Sprintf("%d copies of %s %s/%s on the node", g.podsOn(r, n), g.key.kind, g.key.namespace, g.key.owner)
		},
		Gain: func(to *descheduling.Node) descheduling.Gain {
			from, onTarget := int64(g.podsOn(r, n)), int64(g.podsOn(r, to))
			return descheduling.Gain{Before: max(from, onTarget), After: max(from-1, onTarget+1), Metric: "duplicates on the fuller of the two nodes"}
		},
	}
}

// podsOn returns the current number of pods of the group on n.
func (g *duplicateGroup) podsOn(r *descheduling.Round, n *descheduling.Node) int {
	if g.podsPerNode == nil {
		g.podsPerNode = map[*descheduling.Node]int{}
		for _, p := range g.pods {
			g.podsPerNode[r.NodeOf(p)]++
		}
	}
	return g.podsPerNode[n]
}

func (g *duplicateGroup) podMoved(r *descheduling.Round, p *descheduling.Pod, from *descheduling.Node) {
	if g.podsPerNode != nil {
		g.podsPerNode[from]--
		g.podsPerNode[r.NodeOf(p)]++
	}
}
