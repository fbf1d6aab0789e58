package daemonset

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	shared "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workload/revision"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

const (
	workers = 4
	// component is the upstream source of the events.
	component = "daemonset-controller"
)

// Kind is the kind that this controller reconciles.
var Kind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")

type controller struct {
	env        runner.Environment
	client     kubernetes.Interface
	lister     appslisters.DaemonSetLister
	nodes      corelisters.NodeLister
	pods       *shared.Pods
	history    *revision.History
	avoidHolds *shared.AvoidHolds
	failures   *shared.FailureTracker
	dedup      *shared.EventDeduplicator
	events     record.EventRecorder
	queue      *workqueue.Queue[types.NamespacedName]
	converter  *conversion.Converter

	mu        sync.Mutex
	nodeCache map[string]cachedNode
}

// cachedNode is a converted node and its source object.
type cachedNode struct {
	source *corev1.Node
	node   *model.Node
}

// Run reconciles DaemonSets until ctx is done. It starts factory, which supplies DaemonSets, pods and nodes. avoid
// supplies Avoid Holds and may be nil. Run returns an error only if it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, avoid *shared.AvoidHolds, env runner.Environment, log klog.Logger) error {
	events, stop := shared.NewEventRecorder(ctx, client, component)
	defer stop()
	pods, err := shared.NewPods(client, factory, events, env)
	if err != nil {
		return err
	}
	revisions, err := revision.New(client, factory)
	if err != nil {
		return err
	}
	sets, nodes := factory.Apps().V1().DaemonSets(), factory.Core().V1().Nodes()
	s := &controller{
		env: env, client: client, lister: sets.Lister(), nodes: nodes.Lister(), pods: pods, history: revisions, avoidHolds: avoid, events: events,
		failures: shared.NewFailureTracker(), dedup: shared.NewEventDeduplicator(), converter: conversion.New(), nodeCache: map[string]cachedNode{},
	}
	s.queue = workqueue.New("daemonset", "Reconciling the DaemonSet", log, s.sync)
	if err := s.watch(sets.Informer(), nodes.Informer()); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), sets.Informer().HasSynced, nodes.Informer().HasSynced, pods.HasSynced, revisions.HasSynced) {
		return nil
	}
	s.queue.Run(ctx, workers)
	return nil
}

// watch enqueues a DaemonSet when it, its pods, revisions or Holds change, or when a pod appears that it may
// adopt. Added, deleted and relevantly changed nodes enqueue all DaemonSets.
func (s *controller) watch(sets, nodes cache.SharedInformer) error {
	err := workqueue.Watch(sets, func(old, cur *appsv1.DaemonSet) {
		if cur == nil {
			cur = old
			s.failures.Forget(old.UID)
		}
		s.queue.Add(shared.KeyOf(cur))
	})
	if err != nil {
		return err
	}
	err = workqueue.Watch(nodes, func(old, cur *corev1.Node) {
		if old != nil && cur != nil && equalForPlacement(old, cur) {
			return
		}
		list, _ := s.lister.List(labels.Everything())
		for _, ds := range list {
			s.queue.Add(shared.KeyOf(ds))
		}
	})
	if err != nil {
		return err
	}
	s.avoidHolds.OnChange(func(kind string, owner types.NamespacedName) {
		if kind == Kind.Kind {
			s.queue.Add(owner)
		}
	})
	if err := s.history.Watch(Kind, s.queue.Add); err != nil {
		return err
	}
	return s.pods.Watch(Kind, s.queue.Add, s.enqueueForOrphan)
}

// equalForPlacement reports whether two states of a node are equal for DaemonSets.
func equalForPlacement(a, b *corev1.Node) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints)
}

// enqueueForOrphan enqueues the DaemonSets that may adopt a pod.
func (s *controller) enqueueForOrphan(p *corev1.Pod) {
	list, _ := s.lister.DaemonSets(p.Namespace).List(labels.Everything())
	for _, ds := range list {
		if shared.Selects(ds.Spec.Selector, p) {
			s.queue.Add(shared.KeyOf(ds))
		}
	}
}

// sync reconciles one DaemonSet.
func (s *controller) sync(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	ds, err := s.lister.DaemonSets(key.Namespace).Get(key.Name)
	if err != nil {
		return 0, shared.IgnoreNotFound(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(ds.Spec.Selector)
	if err != nil || selector.Empty() || ds.DeletionTimestamp != nil {
		return 0, nil // an empty selector does not pass validation
	}
	if err := s.pods.VerifyOverdue(ctx, ds.UID); err != nil {
		return 0, err
	}
	owner := &shared.Owner{Kind: Kind, Object: ds, Selector: selector, GetLive: func(ctx context.Context) (metav1.Object, error) {
		return s.client.AppsV1().DaemonSets(ds.Namespace).Get(ctx, ds.Name, metav1.GetOptions{})
	}}
	revisions, err := s.history.Sync(ctx, owner, &ds.Spec.Template, appsv1.DefaultDaemonSetUniqueLabelKey, ds.Status.CollisionCount)
	if shared.IsNamespaceTerminating(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	pods, err := s.pods.Claim(ctx, owner)
	if err != nil {
		return 0, err
	}
	wake, err := s.apply(ctx, owner, ds, revisions, pods)
	return shared.EarliestRequeue(s.env.Now(), s.pods.RequeueAfter(ds.UID), wake), err
}
