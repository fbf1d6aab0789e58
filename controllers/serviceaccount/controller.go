package serviceaccount

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
)

const (
	accountName = "default"
	workers     = 4
	// resync is the interval at which all namespaces are reconciled, in case an event was lost.
	resync = 10 * time.Minute
)

// controller reconciles namespaces. The queue key is the name of a namespace.
type controller struct {
	client     kubernetes.Interface
	rootCA     string
	queue      *workqueue.Queue[string]
	namespaces corelisters.NamespaceLister
	accounts   corelisters.ServiceAccountLister
	configMaps corelisters.ConfigMapLister
	log        klog.Logger
}

// Run reconciles all namespaces until ctx is done. It starts factory, which supplies the namespaces. rootCA is the
// PEM certificate to publish; nil publishes none. Run returns an error only if it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, rootCA []byte, env runner.Environment, log klog.Logger) error {
	c := &controller{client: client, rootCA: string(rootCA), log: log}
	c.queue = workqueue.New(ctx, "serviceaccount", "Reconciling the namespace", log, func(ctx context.Context, name string) (time.Duration, error) { return 0, c.sync(ctx, name) })
	namespaces := factory.Core().V1().Namespaces()
	accounts := newNamedInformer(accountName, client, coreinformers.NewFilteredServiceAccountInformer)
	configMaps := newNamedInformer(ConfigMapName, client, coreinformers.NewFilteredConfigMapInformer)
	c.namespaces = namespaces.Lister()
	c.accounts = corelisters.NewServiceAccountLister(accounts.GetIndexer())
	c.configMaps = corelisters.NewConfigMapLister(configMaps.GetIndexer())

	byName := func(o metav1.Object) { c.queue.Add(o.GetName()) }
	byNamespace := func(o metav1.Object) { c.queue.Add(o.GetNamespace()) }
	if err := watch(namespaces.Informer(), byName, byName, nil); err != nil {
		return err
	}
	if err := watch(accounts, nil, nil, byNamespace); err != nil {
		return err
	}
	if err := watch(configMaps, byNamespace, byNamespace, byNamespace); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	runner.StartInformer(ctx, accounts)
	runner.StartInformer(ctx, configMaps)
	if !cache.WaitForCacheSync(ctx.Done(), namespaces.Informer().HasSynced, accounts.HasSynced, configMaps.HasSynced) {
		return nil
	}
	runner.Concurrently(
		func() { runner.Every(ctx, env, resync, func(context.Context) { c.enqueueAll() }) },
		func() { c.queue.Run(ctx, workers) })
	return nil
}

// newNamedInformer watches the objects with one name in all namespaces. Two small caches
// replace a watch of every ConfigMap of the cluster.
func newNamedInformer[Tweak ~func(*metav1.ListOptions)](name string, client kubernetes.Interface,
	informer func(kubernetes.Interface, string, time.Duration, cache.Indexers, Tweak) cache.SharedIndexInformer,
) cache.SharedIndexInformer {
	return informer(client, metav1.NamespaceAll, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
		})
}

// watch calls the non-nil functions with added, updated and deleted objects.
func watch(informer cache.SharedIndexInformer, added, updated, deleted func(metav1.Object)) error {
	call := func(f func(metav1.Object), obj any) {
		if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		if o, ok := obj.(metav1.Object); ok && f != nil {
			f(o)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { call(added, obj) },
		UpdateFunc: func(_, obj any) { call(updated, obj) },
		DeleteFunc: func(obj any) { call(deleted, obj) },
	})
	return err
}

func (c *controller) enqueueAll() {
	list, err := c.namespaces.List(labels.Everything())
	if err != nil {
		c.log.Error(err, "Failed to list namespaces")
	}
	for _, ns := range list {
		c.queue.Add(ns.Name)
	}
}

// sync creates the objects that a namespace lacks. It accepts that another process creates them first or deletes
// the namespace.
func (c *controller) sync(ctx context.Context, namespace string) error {
	ns, err := c.namespaces.Get(namespace)
	if apierrors.IsNotFound(err) || err == nil && (ns.Status.Phase == corev1.NamespaceTerminating || ns.DeletionTimestamp != nil) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := ignoreExpected(c.ensureAccount(ctx, namespace)); err != nil {
		return fmt.Errorf("serviceaccount %s/%s: %w", namespace, accountName, err)
	}
	if c.rootCA == "" {
		return nil
	}
	if err := ignoreExpected(c.ensureRootCA(ctx, namespace)); err != nil {
		return fmt.Errorf("configmap %s/%s: %w", namespace, ConfigMapName, err)
	}
	return nil
}

func (c *controller) ensureAccount(ctx context.Context, namespace string) error {
	_, err := c.accounts.ServiceAccounts(namespace).Get(accountName)
	if !apierrors.IsNotFound(err) {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: accountName, Namespace: namespace}}
	_, err = c.client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	return err
}

// ignoreExpected drops errors about an object that already exists or is no longer needed.
func ignoreExpected(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
