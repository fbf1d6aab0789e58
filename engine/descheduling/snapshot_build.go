package descheduling

import (
	"cmp"
	"slices"
)

// SetNodesAndPods sets Nodes and Unbound from nodes and pods in any order. Pods of unknown
// nodes become Unbound. It takes ownership of the slices.
func (s *Snapshot) SetNodesAndPods(nodes []*Node, pods []*Pod) {
	slices.SortFunc(nodes, func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
	s.Nodes, s.Unbound = nodes, nil
	byName := make(map[string]*Node, len(nodes))
	for _, n := range nodes {
		n.Pods = nil
		byName[n.Name] = n
	}
	slices.SortFunc(pods, compareByKey)
	for _, p := range pods {
		if n := byName[p.NodeName]; n != nil && p.NodeName != "" {
			n.Pods = append(n.Pods, p)
		} else {
			s.Unbound = append(s.Unbound, p)
		}
	}
}
