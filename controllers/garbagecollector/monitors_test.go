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
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
)

var gadgets = schema.GroupKind{Group: "example.com", Kind: "Gadget"}

// monitorHarness is an API server with gadgets in the served versions.
type monitorHarness struct {
	*harness
	api *fakeDiscovery
}

// fakeDiscovery is discovery with concurrently changing results.
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

func runMonitors(t *testing.T, test func(s *monitorHarness)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &monitorHarness{newHarness(t), &fakeDiscovery{FakeDiscovery: &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}}}}
		s.discovery, s.monitors = s.api, map[schema.GroupKind]*monitor{}
		go s.queue.Run(ctx, 0) // until ctx is done
		s.setVersions("v1")
		s.createGadget("v1", "retained")
		s.createGadget("v1", "removed")
		if err := s.syncMonitors(ctx); err != nil {
			t.Fatal(err)
		}
		go s.rediscover(ctx)
		test(s)
		cancel()
		time.Sleep(time.Minute)
	})
}

// setVersions sets the served versions of gadgets, the preferred one first.
func (s *monitorHarness) setVersions(versions ...string) {
	lists := []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"delete", "get", "list", "patch", "watch"}}}}}
	for _, v := range versions {
		lists = append(lists, &metav1.APIResourceList{GroupVersion: "example.com/" + v, APIResources: []metav1.APIResource{
			{Name: "gadgets", Kind: gadgets.Kind, Namespaced: true, Verbs: metav1.Verbs{"delete", "get", "list", "patch", "watch"}}}})
	}
	s.api.mu.Lock()
	defer s.api.mu.Unlock()
	s.api.Resources = lists
}

// createGadget creates a gadget in a version.
func (s *monitorHarness) createGadget(version, name string) {
	s.Helper()
	m := newMetadata(name)
	m.TypeMeta = metav1.TypeMeta{APIVersion: "example.com/" + version, Kind: gadgets.Kind}
	if err := s.client.Tracker().Create(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "gadgets"}, m, m.Namespace); err != nil {
		s.Fatal(err)
	}
}

// checkObjects checks the gadgets in the graph, as version/name.
func (s *monitorHarness) checkObjects(want ...string) {
	s.Helper()
	time.Sleep(discoveryInterval + time.Second)
	synctest.Wait()
	var got []string
	for _, o := range s.graph.all() {
		if o.kind == gadgets {
			got = append(got, o.resource.Version+"/"+o.name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.Errorf("the graph has %v, want %v", got, want)
	}
}

func TestMonitorFollowsPreferredVersion(t *testing.T) {
	runMonitors(t, func(s *monitorHarness) {
		s.checkObjects("v1/removed", "v1/retained")
		s.setVersions("v2")
		s.createGadget("v2", "retained")
		s.createGadget("v2", "new")
		s.checkObjects("v2/new", "v2/retained")
		s.createGadget("v1", "old-version")
		s.checkObjects("v2/new", "v2/retained")
	})
}

func TestMonitorRestartsWhenServedAgain(t *testing.T) {
	runMonitors(t, func(s *monitorHarness) {
		s.setVersions()
		s.checkObjects("v1/removed", "v1/retained")
		if _, exists := s.resourceFor(gadgets); exists {
			t.Error("a monitor exists for a kind that is not served")
		}
		v1 := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
		if err := s.client.Tracker().Delete(v1, "ns", "removed"); err != nil {
			t.Fatal(err)
		}
		s.createGadget("v1", "new")
		s.checkObjects("v1/removed", "v1/retained")
		s.graph.upsert(toObject(newMetadata("dependent", "removed")))
		s.setVersions("v1")
		s.checkObjects("v1/new", "v1/retained")
		if o, _ := s.graph.get(types.UID("dependent")); o == nil {
			t.Error("a ConfigMap was removed with the gadgets")
		}
	})
}

// TestMonitorRemovesStaleObjectsAfterLateList compares the graph with a version that can be listed only after some
// minutes.
func TestMonitorRemovesStaleObjectsAfterLateList(t *testing.T) {
	runMonitors(t, func(s *monitorHarness) {
		var unavailable atomic.Bool
		s.client.PrependReactor("list", "gadgets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return unavailable.Load(), nil, apierrors.NewResourceExpired("not yet") // after any other error client-go sleeps in real time
		})
		unavailable.Store(true)
		s.setVersions("v2")
		s.createGadget("v2", "retained")
		s.checkObjects("v1/removed", "v1/retained")
		time.Sleep(5 * time.Minute)
		unavailable.Store(false)
		time.Sleep(5 * time.Minute)
		s.checkObjects("v2/retained")
	})
}
