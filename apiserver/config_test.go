package apiserver

import (
	"slices"
	"testing"

	"k8s.io/apiserver/pkg/server/healthz"

	"github.com/berthproject/berth/apiserver/kinds"
	"github.com/berthproject/berth/apiserver/scheme"
	"github.com/berthproject/berth/apiserver/store"
)

// TestFullStoreFailsReadinessOnly checks that a full store makes the server not ready, but live: users can still
// delete objects.
func TestFullStoreFailsReadinessOnly(t *testing.T) {
	set, err := scheme.New(kinds.All())
	if err != nil {
		t.Fatal(err)
	}
	c := newConfig(Options{}, set, &store.Backend{})
	hasCheck := func(checks []healthz.HealthChecker, name string) bool {
		return slices.ContainsFunc(checks, func(c healthz.HealthChecker) bool { return c.Name() == name })
	}
	if !hasCheck(c.ReadyzChecks, "etcd-space") || hasCheck(c.LivezChecks, "etcd-space") || !hasCheck(c.LivezChecks, "etcd") || !hasCheck(c.ReadyzChecks, "etcd") {
		t.Errorf("got readiness checks %v and liveness checks %v, want etcd-space in the former only", c.ReadyzChecks, c.LivezChecks)
	}
}
