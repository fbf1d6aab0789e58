package scripted

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent"
	agentpressure "github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/engine/pressure/usage"
	"github.com/berthproject/berth/internal/intake"
)

// node is a simulated node on which something is scripted.
type node struct {
	name    string
	started time.Time
	// Shell.mu guards these.
	next  time.Time // when it is to be looked at; zero: when something comes
	asked bool      // for a look, since the last one began

	mu      sync.Mutex // guards the rest
	intake  *intake.Intake
	usage   usage.Node
	machine *pressure.Machine
	reserve *pressure.Reserve
	free    [pressure.NumFilesystems]pressure.Figure
	dying   map[types.UID]time.Time // when their grace ends
	pods    map[types.UID]*pod
	// What is being collected, and when that is done.
	collects *pressure.Collect
	done     time.Time
	was      bool // OutOfDisk was ever true
}

// pod is what is kept of a pod between looks.
type pod struct {
	version string
	model   *model.Pod
	terms   *pressure.Terms
	scripts map[string]*usage.Script
}

func newNode(o *Options, object *corev1.Node) (*node, error) {
	capacity, err := intake.CapacityOf(object)
	if err != nil {
		return nil, err
	}
	n := &node{name: object.Name, started: time.Now(), intake: intake.New(), dying: map[types.UID]time.Time{}, pods: map[types.UID]*pod{}}
	n.usage = usage.Node{Capacity: capacity, Since: n.started}
	if text := object.Annotations[usage.Annotation]; text != "" {
		if n.usage.Own, err = usage.ParseNode(text); err != nil {
			return nil, err
		}
	}
	config := o.Config
	config.Layout = capacity.Layout()
	n.machine = pressure.New(config)
	n.reserve, err = pressure.NewReserve(o.Reserve, func(f pressure.Filesystem) (pressure.Figure, error) { return n.free[f], nil })
	return n, err
}

// admit says why the node does not take a pod now; nil: it does.
func (n *node) admit(p *corev1.Pod) *agent.Refusal {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ok, reason, message := n.machine.Admit(n.intake.Pod(p), intake.PressureTerms(p)); !ok {
		return &agent.Refusal{Reason: reason, Message: message}
	}
	if ok, reason, message := n.reserve.Admit(time.Now()); !ok {
		return &agent.Refusal{Reason: reason, Message: message}
	}
	return nil
}

// conditions are those that the machine and the reserve keep; OutOfDisk once it has been true.
func (n *node) conditions() []corev1.NodeCondition {
	n.mu.Lock()
	defer n.mu.Unlock()
	return agentpressure.Conditions(n.machine, n.reserve, n.started, n.was)
}

// observe is what is seen of the node while list runs, and whether any of it is scripted. The
// caller holds mu.
func (n *node) observe(now time.Time, list []*corev1.Pod) (o pressure.Observation, scripted bool) {
	uses, pods, kept := make([]usage.Use, len(list)), make([]pressure.Pod, len(list)), map[types.UID]*pod{}
	for i, object := range list {
		p := n.known(object)
		kept[object.UID] = p
		scripted = scripted || len(p.scripts) > 0
		uses[i] = usage.UseOf(now, p.running(object), p.terms)
		pods[i] = pressure.Pod{Pod: p.model, Terms: p.terms, Stats: uses[i].Stats(), DiesBy: n.dying[object.UID]}
		if d := object.DeletionTimestamp; d != nil && (pods[i].DiesBy.IsZero() || d.Time.Before(pods[i].DiesBy)) {
			pods[i].DiesBy = d.Time
		}
	}
	n.pods = kept
	o = n.usage.Observe(now, uses)
	o.Pods = func() []pressure.Pod { return pods }
	for f, s := range [pressure.NumFilesystems]pressure.Signal{pressure.ImageFs: pressure.ImageFsAvailable, pressure.RootFs: pressure.NodeFsAvailable} {
		n.free[f] = pressure.Figure{Capacity: o.Signals[s].Capacity, Available: o.Signals[s].Available}
	}
	return o, scripted
}

// known is what is kept of a pod, made anew when it has changed. A script that cannot be read
// says nothing.
func (n *node) known(object *corev1.Pod) *pod {
	if p := n.pods[object.UID]; p != nil && p.version == object.ResourceVersion {
		return p
	}
	p := &pod{version: object.ResourceVersion, model: n.intake.Pod(object), terms: intake.PressureTerms(object)}
	p.scripts, _ = intake.UsageOf(object)
	return p
}

// running are the containers that the pod's status has as running.
func (p *pod) running(object *corev1.Pod) (out []usage.Running) {
	for i := range object.Status.ContainerStatuses {
		if c := &object.Status.ContainerStatuses[i]; c.State.Running != nil {
			out = append(out, usage.Running{Name: c.Name, Script: p.scripts[c.Name], Since: c.State.Running.StartedAt.Time})
		}
	}
	return out
}
