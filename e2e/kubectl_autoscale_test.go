package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// kubectlAutoscale checks that `kubectl autoscale` creates an autoscaler that acts. The CPU usage of a simulated pod is
// its request. At a target of 50 % the autoscaler doubles the replicas up to the maximum.
func kubectlAutoscale(t *testing.T, c *cluster) {
	c.mustKubectl("create", "deployment", "busy", "--image", "x:1")
	c.mustKubectl("set", "resources", "deployment", "busy", "--requests=cpu=100m")
	c.mustKubectl("rollout", "status", "deployment/busy", "--timeout=180s")
	target := "--cpu=50%"
	if !strings.Contains(c.mustKubectl("autoscale", "--help"), "--cpu=") { // before kubectl 1.34
		target = "--cpu-percent=50"
	}
	expectContains(t, c.mustKubectl("autoscale", "deployment", "busy", "--min=1", "--max=4", target), "horizontalpodautoscaler.autoscaling/busy autoscaled")
	eventually(t, 3*eventTimeout, func() error {
		if r := c.kubectl("get", "hpa", "busy", "-o", "jsonpath={.status.currentReplicas} {.status.desiredReplicas}"); r.stdout != "4 4" {
			return fmt.Errorf("current and desired replicas of the autoscaler: got %s, want 4 4", r)
		}
		return nil
	})
	expectColumns(t, c.mustKubectl("get", "hpa"), "NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE")
	expectContains(t, c.mustKubectl("get", "hpa", "busy"), "Deployment/busy", "100%/50%")
	c.mustKubectl("delete", "hpa", "busy")
	c.mustKubectl("delete", "deployment", "busy")
}
