package apiserver

import (
	"slices"
	"testing"

	"k8s.io/apiserver/pkg/server/healthz"

	"github.com/berthproject/berth/apiserver/kinds"
	"github.com/berthproject/berth/apiserver/scheme"
	"github.com/berthproject/berth/apiserver/store"
)

// TestFullStoreFailsReadinessOnly: a full store makes the server not ready but live, and
// deleting objects is still possible.
func TestFullStoreFailsReadinessOnly(t *testing.T) {
	set, err := scheme.New(kinds.All())
	if err != nil {
		t.Fatal(err)
	}
	c := newConfig(Options{}, set, &store.Backend{})
	has := func(checks []healthz.HealthChecker, name string) bool {
		return slices.ContainsFunc(checks, func(c healthz.HealthChecker) bool { return c.Name() == name })
	}
	if !has(c.ReadyzChecks, "etcd-space") || has(c.LivezChecks, "etcd-space") || !has(c.LivezChecks, "etcd") || !has(c.ReadyzChecks, "etcd") {
		t.Errorf("ready: %v, live: %v", c.ReadyzChecks, c.LivezChecks)
	}
}
