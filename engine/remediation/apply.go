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
// changes are applied before all others. possible is false if a node uses less of a resource than a
// change frees.
func Apply(s *cluster.State, pod *model.Pod, changes []Change) (changed *model.Pod, possible bool) {
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
			uid := fmt.Sprint("suggestion/", i, "/", c.Node)
			s.UpsertPod(&model.Pod{Namespace: c.Key, Name: uid, UID: uid, Labels: c.Labels, NodeName: c.Node,
				Phase: model.Running, Ready: true, Spec: &model.PodSpec{SchedulerName: pod.Spec.SchedulerName}})
		default:
			c.applyNode(s)
		}
	}
	return pod, possible
}

// freeResource lowers the requests of the pods on a node, one pod after the other, until the amount is
// free. It reports whether that was possible.
func (c *Change) freeResource(s *cluster.State) bool {
	id, ok := s.NodeID(c.Node)
	if !ok {
		return false
	}
	remaining := c.Amount
	for _, p := range slices.Clone(s.Node(id).Pods) {
		requested := p.Spec.Requests.Amount(c.Key)
		cut := min(requested, remaining)
		if cut <= 0 {
			continue
		}
		changed, spec := *p, *p.Spec
		spec.Requests = withAmount(spec.Requests, c.Key, requested-cut)
		changed.Spec = &spec
		s.UpsertPod(&changed)
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

// addedNodeSuffix is appended to the name of a node, once or several times, to name a copy of the
// node.
const addedNodeSuffix = "-like"

// addNode adds a schedulable, empty node like n with another name.
func (c *Change) addNode(s *cluster.State, n model.Node) {
	old := n.Name
	for {
		n.Name += addedNodeSuffix
		if _, ok := s.NodeID(n.Name); !ok {
			break
		}
	}
	n.UID, n.Unschedulable, n.Allocatable, n.Images, n.AllocatablePods = n.Name, false, c.withSize(n.Allocatable), nil, max(n.AllocatablePods, 1)
	n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(t model.Taint) bool { return OfNodeState(t.Key) })
	if _, ok := n.Labels.Get(framework.HostnameKey); ok {
		n.Labels = withLabel(n.Labels, framework.HostnameKey, n.Name)
	}
	s.UpsertNode(&n)
	if csi, ok := s.CSINode(old); ok {
		copied := *csi
		copied.Name = n.Name
		s.UpsertCSINode(&copied)
	}
}

// withSize returns the resources with the amounts that Size overrides.
func (c *Change) withSize(r model.Resources) model.Resources {
	r.MilliCPU, r.Memory, r.Ephemeral = cmp.Or(c.Size.MilliCPU, r.MilliCPU), cmp.Or(c.Size.Memory, r.Memory), cmp.Or(c.Size.Ephemeral, r.Ephemeral)
	for _, s := range c.Size.Scalars {
		r = withAmount(r, s.Name, s.Amount)
	}
	return r
}

// applyPod returns a changed copy of the pod.
func (c *Change) applyPod(pod *model.Pod) *model.Pod {
	p, spec := *pod, *pod.Spec
	p.Spec = &spec
	switch c.Kind {
	case AddToleration:
		spec.Tolerations = append(slices.Clone(spec.Tolerations),
			model.Toleration{Key: c.Taint.Key, Value: c.Taint.Value, Effect: c.Taint.Effect})
	case LowerRequest:
		spec.Requests = withAmount(spec.Requests, c.Key, c.Amount)
		spec.Scoring = withAmount(spec.Scoring, c.Key, min(c.Amount, spec.Scoring.Amount(c.Key)))
	case DropSelector:
		spec.NodeSelector.Labels = slices.DeleteFunc(slices.Clone(spec.NodeSelector.Labels), func(l model.Label) bool { return l.Key == c.Key })
	case DropNodeAffinity:
		spec.NodeSelector.HasRequired, spec.NodeSelector.Required = false, nil
	case DropHostPorts:
		spec.Ports = nil
	case DropAffinity:
		spec.Affinity = removeAt(spec.Affinity, int(c.Amount))
	case DropAntiAffinity:
		spec.AntiAffinity = removeAt(spec.AntiAffinity, int(c.Amount))
	case SoftenSpread:
		if i := int(c.Amount); i < len(spec.Spread) {
			spec.Spread = slices.Clone(spec.Spread)
			spec.Spread[i].Hard = false
		}
	case RaiseSkew:
		if c.Index < len(spec.Spread) {
			spec.Spread = slices.Clone(spec.Spread)
			spec.Spread[c.Index].MaxSkew = int32(c.Amount)
		}
	case RemoveGates:
		spec.Gates = nil
	case DropDeviceClaims:
		spec.ResourceClaims = nil
	case DropGroup:
		spec.SchedulingGroup = ""
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
