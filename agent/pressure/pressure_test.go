package pressure_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/klog/v2/ktesting"

	shell "github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/internal/testkit/plain"
)

func TestMain(m *testing.M) {
	plain.Main()
	os.Exit(m.Run())
}

const mi = 1 << 20

// hard is the default threshold.
func hard(memory int64) pressure.Config {
	return pressure.Config{
		Thresholds: []pressure.Threshold{{Signal: pressure.MemoryAvailable, Value: pressure.Value{Quantity: pressure.Bytes(memory)}}},
		Transition: time.Minute, Options: pressure.Better(),
	}
}

// watching runs a shell over the node until stop.
func watching(t *testing.T, n *plain.Node, c pressure.Config, change func(*shell.Options)) (s *shell.Shell, stop func()) {
	t.Helper()
	return watchingAs(t, n, n, c, change)
}

// watchingAs is watching with another agent than the node itself.
func watchingAs(t *testing.T, n *plain.Node, a shell.Agent, c pressure.Config, change func(*shell.Options)) (s *shell.Shell, stop func()) {
	t.Helper()
	log, _ := ktesting.NewTestContext(t)
	o := shell.Options{Node: "n1", Host: n.Host, Cgroup: n.Path, Pods: n.PodsPath(), Config: c, Stats: n.Stats, Log: log}
	if change != nil {
		change(&o)
	}
	s, err := shell.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx, a) }()
	return s, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// watch is watching until the test ends.
func watch(t *testing.T, n *plain.Node, c pressure.Config, change func(*shell.Options)) *shell.Shell {
	t.Helper()
	s, stop := watching(t, n, c, change)
	t.Cleanup(stop)
	return s
}

// onV2 skips everywhere but in the machine of make test-v2.
func onV2(t *testing.T) {
	t.Helper()
	if os.Getenv("BERTH_V2") == "" {
		t.Skip("for the machine that make test-v2 starts")
	}
}

func start(t *testing.T, n *plain.Node, s plain.Spec) *plain.Pod {
	t.Helper()
	p, err := n.Run(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// until waits for the state that a test wants.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// TestTheHogGoes: of many pods the one that takes all goes, before the kernel
// kills, and no other.
func TestTheHogGoes(t *testing.T)   { hogGoes(t, plain.ForTest(t, 512*mi, 1000)) }
func TestV2TheHogGoes(t *testing.T) { onV2(t); hogGoes(t, plain.ForTest(t, 512*mi, 1000)) }

func hogGoes(t *testing.T, n *plain.Node) {
	for i := range 8 {
		p := start(t, n, plain.Spec{Name: fmt.Sprint("idle", i), Memory: "64Mi", Args: []string{"-memory=8Mi"}})
		if err := p.Said("memory done"); err != nil {
			t.Fatal(err)
		}
	}
	s := watch(t, n, hard(100*mi), nil)
	hog := start(t, n, plain.Spec{Name: "hog", Memory: "16Mi", Args: []string{"-memory=4Gi", "-memory-rate=500Mi"}})
	<-hog.Gone()
	until(t, "the eviction is told", func() bool { return len(n.Evicted()) > 0 })
	g, err := n.Host.Open(n.Cgroup(hog.Object))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if kills, err := g.OOMKills(); err != nil || kills != 0 {
		t.Errorf("%d kills by the kernel, %v", kills, err)
	}
	if names := n.Names(); len(names) != 1 || names[0] != "hog" {
		t.Errorf("%v were evicted instead of the hog alone", names)
	}
	e := n.Evicted()[0]
	if !e.Now || e.Reason != "Evicted" || e.Condition == nil {
		t.Errorf("eviction %+v", e)
	}
	t.Log(s.Path())
	t.Log(e.Message)
}
