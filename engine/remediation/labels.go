package remediation

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// unschedulableKey is the taint of a cordoned node.
const unschedulableKey = "node.kubernetes.io/unschedulable"

// taintChanges returns the alternative changes that resolve a taint verdict. subject is the taint
// in kubectl's notation.
func taintChanges(n *model.Node, subject string) [][]Change {
	for _, t := range n.Taints {
		text := t.Key + "=" + t.Value + ":" + t.Effect.String()
		if t.Value == "" {
			text = t.Key + ":" + t.Effect.String()
		}
		if text != subject {
			continue
		}
		if t.Key == unschedulableKey && n.Unschedulable {
			return single(Change{Kind: Uncordon, Node: n.Name})
		}
		out := single(Change{Kind: RemoveTaint, Node: n.Name, Taint: t})
		if !OfNodeState(t.Key) {
			out = append(out, []Change{{Kind: AddToleration, Taint: t}})
		}
		return out
	}
	return nil
}

// nodeAffinityChanges returns the alternative changes that resolve a node affinity verdict: they
// set labels on the node or drop the pod's requirement.
func (f *finder) nodeAffinityChanges(t *trial, n *model.Node, r *decision.Reason) [][]Change {
	spec := t.pod.Spec
	if r.Kind == decision.ReasonEnforcedAffinity {
		return nodeTermChanges(f.profile.Config().AddedAffinity.Required, n)
	}
	var set []Change
	possible := true
	for _, l := range spec.NodeSelector.Labels {
		if v, ok := n.Labels.Get(l.Key); !ok || v != l.Value {
			set = append(set, Change{Kind: SetLabel, Node: n.Name, Key: l.Key, Value: l.Value, OldValue: v})
			possible = possible && (!ok || !isReservedLabel(l.Key))
		}
	}
	if len(set) == 0 {
		return append(nodeTermChanges(spec.NodeSelector.Required, n), []Change{{Kind: DropNodeAffinity}})
	}
	var out [][]Change
	if possible {
		out = [][]Change{set}
	}
	return append(out, []Change{{Kind: DropSelector, Key: set[0].Key, Value: set[0].Value}})
}

// isReservedLabel reports whether a label is in a Kubernetes domain. Such labels describe what a
// node is, so users should not change them.
func isReservedLabel(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return strings.HasSuffix(domain, "kubernetes.io") || strings.HasSuffix(domain, "k8s.io")
}

// nodeTermChanges returns, for each node selector term that labels can satisfy, the labels to set
// and remove.
func nodeTermChanges(list []model.NodeSelectorTerm, n *model.Node) [][]Change {
	var out [][]Change
	for i := range list {
		t := &list[i]
		fieldTerm := model.NodeSelectorTerm{Fields: t.Fields}
		if t.Malformed || len(t.Labels) == 0 || len(t.Fields) > 0 && !fieldTerm.Matches(nil, n.Name) {
			continue
		}
		var step []Change
		possible := true
		for k := range t.Labels {
			r := &t.Labels[k]
			if r.Matches(n.Labels) {
				continue
			}
			c, ok := labelChange(r, n)
			possible = possible && ok
			step = append(step, c)
		}
		if possible && len(step) > 0 {
			out = append(out, step)
		}
	}
	return out
}

// labelChange returns the label change that satisfies a requirement, and false if there is none.
func labelChange(r *model.Requirement, n *model.Node) (Change, bool) {
	old, found := n.Labels.Get(r.Key)
	c := Change{Kind: SetLabel, Node: n.Name, Key: r.Key, OldValue: old}
	if found && isReservedLabel(r.Key) {
		return c, false
	}
	switch r.Op {
	case model.In:
		if len(r.Values) == 0 {
			return c, false
		}
		c.Value = r.Values[0]
	case model.Exists:
	case model.NotIn, model.DoesNotExist:
		c.Kind = RemoveLabel
	case model.Gt, model.Lt:
		if len(r.Values) != 1 {
			return c, false
		}
		v, err := strconv.ParseInt(r.Values[0], 10, 64)
		if err != nil || v <= 0 {
			return c, false
		}
		if r.Op == model.Gt {
			v++
		} else {
			v--
		}
		c.Value = strconv.FormatInt(v, 10)
	}
	return c, true
}

// domainLabelChanges returns changes that label a node without a topology key with one of the
// values of other nodes.
func (f *finder) domainLabelChanges(n *model.Node, key string) [][]Change {
	if _, ok := n.Labels.Get(key); ok {
		return nil
	}
	if key == framework.HostnameKey {
		return single(Change{Kind: SetLabel, Node: n.Name, Key: key, Value: n.Name})
	}
	var values []string
	for _, id := range f.state.NodeIDs() {
		if v, ok := f.state.Node(id).Model.Labels.Get(key); ok && !slices.Contains(values, v) {
			if values = append(values, v); len(values) == maxAlternatives {
				break
			}
		}
	}
	var out [][]Change
	for _, v := range values {
		out = append(out, []Change{{Kind: SetLabel, Node: n.Name, Key: key, Value: v}})
	}
	return out
}

// findPod returns an assigned pod by "namespace/name".
func findPod(s *cluster.State, key string) *model.Pod {
	for _, id := range s.NodeIDs() {
		for _, p := range s.Node(id).Pods {
			if p.Key() == key {
				return p
			}
		}
	}
	return nil
}
