package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/fastpath"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
)

// fullCluster returns a cluster of n equal nodes, each full with four pods of low priority
// that started at different times.
func fullCluster(n int) *cluster.State {
	s := cluster.New()
	r := rand.New(rand.NewPCG(3, 4))
	spec := &model.PodSpec{SchedulerName: "default-scheduler", Requests: model.Resources{MilliCPU: 1000, Memory: 1 << 30}}
	spec.Scoring = spec.Requests
	for i := range n {
		name := fmt.Sprintf("node-%05d", i)
		s.UpsertNode(&model.Node{Name: name, AllocatablePods: 110, Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 << 30},
			Labels: model.LabelsOf(map[string]string{hostKey: name, zoneKey: string(rune('a' + i%3))})})
		for k := range 4 {
			s.UpsertPod(&model.Pod{Namespace: "default", Name: fmt.Sprintf("low-%d-%d", i, k), UID: fmt.Sprintf("low-%d-%d", i, k), NodeName: name,
				Labels: model.LabelsOf(map[string]string{"app": fmt.Sprint("low-", r.IntN(8))}), Spec: spec, Phase: model.Running, Ready: true,
				Started: time.Unix(1767225600+int64(r.IntN(100000)), 0)})
		}
	}
	return s
}

// BenchmarkPreemption measures the search for victims on a full cluster. The variants are:
//   - equal preemptors, with the reference evaluator and with the planner
//   - preemptors of different sizes
//   - equal preemptors that are spread over zones
//   - equal preemptors, with a budget over each eighth of the victims, which each preemption uses
//
// The deletion of the victims and the creation of the preemptor are not measured. us/plan is the time of the
// plan alone. The two slow variants take up to a second per plan and run at most maxPlans times, for any
// -benchtime.
func BenchmarkPreemption(b *testing.B) {
	for _, nodes := range []int{500, 5000, 50000} {
		for _, variant := range []string{referenceEvaluator, "equal", "random sizes", spread, "budgets"} {
			b.Run(fmt.Sprintf("%s/%d nodes", variant, nodes), func(b *testing.B) { preempt(b, nodes, variant) })
		}
	}
}

const (
	referenceEvaluator = "reference, at most 20 plans"
	spread             = "spread, at most 1000 plans"
)

// maxPlans is the maximum number of plans of a variant.
var maxPlans = map[string]int{referenceEvaluator: 20, spread: 1000}

// preemptorLifetime is the number of preemptors after which one is deleted and its victims are
// created again.
const preemptorLifetime = 100

// allocInterval is the number of preemptors after which the allocations of a plan are counted.
const allocInterval = 64

// preemptionBench is a run of a variant.
type preemptionBench struct {
	state   *cluster.State
	profile *framework.Profile
	engine  *fastpath.Engine
	planner *preemption.Planner
	recent  [][]*model.Pod // ring of the last preemptors, each followed by its victims
	spent   time.Duration  // on plans
	allocs  uint64         // of each allocInterval-th plan
}

func preempt(b *testing.B, nodes int, variant string) {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	s := fullCluster(nodes)
	run := &preemptionBench{state: s, profile: p, engine: fastpath.NewEngine(s, p, 1), planner: preemption.NewPlanner(s, p, 1, preemption.Defaults()),
		recent: make([][]*model.Pod, preemptorLifetime)}
	for i := range 8 {
		if variant == "budgets" {
			app := fmt.Sprint("low-", i)
			s.UpsertBudget(&model.Budget{Namespace: "default", Name: app, Selector: appSelector(app), DisruptionsAllowed: 40, DesiredHealthy: int32(nodes/2 - nodes/10)})
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	spec := highPrioritySpec(1000, 1<<30)
	n := b.N
	if m, ok := maxPlans[variant]; ok {
		n = min(n, m)
		b.ReportMetric(0, "ns/op") // meaningless, as it counts plans that were not made
	}
	for i := range n {
		switch variant {
		case spread:
			spec.Spread = []model.SpreadConstraint{{TopologyKey: zoneKey, MaxSkew: 5, MinDomains: 1, Hard: true, Selector: appSelector("high")}}
		case "random sizes":
			spec = highPrioritySpec(int64(1+r.IntN(4000)), int64(1+r.IntN(8192))<<20)
		}
		run.preemptNext(b, i, variant, spec)
	}
	b.ReportMetric(float64(run.spent.Nanoseconds())/1000/float64(n), "us/plan")
	b.ReportMetric(float64(run.allocs)/float64((n+allocInterval-1)/allocInterval), "allocs/plan")
}

func highPrioritySpec(cpu, memory int64) *model.PodSpec {
	spec := &model.PodSpec{SchedulerName: "default-scheduler", Priority: 1000, Requests: model.Resources{MilliCPU: cpu, Memory: memory}}
	spec.Scoring = spec.Requests
	return spec
}

// preemptNext plans the preemption of one pod, and deletes a preemptor of an earlier call.
func (run *preemptionBench) preemptNext(b *testing.B, i int, variant string, spec *model.PodSpec) {
	s := run.state
	for k, p := range run.recent[i%preemptorLifetime] {
		if k == 0 {
			s.RemovePod(p.UID)
			continue
		}
		victim := *p
		victim.Name = fmt.Sprintf("low-recreated-%d-%d", i, k)
		victim.UID = victim.Name
		s.UpsertPod(&victim)
	}
	pod := &model.Pod{Namespace: "default", Name: fmt.Sprintf("high-%d", i), UID: fmt.Sprintf("high-%d", i), Spec: spec,
		Labels: model.LabelsOf(map[string]string{"app": "high"})}
	s.UpsertPod(pod)
	var summary decision.Summary
	if run.engine.Decide(pod, &summary); summary.Outcome != decision.Infeasible {
		run.recent[i%preemptorLifetime] = []*model.Pod{run.bind(b, pod, summary.Choice)}
		return
	}
	plan := run.plan(i%allocInterval == 0, variant, pod, &summary)
	if plan.Outcome != decision.PreemptionNominated {
		b.Fatalf("pod %d: outcome %s, want nominated", i, plan.Outcome)
	}
	for _, d := range plan.Debits {
		updated := *d.Budget
		updated.Disrupted = d.Granted
		s.UpsertBudget(&updated)
	}
	for _, v := range plan.Victims {
		s.RemovePod(v.UID)
	}
	run.recent[i%preemptorLifetime] = append([]*model.Pod{run.bind(b, pod, plan.Node)}, plan.Victims...)
}

// bind adds a pod to the node and returns the bound pod.
func (run *preemptionBench) bind(b *testing.B, pod *model.Pod, node string) *model.Pod {
	bound := *pod
	bound.NodeName, bound.Phase, bound.Started = node, model.Running, time.Unix(1767325600, 0)
	run.state.UpsertPod(&bound)
	return &bound
}

// plan plans the preemption by a pod and measures the time, and the allocations if countAllocs is set.
func (run *preemptionBench) plan(countAllocs bool, variant string, pod *model.Pod, summary *decision.Summary) (plan *decision.Preemption) {
	var before, after runtime.MemStats
	if countAllocs {
		runtime.ReadMemStats(&before)
	}
	start := time.Now()
	if variant == referenceEvaluator {
		plan = &preemption.Evaluate(run.state, run.profile, 1, preemption.Defaults(), pod, placement.Evaluate(run.state, run.profile, 1, pod)).Preemption
	} else {
		plan = run.planner.Plan(pod, summary)
	}
	run.spent += time.Since(start)
	if countAllocs {
		runtime.ReadMemStats(&after)
		run.allocs += after.Mallocs - before.Mallocs
	}
	return plan
}
