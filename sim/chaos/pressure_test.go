package chaos

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
)

// pinnedOwners are the cases of kubernetes#94245: owners whose pods can run only on a node that
// rejects them, and the number of pods that upstream's backoff allows in a given time.
var pinnedOwners = map[string]struct {
	owner    string
	upstream func(t time.Duration) float64
}{
	// A ReplicaSet creates the next pod as soon as the last one fails, and the scheduler's backoff is
	// per pod. Only the round trip takes time.
	"selector": {"replicaset web replicas=1 cpu=1 selector=disk=big tolerate=node.kubernetes.io/disk-pressure", perRoundTrip},
	"nodeName": {"replicaset web replicas=1 cpu=1 node=n1", perRoundTrip},
	// A DaemonSet deletes failed pods of a node with a backoff that doubles from 1 s to 15 min.
	"DaemonSet": {"daemonset web cpu=1 selector=disk=big", doublingTo15Minutes},
}

// roundTrip is the time until the next pod is created, bound, rejected and observed. One second is
// short for a real cluster.
const roundTrip = time.Second

func perRoundTrip(t time.Duration) float64 { return t.Seconds() / roundTrip.Seconds() }

func doublingTo15Minutes(t time.Duration) (n float64) {
	for sleep, at := time.Second, time.Duration(0); at <= t; n++ {
		at += sleep
		sleep = min(2*sleep, 15*time.Minute)
	}
	return n
}

// TestRejectedPodsGrowLogarithmically checks how many pods an owner creates on a node that rejects all of them. It must
// create few in the first ten minutes, and at most one in ten minutes afterwards.
func TestRejectedPodsGrowLogarithmically(t *testing.T) {
	const scenario = "node n1 cpu=4 labels=disk=big\nnode n2 cpu=4\n%s\n%s\nat 1m condition n1 DiskPressure=True\nat 1m delete pod web-1\n"
	for name, tc := range pinnedOwners {
		t.Run(name, func(t *testing.T) {
			created := countCreatedPods(t, fmt.Sprintf(scenario, "", tc.owner))
			withoutBackoff := countCreatedPods(t, fmt.Sprintf(scenario, "option noholds nopause latency=150ms lag=250ms", tc.owner)+"at 3m condition n1 DiskPressure=False\n")
			fmt.Printf("#94245 by %s: %d pods in an hour; upstream's backoff allows %.0f; without any: %d in 2 minutes\n", name, created[time.Hour], tc.upstream(time.Hour), withoutBackoff[2*time.Minute])
			for at, n := range created {
				// 10 s, 20 s, ...: n pods take (2^n - 1) * 10 s, until the backoff is 10 min.
				doublings := math.Log2(min(at, 10*time.Minute).Seconds()/10+1) + 1
				if limit := doublings + max(0, (at-10*time.Minute).Minutes()/10) + 3; float64(n) > limit {
					t.Errorf("%d pods in %v, want at most %.0f", n, at, limit)
				}
			}
			if created[time.Hour] < 5 {
				t.Errorf("%d pods in an hour, want at least 5", created[time.Hour])
			}
		})
	}
}

// countCreatedPods returns how many pods were created since the pressure began, by time since then.
func countCreatedPods(t *testing.T, text string) map[time.Duration]int {
	t.Helper()
	s, err := script.Parse("pressure", text)
	if err != nil {
		t.Fatal(err)
	}
	out := map[time.Duration]int{}
	before := 0
	result, err := s.RunOn(options(t), 61*time.Minute+time.Second, func(w *cluster.Cluster) error {
		w.At(59*time.Second, func() { before = w.Counts().Created })
		for _, at := range []time.Duration{2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour} {
			w.At(time.Minute+at, func() { out[at] = w.Counts().Created - before })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer result.Cluster.Close()
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
