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
	NodeOption func(*model.Node)
	PodOption  func(*model.Pod)
)

// Node has 4 cores, 8 GiB and room for 110 pods.
func Node(name string, with ...NodeOption) *model.Node {
	n := &model.Node{Name: name, AllocatablePods: 110, Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 << 30}}
	Labelled(framework.HostnameKey, name)(n)
	for _, o := range with {
		o(n)
	}
	return n
}

func Labelled(key, value string) NodeOption {
	return func(n *model.Node) {
		m := map[string]string{key: value}
		for _, l := range n.Labels {
			m[l.Key] = l.Value
		}
		n.Labels = model.LabelsOf(m)
	}
}

func Zone(name string) NodeOption { return Labelled("zone", name) }

func Tainted(key, value string, e model.Effect) NodeOption {
	return func(n *model.Node) { n.Taints = append(n.Taints, model.Taint{Key: key, Value: value, Effect: e}) }
}

// Pod asks for nothing, and has its name as uid.
func Pod(name string, with ...PodOption) *model.Pod {
	p := &model.Pod{Namespace: "default", Name: name, UID: name, Spec: &model.PodSpec{SchedulerName: "default-scheduler", ImageContainers: 1}}
	for _, o := range with {
		o(p)
	}
	return p
}

func Spec(change func(*model.PodSpec)) PodOption { return func(p *model.Pod) { change(p.Spec) } }

func OnNode(node string) PodOption { return func(p *model.Pod) { p.NodeName = node } }

func App(value string) PodOption {
	return func(p *model.Pod) { p.Labels = model.Labels{{Key: "app", Value: value}} }
}

func Requests(cpu, memory int64) PodOption {
	return Spec(func(s *model.PodSpec) {
		s.Requests = model.Resources{MilliCPU: cpu, Memory: memory}
		s.Scoring = s.Requests
	})
}

func Matches(key string, values ...string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: model.In, Values: values}}}
}

func LabelIn(key string, values ...string) model.NodeSelectorTerm {
	return model.NodeSelectorTerm{Labels: []model.Requirement{{Key: key, Op: model.In, Values: values}}}
}

// NewState is a state with these objects.
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
			panic(fmt.Sprintf("world: %T", o))
		}
	}
	return s
}

// Verdicts are the refusals of a record in one line: "node rule (code): reasons".
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

// Points are a rule's scores in one line: "node=points"; empty when it had
// nothing to score.
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

func Expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\n got %q\nwant %q", what, got, want)
	}
}

// NewHold is a hold of an owner; a Reserve has the shape of like.
func NewHold(t model.HoldType, owner, node string, like *model.Pod) *model.Hold {
	h := &model.Hold{Namespace: "default", Name: cluster.HoldName(owner, node, t), Type: t, Owner: model.Owner{UID: owner}, Node: node,
		Cause: "pressure", Count: 2, Until: time.Unix(1000, 0)}
	if like != nil {
		h.Placeholder = &model.Pod{Namespace: "default", Name: h.Name, UID: "hold/" + h.Key(), Owner: h.Owner, NominatedNodeName: node, Placeholder: true, Spec: like.Spec}
	}
	return h
}

// ForVictim makes a hold one of a victim of a name, from a time on.
func ForVictim(h *model.Hold, victim string, created int64) *model.Hold {
	h.Victim, h.VictimName, h.Created = "uid of "+victim, victim, time.Unix(created, 0)
	return h
}

func Near(key, value string, change ...func(*model.PodAffinityTerm)) model.PodAffinityTerm {
	t := model.PodAffinityTerm{TopologyKey: key, Selector: Matches("app", value), Namespaces: []string{"default"}}
	for _, f := range change {
		f(&t)
	}
	return t
}

func InNamespace(namespace string) PodOption { return func(p *model.Pod) { p.Namespace = namespace } }
