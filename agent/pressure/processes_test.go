package pressure_test

import (
	"fmt"
	"testing"
	"time"

	shell "github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/plain"
)

// TestAForkBombGoesAlone: the pod that takes all processes goes, the others live.
func TestAForkBombGoesAlone(t *testing.T)   { forkBomb(t) }
func TestV2AForkBombGoesAlone(t *testing.T) { onV2(t); forkBomb(t) }

func forkBomb(t *testing.T) {
	n := plain.ForTest(t, 512*mi, 600)
	var idle []*plain.Pod
	for i := range 4 {
		p := start(t, n, plain.Spec{Name: fmt.Sprint("idle", i), Args: []string{"-memory=1Mi"}})
		if err := p.Said("memory done"); err != nil {
			t.Fatal(err)
		}
		idle = append(idle, p)
	}
	c := hard(10 * mi)
	c.Thresholds = append(c.Thresholds, pressure.Threshold{
		Signal: pressure.PIDAvailable, Value: pressure.Value{Quantity: pressure.Quantity{Amount: 200}},
	})
	s := watch(t, n, c, nil)
	bomb := start(t, n, plain.Spec{Name: "bomb", Memory: "32Mi", Args: []string{"-processes=-1"}})
	<-bomb.Gone()
	until(t, "the eviction is told", func() bool { return len(n.Evicted()) > 0 })
	if names := n.Names(); len(names) != 1 || names[0] != "bomb" {
		t.Errorf("%v were evicted instead of the bomb alone", names)
	}
	until(t, "the node has processes again", func() bool {
		pids, err := n.Host.Procs(n.Cgroup(bomb.Object))
		return err == nil && len(pids) == 0
	})
	for _, p := range idle {
		select {
		case <-p.Gone():
			t.Errorf("%s is gone, too", p.Object.Name)
		default:
		}
	}
	if c := condition(s, "PIDPressure"); c != "True" {
		t.Errorf("PIDPressure is %s", c)
	}
	pod := idle[0].Object.DeepCopy()
	pod.UID = "new"
	if r := s.Admit(pod); r == nil || r.Reason != "Evicted" {
		t.Errorf("a pod is taken under pressure: %+v", r)
	}
}

func condition(s *shell.Shell, of string) string {
	for _, c := range s.Conditions() {
		if string(c.Type) == of {
			return string(c.Status)
		}
	}
	return "missing"
}

// TestALookAllocatesNothing: as long as nothing is short.
func TestALookAllocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	n := plain.ForTest(t, 512*mi, 600)
	c := hard(100 * mi)
	for of, amount := range map[pressure.Signal]int64{
		pressure.AllocatableMemoryAvailable: 100 * mi, pressure.NodeFsAvailable: mi, pressure.NodeFsInodesFree: 10,
		pressure.ImageFsAvailable: mi, pressure.PIDAvailable: 10,
	} {
		c.Thresholds = append(c.Thresholds, pressure.Threshold{Signal: of, Value: pressure.Value{Quantity: pressure.Bytes(amount)}})
	}
	start(t, n, plain.Spec{Name: "idle", Args: []string{"-memory=1Mi"}})
	disk := stats.NewDisk(t.TempDir())
	s, err := shell.New(shell.Options{
		Node: "n1", Host: n.Host, Cgroup: n.Path, Pods: n.PodsPath(), Config: c, Stats: n.Stats, NodeFs: disk, ImageFs: disk, ContainerFs: disk,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := s.ByHand(n)
	if allocs := testing.AllocsPerRun(200, func() { l.Look() }); allocs > 0 {
		t.Errorf("a look allocates %v times", allocs)
	}
}

func BenchmarkLook(b *testing.B) {
	n := plain.ForTest(b, 512*mi, 600)
	s, err := shell.New(shell.Options{Node: "n1", Host: n.Host, Cgroup: n.Path, Pods: n.PodsPath(), Config: hard(100 * mi), Stats: n.Stats})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	l := s.ByHand(n)
	b.ReportAllocs()
	for b.Loop() {
		if d := l.Look(); d > time.Minute {
			b.Fatal(d)
		}
	}
}
