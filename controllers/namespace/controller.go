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

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/apierror"
)

const (
	workers = 4
	// defaultFinalizeDelay is how long after the start of a deletion late writes may arrive.
	defaultFinalizeDelay = 2 * time.Second
	// retryInterval is the retry interval while objects remain that other components must delete
	// (pods with a grace period, objects with finalizers).
	retryInterval = time.Second
)

// Discover returns the served namespaced resources. With an error the result is partial.
type Discover func() ([]*metav1.APIResourceList, error)

// controller deletes the content of namespaces. The queue key is the name of a namespace.
type controller struct {
	client        kubernetes.Interface
	metadata      metadata.Interface
	discover      Discover
	namespaces    corelisters.NamespaceLister
	now           func() time.Time
	finalizeDelay time.Duration
}

// Run deletes the content of terminating namespaces until ctx is done. It starts factory, which supplies the
// namespaces. It returns an error only if it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, objects metadata.Interface, factory informers.SharedInformerFactory, env runner.Environment, log klog.Logger) error {
	discover := func() ([]*metav1.APIResourceList, error) {
		return discovery.ServerPreferredNamespacedResourcesWithContext(ctx, discovery.ToDiscoveryInterfaceWithContext(client.Discovery()))
	}
	c := &controller{client: client, metadata: objects, discover: discover, now: env.Now, finalizeDelay: defaultFinalizeDelay}
	return c.run(ctx, factory, log)
}

func (c *controller) run(ctx context.Context, factory informers.SharedInformerFactory, log klog.Logger) error {
	namespaces := factory.Core().V1().Namespaces()
	c.namespaces = namespaces.Lister()
	queue := workqueue.New(ctx, "namespace", "Deleting the content of the namespace", log, c.sync)
	if err := workqueue.Watch(namespaces.Informer(), func(_, cur *corev1.Namespace) {
		if cur != nil && !cur.DeletionTimestamp.IsZero() {
			queue.Add(cur.Name)
		}
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), namespaces.Informer().HasSynced) {
		return nil
	}
	queue.Run(ctx, workers)
	return nil
}

// sync advances the deletion of a namespace as far as possible.
func (c *controller) sync(ctx context.Context, name string) (requeueAfter time.Duration, err error) {
	cached, err := c.namespaces.Get(name)
	if apierrors.IsNotFound(err) || err == nil && cached.DeletionTimestamp.IsZero() {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if !slices.Contains(cached.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return 0, nil // already finalized; other components remove the other finalizers
	}
	content := c.deleteAllContent(ctx, name)
	if err := c.updateStatus(ctx, cached, content); err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	if err := content.err(); err != nil {
		return 0, fmt.Errorf("namespace %s: %w", name, err)
	}
	if len(content.remaining) > 0 {
		return retryInterval, nil
	}
	if remaining := cached.DeletionTimestamp.Add(c.finalizeDelay).Sub(c.now()); remaining > 0 {
		return remaining, nil
	}
	return 0, apierror.IgnoreNotFound(c.finalize(ctx, name))
}

// finalize removes the finalizer from the latest version of the namespace.
func (c *controller) finalize(ctx context.Context, name string) error {
	ns, err := c.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	_, err = c.client.CoreV1().Namespaces().Finalize(ctx, ns, metav1.UpdateOptions{})
	return err
}
