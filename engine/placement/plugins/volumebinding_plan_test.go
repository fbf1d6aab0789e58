package plugins_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
	"github.com/berthproject/berth/internal/testkit/build"
)

// planned formats a plan.
func planned(t *testing.T, s *cluster.State, pod *model.Pod, node string) string {
	t.Helper()
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := plugins.PlanVolumes(p, s, pod, node)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case plan == nil:
		return ""
	}
	out := "on " + plan.Node
	for _, b := range plan.Bind {
		out += fmt.Sprintf(" %s=%s", b.Claim.Name, b.Volume.Name)
	}
	for _, c := range plan.Provision {
		out += " make:" + c.Name
	}
	return out
}

func TestVolumePlanEqualsFilter(t *testing.T) {
	s := withObjects(build.NewState(build.Node("n1"), build.Node("n2")), waitingClass, madeClass, claim("c", "local", 10), claim("d", "local", 5), claim("m", "made", 1),
		local("a", "n1", 10), local("b", "n1", 20), local("z", "n1", 6), boundTo("has", "v"), &model.PersistentVolume{Name: "v"})
	chosen := claim("k", "made", 1)
	chosen.HasSelectedNode, chosen.SelectedNode = true, "n1"
	withObjects(s, chosen)
	f := func(node, want string, claims ...string) {
		t.Helper()
		if got := planned(t, s, build.Pod("p", uses(claims...)), node); got != want {
			t.Errorf("%v on %s: got %q, want %q", claims, node, got, want)
		}
	}
	f("n1", "")
	f("n1", "", "has")
	f("n1", "on n1 d=z c=a", "c", "d", "has")
	f("n1", "on n1 c=a make:k make:m", "m", "c", "k")
	f("n2", `error: volumes of pod default/p on node "n2": claim "c": node(s) didn't find available persistent volumes to bind`, "c")
	f("n2", `error: volumes of pod default/p on node "n2": claim "k": node(s) didn't find available persistent volumes to bind`, "k")
	f("n9", `error: volumes of pod default/p on node "n9": no such node`, "c")
	f("n1", `error: volumes of pod default/p on node "n1": persistentvolumeclaim "none" not found`, "none")
}

func TestAssumedVolumesAreNotFree(t *testing.T) {
	s := withObjects(build.NewState(build.Node("n1"), build.Node("n2")), waitingClass, madeClass, claim("c", "local", 5), claim("d", "local", 5), claim("m", "made", 1), local("a", "n1", 10))
	cfg, _ := framework.NewProfile(framework.DefaultConfig())
	first := build.Pod("p", uses("c", "m"))
	plan, err := plugins.PlanVolumes(cfg, s, first, "n1")
	if err != nil {
		t.Fatal(err)
	}
	s.AssumeVolumes(first, plan)
	const none = "node(s) didn't find available persistent volumes to bind"
	second := build.Pod("q", uses("d"))
	if got, want := build.Verdicts(decide(t, s, second)), "n1 VolumeBinding (UAU): "+none+"; n2 VolumeBinding (UAU): "+none; got != want {
		t.Errorf("the only volume is assumed: got %s\nwant %s", got, want)
	}
	if got, want := build.Verdicts(decide(t, s, build.Pod("q", uses("m")))), "n2 VolumeBinding (UAU): "+none; got != want {
		t.Errorf("the claim is assumed to be provisioned for n1: got %s\nwant %s", got, want)
	}
	if got, want := planned(t, s, build.Pod("q", uses("c", "m")), "n1"), "on n1 c=a make:m"; got != want {
		t.Errorf("another pod with the same claims: got %q, want %q", got, want)
	}
	s.ForgetVolumes(first.UID)
	if got := build.Verdicts(decide(t, s, second)); got != "n2 VolumeBinding (UAU): "+none {
		t.Errorf("forgotten: got %s", got)
	}
}

// Every selected node has a plan, if there are claims to plan for.
func TestChosenNodesHavePlans(t *testing.T) {
	plans := 0
	for seed := range uint64(build.SoakRounds(300)) {
		d := build.Generator{Rand: rand.New(rand.NewPCG(seed, 11))}
		s := cluster.New()
		for i := range 6 {
			s.UpsertNode(d.Node(i))
		}
		for range 6 {
			d.Storage(s)
		}
		p, _ := framework.NewProfile(framework.DefaultConfig())
		for i := range 20 {
			pod := &model.Pod{Namespace: "x", Name: fmt.Sprint("p", i), UID: fmt.Sprint("u", i), Spec: &model.PodSpec{SchedulerName: "default-scheduler"}}
			pod.Spec.Claims = []model.PodClaim{{Claim: d.Pick("data", "logs", "made", "bound")}, {Claim: d.Pick("data", "made")}}[:1+d.IntN(2)]
			rec := placement.Evaluate(s, p, seed, pod)
			if rec.Outcome != decision.Scheduled {
				continue
			}
			plan, err := plugins.PlanVolumes(p, s, pod, rec.Choice)
			if err != nil {
				t.Fatalf("seed %d: chosen %s, but %v", seed, rec.Choice, err)
			}
			if plan != nil {
				plans++
			}
			if err := s.Assume(pod, rec.Choice); err != nil {
				t.Fatal(err)
			}
			s.AssumeVolumes(pod, plan)
			once(t, s)
		}
	}
	if plans < 100 {
		t.Errorf("only %d plans were made", plans)
	}
}

// once checks that no volume is in the plans of two claims.
func once(t *testing.T, s *cluster.State) {
	t.Helper()
	of := map[string]string{}
	for i := range 20 {
		plan := s.VolumePlan(fmt.Sprint("u", i))
		if plan == nil {
			continue
		}
		for _, b := range plan.Bind {
			if claim := of[b.Volume.Name]; claim != "" && claim != b.Claim.Name {
				t.Fatalf("volume %s is planned for claims %s and %s", b.Volume.Name, claim, b.Claim.Name)
			}
			of[b.Volume.Name] = b.Claim.Name
		}
	}
}

func TestVolumesScoreByTheShape(t *testing.T) {
	cfg := framework.DefaultConfig()
	cfg.StorageCapacityShape = []framework.ShapePoint{{Utilization: 0, Score: 0}, {Utilization: 100, Score: 10}}
	cfg.Score = []framework.WeightedPlugin{{Plugin: decision.VolumeBinding, Weight: 2}}
	p, err := framework.NewProfile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	room := func(n int64) *int64 { return &n }
	s := withObjects(build.NewState(build.Node("n1", build.Zone("z1")), build.Node("n2", build.Zone("z2"))), waitingClass, madeClass, claim("c", "local", 10), claim("m", "made", 30),
		&model.CSIDriver{Name: "csi.example.com", StorageCapacity: true},
		local("a", "n1", 20), local("b", "n2", 10), local("b2", "n2", 10),
		&model.CSIStorageCapacity{Name: "a", Class: "made", Topology: build.Matches("zone", "z1"), Capacity: room(100)},
		&model.CSIStorageCapacity{Name: "b", Class: "made", Topology: build.Matches("zone", "z2"), Capacity: room(60)})
	f := func(want string, claims ...string) {
		t.Helper()
		rec := placement.Evaluate(s, p, 1, build.Pod("p", uses(claims...)))
		got := ""
		for _, n := range rec.Nodes {
			got += fmt.Sprintf("%s=%d ", n.Name, n.Total)
		}
		if got != want {
			t.Errorf("%v: got %s, want %s", claims, got, want)
		}
	}
	f("n1=100 n2=200 ", "c")      // 10 of 20, 10 of 10
	f("n1=60 n2=100 ", "m")       // 30 of 100, 30 of 60
	f("n1=100 n2=200 ", "c", "m") // existing volumes take precedence
	f("n1=0 n2=0 ")
}
