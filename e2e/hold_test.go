package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	enginecluster "github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// createOwner creates a ConfigMap as the owner of pods and returns its UID. The garbage collector
// deletes pods whose owner does not exist.
func createOwner(c *cluster, name string) string {
	c.mustKubectl("create", "configmap", name)
	return c.mustKubectl("get", "configmap", name, "-o", "jsonpath={.metadata.uid}")
}

func ownedPod(name, owner, uid, cpu string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: %s
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: %s, uid: %s, controller: true}]
spec:
  containers: [{name: c, image: "app:1", resources: {requests: {cpu: %q}}}]
---`, name, owner, uid, cpu)
}

// hold returns the name and the manifest of a Hold. fields are further fields of its spec.
func hold(t model.HoldType, owner, uid, node, until, fields string) (name, manifest string) {
	name = enginecluster.HoldName(uid, node, t)
	return name, fmt.Sprintf(`
apiVersion: berth.dev/v1alpha1
kind: Hold
metadata: {name: %s}
spec:
  type: %s
  owner: {apiVersion: v1, kind: ConfigMap, name: %s, uid: %s}
  node: %s
  cause: Pressure
  until: %s%s
---`, name, t, owner, uid, node, until, fields)
}

// TestHolds checks that the pods of an owner avoid a node until the Hold is deleted or expires. Another Hold reserves
// resources for the first of them.
func TestHolds(t *testing.T) {
	t.Parallel()
	c := newTestHome(t).up("--nodes", "1")
	node := strings.TrimSpace(c.mustKubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"))
	inAnHour := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	expectBound := func(name string) {
		t.Helper()
		eventually(t, eventTimeout, func() error {
			var p corev1.Pod
			if c.json(&p, "get", "pod", name); p.Spec.NodeName == "" {
				return fmt.Errorf("pod %s has no node, want a binding", name)
			}
			return nil
		})
	}
	expectPending := func(name, reason string) {
		t.Helper()
		eventually(t, eventTimeout, func() error {
			var p corev1.Pod
			c.json(&p, "get", "pod", name)
			for _, k := range p.Status.Conditions {
				if k.Type == corev1.PodScheduled && strings.Contains(k.Message, reason) {
					return nil
				}
			}
			return fmt.Errorf("pod %s: got status %+v, want PodScheduled with message %q", name, p.Status, reason)
		})
	}
	web, db, job, big, other := createOwner(c, "web"), createOwner(c, "db"), createOwner(c, "job"), createOwner(c, "big"), createOwner(c, "other")
	name, avoid := hold(model.Avoid, "web", web, node, inAnHour, "")
	c.mustKubectl("apply", "-f", c.write("avoid.yaml", avoid))
	expectContains(t, c.mustKubectl("get", "holds"), "Avoid", node, "web", "Pressure")
	time.Sleep(time.Second) // until the scheduler's watch has the Hold
	c.mustKubectl("apply", "-f", c.write("pods.yaml", ownedPod("web-1", "web", web, "100m")+ownedPod("db-1", "db", db, "100m")))
	expectBound("db-1")
	expectPending("web-1", "node(s) were avoided after displacements of the owner's pods")
	expectContains(t, c.explain("default/web-1"), "HoldAvoid rejects 1 node", "displaced for Pressure: 1", "delete the Hold ")
	c.mustKubectl("delete", "hold", name)
	expectBound("web-1")

	_, expiring := hold(model.Avoid, "job", job, node, time.Now().Add(4*time.Second).UTC().Format(time.RFC3339), "")
	c.mustKubectl("apply", "-f", c.write("soon.yaml", expiring))
	time.Sleep(time.Second)
	c.mustKubectl("apply", "-f", c.write("job.yaml", ownedPod("job-1", "job", job, "100m")))
	expectBound("job-1") // only after its expiry

	_, reserve := hold(model.Reserve, "big", big, node, inAnHour, "\n  victim: {uid: deleted-pod, requests: {cpu: \"7\"}}")
	c.mustKubectl("apply", "-f", c.write("reserve.yaml", reserve))
	time.Sleep(time.Second)
	c.mustKubectl("apply", "-f", c.write("other-1.yaml", ownedPod("other-1", "other", other, "2")))
	expectPending("other-1", "Insufficient cpu")
	c.mustKubectl("apply", "-f", c.write("big.yaml", ownedPod("big-1", "big", big, "7")))
	expectBound("big-1")
	if r := c.kubectl("apply", "-f", c.write("bad.yaml", strings.Replace(expiring, "Avoid", "Shun", 1))); r.code == 0 || !strings.Contains(r.stderr, `spec.type: Unsupported value: "Shun"`) {
		t.Errorf("a Hold of an unknown type: got %s, want an error", r)
	}
}
