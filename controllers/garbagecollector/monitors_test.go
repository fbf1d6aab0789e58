package garbagecollector

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
)

var gadgets = schema.GroupKind{Group: "example.com", Kind: "Gadget"}

// monitorHarness is a garbage collector over an API of gadgets.
type monitorHarness struct {
	*harness
	api *fakeDiscovery
}

// fakeDiscovery is a discovery client whose results can change concurrently.
type fakeDiscovery struct {
	*fakediscovery.FakeDiscovery
	mu sync.Mutex
}

func (d *fakeDiscovery) ServerGroups() (*metav1.APIGroupList, error) {
	return d.ServerGroupsWithContext(context.Background())
}

func (d *fakeDiscovery) ServerGroupsWithContext(ctx context.Context) (*metav1.APIGroupList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.FakeDiscovery.ServerGroupsWithContext(ctx)
}

func (d *fakeDiscovery) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	return d.ServerResourcesForGroupVersionWithContext(context.Background(), version)
}

func (d *fakeDiscovery) ServerResourcesForGroupVersionWithContext(ctx context.Context, version string) (*metav1.APIResourceList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.FakeDiscovery.ServerResourcesForGroupVersionWithContext(ctx, version)
}

// runMonitors runs a test with two gadgets, a discovery client that serves their version v1, and running monitors.
func runMonitors(t *testing.T, test func(h *monitorHarness)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := &monitorHarness{newHarness(t), &fakeDiscovery{FakeDiscovery: &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}}}}
		h.monitors, h.informers = map[schema.GroupKind]*monitor{}, metadataInformers(h.client, nil)
		h.resources = func() ([]*metav1.APIResourceList, error) { return discovery.ServerPreferredResources(h.api) }
		h.setVersions("v1")
		h.createGadget("v1", "retained")
		h.createGadget("v1", "removed")
		p := runner.Process{Environment: runner.Production(), Client: clientset.NewClientset(), Log: klog.Background()}
		p.Informers = informers.NewSharedInformerFactory(p.Client, 0)
		go func() {
			_ = workqueue.Run(ctx, p, component, func(p *runner.Process) error {
				h.discoveryQueue = runner.NewQueue(p, runner.QueueOptions{Workers: 1}, h.discover)
				h.discoveryQueue.Add(struct{}{})
				return nil
			})
		}()
		synctest.Wait()
		test(h)
		cancel()
		time.Sleep(time.Minute) // until the informers stop
	})
}

// setVersions sets the served versions of gadgets, the preferred one first.
func (h *monitorHarness) setVersions(versions ...string) {
	lists := []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"delete", "get", "list", "patch", "watch"}}}},
		{GroupVersion: definitions.Group + "/v1", APIResources: []metav1.APIResource{
			{Name: definitions.Resource, Kind: "CustomResourceDefinition", Verbs: metav1.Verbs{"delete", "get", "list", "patch", "watch"}}}}}
	for _, v := range versions {
		lists = append(lists, &metav1.APIResourceList{GroupVersion: "example.com/" + v, APIResources: []metav1.APIResource{
			{Name: "gadgets", Kind: gadgets.Kind, Namespaced: true, Verbs: metav1.Verbs{"delete", "get", "list", "patch", "watch"}}}})
	}
	h.api.mu.Lock()
	defer h.api.mu.Unlock()
	h.api.Resources = lists
}

func (h *monitorHarness) createGadget(version, name string) {
	h.Helper()
	m := newMetadata(name)
	m.TypeMeta = metav1.TypeMeta{APIVersion: "example.com/" + version, Kind: gadgets.Kind}
	if err := h.client.Tracker().Create(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "gadgets"}, m, m.Namespace); err != nil {
		h.Fatal(err)
	}
}

// checkObjects waits for the next discovery and checks the gadgets in the graph, as VERSION/NAME.
func (h *monitorHarness) checkObjects(want ...string) {
	h.Helper()
	time.Sleep(discoveryInterval + time.Second)
	synctest.Wait()
	var got []string
	for _, o := range h.graph.all() {
		if o.kind == gadgets {
			got = append(got, o.resource.Version+"/"+o.name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		h.Errorf("the graph has %v, want %v", got, want)
	}
}

func TestMonitorFollowsPreferredVersion(t *testing.T) {
	runMonitors(t, func(h *monitorHarness) {
		h.checkObjects("v1/removed", "v1/retained")
		h.setVersions("v2")
		h.createGadget("v2", "retained")
		h.createGadget("v2", "new")
		h.checkObjects("v2/new", "v2/retained")
		h.createGadget("v1", "old-version")
		h.checkObjects("v2/new", "v2/retained")
	})
}

func TestMonitorRestartsWhenServedAgain(t *testing.T) {
	runMonitors(t, func(h *monitorHarness) {
		h.setVersions()
		h.checkObjects("v1/removed", "v1/retained")
		if _, exists := h.resourceFor(gadgets); exists {
			t.Error("a monitor exists for a kind that is not served, want none")
		}
		v1 := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
		if err := h.client.Tracker().Delete(v1, "ns", "removed"); err != nil {
			t.Fatal(err)
		}
		h.createGadget("v1", "new")
		h.checkObjects("v1/removed", "v1/retained")
		h.graph.upsert(toObject(newMetadata("dependent", "removed")))
		h.setVersions("v1")
		h.checkObjects("v1/new", "v1/retained")
		if o, _ := h.graph.get(types.UID("dependent")); o == nil {
			t.Error("a ConfigMap was removed with the gadgets, want it unchanged")
		}
	})
}

// TestMonitorRemovesStaleObjectsAfterLateList checks that stale objects are removed after the first list of a
// version, which succeeds only after some minutes.
func TestMonitorRemovesStaleObjectsAfterLateList(t *testing.T) {
	runMonitors(t, func(h *monitorHarness) {
		var unavailable atomic.Bool
		h.client.PrependReactor("list", "gadgets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return unavailable.Load(), nil, apierrors.NewResourceExpired("not yet") // after any other error client-go sleeps in real time
		})
		unavailable.Store(true)
		h.setVersions("v2")
		h.createGadget("v2", "retained")
		h.checkObjects("v1/removed", "v1/retained")
		time.Sleep(5 * time.Minute)
		unavailable.Store(false)
		time.Sleep(5 * time.Minute)
		h.checkObjects("v2/retained")
	})
}

// TestMonitorStartsAfterDefinition checks that the objects of a new CustomResourceDefinition are owners within two seconds, and that
// the monitor ends as soon after its deletion. Otherwise the dependents of an owner that is deleted soon, with its definition, remain.
func TestMonitorStartsAfterDefinition(t *testing.T) {
	runMonitors(t, func(h *monitorHarness) {
		resource := definitions.WithVersion("v1")
		definition := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: resource.GroupVersion().String(), Kind: "CustomResourceDefinition"},
			ObjectMeta: metav1.ObjectMeta{Name: "gadgets.example.com", UID: "definition"}}
		for _, c := range []struct {
			served []string
			change func() error
		}{
			{nil, func() error { return h.client.Tracker().Create(resource, definition, "") }},
			{[]string{"v1"}, func() error { return h.client.Tracker().Update(resource, definition, "") }}, // its status
			{nil, func() error { return h.client.Tracker().Delete(resource, "", definition.Name) }},
		} {
			if err := c.change(); err != nil {
				t.Fatal(err)
			}
			h.setVersions(c.served...) // the API server observes the same change
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if _, exists := h.resourceFor(gadgets); exists != (len(c.served) > 0) {
				t.Errorf("with served versions %v a monitor exists: %t", c.served, exists)
			}
		}
	})
}
