package build

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

type (
	// NodeOption changes a node that Node builds.
	NodeOption func(*model.Node)
	// PodOption changes a pod that Pod builds.
	PodOption func(*model.Pod)
)

// Node returns a node with 4 cores, 8 GiB and 110 pods.
func Node(name string, options ...NodeOption) *model.Node {
	n := &model.Node{Name: name, AllocatablePods: 110, Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 << 30}}
	Labeled(framework.HostnameKey, name)(n)
	for _, o := range options {
		o(n)
	}
	return n
}

// Labeled adds a label to a node that has no label with the key.
func Labeled(key, value string) NodeOption {
	return func(n *model.Node) {
		m := map[string]string{key: value}
		for _, l := range n.Labels {
			m[l.Key] = l.Value
		}
		n.Labels = model.LabelsOf(m)
	}
}

// Zone sets the label "zone" of a node.
func Zone(name string) NodeOption { return Labeled("zone", name) }

// Tainted adds a taint to a node.
func Tainted(key, value string, e model.Effect) NodeOption {
	return func(n *model.Node) { n.Taints = append(n.Taints, model.Taint{Key: key, Value: value, Effect: e}) }
}

// Pod returns a pod without requests, with its name as UID.
func Pod(name string, options ...PodOption) *model.Pod {
	p := &model.Pod{Namespace: "default", Name: name, UID: name, Spec: &model.PodSpec{SchedulerName: "default-scheduler", ImageContainers: 1}}
	for _, o := range options {
		o(p)
	}
	return p
}

// Spec changes the specification of a pod.
func Spec(change func(*model.PodSpec)) PodOption { return func(p *model.Pod) { change(p.Spec) } }

// OnNode binds a pod to a node.
func OnNode(node string) PodOption { return func(p *model.Pod) { p.NodeName = node } }

// App sets the label "app" of a pod.
func App(value string) PodOption {
	return func(p *model.Pod) { p.Labels = model.Labels{{Key: "app", Value: value}} }
}

// Requests sets the requests of a pod, in millicores and bytes.
func Requests(cpu, memory int64) PodOption {
	return Spec(func(s *model.PodSpec) {
		s.Requests = model.Resources{MilliCPU: cpu, Memory: memory}
		s.Scoring = s.Requests
	})
}

// Matches returns a selector for a label with one of some values.
func Matches(key string, values ...string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: model.In, Values: values}}}
}

// LabelIn returns a node selector term for a label with one of some values.
func LabelIn(key string, values ...string) model.NodeSelectorTerm {
	return model.NodeSelectorTerm{Labels: []model.Requirement{{Key: key, Op: model.In, Values: values}}}
}

// NewState returns a state that contains the objects.
func NewState(objects ...any) *cluster.State {
	s := cluster.New()
	for _, o := range objects {
		switch o := o.(type) {
		case *model.Node:
			s.UpsertNode(o)
		case *model.Pod:
			s.UpsertPod(o)
		case model.Namespace:
			s.UpsertNamespace(o)
		case model.SpreadGroup:
			s.UpsertSpreadGroup(o)
		default:
			panic(fmt.Sprintf("unsupported object %T", o))
		}
	}
	return s
}

// Verdicts formats the rejections of a record as "node plugin (code): reasons".
func Verdicts(r *decision.Record) string {
	var out []string
	for i := range r.Nodes {
		if v := &r.Nodes[i].Verdict; v.Code != decision.Success {
			code := map[decision.Code]string{decision.Unschedulable: "U", decision.UnschedulableAndUnresolvable: "UAU"}[v.Code]
			out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %s (%s): %s", r.Nodes[i].Name, v.Plugin, code, decision.JoinReasons(v.Reasons)), ": "))
		}
	}
	return strings.Join(out, "; ")
}

// Points formats the scores of a plugin as "node=score"; empty if it did not score.
func Points(r *decision.Record, plugin decision.Plugin) string {
	var out []string
	for i := range r.Nodes {
		for _, s := range r.Nodes[i].Scores {
			if s.Plugin == plugin {
				out = append(out, fmt.Sprintf("%s=%d", r.Nodes[i].Name, s.Points))
			}
		}
	}
	return strings.Join(out, " ")
}

// Expect reports an error if got is not want.
func Expect(t *testing.T, title, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\n got %q\nwant %q", title, got, want)
	}
}

// NewHold returns a Hold of an owner. The placeholder of a Reserve Hold has the specification of pod.
func NewHold(t model.HoldType, owner, node string, pod *model.Pod) *model.Hold {
	h := &model.Hold{Namespace: "default", Name: cluster.HoldName(owner, node, t), Type: t, Owner: model.Owner{UID: owner}, Node: node,
		Cause: "pressure", Count: 2, Until: time.Unix(1000, 0)}
	if pod != nil {
		h.Placeholder = &model.Pod{Namespace: "default", Name: h.Name, UID: "hold/" + h.Key(), Owner: h.Owner, NominatedNodeName: node, Placeholder: true, Spec: pod.Spec}
	}
	return h
}

// ForVictim sets the victim and the creation time of a Hold.
func ForVictim(h *model.Hold, victim string, created int64) *model.Hold {
	h.Victim, h.VictimName, h.Created = "uid of "+victim, victim, time.Unix(created, 0)
	return h
}

// PodAffinityTerm returns an affinity term for pods with a value of the label "app".
func PodAffinityTerm(key, value string, change ...func(*model.PodAffinityTerm)) model.PodAffinityTerm {
	t := model.PodAffinityTerm{TopologyKey: key, Selector: Matches("app", value), Namespaces: []string{"default"}}
	for _, f := range change {
		f(&t)
	}
	return t
}

// InNamespace sets the namespace of a pod.
func InNamespace(namespace string) PodOption { return func(p *model.Pod) { p.Namespace = namespace } }
