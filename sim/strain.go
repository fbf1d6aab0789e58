package sim

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/podlife"
	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/engine/pressure/usage"
	"github.com/berthproject/berth/internal/intake"
	"github.com/berthproject/berth/sim/store"
)

const (
	// looked is how often an agent looks at what its node has left.
	looked = time.Second
	// collecting is how long it takes to delete containers and images.
	collecting = 2 * time.Second
)

// strains are the nodes of which something is scripted to be used. The rest has room for ever.
type strains struct {
	w     *World
	nodes map[string]*strain
	// reported are the pressures that a machine said are there, also one whose agent has died.
	reported map[string][model.NumPressures]bool
}

// strain is a node's machine of pressure, and what it watches.
type strain struct {
	w       *World
	name    string
	node    usage.Node
	machine *pressure.Machine
	reserve *pressure.Reserve
	free    [pressure.NumFilesystems]pressure.Figure
	running bool
	said    string // what cannot be done, so that it is said once
}

// strained is what is known of a pod whose usage is scripted.
type strained struct {
	scripts map[string]*usage.Script // by container; nil: not read yet
	evicted *pressure.Evict
	diesBy  time.Time
	counted bool
}

// take begins to watch a node if a pod on it, or the node, has a script.
func (s *strains) take(p *agentPod) {
	name := p.object.Spec.NodeName
	if p.scripts == nil {
		p.scripts = s.scriptsOf(p.object)
	}
	s.of(name, len(p.scripts) > 0).start()
}

// begin watches a node that uses something itself.
func (s *strains) begin(name string) {
	if !s.w.agents.down[name] {
		s.of(name, false).start()
	}
}

func (n *strain) start() {
	if n != nil && !n.running {
		n.running = true
		n.w.after(0, n.look)
	}
}

// of is a node's strain, which is made if there is reason to.
func (s *strains) of(name string, used bool) *strain {
	if n := s.nodes[name]; n != nil {
		return n
	}
	o, _ := s.w.api.Get(store.Nodes, name)
	object, ok := o.(*corev1.Node)
	if !ok || !used && object.Annotations[usage.Annotation] == "" && s.reported[name] == [model.NumPressures]bool{} {
		return nil
	}
	n := &strain{w: s.w, name: name}
	n.node.Since = object.CreationTimestamp.Time
	var err error
	if n.node.Capacity, err = intake.CapacityOf(object); err == nil && object.Annotations[usage.Annotation] != "" {
		n.node.Own, err = usage.ParseNode(object.Annotations[usage.Annotation])
	}
	if err != nil {
		s.w.tell("agent", "usage", name, "node "+name+": "+err.Error())
		return nil
	}
	config := s.w.o.Pressure
	config.Layout = n.node.Capacity.Layout()
	n.machine = pressure.New(config)
	n.reserve, err = pressure.NewReserve(s.w.o.Reserve, func(f pressure.Filesystem) (pressure.Figure, error) {
		list, _ := n.pods()
		n.observe(list)
		return n.free[f], nil
	})
	if err != nil {
		s.w.tell("agent", "usage", name, "node "+name+": "+err.Error())
		return nil
	}
	n.machine.Restore(s.w.now, s.reported[name])
	if c := conditionOf(object, outOfDisk); c != nil && c.Status == corev1.ConditionTrue {
		n.reserve.Restore(pressure.Condition{True: true, Since: c.LastTransitionTime.Time})
	}
	s.nodes[name] = n
	return n
}

func conditionOf(n *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == kind {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}

// scriptsOf reads a pod's annotations.
func (s *strains) scriptsOf(p *corev1.Pod) map[string]*usage.Script {
	out, err := intake.UsageOf(p)
	if err != nil {
		s.w.tell("agent", "usage", keyOf(p), keyOf(p)+": "+err.Error())
	}
	return out
}

// drop forgets a node's machine, whose agent has died.
func (s *strains) drop(node string) { delete(s.nodes, node) }

// look reads what is left, decides, and acts.
func (n *strain) look() {
	if n.w.agents.strains.nodes[n.name] != n {
		return // its agent has died
	}
	list, scripted := n.pods()
	o := n.observe(list)
	effects, wake := n.machine.Step(n.w.now, &o)
	for _, e := range effects {
		n.do(e)
	}
	n.report()
	if n.reserve.Update(n.w.now) && (n.reserve.Condition().True || n.w.agents.reports[n.name][outOfDisk] != "") {
		n.w.Report(n.name, outOfDisk, status(n.reserve.Condition().True))
	}
	calm := n.machine.Conditions() == [model.NumPressures]pressure.Condition{} && !n.reserve.Condition().True
	if !scripted && n.node.Own.Empty() && calm && !n.machine.Collecting() {
		n.running = false // until a pod comes
		return
	}
	next := n.w.now.Add(looked)
	if wake.After(n.w.now) && wake.Before(next) {
		next = wake
	}
	n.w.at(next, n.look)
}

const outOfDisk = corev1.NodeConditionType(pressure.ReasonOutOfDisk)

func status(is bool) corev1.ConditionStatus {
	if is {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// pods are the node's pods that are not over, by name, and whether any is scripted.
func (n *strain) pods() (list []*agentPod, scripted bool) {
	for _, p := range n.w.agents.pods {
		if p.object.Spec.NodeName == n.name && p.life.Phase() != podlife.Succeeded && p.life.Phase() != podlife.Failed && !p.gone {
			list = append(list, p)
			scripted = scripted || len(p.scripts) > 0
		}
	}
	slices.SortFunc(list, func(a, b *agentPod) int { return strings.Compare(keyOf(a.object), keyOf(b.object)) })
	return list, scripted
}

func (n *strain) observe(list []*agentPod) pressure.Observation {
	uses, pods := make([]usage.Use, len(list)), make([]pressure.Pod, len(list))
	for i, p := range list {
		terms := intake.PressureTerms(p.object)
		var running []usage.Running
		for j := range p.object.Spec.Containers {
			name := p.object.Spec.Containers[j].Name
			if began, ok := n.w.agents.processes.began[process{p.object.UID, name}]; ok {
				running = append(running, usage.Running{Name: name, Script: p.scripts[name], Since: began})
			}
		}
		uses[i] = usage.UseOf(n.w.now, running, terms)
		pods[i] = pressure.Pod{Pod: n.w.model(p.object), Terms: terms, Stats: uses[i].Stats(), DiesBy: p.diesBy}
		if d := p.object.DeletionTimestamp; d != nil && (p.diesBy.IsZero() || d.Time.Before(p.diesBy)) {
			pods[i].DiesBy = d.Time
		}
	}
	o := n.node.Observe(n.w.now, uses)
	o.Pods = func() []pressure.Pod { return pods }
	for f, s := range [pressure.NumFilesystems]pressure.Signal{pressure.ImageFs: pressure.ImageFsAvailable, pressure.RootFs: pressure.NodeFsAvailable} {
		n.free[f] = pressure.Figure{Capacity: o.Signals[s].Capacity, Available: o.Signals[s].Available}
	}
	return o
}
