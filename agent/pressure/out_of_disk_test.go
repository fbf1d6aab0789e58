//go:build linux

package pressure

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/engine/nodepressure"
)

// idleAgent is an Agent without pods.
type idleAgent struct{}

func (idleAgent) Evict(agent.Eviction)      {}
func (idleAgent) Pods(string) []*corev1.Pod { return nil }
func (idleAgent) Report(string)             {}

// TestOutOfDiskEvents checks the events about changes of OutOfDisk: a warning, and a normal event for the recovery.
func TestOutOfDiskEvents(t *testing.T) {
	events := record.NewFakeRecorder(10)
	reserve, err := nodepressure.NewDiskReserve(nodepressure.DiskReserveConfig{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &Manager{opts: Options{Node: "n", Events: events, Log: klog.Background()}, reserve: reserve, agent: idleAgent{}}
	for _, outOfDisk := range []bool{false, true, false} { // the first decision is not an event
		reserve.Restore(nodepressure.Condition{True: outOfDisk})
		s.reportOutOfDisk()
	}
	for _, want := range []string{"Warning NodeOutOfDisk out of disk space.", "Normal NodeHasSufficientDisk kubelet has sufficient disk space available"} {
		select {
		case got := <-events.Events:
			if got != want {
				t.Errorf("got event %q, want %q", got, want)
			}
		default:
			t.Errorf("got no event, want %q", want)
		}
	}
	if n := len(events.Events); n != 0 {
		t.Errorf("got %d more events, want none", n)
	}
}
