package e2e

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubectlRollout checks that kubectl rolls out a change of a Deployment, undoes the change, and pauses,
// resumes and restarts a rollout.
func kubectlRollout(t *testing.T, c *cluster) {
	file := c.write("rolling.yaml", deployment("rolling", 4, "r:1"))
	c.mustKubectl("apply", "-f", file)
	expectContains(t, c.mustKubectl("rollout", "status", "deployment/rolling", "--timeout=180s"), "successfully rolled out")
	c.mustKubectl("set", "image", "deployment/rolling", "main=r:2")
	c.mustKubectl("annotate", "deployment/rolling", "kubernetes.io/change-cause=the second")
	expectContains(t, c.mustKubectl("rollout", "status", "deployment/rolling", "--timeout=180s"), "successfully rolled out")
	expectContains(t, c.mustKubectl("rollout", "history", "deployment/rolling"), "REVISION", "1", "2")
	expectContains(t, c.mustKubectl("rollout", "history", "deployment/rolling", "--revision=1"), "r:1", "pod-template-hash=")
	expectContains(t, c.mustKubectl("rollout", "undo", "deployment/rolling"), "rolled back")
	c.mustKubectl("rollout", "status", "deployment/rolling", "--timeout=180s")
	var d appsv1.Deployment
	c.json(&d, "get", "deployment", "rolling")
	if image := d.Spec.Template.Spec.Containers[0].Image; image != "r:1" || d.Status.ReadyReplicas != 4 || d.Annotations["deployment.kubernetes.io/revision"] != "3" {
		t.Errorf("after the undo: got image %s, annotations %v and status %+v, want image r:1, revision 3 and 4 ready replicas", image, d.Annotations, d.Status)
	}
	c.mustKubectl("rollout", "pause", "deployment/rolling")
	c.mustKubectl("set", "image", "deployment/rolling", "main=r:3")
	if r := c.kubectl("rollout", "undo", "deployment/rolling"); r.code != 1 || !strings.Contains(r.stderr, "paused") {
		t.Errorf("undo while paused: got %s, want exit code 1 and \"paused\"", r)
	}
	c.mustKubectl("wait", "--for=condition=Progressing=Unknown", "deployment/rolling", "--timeout=180s")
	c.mustKubectl("rollout", "resume", "deployment/rolling")
	c.mustKubectl("rollout", "restart", "deployment/rolling")
	c.mustKubectl("rollout", "status", "deployment/rolling", "--timeout=180s")
	expectContains(t, c.mustKubectl("describe", "deployment", "rolling"), "4 desired | 4 updated | 4 total | 4 available", "NewReplicaSetAvailable", "ScalingReplicaSet", "Scaled up replica set rolling-")
	var pods corev1.PodList
	eventually(t, eventTimeout, func() error {
		c.json(&pods, "get", "pods", "-l", "app=rolling")
		if len(pods.Items) != 4 {
			return fmt.Errorf("got %d pods, want 4", len(pods.Items))
		}
		return nil
	})
	for _, p := range pods.Items {
		if p.Spec.Containers[0].Image != "r:3" {
			t.Errorf("pod %s has image %s, want r:3", p.Name, p.Spec.Containers[0].Image)
		}
	}
	c.mustKubectl("delete", "deployment", "rolling")
}

// kubectlCascade checks the deletion of a Deployment with each of the three propagation policies.
func kubectlCascade(t *testing.T, c *cluster) {
	file := c.write("casc.yaml", deployment("casc", 2, "r:1"))
	create := func() {
		t.Helper()
		c.mustKubectl("apply", "-f", file)
		c.mustKubectl("rollout", "status", "deployment/casc", "--timeout=180s")
	}
	remaining := func() string {
		return strings.TrimSpace(c.mustKubectl("get", "deployments,replicasets,pods", "-l", "app=casc", "-o", "name"))
	}
	create()
	c.mustKubectl("delete", "deployment", "casc", "--cascade=foreground", "--timeout=180s")
	if l := remaining(); l != "" {
		t.Errorf("got objects after foreground deletion, want none: %s", l)
	}
	create()
	c.mustKubectl("delete", "deployment", "casc", "--cascade=orphan", "--timeout=180s")
	var sets appsv1.ReplicaSetList
	c.json(&sets, "get", "replicasets", "-l", "app=casc")
	if len(sets.Items) != 1 || len(sets.Items[0].OwnerReferences) != 0 || strings.Count(remaining(), "pod/") != 2 {
		t.Errorf("got ReplicaSets %+v, objects %s; want one ReplicaSet without owner and two pods", sets.Items, remaining())
	}
	create() // the new Deployment adopts them
	c.json(&sets, "get", "replicasets", "-l", "app=casc")
	var d appsv1.Deployment
	c.json(&d, "get", "deployment", "casc")
	if len(sets.Items) != 1 || !metav1.IsControlledBy(&sets.Items[0], &d) {
		t.Errorf("got ReplicaSets %+v, want one that the new Deployment has adopted", sets.Items)
	}
	c.mustKubectl("delete", "deployment", "casc")
	eventually(t, eventTimeout, func() error {
		if l := remaining(); l != "" {
			return fmt.Errorf("got objects, want none: %s", l)
		}
		return nil
	})
}
