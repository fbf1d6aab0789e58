package cluster

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/berthproject/berth/engine/model"
)

var (
	imageNames = []string{"a:1", "b:1", "c:latest"}
	claimNames = []string{"x/data", "x/logs", "y/data"}
)

// forkedState is a State with its reference implementation.
type forkedState struct {
	s   *State
	ref *referenceState
}

// gen creates random objects.
type gen struct{ *rand.Rand }

func (g gen) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g gen) node() *model.Node {
	n := &model.Node{
		Name: fmt.Sprint("n", g.IntN(6)), AllocatablePods: int64(g.IntN(10)),
		Labels:      model.LabelsOf(map[string]string{"zone": g.pick("a", "b"), "disk": g.pick("ssd", "hdd"), g.pick("host", "other"): g.pick("1", "2", "3", "4")}),
		Allocatable: model.Resources{MilliCPU: int64(g.IntN(8000)), Memory: int64(g.IntN(1 << 30))},
	}
	if g.IntN(4) == 0 {
		n.Taints = []model.Taint{{Key: "t", Effect: model.NoSchedule}}
	}
	for range g.IntN(3) {
		image := model.Image{Size: int64(1 + g.IntN(1000))}
		for range 1 + g.IntN(2) {
			image.Names = append(image.Names, imageNames[g.IntN(len(imageNames))])
		}
		n.Images = append(n.Images, image)
	}
	return n
}

func (g gen) pod() *model.Pod {
	spec := &model.PodSpec{Priority: int32(g.IntN(3))}
	spec.Requests = model.Resources{MilliCPU: int64(g.IntN(500)), Memory: int64(g.IntN(1000)), Ephemeral: int64(g.IntN(3))}
	spec.Scoring = model.Resources{MilliCPU: spec.Requests.MilliCPU + 100, Memory: spec.Requests.Memory + 200}
	for range g.IntN(3) {
		spec.Requests.Scalars = append(spec.Requests.Scalars,
			model.Scalar{Name: g.pick("x.io/gpu", "hugepages-2Mi", "a.io/b"), Amount: int64(g.IntN(3))})
	}
	for range g.IntN(2) {
		spec.Ports = append(spec.Ports, model.HostPort{IP: "0.0.0.0", Protocol: "TCP", Port: int32(80 + g.IntN(2))})
	}
	for range g.IntN(3) {
		spec.Claims = append(spec.Claims, model.PodClaim{Claim: g.pick("data", "logs")})
	}
	g.terms(spec)
	i := g.IntN(24)
	p := &model.Pod{Namespace: g.pick("x", "y"), Name: fmt.Sprint("p", i), UID: fmt.Sprint("u", i), Spec: spec,
		Labels:   model.LabelsOf(map[string]string{"app": g.pick("web", "db"), "v": g.pick("1", "2")}),
		Deleting: g.IntN(8) == 0}
	if g.IntN(2) == 0 {
		p.NodeName = fmt.Sprint("n", g.IntN(7))
	} else if g.IntN(3) == 0 {
		p.NominatedNodeName = fmt.Sprint("n", g.IntN(7))
	}
	if g.IntN(8) == 0 {
		p.Phase = model.Succeeded
	}
	return p
}

// step applies one random change to the state and the reference implementation.
func (g gen) step(t *testing.T, v forkedState) {
	p := g.pod()
	switch g.IntN(10) {
	case 0, 1:
		n := g.node()
		v.s.UpsertNode(n)
		v.ref.nodes[n.Name] = n
	case 2:
		name := fmt.Sprint("n", g.IntN(6))
		v.s.RemoveNode(name)
		delete(v.ref.nodes, name)
	case 3:
		if old := v.ref.reported[p.UID]; old != nil { // a status update
			updated := *old
			updated.Ready = !updated.Ready
			updated.Deleting = updated.Deleting != (g.IntN(4) == 0)
			p = &updated
		}
		v.s.UpsertPod(p)
		v.ref.upsertPod(p)
	case 4, 5:
		v.s.UpsertPod(p)
		v.ref.upsertPod(p)
	case 6:
		v.s.RemovePod(p.UID)
		v.ref.removePod(p.UID)
	case 7, 8:
		p.NodeName = ""
		node := fmt.Sprint("n", g.IntN(6))
		err := v.s.Assume(p, node)
		if want := v.ref.assume(p, node); (err == nil) != want {
			t.Errorf("Assume(%s, %s): error %v, want success %t", p.UID, node, err, want)
		}
	case 9:
		v.s.Forget(p.UID)
		delete(v.ref.assumed, p.UID)
	}
}

// rounds returns count, 30*count if BERTH_SOAK is 1, or else the number in BERTH_SOAK.
func rounds(count int) int {
	switch n, err := strconv.Atoi(os.Getenv("BERTH_SOAK")); {
	case err != nil || n <= 0:
		return count
	case n == 1:
		return 30 * count
	default:
		return n
	}
}

// TestStateEqualsReference compares States and their forks with the reference
// implementation.
func TestStateEqualsReference(t *testing.T) {
	for seed := range uint64(rounds(60)) {
		g := gen{rand.New(rand.NewPCG(seed, 1))}
		states := []forkedState{{New(), newReferenceState()}}
		for i := range 300 {
			k := g.IntN(len(states))
			v := states[k]
			before := v.s.Revision()
			g.step(t, v)
			if v.s.Revision() < before {
				t.Fatalf("seed %d step %d: revision %d after revision %d, want no decrease", seed, i, v.s.Revision(), before)
			}
			if g.IntN(25) == 0 {
				f := forkedState{v.s.Fork(), v.ref.clone()}
				if len(states) < 4 {
					states = append(states, f)
				} else {
					states[g.IntN(4)] = f
				}
			}
			if i%5 != 0 && i > 50 {
				continue
			}
			for j, v := range states {
				if got, want := v.s.dump(), v.ref.dump(); got != want {
					t.Fatalf("seed %d step %d fork %d:\n%s\nwant\n%s", seed, i, j, got, want)
				}
			}
		}
	}
}
