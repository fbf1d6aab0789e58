package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// recordingReflector is a reflector of client-go for all objects of a resource. It records its requests, their errors,
// and the changes of the object named watched.
type recordingReflector struct {
	cache.Store
	gvr       schema.GroupVersionResource
	streaming bool
	source    *cache.ListWatch

	mu                           sync.Mutex
	lists, watches, replacements int
	errors                       []error
	changes                      map[string]string // the value of the annotation updated, by kind of change
}

// listOnly makes a reflector list objects before it watches, as with servers that do not stream lists.
type listOnly struct{ *cache.ListWatch }

func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }

// startReflector starts a reflector until the test ends. With streaming it gets the objects that exist from the watch.
func startReflector(t *testing.T, config *rest.Config, gv schema.GroupVersion, resource, kind string, streaming bool) *recordingReflector {
	t.Helper()
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &gv, "/apis", scheme.Codecs.WithoutConversion()
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	expected, err := scheme.Scheme.New(gv.WithKind(kind))
	if err != nil {
		t.Fatal(err)
	}
	r := &recordingReflector{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), gvr: gv.WithResource(resource), streaming: streaming, changes: map[string]string{},
		source: cache.NewListWatchFromClient(client, resource, metav1.NamespaceAll, fields.Everything())}
	recorded := &cache.ListWatch{ListWithContextFunc: r.list, WatchFuncWithContext: r.watch}
	var source cache.ListerWatcher = recorded
	if !streaming {
		source = listOnly{recorded}
	}
	go cache.NewReflectorWithOptions(source, expected, r, cache.ReflectorOptions{Name: resource}).RunWithContext(t.Context())
	return r
}

func (r *recordingReflector) String() string {
	return fmt.Sprintf("%s (streaming: %t)", r.gvr.Resource, r.streaming)
}

func (r *recordingReflector) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := r.source.ListWithContextFunc(ctx, options)
	r.record(&r.lists, err)
	return list, err
}

func (r *recordingReflector) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := r.source.WatchFuncWithContext(ctx, options)
	r.record(&r.watches, err)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		if e.Type == watch.Error {
			r.record(new(int), apierrors.FromObject(e.Object))
		}
		return e, true
	}), nil
}

// record counts a request and its error.
func (r *recordingReflector) record(counter *int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*counter++
	if err != nil {
		r.errors = append(r.errors, err)
	}
}

// requests describes all requests and errors.
func (r *recordingReflector) requests() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%d lists, %d watches, %d replacements, errors %v", r.lists, r.watches, r.replacements, r.errors)
}

// expectAll returns an error while the store lacks an object of the API or has another one.
func (r *recordingReflector) expectAll(ctx context.Context, client metadata.Interface) error {
	list, err := client.Resource(r.gvr).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var want []string
	for _, item := range list.Items {
		want = append(want, cache.MetaObjectToName(&item).String())
	}
	got := r.ListKeys()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("got the objects %q, want %q", got, want)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replacements == 0 {
		return errors.New("not synced")
	}
	return nil
}

// expect returns an error before the reflector has received a change of the object, whose annotation then has the value.
func (r *recordingReflector) expect(change, value string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if got, ok := r.changes[change]; !ok || got != value {
		return fmt.Errorf("changes and values of the annotation: got %v, want %s with %q", r.changes, change, value)
	}
	return nil
}

// change records a change of the object named watched.
func (r *recordingReflector) change(change string, object any) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if accessor.GetName() == "watched" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changes[change] = accessor.GetAnnotations()["updated"]
	}
	return nil
}

// Add stores a new object.
func (r *recordingReflector) Add(object any) error {
	return errors.Join(r.Store.Add(object), r.change("added", object))
}

// Update stores an object that has changed.
func (r *recordingReflector) Update(object any) error {
	return errors.Join(r.Store.Update(object), r.change("updated", object))
}

// Delete removes an object.
func (r *recordingReflector) Delete(object any) error {
	return errors.Join(r.Store.Delete(object), r.change("deleted", object))
}

// Replace stores all objects that exist.
func (r *recordingReflector) Replace(objects []any, resourceVersion string) error {
	err := r.Store.Replace(objects, resourceVersion)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replacements++
	return err
}
