package agent

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

const (
	// observeInterval is the interval of usage observations.
	observeInterval = time.Second
	// reclaimDuration is the time to delete containers and images.
	reclaimDuration = 2 * time.Second
)

// nodePressures simulates node pressure on nodes with scripted usage. Other nodes never run
// out of resources.
type nodePressures struct {
	w     *sim.World
	a     *Agents
	nodes map[string]*nodePressure
	// reported holds the pressure conditions that a machine last reported, by node. It keeps those
	// of stopped agents.
	reported map[string][model.NumPressures]bool
}

func newNodePressures(w *sim.World, a *Agents) nodePressures {
	return nodePressures{w: w, a: a, nodes: map[string]*nodePressure{}, reported: map[string][model.NumPressures]bool{}}
}

// nodePressure is the node pressure machine of a node and its inputs.
type nodePressure struct {
	w           *sim.World
	a           *Agents
	name        string
	node        usage.Node
	machine     *nodepressure.Machine
	reserve     *nodepressure.DiskReserve
	freeSpace   [nodepressure.NumFilesystems]nodepressure.FsSpace
	running     bool
	lastWarning string // last warning, to log it once
}

// podUsage is the scripted usage and the eviction of a pod.
type podUsage struct {
	scripts      map[string]*usage.Script // by container; nil: not read yet
	evicted      *nodepressure.Evict
	terminatesBy time.Time
	counted      bool // the eviction is counted
}

// addPod starts observing a node if the node or a pod on it has a script.
func (s *nodePressures) addPod(p *agentPod) {
	name := p.object.Spec.NodeName
	if p.scripts == nil {
		p.scripts = s.scriptsOf(p.object)
	}
	s.forNode(name, len(p.scripts) > 0).start()
}

// startNode starts observing a node with its own usage script.
func (s *nodePressures) startNode(name string) {
	if !s.a.stopped[name] {
		s.forNode(name, false).start()
	}
}

func (n *nodePressure) start() {
	if n != nil && !n.running {
		n.running = true
		n.w.After(0, n.check)
	}
}

// forNode returns the nodePressure of a node, and creates it if needed. It returns nil for a node with invalid
// annotations, and for a node without scripts and conditions unless scripted is set.
func (s *nodePressures) forNode(name string, scripted bool) *nodePressure {
	if n := s.nodes[name]; n != nil {
		return n
	}
	o, _ := s.w.API().Get(store.Nodes, name)
	object, ok := o.(*corev1.Node)
	if !ok || !scripted && object.Annotations[usage.Annotation] == "" && s.reported[name] == [model.NumPressures]bool{} {
		return nil
	}
	n := &nodePressure{w: s.w, a: s.a, name: name}
	n.node.Since = object.CreationTimestamp.Time
	var err error
	if n.node.Capacity, err = conversion.SimulatedCapacity(object); err == nil && object.Annotations[usage.Annotation] != "" {
		n.node.NodeScript, err = usage.ParseNode(object.Annotations[usage.Annotation])
	}
	if err != nil {
		s.w.Log("agent", "usage", name, "node "+name+": "+err.Error())
		return nil
	}
	config := s.a.o.Pressure
	config.Layout = n.node.Capacity.Layout()
	n.machine = nodepressure.New(config)
	n.reserve, err = nodepressure.NewDiskReserve(s.a.o.Reserve, func(f nodepressure.Filesystem) (nodepressure.FsSpace, error) {
		list, _ := n.pods()
		n.observe(list)
		return n.freeSpace[f], nil
	})
	if err != nil {
		s.w.Log("agent", "usage", name, "node "+name+": "+err.Error())
		return nil
	}
	n.machine.Restore(s.w.Now(), s.reported[name])
	if c := store.NodeCondition(object, outOfDisk); c != nil && c.Status == corev1.ConditionTrue {
		n.reserve.Restore(nodepressure.Condition{True: true, Since: c.LastTransitionTime.Time})
	}
	s.nodes[name] = n
	return n
}

// scriptsOf reads a pod's usage annotations.
func (s *nodePressures) scriptsOf(p *corev1.Pod) map[string]*usage.Script {
	out, err := conversion.SimulatedUsage(p)
	if err != nil {
		s.w.Log("agent", "usage", store.KeyOf(p), store.KeyOf(p)+": "+err.Error())
	}
	return out
}

// removeNode removes the machine of a node whose agent stopped.
func (s *nodePressures) removeNode(node string) { delete(s.nodes, node) }

// check observes the usage, steps the machine and executes its effects.
func (n *nodePressure) check() {
	if n.a.nodePressures.nodes[n.name] != n {
		return // the agent has stopped
	}
	list, scripted := n.pods()
	o := n.observe(list)
	effects, wake := n.machine.Step(n.w.Now(), &o)
	for _, e := range effects {
		n.applyEffect(e)
	}
	n.reportConditions()
	if n.reserve.Update(n.w.Now()) && (n.reserve.Condition().True || n.a.reports[n.name][outOfDisk] != "") {
		n.a.ReportCondition(n.name, outOfDisk, conditionStatus(n.reserve.Condition().True))
	}
	noCondition := n.machine.Conditions() == [model.NumPressures]nodepressure.Condition{} && !n.reserve.Condition().True
	if !scripted && n.node.NodeScript.Empty() && noCondition && !n.machine.Reclaiming() {
		n.running = false // until a pod is added
		return
	}
	next := n.w.Now().Add(observeInterval)
	if wake.After(n.w.Now()) && wake.Before(next) {
		next = wake
	}
	n.w.AtTime(next, n.check)
}

const outOfDisk = corev1.NodeConditionType(nodepressure.ReasonOutOfDisk)

func conditionStatus(isTrue bool) corev1.ConditionStatus {
	if isTrue {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// pods returns the unfinished pods of the node, sorted by name, and whether any is scripted.
func (n *nodePressure) pods() (list []*agentPod, scripted bool) {
	for _, p := range n.a.pods {
		if p.object.Spec.NodeName == n.name && p.lifecycle.Phase() != podlifecycle.Succeeded && p.lifecycle.Phase() != podlifecycle.Failed && !p.deleted {
			list = append(list, p)
			scripted = scripted || len(p.scripts) > 0
		}
	}
	slices.SortFunc(list, func(a, b *agentPod) int { return strings.Compare(store.KeyOf(a.object), store.KeyOf(b.object)) })
	return list, scripted
}

// observe returns the usage of the node with these pods, and sets freeSpace.
func (n *nodePressure) observe(list []*agentPod) nodepressure.Observation {
	usages, pods := make([]usage.PodUsage, len(list)), make([]nodepressure.Pod, len(list))
	for i, p := range list {
		spec := conversion.PressureTerms(p.object)
		var running []usage.RunningContainer
		for j := range p.object.Spec.Containers {
			name := p.object.Spec.Containers[j].Name
			if startedAt, ok := n.a.containers.startedAt[containerID{p.object.UID, name}]; ok {
				running = append(running, usage.RunningContainer{Name: name, Script: p.scripts[name], Since: startedAt})
			}
		}
		usages[i] = usage.PodUsageAt(n.w.Now(), running, spec)
		pods[i] = nodepressure.Pod{Pod: n.w.Model(p.object), EvictionSpec: spec, Stats: usages[i].Stats(), TerminatesBy: p.terminatesBy}
		if d := p.object.DeletionTimestamp; d != nil && (p.terminatesBy.IsZero() || d.Time.Before(p.terminatesBy)) {
			pods[i].TerminatesBy = d.Time
		}
	}
	o := n.node.Observe(n.w.Now(), usages)
	o.Pods = func() []nodepressure.Pod { return pods }
	for f, s := range [nodepressure.NumFilesystems]nodepressure.Signal{nodepressure.ImageFs: nodepressure.ImageFsAvailable, nodepressure.RootFs: nodepressure.NodeFsAvailable} {
		n.freeSpace[f] = nodepressure.FsSpace{Capacity: o.Signals[s].Capacity, Available: o.Signals[s].Available}
	}
	return o
}
