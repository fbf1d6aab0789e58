package cluster

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// referenceState is a simple implementation of State: lists of objects, everything
// recomputed.
type referenceState struct {
	nodes    map[string]*model.Node
	reported map[string]*model.Pod
	assumed  map[string]*model.Pod
}

func newReferenceState() *referenceState {
	return &referenceState{map[string]*model.Node{}, map[string]*model.Pod{}, map[string]*model.Pod{}}
}

func (s *referenceState) clone() *referenceState {
	return &referenceState{maps.Clone(s.nodes), maps.Clone(s.reported), maps.Clone(s.assumed)}
}

func (s *referenceState) upsertPod(p *model.Pod) {
	s.reported[p.UID] = p
	if p.NodeName != "" || p.Finished() {
		delete(s.assumed, p.UID)
	} else if a := s.assumed[p.UID]; a != nil {
		s.assumed[p.UID] = withNodeName(p, a.NodeName)
	}
}

func (s *referenceState) removePod(uid string) {
	delete(s.reported, uid)
	delete(s.assumed, uid)
}

func (s *referenceState) assume(p *model.Pod, node string) bool {
	if s.nodes[node] == nil || s.counted(p.UID) != nil || p.Finished() {
		return false
	}
	s.assumed[p.UID] = withNodeName(p, node)
	return true
}

func (s *referenceState) counted(uid string) *model.Pod {
	if a := s.assumed[uid]; a != nil {
		return a
	}
	if p := s.reported[uid]; p != nil && p.NodeName != "" && !p.Finished() {
		return p
	}
	return nil
}

// uids returns the UIDs of all pods, sorted.
func (s *referenceState) uids() []string {
	all := map[string]bool{}
	for u := range s.reported {
		all[u] = true
	}
	for u := range s.assumed {
		all[u] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// dump returns the results of the methods of State as text.
func (s *referenceState) dump() string {
	out := ""
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		var pods []*model.Pod
		var used, scoring model.Resources
		var ports []model.HostPort
		for _, u := range s.uids() {
			if p := s.counted(u); p != nil && p.NodeName == name {
				pods = append(pods, p)
				addTo(&used, p.Spec.Requests)
				addTo(&scoring, p.Spec.Scoring)
				ports = append(ports, p.Spec.Ports...)
			}
		}
		out += dumpNode(s.nodes[name], pods, used, scoring, ports, s.nominated(name))
	}
	for _, image := range imageNames {
		nodes, size := 0, int64(0)
		for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
			if bytes, ok := imageSize(s.nodes[name], image); ok {
				if nodes == 0 {
					size = bytes
				}
				nodes++
			}
		}
		out += fmt.Sprintf("image %s %d %d\n", image, nodes, size)
	}
	for _, c := range claimNames {
		out += "claim " + c
		for _, u := range s.uids() {
			p := s.counted(u)
			if p != nil && s.nodes[p.NodeName] != nil &&
				slices.ContainsFunc(p.Spec.Claims, func(k model.PodClaim) bool { return p.Namespace+"/"+k.Claim == c }) {
				out += " " + u
			}
		}
		out += "\n"
	}
	return out
}

func (s *referenceState) nominated(node string) []string {
	var list []*model.Pod
	for u, p := range s.reported {
		if s.assumed[u] == nil && p.NodeName == "" && !p.Finished() && p.NominatedNodeName == node {
			list = append(list, p)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Key()+"\x00"+list[i].UID < list[j].Key()+"\x00"+list[j].UID })
	var out []string
	for _, p := range list {
		out = append(out, p.UID)
	}
	return out
}

// addTo adds r to total. It appends scalars; dumpNode adds them up.
func addTo(total *model.Resources, r model.Resources) {
	total.MilliCPU += r.MilliCPU
	total.Memory += r.Memory
	total.Ephemeral += r.Ephemeral
	total.Scalars = append(total.Scalars, r.Scalars...)
}

func dumpNode(n *model.Node, pods []*model.Pod, used, scoring model.Resources, ports []model.HostPort, nominated []string) string {
	out := fmt.Sprintf("node %s %v %d\n", n.Name, n.Labels, n.AllocatablePods)
	for _, p := range pods {
		out += fmt.Sprintf("  %s %s %v %v %v\n", p.UID, p.NodeName, p.Labels, p.Deleting, p.Ready)
	}
	for _, r := range []model.Resources{used, scoring} {
		scalars := map[string]int64{}
		for _, s := range r.Scalars {
			scalars[s.Name] += s.Amount
		}
		maps.DeleteFunc(scalars, func(_ string, v int64) bool { return v == 0 })
		out += fmt.Sprint("  ", r.MilliCPU, r.Memory, r.Ephemeral, scalars, "\n")
	}
	text := []string{}
	for _, p := range ports {
		text = append(text, fmt.Sprint(p))
	}
	slices.Sort(text)
	return out + fmt.Sprint("  ", text, nominated, "\n")
}

// dump returns the results of the methods of State in the same format.
func (s *State) dump() string {
	out := ""
	for _, id := range s.NodeIDs() {
		n := s.Node(id)
		if !slices.IsSortedFunc(n.Used.Scalars, func(a, b model.Scalar) int { return strings.Compare(a.Name, b.Name) }) {
			out += "scalars out of order\n"
		}
		if slices.ContainsFunc(n.Used.Scalars, func(a model.Scalar) bool { return a.Amount == 0 }) {
			out += "a scalar of zero\n"
		}
		var nominated []string
		for _, p := range s.Nominated(id) {
			nominated = append(nominated, p.UID)
		}
		out += dumpNode(n.Model, n.Pods, n.Used, n.Scoring, n.Ports, nominated)
	}
	for _, image := range imageNames {
		out += fmt.Sprintf("image %s %d %d\n", image, s.ImageNodes(image), s.ImageSize(image))
	}
	for _, c := range claimNames {
		out += "claim " + c
		for _, p := range s.ClaimUsers(c[:1], c[2:]) {
			out += " " + p.UID
		}
		out += "\n"
	}
	return out
}
