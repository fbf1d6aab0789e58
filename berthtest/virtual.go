package berthtest

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/berthtest/internal/restapi"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/store"
)

// defaultVirtualTimeout is how long methods of a VirtualCluster wait, in virtual time.
const defaultVirtualTimeout = time.Hour

// VirtualCluster is a cluster under the virtual time of a [synctest.Test] bubble: the simulator's API, scheduler,
// controllers and nodes.
type VirtualCluster struct {
	waiter
	// Config is a client configuration. Its requests do not leave the process.
	Config *rest.Config
	// Client is a client with Config.
	Client kubernetes.Interface

	clock *virtualClock
	world *cluster.Cluster
	start time.Time
}

// StartVirtual starts a cluster that uses the clock of the bubble in which the test runs:
//
//	func TestNodeLoss(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			cluster := berthtest.StartVirtual(t, berthtest.Nodes(3))
//			...
//			cluster.FailNode("n1")
//			cluster.Advance(6 * time.Minute)
//		})
//	}
//
// The test and the code under test use package time and client-go as usual; nothing waits in real time. The
// timeouts of the cluster are the defaults of Kubernetes, not the shorter ones of [Start]. Of the options, [CRDs] and
// [Webhooks] are not available. The cluster ends with the test.
func StartVirtual(t testing.TB, opts ...Option) *VirtualCluster {
	t.Helper()
	o, err := newOptions(opts)
	if err == nil && len(o.crdObjects)+len(o.webhookObjects) > 0 {
		err = errors.New("CRDs and Webhooks: only Start has them")
	}
	if err == nil && !inBubble() {
		err = errors.New("StartVirtual must be called in a test function of synctest.Test")
	}
	if err != nil {
		t.Fatalf("berthtest: %v", err)
	}
	discardLogs()
	if !o.timeoutSet {
		o.timeout = defaultVirtualTimeout
	}
	c := &VirtualCluster{start: time.Now()}
	if err := c.connect(t, o); err != nil {
		t.Fatalf("berthtest: %v", err)
	}
	t.Cleanup(func() {
		c.clock.stop()
		if err := c.world.Violation(); err != nil {
			t.Errorf("berthtest: %v", err)
		}
		c.world.Close()
	})
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
		c.create(n)
	}
	for _, n := range o.nodes {
		c.createNode(n)
	}
	c.clock.start()
	return c
}

// inBubble reports whether the caller runs in a synctest bubble.
func inBubble() (result bool) {
	defer func() {
		if recover() != nil {
			result = false
		}
	}()
	synctest.Wait()
	return true
}

// connect creates the simulated cluster and its clients.
func (c *VirtualCluster) connect(t testing.TB, o *options) error {
	settings, err := cluster.Defaults()
	if err != nil {
		return err
	}
	settings.Start, settings.Audit = c.start, false // a test may do what invariants forbid
	settings.Endpoints, settings.GarbageCollector = true, true
	settings.Seed = o.seed
	if o.seed != 0 {
		settings.TieBreakSeed = o.seed
	}
	settings.OnLine = o.onLine
	c.world = cluster.New(settings)
	c.clock = newVirtualClock(c.world)
	server, err := restapi.New(restapi.Backend{Store: c.world.API(), Do: c.clock.do, Evict: c.world.Displacement.Evict, Ended: c.clock.ended})
	if err != nil {
		return err
	}
	c.world.OnCommit(server.Observe)
	c.Config = &rest.Config{Host: "http://berthtest.invalid", Transport: server, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
	if c.Client, err = kubernetes.NewForConfig(c.Config); err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	c.waiter = waiter{t: t, dynamic: objects, timeout: o.timeout, wait: c.clock.wait}
	return nil
}

// create creates an object in the API, without a request.
func (c *VirtualCluster) create(o store.Object) {
	c.clock.do(func() {
		if err := c.world.API().Create(o); err != nil {
			c.t.Errorf("berthtest: %v", err)
		}
	})
}

// Advance blocks until the clock has advanced by d, and everything due in that time has happened.
func (c *VirtualCluster) Advance(d time.Duration) {
	c.t.Helper()
	if d < 0 {
		c.fatalf("advancing the clock by %v: must not be negative", d)
	}
	c.clock.sleep(d)
}

// Elapsed returns the virtual time since [StartVirtual].
func (c *VirtualCluster) Elapsed() time.Duration { return time.Since(c.start).Truncate(tick) }
