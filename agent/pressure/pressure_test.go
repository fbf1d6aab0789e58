//go:build linux

package pressure_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/klog/v2/ktesting"

	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/testkit/fixtures"
)

func TestMain(m *testing.M) {
	fixtures.Main()
	os.Exit(m.Run())
}

const mi = 1 << 20

// hardThreshold returns a configuration with one hard threshold: available memory in bytes.
func hardThreshold(memory int64) nodepressure.Config {
	return nodepressure.Config{
		Thresholds:       []nodepressure.Threshold{{Signal: nodepressure.MemoryAvailable, Value: nodepressure.Value{Quantity: nodepressure.Bytes(memory)}}},
		TransitionPeriod: time.Minute, Options: nodepressure.AllOptions(),
	}
}

// newManager runs a manager for the node until stop is called.
func newManager(t *testing.T, n *fixtures.Node, c nodepressure.Config, change func(*pressure.Options)) (s *pressure.Manager, stop func()) {
	t.Helper()
	return newManagerWithAgent(t, n, n, c, change)
}

// newManagerWithAgent is newManager with agent a in place of the node.
func newManagerWithAgent(t *testing.T, n *fixtures.Node, a pressure.Agent, c nodepressure.Config, change func(*pressure.Options)) (s *pressure.Manager, stop func()) {
	t.Helper()
	log, _ := ktesting.NewTestContext(t)
	o := pressure.Options{Node: "n1", Host: n.Host, Cgroup: n.Path, Pods: n.PodsPath(), Config: c, Stats: n.Stats, Log: log}
	if change != nil {
		change(&o)
	}
	s, err := pressure.New(o)
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

// watch runs a manager until the test ends.
func watch(t *testing.T, n *fixtures.Node, c nodepressure.Config, change func(*pressure.Options)) *pressure.Manager {
	t.Helper()
	s, stop := newManager(t, n, c, change)
	t.Cleanup(stop)
	return s
}

// requireV2 skips the test except in the virtual machine of make test-v2.
func requireV2(t *testing.T) {
	t.Helper()
	if os.Getenv("BERTH_V2") == "" {
		t.Skip("runs only in the virtual machine of make test-v2")
	}
}

func start(t *testing.T, n *fixtures.Node, s fixtures.Spec) *fixtures.Pod {
	t.Helper()
	p, err := n.Run(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// waitUntil waits for at most 3 minutes until ok returns true. condition describes it.
func waitUntil(t *testing.T, condition string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out after 3 min waiting until %s", condition)
		}
	}
}

// TestMemoryHogIsEvicted checks that only the pod that uses all memory is evicted, before the
// kernel's OOM killer acts.
func TestMemoryHogIsEvicted(t *testing.T) { testMemoryHog(t, fixtures.NewForTest(t, 512*mi, 1000)) }
func TestV2MemoryHogIsEvicted(t *testing.T) {
	requireV2(t)
	testMemoryHog(t, fixtures.NewForTest(t, 512*mi, 1000))
}

func testMemoryHog(t *testing.T, n *fixtures.Node) {
	for i := range 8 {
		p := start(t, n, fixtures.Spec{Name: fmt.Sprint("idle", i), Memory: "64Mi", Args: []string{"-memory=8Mi"}})
		if err := p.WaitForLine("memory done"); err != nil {
			t.Fatal(err)
		}
	}
	s := watch(t, n, hardThreshold(100*mi), nil)
	hog := start(t, n, fixtures.Spec{Name: "hog", Memory: "16Mi", Args: []string{"-memory=4Gi", "-memory-rate=500Mi"}})
	<-hog.Exited()
	waitUntil(t, "the eviction is reported", func() bool { return len(n.Evicted()) > 0 })
	g, err := n.Host.Open(n.Cgroup(hog.Object))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if kills, err := g.OOMKills(); err != nil || kills != 0 {
		t.Errorf("%d OOM kills by the kernel, %v, want 0", kills, err)
	}
	if names := n.EvictedNames(); len(names) != 1 || names[0] != "hog" {
		t.Errorf("evicted %v, want only hog", names)
	}
	e := n.Evicted()[0]
	if !e.Immediate || e.Reason != "Evicted" || e.Condition == nil {
		t.Errorf("eviction %+v, want an immediate one with reason Evicted and a condition", e)
	}
	t.Log(s.Describe())
	t.Log(e.Message)
}
