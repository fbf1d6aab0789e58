package chaos

import (
	"fmt"
	"math/rand"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/drainactor"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/store"
)

// Experiment is one run.
type Experiment struct {
	Seed     int64
	Pods     int           // number of pods, rounded up to full owners
	Duration time.Duration // time with faults
	// SkipSettling ends the run without waiting until the cluster settles.
	SkipSettling bool
	// Options are the simulation options before faults are added.
	Options cluster.Options
	// HalfWithoutBudgets leaves every second pair of owners without a budget.
	HalfWithoutBudgets bool
}

// Sizes of owners and nodes in pods.
const (
	podsPerOwner = 25
	nodeCapacity = 16
)

// scenario returns the cluster as a scenario: nodes in three zones at 75 % utilization, owners
// with budgets of all forms, and additional budgets over the same pods.
func (e *Experiment) scenario() string {
	var b strings.Builder
	nodes := e.Pods*4/(3*nodeCapacity) + 3
	for i := range nodes {
		fmt.Fprintf(&b, "node n%d cpu=%d pods=%d labels=topology.kubernetes.io/zone=z%d\n", i, nodeCapacity, 2*nodeCapacity, i%3)
	}
	forms := []string{"maxUnavailable=2", "minAvailable=80%", "minAvailable=20", "maxUnavailable=10%", "maxUnavailable=1 always", "maxUnavailable=0"}
	for i := 0; i*podsPerOwner < e.Pods; i++ {
		podOptions := fmt.Sprintf("cpu=1 priority=%d labels=app=a%d starts=%ds grace=8s stops=%ds", i%3, i, i%4, i%7)
		if i%2 == 0 {
			fmt.Fprintf(&b, "replicaset a%d replicas=%d %s\n", i, podsPerOwner, podOptions)
		} else {
			fmt.Fprintf(&b, "pod a%d-1..a%d-%d owner=a%d replace %s\n", i, i, podsPerOwner, i, podOptions)
		}
		if e.HalfWithoutBudgets && i%4 > 1 {
			continue
		}
		fmt.Fprintf(&b, "budget a%d match=app=a%d %s\n", i, i, forms[i%len(forms)])
		if i%5 == 0 {
			fmt.Fprintf(&b, "budget more%d match=app=a%d maxUnavailable=3\n", i, i)
		}
	}
	b.WriteString("daemonset logs cpu=100m priority=50\n")
	return b.String()
}

// Run runs the experiment. Cluster.Violation returns the violated invariant.
func (e *Experiment) Run() (*cluster.Cluster, error) {
	parsed, err := script.Parse("chaos", e.scenario())
	if err != nil {
		return nil, err
	}
	o := e.Options
	o.Seed = uint64(e.Seed)
	o.Latency, o.Lag = 2*time.Millisecond, 10*time.Millisecond
	o.Faults = sim.Faults{Requests: 0.03, Writes: 0.02, Delays: 0.1, Repeats: 0.05, MaxDelay: 2 * time.Second}
	f := &injector{r: rand.New(rand.NewSource(e.Seed)), experiment: e}
	defer func() { f.w.Close() }()
	result, err := parsed.RunOn(o, warmup, func(w *cluster.Cluster) error { f.w = w; return nil })
	if err != nil || result.Violation != nil {
		return result.Cluster, err
	}
	for at := warmup; at < warmup+e.Duration; at += f.nextDelay() {
		f.w.At(at, f.performAction)
	}
	if f.w.Run(warmup+e.Duration) == nil && !e.SkipSettling {
		f.w.ClearFaults()
		if f.w.Run(warmup+e.Duration+20*time.Minute) == nil {
			_ = f.w.CheckSettled()
		}
	}
	return f.w, nil
}

// warmup is the time until the cluster is up and faults start.
const warmup = time.Minute

// injector performs random actions.
type injector struct {
	r             *rand.Rand
	experiment    *Experiment
	w             *cluster.Cluster
	preemptors    int
	stoppedAgents []string // nodes with stopped agents
	tainted       []string // tainted nodes
}

// nextDelay returns the delay to the next action; actions come in bursts.
func (f *injector) nextDelay() time.Duration {
	if f.r.Intn(8) == 0 {
		return time.Duration(1+f.r.Intn(6000)) * time.Millisecond
	}
	return time.Duration(f.r.Intn(40)) * time.Millisecond
}

// performAction performs a random action.
func (f *injector) performAction() {
	switch n := f.r.Intn(100); {
	case n < 55:
		for range 1 + f.r.Intn(6) {
			f.evictPod()
		}
	case n < 70:
		f.createPreemptor()
	case n < 76:
		f.taintNode()
	case n < 80:
		f.untaintNode()
	case n < 82:
		drainactor.Kubectl(f.w, f.randomNode(), "other-client")
	case n < 84:
		f.uncordonNode()
	case n < 87:
		f.toggleAgent()
	case n < 88:
		_ = f.w.API().Delete(store.Nodes, f.randomNode(), store.Precondition{})
	default:
		f.injectFault()
	}
}

func (f *injector) randomPod() *corev1.Pod {
	list := f.w.API().List(store.Pods)
	if len(list) == 0 {
		return nil
	}
	p, _ := list[f.r.Intn(len(list))].(*corev1.Pod)
	return p
}

func (f *injector) randomNode() string {
	list := f.w.API().List(store.Nodes)
	if len(list) == 0 {
		return ""
	}
	return list[f.r.Intn(len(list))].GetName()
}

func (f *injector) evictPod() {
	if p := f.randomPod(); p != nil {
		e := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, DeleteOptions: metav1.NewPreconditionDeleteOptions(string(p.UID))}
		f.w.Displacement.Evict("other-client", p.Namespace, e, func(error) {})
	}
}
