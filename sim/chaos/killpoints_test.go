package chaos

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/store"
)

// killStride is the distance between the tested kill points of a test run without BERTH_SOAK.
const killStride = 11

// restartDelay is the time until a killed actor restarts.
const restartDelay = 500 * time.Millisecond

// TestKillPoints kills each actor of each scenario before and after each of its requests, and the eviction handler after
// each of its writes. All invariants, with Liveness, and all expectations must hold. It tests all kill points with
// BERTH_SOAK, and otherwise some of each actor.
func TestKillPoints(t *testing.T) {
	stride, total, tested := killStride, 0, 0
	if os.Getenv("BERTH_SOAK") != "" {
		stride = 1
	}
	for _, name := range slices.Sorted(maps.Keys(killScenarios)) {
		t.Run(name, func(t *testing.T) {
			s := killScenarios[name]
			requests := map[string]int{}
			base := runScenario(t, s.text, func(c *cluster.Cluster) {
				c.OnNotice(func(notice any) {
					if n, ok := notice.(sim.Requested); ok {
						requests[n.Actor]++
					}
				})
			})
			base.Cluster.Close()
			for _, actor := range s.actors {
				points := killPoints(base.Timeline, actor, requests[actor])
				if len(points) == 0 {
					t.Errorf("actor %s sent no request", actor)
				}
				for i := 0; i < len(points); i += stride {
					killed := runScenario(t, s.text, points[i].insert)
					killed.Cluster.Close()
					if !points[i].occurred(killed) {
						t.Errorf("%s was not killed", points[i])
					}
					if t.Failed() {
						t.Fatalf("after a kill at %s", points[i])
					}
					tested++
				}
				total += len(points)
				fmt.Printf("soak: scenario %q: %d kill points of %s\n", name, len(points), actor)
			}
		})
	}
	fmt.Printf("soak: %d of %d kill points tested\n", tested, total)
}

// killPoint is a point of a scenario at which an actor is killed.
type killPoint struct {
	request sim.KillPoint
	// evicted is the pod of an eviction whose handler is killed after writes.
	evicted string
	writes  int
}

func (k killPoint) String() string {
	if k.evicted != "" {
		return fmt.Sprintf("the eviction of %s after %d writes", k.evicted, k.writes)
	}
	return fmt.Sprintf("%+v", k.request)
}

// evictionHandler is the API server's handler of evictions in killScenarios.
const evictionHandler = "eviction handler"

// evictionWrites is the number of writes of an eviction with one budget: debit, condition, event, deletion.
const evictionWrites = 4

// killPoints returns the kill points of an actor that sends a number of requests.
func killPoints(timeline []sim.Line, actor string, requests int) (out []killPoint) {
	if actor != evictionHandler {
		for i := range 2 * requests {
			out = append(out, killPoint{request: sim.KillPoint{Actor: actor, Request: 1 + i/2, Executed: i%2 == 1, Restart: restartDelay}})
		}
		return out
	}
	for _, l := range timeline {
		for n := 0; l.Actor == "eviction" && l.Action == "displace" && n <= evictionWrites; n++ {
			out = append(out, killPoint{evicted: l.Object, writes: n})
		}
	}
	return out
}

// insert inserts the kill into a world.
func (k killPoint) insert(c *cluster.Cluster) {
	switch {
	case k.evicted == "":
		c.SetKillPoint(k.request)
	case k.writes == 0:
		c.Faults().Add(sim.FaultRule{Fault: sim.RequestLost, Request: sim.RequestEvict, Pod: k.evicted, Times: 1})
	default:
		c.Faults().Add(sim.FaultRule{Fault: sim.Partial, Request: sim.RequestEvict, Pod: k.evicted, Times: 1, After: k.writes})
	}
}

// occurred reports whether the kill is in the timeline.
func (k killPoint) occurred(r *script.Result) bool {
	return slices.ContainsFunc(r.Timeline, func(l sim.Line) bool {
		return l.Actor == k.request.Actor && l.Action == "kill" || k.evicted != "" && l.Actor == "fault" && l.Object == k.evicted
	})
}

// runScenario runs a scenario with all controllers and checks its end. The caller closes the cluster.
func runScenario(t *testing.T, text string, prepare func(*cluster.Cluster)) *script.Result {
	t.Helper()
	s, err := script.Parse("../../scenarios/killpoints.txt", text+"option settled\n")
	if err != nil {
		t.Fatal(err)
	}
	o := options(t)
	o.Endpoints, o.GarbageCollector = true, true
	r, err := s.RunOn(o, s.Until(), func(c *cluster.Cluster) error { prepare(c); return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{r.Err(), checkDeployments(r.Cluster.API())} {
		if err != nil {
			t.Error(err)
		}
	}
	return r
}

// checkDeployments checks that each Deployment has at most one ReplicaSet with pods, and no surge.
func checkDeployments(api *store.Store) error {
	pods, sets := map[string]bool{}, map[string]int{}
	for _, o := range api.List(store.Pods) {
		p, ok := o.(*corev1.Pod)
		if c := metav1.GetControllerOfNoCopy(o); ok && c != nil && p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed {
			pods[string(c.UID)] = true
		}
	}
	for _, o := range api.List(store.ReplicaSets) {
		c := metav1.GetControllerOfNoCopy(o)
		if c == nil || !pods[string(o.GetUID())] {
			continue
		}
		if sets[string(c.UID)]++; sets[string(c.UID)] > 1 {
			return fmt.Errorf("deployment %s has several replicasets with pods", c.Name)
		}
	}
	for _, d := range api.List(store.Deployments) {
		if d.GetLabels()[drain.SurgeLabel] != "" {
			return fmt.Errorf("the surge of deployment %s is not undone", d.GetName())
		}
	}
	return nil
}
