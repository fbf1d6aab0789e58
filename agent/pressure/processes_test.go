//go:build linux

package pressure_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/fixtures"
)

// TestForkBombIsEvicted checks that only the pod that starts all processes is evicted.
func TestForkBombIsEvicted(t *testing.T)   { testForkBomb(t) }
func TestV2ForkBombIsEvicted(t *testing.T) { requireV2(t); testForkBomb(t) }

func testForkBomb(t *testing.T) {
	n := fixtures.NewForTest(t, 512*mi, 600)
	var idle []*fixtures.Pod
	for i := range 4 {
		p := start(t, n, fixtures.Spec{Name: fmt.Sprint("idle", i), Args: []string{"-memory=1Mi"}})
		if err := p.WaitForLine("memory done"); err != nil {
			t.Fatal(err)
		}
		idle = append(idle, p)
	}
	c := hardThreshold(10 * mi)
	c.Thresholds = append(c.Thresholds, nodepressure.Threshold{
		Signal: nodepressure.PIDAvailable, Value: nodepressure.Value{Quantity: nodepressure.Quantity{Amount: 200}},
	})
	s := watch(t, n, c, nil)
	bomb := start(t, n, fixtures.Spec{Name: "bomb", Memory: "32Mi", Args: []string{"-processes=-1"}})
	<-bomb.Exited()
	waitUntil(t, "the eviction is reported", func() bool { return len(n.Evicted()) > 0 })
	if names := n.EvictedNames(); len(names) != 1 || names[0] != "bomb" {
		t.Errorf("evicted %v, want only bomb", names)
	}
	waitUntil(t, "the node has free process IDs again", func() bool {
		pids, err := n.Host.Procs(n.Cgroup(bomb.Object))
		return err == nil && len(pids) == 0
	})
	for _, p := range idle {
		select {
		case <-p.Exited():
			t.Errorf("pod %s exited, want it running", p.Object.Name)
		default:
		}
	}
	if c := condition(s, "PIDPressure"); c != "True" {
		t.Errorf("PIDPressure is %s, want True", c)
	}
	pod := idle[0].Object.DeepCopy()
	pod.UID = "new"
	if r := s.Admit(pod); r == nil || r.Reason != "Evicted" {
		t.Errorf("Admit under PID pressure: %+v, want a rejection with reason Evicted", r)
	}
}

// condition returns the status of a node condition, or "missing".
func condition(s *pressure.Manager, name string) string {
	for _, c := range s.Conditions() {
		if string(c.Type) == name {
			return string(c.Status)
		}
	}
	return "missing"
}

// TestSynchronizeDoesNotAllocate checks a step without a shortage.
func TestSynchronizeDoesNotAllocate(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	n := fixtures.NewForTest(t, 512*mi, 600)
	c := hardThreshold(100 * mi)
	for signal, amount := range map[nodepressure.Signal]int64{
		nodepressure.AllocatableMemoryAvailable: 100 * mi, nodepressure.NodeFsAvailable: mi, nodepressure.NodeFsInodesFree: 10,
		nodepressure.ImageFsAvailable: mi, nodepressure.PIDAvailable: 10,
	} {
		c.Thresholds = append(c.Thresholds, nodepressure.Threshold{Signal: signal, Value: nodepressure.Value{Quantity: nodepressure.Bytes(amount)}})
	}
	start(t, n, fixtures.Spec{Name: "idle", Args: []string{"-memory=1Mi"}})
	disk := stats.NewDisk(t.TempDir())
	s, err := pressure.New(pressure.Options{
		Node: "n1", Host: n.Host, Cgroup: n.Path, Pods: n.PodsPath(), Config: c, Stats: n.Stats, NodeFs: disk, ImageFs: disk, ContainerFs: disk,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := s.Manual(n)
	if allocs := testing.AllocsPerRun(200, func() { l.Synchronize() }); allocs > 0 {
		t.Errorf("a step allocates %v times, want 0", allocs)
	}
}

func BenchmarkSynchronize(b *testing.B) {
	n := fixtures.NewForTest(b, 512*mi, 600)
	s, err := pressure.New(pressure.Options{Node: "n1", Host: n.Host, Cgroup: n.Path, Pods: n.PodsPath(), Config: hardThreshold(100 * mi), Stats: n.Stats})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	l := s.Manual(n)
	b.ReportAllocs()
	for b.Loop() {
		if d := l.Synchronize(); d > time.Minute {
			b.Fatalf("next check after %v, want at most 1 min", d)
		}
	}
}
