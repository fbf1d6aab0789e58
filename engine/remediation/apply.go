package remediation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// Apply applies changes to a state, which should be a fork, and returns the changed pod. RemovePod
// changes are applied before FreeResource, whatever the order. possible is false if a node does not
// use as much as is to be freed.
func Apply(s *cluster.State, pod *model.Pod, changes []Change) (with *model.Pod, possible bool) {
	possible = true
	for i := range changes {
		if changes[i].Kind == RemovePod {
			s.RemovePod(changes[i].Pod.UID)
		}
	}
	for i := range changes {
		c := &changes[i]
		switch {
		case c.Kind == RemovePod:
		case c.Kind == FreeResource:
			possible = c.freeResource(s) && possible
		case c.Kind >= CreateClaim:
			c.applyVolume(s, pod)
		case c.OfPod():
			pod = c.applyPod(pod)
		case c.Kind == EndHold:
			s.RemoveHold(pod.Namespace, c.Key)
		case c.Kind == RunPod:
			uid := fmt.Sprint("remedy/", i, "/", c.Node)
			s.UpsertPod(&model.Pod{Namespace: c.Key, Name: uid, UID: uid, Labels: c.Labels, NodeName: c.Node,
				Phase: model.Running, Ready: true, Spec: &model.PodSpec{SchedulerName: pod.Spec.SchedulerName}})
		default:
			c.applyNode(s)
		}
	}
	return pod, possible
}

// freeResource lowers requests of pods on a node, one after the other, by the amount. It reports
// whether that was possible.
func (c *Change) freeResource(s *cluster.State) bool {
	id, ok := s.NodeID(c.Node)
	if !ok {
		return false
	}
	remaining := c.Amount
	for _, p := range slices.Clone(s.Node(id).Pods) {
		have := amountOf(&p.Spec.Requests, c.Key)
		cut := min(have, remaining)
		if cut <= 0 {
			continue
		}
		q, sp := *p, *p.Spec
		sp.Requests = withAmount(sp.Requests, c.Key, have-cut)
		q.Spec = &sp
		s.UpsertPod(&q)
		remaining -= cut
	}
	return remaining == 0
}

// applyNode changes or adds a node.
func (c *Change) applyNode(s *cluster.State) {
	id, ok := s.NodeID(c.Node)
	if !ok {
		return
	}
	n := *s.Node(id).Model
	switch c.Kind {
	case Uncordon:
		n.Unschedulable = false
		n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(t model.Taint) bool { return t.Key == unschedulableKey })
	case SetLabel:
		n.Labels = withLabel(n.Labels, c.Key, c.Value)
	case RemoveLabel:
		n.Labels = slices.DeleteFunc(slices.Clone(n.Labels), func(l model.Label) bool { return l.Key == c.Key })
	case RemoveTaint:
		n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(t model.Taint) bool { return t == c.Taint })
	case RaisePodLimit:
		n.AllocatablePods = c.Amount
	case InstallDriver:
		c.installDriver(s)
		return
	case AddNode:
		c.addNode(s, n)
		return
	}
	s.UpsertNode(&n)
}

func (c *Change) installDriver(s *cluster.State) {
	csi := model.CSINode{Name: c.Node}
	if old, ok := s.CSINode(c.Node); ok {
		csi = *old
	}
	csi.Drivers = append(slices.Clone(csi.Drivers), model.CSINodeDriver{Name: c.Key, NodeID: c.Node, Limit: -1})
	s.UpsertCSINode(&csi)
}

// addNode adds a schedulable, empty node like n with another name.
func (c *Change) addNode(s *cluster.State, n model.Node) {
	old := n.Name
	for {
		n.Name += "-like"
		if _, exists := s.NodeID(n.Name); !exists {
			break
		}
	}
	n.UID, n.Unschedulable, n.Allocatable, n.Images, n.AllocatablePods = n.Name, false, c.sized(n.Allocatable), nil, max(n.AllocatablePods, 1)
	n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(t model.Taint) bool { return OfNodeState(t.Key) })
	if _, has := n.Labels.Get(framework.HostnameKey); has {
		n.Labels = withLabel(n.Labels, framework.HostnameKey, n.Name)
	}
	s.UpsertNode(&n)
	if csi, ok := s.CSINode(old); ok {
		copied := *csi
		copied.Name = n.Name
		s.UpsertCSINode(&copied)
	}
}

// sized returns the resources with the amounts that Size overrides.
func (c *Change) sized(r model.Resources) model.Resources {
	r.MilliCPU, r.Memory, r.Ephemeral = cmp.Or(c.Size.MilliCPU, r.MilliCPU), cmp.Or(c.Size.Memory, r.Memory), cmp.Or(c.Size.Ephemeral, r.Ephemeral)
	for _, s := range c.Size.Scalars {
		r = withAmount(r, s.Name, s.Amount)
	}
	return r
}

// applyPod changes the pod.
func (c *Change) applyPod(pod *model.Pod) *model.Pod {
	p, sp := *pod, *pod.Spec
	p.Spec = &sp
	switch c.Kind {
	case AddToleration:
		sp.Tolerations = append(slices.Clone(sp.Tolerations),
			model.Toleration{Key: c.Taint.Key, Value: c.Taint.Value, Effect: c.Taint.Effect})
	case LowerRequest:
		sp.Requests = withAmount(sp.Requests, c.Key, c.Amount)
		sp.Scoring = withAmount(sp.Scoring, c.Key, min(c.Amount, amountOf(&sp.Scoring, c.Key)))
	case DropSelector:
		sp.NodeSelector.Labels = slices.DeleteFunc(slices.Clone(sp.NodeSelector.Labels), func(l model.Label) bool { return l.Key == c.Key })
	case DropNodeAffinity:
		sp.NodeSelector.HasRequired, sp.NodeSelector.Required = false, nil
	case DropHostPorts:
		sp.Ports = nil
	case DropAffinity:
		sp.Affinity = removeAt(sp.Affinity, int(c.Amount))
	case DropAntiAffinity:
		sp.AntiAffinity = removeAt(sp.AntiAffinity, int(c.Amount))
	case SoftenSpread:
		if i := int(c.Amount); i < len(sp.Spread) {
			sp.Spread = slices.Clone(sp.Spread)
			sp.Spread[i].Hard = false
		}
	case RaiseSkew:
		if c.Index < len(sp.Spread) {
			sp.Spread = slices.Clone(sp.Spread)
			sp.Spread[c.Index].MaxSkew = int32(c.Amount)
		}
	case RemoveGates:
		sp.Gates = nil
	case DropDeviceClaims:
		sp.ResourceClaims = nil
	case DropGroup:
		sp.SchedulingGroup = ""
	}
	return &p
}

// removeAt returns a copy of the list without element i, or the list if there is no such element.
func removeAt[T any](list []T, i int) []T {
	if i < 0 || i >= len(list) {
		return list
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}

func withLabel(l model.Labels, key, value string) model.Labels {
	l = slices.Clone(l)
	i, found := slices.BinarySearchFunc(l, key, func(e model.Label, k string) int { return strings.Compare(e.Key, k) })
	if found {
		l[i].Value = value
		return l
	}
	return slices.Insert(l, i, model.Label{Key: key, Value: value})
}
