package namespace

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/control/loop"
)

const (
	workers = 4
	// settle is how long after the start of a deletion late writes are waited for.
	settle = 2 * time.Second
	// again is how soon a namespace is looked at that others must empty first
	// (pods that end gracefully, objects with finalizers).
	again = time.Second
)

// Discover lists the resources the server serves by namespace. With an error
// the list holds what could be found out.
type Discover func() ([]*metav1.APIResourceList, error)

// emptier empties namespaces, one key a namespace.
type emptier struct {
	client     kubernetes.Interface
	metadata   metadata.Interface
	discover   Discover
	namespaces corelisters.NamespaceLister
	now        func() time.Time
	settle     time.Duration
}

// Run empties deleted namespaces until ctx ends. factory (started here if it
// is not yet) supplies the namespaces. It returns an error only if it could not start.
func Run(ctx context.Context, client kubernetes.Interface, objects metadata.Interface, factory informers.SharedInformerFactory, log klog.Logger) error {
	discover := func() ([]*metav1.APIResourceList, error) {
		return discovery.ServerPreferredNamespacedResourcesWithContext(ctx, discovery.ToDiscoveryInterfaceWithContext(client.Discovery()))
	}
	e := &emptier{client: client, metadata: objects, discover: discover, now: time.Now, settle: settle}
	return e.run(ctx, factory, log)
}

func (e *emptier) run(ctx context.Context, factory informers.SharedInformerFactory, log klog.Logger) error {
	namespaces := factory.Core().V1().Namespaces()
	e.namespaces = namespaces.Lister()
	keys := loop.New("namespace", "Emptying the namespace", log, e.sync)
	if err := loop.Watch(namespaces.Informer(), func(_, now *corev1.Namespace) {
		if now != nil && !now.DeletionTimestamp.IsZero() {
			keys.Add(now.Name)
		}
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), namespaces.Informer().HasSynced) {
		return nil
	}
	keys.Run(ctx, workers)
	return nil
}

// sync takes a namespace as far as it goes now; wait > 0 asks to be called again.
func (e *emptier) sync(ctx context.Context, name string) (wait time.Duration, err error) {
	cached, err := e.namespaces.Get(name)
	if apierrors.IsNotFound(err) || err == nil && cached.DeletionTimestamp.IsZero() {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if !slices.Contains(cached.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return 0, nil // finalized already; other finalizers are for others
	}
	found := e.empty(ctx, name)
	if err := e.report(ctx, cached, found); err != nil {
		return 0, gone(err)
	}
	if err := found.failure(); err != nil {
		return 0, fmt.Errorf("namespace %s: %w", name, err)
	}
	if len(found.remaining) > 0 {
		return again, nil
	}
	if late := cached.DeletionTimestamp.Add(e.settle).Sub(e.now()); late > 0 {
		return late, nil
	}
	return 0, gone(e.finalize(ctx, name))
}

// finalize takes the finalizer off, on the newest version: nothing else about
// the namespace matters now.
func (e *emptier) finalize(ctx context.Context, name string) error {
	ns, err := e.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	_, err = e.client.CoreV1().Namespaces().Finalize(ctx, ns, metav1.UpdateOptions{})
	return err
}

// gone drops the error that the namespace is not there any more.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
