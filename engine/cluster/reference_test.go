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
	nodes   map[string]*model.Node
	seen    map[string]*model.Pod
	assumed map[string]*model.Pod
	spaces  map[string]model.Labels
	groups  map[string]model.SpreadGroup
}

func newReferenceState() *referenceState {
	return &referenceState{map[string]*model.Node{}, map[string]*model.Pod{}, map[string]*model.Pod{},
		map[string]model.Labels{}, map[string]model.SpreadGroup{}}
}

func (w *referenceState) clone() *referenceState {
	return &referenceState{maps.Clone(w.nodes), maps.Clone(w.seen), maps.Clone(w.assumed), maps.Clone(w.spaces), maps.Clone(w.groups)}
}

func (w *referenceState) upsertPod(p *model.Pod) {
	w.seen[p.UID] = p
	if p.NodeName != "" || p.Finished() {
		delete(w.assumed, p.UID)
	} else if a := w.assumed[p.UID]; a != nil {
		w.assumed[p.UID] = withNodeName(p, a.NodeName)
	}
}

func (w *referenceState) removePod(uid string) {
	delete(w.seen, uid)
	delete(w.assumed, uid)
}

func (w *referenceState) assume(p *model.Pod, node string) bool {
	if w.nodes[node] == nil || w.counted(p.UID) != nil || p.Finished() {
		return false
	}
	w.assumed[p.UID] = withNodeName(p, node)
	return true
}

func (w *referenceState) counted(uid string) *model.Pod {
	if a := w.assumed[uid]; a != nil {
		return a
	}
	if p := w.seen[uid]; p != nil && p.NodeName != "" && !p.Finished() {
		return p
	}
	return nil
}

// uids returns the UIDs of all pods, sorted.
func (w *referenceState) uids() []string {
	all := map[string]bool{}
	for u := range w.seen {
		all[u] = true
	}
	for u := range w.assumed {
		all[u] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// dump returns the results of all methods of State as text.
func (w *referenceState) dump() string {
	out := ""
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		var pods []*model.Pod
		var used, scoring model.Resources
		var ports []model.HostPort
		for _, u := range w.uids() {
			if p := w.counted(u); p != nil && p.NodeName == name {
				pods = append(pods, p)
				sum(&used, p.Spec.Requests)
				sum(&scoring, p.Spec.Scoring)
				ports = append(ports, p.Spec.Ports...)
			}
		}
		out += dumpNode(w.nodes[name], pods, used, scoring, ports, w.nominated(name))
	}
	for _, im := range imageNames {
		nodes, size := 0, int64(0)
		for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
			if s, has := imageOn(w.nodes[name], im); has {
				if nodes == 0 {
					size = s
				}
				nodes++
			}
		}
		out += fmt.Sprintf("image %s %d %d\n", im, nodes, size)
	}
	for _, c := range claimNames {
		out += "claim " + c
		for _, u := range w.uids() {
			p := w.counted(u)
			if p != nil && w.nodes[p.NodeName] != nil &&
				slices.ContainsFunc(p.Spec.Claims, func(k model.PodClaim) bool { return p.Namespace+"/"+k.Claim == c }) {
				out += " " + u
			}
		}
		out += "\n"
	}
	return out
}

func (w *referenceState) nominated(node string) []string {
	var list []*model.Pod
	for u, p := range w.seen {
		if w.assumed[u] == nil && p.NodeName == "" && !p.Finished() && p.NominatedNodeName == node {
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

// sum adds resources; dumpNode drops zeros.
func sum(to *model.Resources, r model.Resources) {
	to.MilliCPU += r.MilliCPU
	to.Memory += r.Memory
	to.Ephemeral += r.Ephemeral
	to.Scalars = append(to.Scalars, r.Scalars...)
}

func dumpNode(n *model.Node, pods []*model.Pod, used, scoring model.Resources, ports []model.HostPort, nominated []string) string {
	out := fmt.Sprintf("node %s %v %d\n", n.Name, n.Labels, n.AllocatablePods)
	for _, p := range pods {
		out += fmt.Sprintf("  %s %s %v %v %v\n", p.UID, p.NodeName, p.Labels, p.Deleting, p.Ready)
	}
	for _, r := range []model.Resources{used, scoring} {
		by := map[string]int64{}
		for _, s := range r.Scalars {
			by[s.Name] += s.Amount
		}
		maps.DeleteFunc(by, func(_ string, v int64) bool { return v == 0 })
		out += fmt.Sprint("  ", r.MilliCPU, r.Memory, r.Ephemeral, by, "\n")
	}
	text := []string{}
	for _, p := range ports {
		text = append(text, fmt.Sprint(p))
	}
	slices.Sort(text)
	return out + fmt.Sprint("  ", text, nominated, "\n")
}

// dump does the same for a State.
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
	for _, im := range imageNames {
		out += fmt.Sprintf("image %s %d %d\n", im, s.ImageNodes(im), s.ImageSize(im))
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
