package workload_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/store"
)

// scenarios are changes of workloads, with expectations at the end, by name.
var scenarios = map[string]string{
	"rollout": `node n1..n3 cpu=8
deployment web replicas=2 cpu=1 starts=1s grace=5s stops=1s
at 10s image web v2
at 30s scale web 4
at 40s scale web 1
until 80s
expect running 1
`,
	"scaled ReplicaSet": `node n1..n2 cpu=8
replicaset web replicas=5 cpu=1 grace=5s stops=1s
at 10s scale web 2
at 20s scale web 4
at 30s delete pod web-1
until 80s
expect running 4
`,
	"stateful": `node n1..n3 cpu=8
statefulset db replicas=3 cpu=1 starts=1s grace=5s stops=1s
at 20s delete pod db-1
until 80s
expect running 3
`,
	"node loss": `node n1..n3 cpu=8
daemonset logs cpu=1 grace=5s stops=1s
replicaset web replicas=3 cpu=1 grace=5s stops=1s
at 10s drain n1
until 80s
expect running 6
`,
}

// TestKillPoints kills the controllers before and after each of their requests, restarts them, and checks all
// invariants, the expectations, and with checkReplicas the ReplicaSets.
func TestKillPoints(t *testing.T) {
	for name, text := range scenarios {
		t.Run(name, func(t *testing.T) {
			requests := runScenario(t, text, nil)
			if requests == 0 {
				t.Fatal("the workload controllers sent no request")
			}
			for i := range 2 * requests {
				k := &sim.KillPoint{Actor: actor, Request: 1 + i/2, Executed: i%2 == 1, Restart: 500 * time.Millisecond}
				runScenario(t, text, k)
			}
			fmt.Printf("soak: %d kill points of workload controllers in scenario %q\n", 2*requests, name)
		})
	}
}

const actor = "workload"

// runScenario runs a scenario with a kill point, which may be nil, and returns the number of requests.
func runScenario(t *testing.T, text string, k *sim.KillPoint) int {
	t.Helper()
	s, err := script.Parse("scenario", text)
	if err != nil {
		t.Fatal(err)
	}
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.RunOn(o, s.Until(), func(c *cluster.Cluster) error {
		if k != nil {
			c.SetKillPoint(*k)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("killed at %+v: %v", k, err)
	}
	defer result.Cluster.Close()
	if err = result.Err(); err == nil {
		err = checkReplicas(result.Cluster.API())
	}
	if err != nil {
		t.Errorf("killed at %+v: %v", k, err)
	}
	return result.Cluster.Requests(actor)
}

// checkReplicas checks that each ReplicaSet has its replicas, and that each Deployment has at most one ReplicaSet that
// is not empty.
func checkReplicas(api *store.Store) error {
	pods, sets := map[string]int32{}, map[string]int{}
	for _, o := range api.List(store.Pods) {
		p, ok := o.(*corev1.Pod)
		if c := metav1.GetControllerOfNoCopy(o); ok && c != nil && p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed {
			pods[string(c.UID)]++
		}
	}
	for _, o := range api.List(store.ReplicaSets) {
		rs, ok := o.(*appsv1.ReplicaSet)
		if !ok {
			continue
		}
		if n := pods[string(rs.UID)]; n != *rs.Spec.Replicas {
			return fmt.Errorf("replicaset %s has %d pods, want %d", rs.Name, n, *rs.Spec.Replicas)
		}
		if c := metav1.GetControllerOfNoCopy(rs); c != nil && *rs.Spec.Replicas > 0 {
			if sets[string(c.UID)]++; sets[string(c.UID)] > 1 {
				return fmt.Errorf("deployment %s has several replicasets with pods", c.Name)
			}
		}
	}
	return nil
}
