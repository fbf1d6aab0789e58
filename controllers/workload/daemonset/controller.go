package daemonset

import (
	"context"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/controllers/runner"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workload/revision"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/internal/conversion"
)

const (
	workers = 4
	// component is the source of this controller's events, as upstream.
	component = "daemonset-controller"
)

// Kind is the kind that this controller reconciles.
var Kind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")

type controller struct {
	env          runner.Environment
	client       kubernetes.Interface
	lister       appslisters.DaemonSetLister
	nodes        corelisters.NodeLister
	pods         *workloadcontroller.Pods
	informer     cache.SharedIndexInformer
	nodeInformer cache.SharedInformer
	history      *revision.History
	avoidHolds   *workloadcontroller.AvoidHolds
	failures     *workloadcontroller.FailureTracker
	dedup        *workloadcontroller.EventDeduplicator
	events       record.EventRecorder
	synced       []cache.InformerSynced
	converter    *conversion.Converter

	mu        sync.Mutex
	nodeCache map[string]cachedNode
}

// cachedNode is a converted node and its source object.
type cachedNode struct {
	source *corev1.Node
	node   *model.Node
}

// Run reconciles DaemonSets until ctx is done; see workqueue.Run and Add.
func Run(ctx context.Context, p runner.Process, avoid *workloadcontroller.AvoidHolds) error {
	return workqueue.Run(ctx, p, component, func(p *runner.Process) error { return Add(p, avoid) })
}

// Add adds the controller to a process. avoid supplies Avoid Holds and may be nil.
func Add(p *runner.Process, avoid *workloadcontroller.AvoidHolds) error {
	pods, err := workloadcontroller.NewPods(p)
	if err != nil {
		return err
	}
	revisions, err := revision.New(p.Client, p.Informers)
	if err != nil {
		return err
	}
	sets, nodes := p.Informers.Apps().V1().DaemonSets(), p.Informers.Core().V1().Nodes()
	return runner.AddController(p, &controller{
		env: p.Environment, client: p.Client, lister: sets.Lister(), nodes: nodes.Lister(), pods: pods, history: revisions, avoidHolds: avoid, events: p.Events,
		failures: workloadcontroller.NewFailureTracker(), dedup: workloadcontroller.NewEventDeduplicator(), converter: conversion.New(), nodeCache: map[string]cachedNode{},
		informer: sets.Informer(), nodeInformer: nodes.Informer(),
		synced: []cache.InformerSynced{sets.Informer().HasSynced, nodes.Informer().HasSynced, pods.HasSynced, revisions.HasSynced},
	}, Kind.Kind, workers)
}

// HasSynced implements runner.Controller.
func (c *controller) HasSynced() bool {
	return !slices.ContainsFunc(c.synced, func(synced cache.InformerSynced) bool { return !synced() })
}

// Watch enqueues a DaemonSet when the object, its pods, revisions or Holds change, or when a pod appears that
// it may adopt. Nodes that are added, deleted or change their labels or taints enqueue all DaemonSets.
func (c *controller) Watch(enqueue func(types.NamespacedName)) error {
	err := workqueue.Watch(c.nodeInformer, func(old, cur *corev1.Node) {
		if old != nil && cur != nil && equalForPlacement(old, cur) {
			return
		}
		list, _ := c.lister.List(labels.Everything())
		for _, ds := range list {
			enqueue(workloadcontroller.KeyOf(ds))
		}
	})
	if err != nil {
		return err
	}
	if err := c.history.Watch(Kind, enqueue); err != nil {
		return err
	}
	selectorOf := func(ds *appsv1.DaemonSet) *metav1.LabelSelector { return ds.Spec.Selector }
	return workloadcontroller.WatchWorkloads(c.pods, c.avoidHolds, Kind, c.informer, selectorOf, enqueue, c.failures.Forget)
}

// equalForPlacement reports whether two versions of a node have the same labels and taints. DaemonSets depend on
// nothing else.
func equalForPlacement(a, b *corev1.Node) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints)
}

// Reconcile reconciles one DaemonSet.
func (c *controller) Reconcile(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	ds, err := c.lister.DaemonSets(key.Namespace).Get(key.Name)
	if err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(ds.Spec.Selector)
	if err != nil || selector.Empty() || ds.DeletionTimestamp != nil {
		return 0, nil // an empty selector does not pass validation
	}
	if err := c.pods.VerifyOverdue(ctx, ds.UID); err != nil {
		return 0, err
	}
	owner := &workloadcontroller.Owner{Kind: Kind, Object: ds, Selector: selector, GetLive: func(ctx context.Context) (metav1.Object, error) {
		return c.client.AppsV1().DaemonSets(ds.Namespace).Get(ctx, ds.Name, metav1.GetOptions{})
	}}
	revisions, err := c.history.Sync(ctx, owner, &ds.Spec.Template, appsv1.DefaultDaemonSetUniqueLabelKey, ds.Status.CollisionCount)
	if workloadcontroller.IsNamespaceTerminating(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	pods, err := c.pods.Claim(ctx, owner)
	if err != nil {
		return 0, err
	}
	wake, err := c.apply(ctx, owner, ds, revisions, pods)
	return workloadcontroller.EarliestRequeue(c.env.Now(), c.pods.RequeueAfter(ds.UID), wake), err
}
