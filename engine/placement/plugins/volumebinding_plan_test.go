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

func formatPlan(t *testing.T, s *cluster.State, pod *model.Pod, node string) string {
	t.Helper()
	plan, err := plugins.PlanVolumes(profile(t), s, pod, node)
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
		out += " provision:" + c.Name
	}
	return out
}

func TestPlanVolumes(t *testing.T) {
	s := withObjects(build.NewState(build.Node("n1"), build.Node("n2")), localClass, provisionedClass, claim("c", "local", 10), claim("d", "local", 5), claim("m", "csi", 1),
		local("a", "n1", 10), local("b", "n1", 20), local("z", "n1", 6), boundTo("bound", "v"), &model.PersistentVolume{Name: "v"})
	selected := claim("k", "csi", 1)
	selected.HasSelectedNode, selected.SelectedNode = true, "n1"
	withObjects(s, selected)
	check := func(node, want string, claims ...string) {
		t.Helper()
		if got := formatPlan(t, s, build.Pod("p", uses(claims...)), node); got != want {
			t.Errorf("%v on %s: got %q, want %q", claims, node, got, want)
		}
	}
	check("n1", "")
	check("n1", "", "bound")
	check("n1", "on n1 d=z c=a", "c", "d", "bound")
	check("n1", "on n1 c=a provision:k provision:m", "m", "c", "k")
	check("n2", `error: volumes of pod default/p on node "n2": claim "c": node(s) didn't find available persistent volumes to bind`, "c")
	check("n2", `error: volumes of pod default/p on node "n2": claim "k": node(s) didn't find available persistent volumes to bind`, "k")
	check("n9", `error: volumes of pod default/p on node "n9": no such node`, "c")
	check("n1", `error: volumes of pod default/p on node "n1": persistentvolumeclaim "none" not found`, "none")
}

func TestAssumedVolumesAreNotFree(t *testing.T) {
	s := withObjects(build.NewState(build.Node("n1"), build.Node("n2")), localClass, provisionedClass, claim("c", "local", 5), claim("d", "local", 5), claim("m", "csi", 1), local("a", "n1", 10))
	p := profile(t)
	first := build.Pod("p", uses("c", "m"))
	plan, err := plugins.PlanVolumes(p, s, first, "n1")
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
	if got, want := formatPlan(t, s, build.Pod("q", uses("c", "m")), "n1"), "on n1 c=a provision:m"; got != want {
		t.Errorf("another pod with the same claims: got %q, want %q", got, want)
	}
	s.ForgetVolumes(first.UID)
	if got, want := build.Verdicts(decide(t, s, second)), "n2 VolumeBinding (UAU): "+none; got != want {
		t.Errorf("after ForgetVolumes: got %s\nwant %s", got, want)
	}
}

// TestSelectedNodesHavePlans checks that the volumes of a pod can be planned on the node
// that was selected for it.
func TestSelectedNodesHavePlans(t *testing.T) {
	plans := 0
	for seed := range uint64(build.SoakRounds(300)) {
		g := build.Generator{Rand: rand.New(rand.NewPCG(seed, 11))}
		s := cluster.New()
		for i := range 6 {
			s.UpsertNode(g.Node(i))
		}
		for range 6 {
			g.AddStorage(s)
		}
		p := profile(t)
		for i := range 20 {
			pod := &model.Pod{Namespace: "x", Name: fmt.Sprint("p", i), UID: fmt.Sprint("u", i), Spec: &model.PodSpec{SchedulerName: "default-scheduler"}}
			pod.Spec.Claims = []model.PodClaim{{Claim: g.Pick("data", "logs", "made", "bound")}, {Claim: g.Pick("data", "made")}}[:1+g.IntN(2)]
			rec := placement.Evaluate(s, p, seed, pod)
			if rec.Outcome != decision.Scheduled {
				continue
			}
			plan, err := plugins.PlanVolumes(p, s, pod, rec.Choice)
			if err != nil {
				t.Fatalf("seed %d: planning the volumes on %s: %v", seed, rec.Choice, err)
			}
			if plan != nil {
				plans++
			}
			if err := s.Assume(pod, rec.Choice); err != nil {
				t.Fatal(err)
			}
			s.AssumeVolumes(pod, plan)
			checkPlannedOnce(t, s)
		}
	}
	if plans < 100 {
		t.Errorf("got %d plans, want at least 100", plans)
	}
}

// checkPlannedOnce checks that no volume is planned for two claims.
func checkPlannedOnce(t *testing.T, s *cluster.State) {
	t.Helper()
	claimOf := map[string]string{}
	for i := range 20 {
		plan := s.VolumePlan(fmt.Sprint("u", i))
		if plan == nil {
			continue
		}
		for _, b := range plan.Bind {
			if claim := claimOf[b.Volume.Name]; claim != "" && claim != b.Claim.Name {
				t.Fatalf("volume %s is planned for claims %s and %s", b.Volume.Name, claim, b.Claim.Name)
			}
			claimOf[b.Volume.Name] = b.Claim.Name
		}
	}
}

func TestVolumeBindingScoresByShape(t *testing.T) {
	p := profile(t, func(c *framework.Config) {
		c.StorageCapacityShape = []framework.ShapePoint{{Utilization: 0, Score: 0}, {Utilization: 100, Score: 10}}
		c.Score = []framework.WeightedPlugin{{Plugin: decision.VolumeBinding, Weight: 2}}
	})
	bytes := func(n int64) *int64 { return &n }
	s := withObjects(build.NewState(build.Node("n1", build.Zone("z1")), build.Node("n2", build.Zone("z2"))), localClass, provisionedClass, claim("c", "local", 10), claim("m", "csi", 30),
		&model.CSIDriver{Name: "csi.example.com", StorageCapacity: true},
		local("a", "n1", 20), local("b", "n2", 10), local("b2", "n2", 10),
		&model.CSIStorageCapacity{Name: "a", Class: "csi", Topology: build.Matches("zone", "z1"), Capacity: bytes(100)},
		&model.CSIStorageCapacity{Name: "b", Class: "csi", Topology: build.Matches("zone", "z2"), Capacity: bytes(60)})
	check := func(want string, claims ...string) {
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
	check("n1=100 n2=200 ", "c")      // 10 of 20, 10 of 10
	check("n1=60 n2=100 ", "m")       // 30 of 100, 30 of 60
	check("n1=100 n2=200 ", "c", "m") // existing volumes take precedence
	check("n1=0 n2=0 ")
}
