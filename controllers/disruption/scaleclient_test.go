package disruption

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/restmapper"
	fakescale "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/model"
)

// TestScaleClientDiscovery checks that the client finds the scale of a custom resource whose definition is created and
// changed after the client was created.
func TestScaleClientDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}}
		serve := func(resources ...string) {
			list := &metav1.APIResourceList{GroupVersion: "example.com/v1"}
			for _, name := range resources {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: "Widget", Namespaced: true})
			}
			api.Resources = []*metav1.APIResourceList{list}
		}
		var response runtime.Object
		scales := &fakescale.FakeScaleClient{}
		scales.AddReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			if response == nil {
				return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: "example.com", Resource: "widgets"}, "w")
			}
			return true, response, nil
		})
		c := &scaleClient{clock: clock.RealClock{}, discovery: api, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(api)), client: scales, withoutScale: map[schema.GroupVersionResource]bool{}}
		checkScale := func(step string, want bool) {
			t.Helper()
			s, err := c.Scale(t.Context(), "ns", model.Owner{APIVersion: "example.com/v1", Kind: "Widget", Name: "w", UID: "w"})
			var noScale *NoScaleError
			if want != (err == nil && s != nil) || want == errors.As(err, &noScale) {
				t.Errorf("%s: scale %v, error %v, want a scale: %v", step, s, err, want)
			}
			time.Sleep(retryInterval)
		}
		serve()
		checkScale("no such kind", false)
		serve("widgets")
		checkScale("a kind without scale", false)
		serve("widgets", "widgets/scale")
		response = &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
		checkScale("a kind with scale", true)
	})
}
