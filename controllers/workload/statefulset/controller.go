package statefulset

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/controllers/podtemplate"
	"github.com/berthproject/berth/controllers/runner"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workload/revision"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/apierror"
)

const (
	workers = 4
	// component is the upstream source of the events.
	component = "statefulset-controller"
	// hashLabel is the label of a revision that carries its hash.
	hashLabel = "controller.kubernetes.io/hash"
	// staleClaimRetry is the retry interval of an ordinal with stale claims.
	staleClaimRetry = 2 * time.Second
)

// Kind is the kind that this controller reconciles.
var Kind = appsv1.SchemeGroupVersion.WithKind("StatefulSet")

type controller struct {
	env        runner.Environment
	client     kubernetes.Interface
	lister     appslisters.StatefulSetLister
	claims     corelisters.PersistentVolumeClaimLister
	pods       *workloadcontroller.Pods
	informer   cache.SharedIndexInformer
	history    *revision.History
	avoidHolds *workloadcontroller.AvoidHolds
	failures   *workloadcontroller.FailureTracker
	dedup      *workloadcontroller.EventDeduplicator
	events     record.EventRecorder
	synced     []cache.InformerSynced
}

// Run reconciles StatefulSets until ctx is done; see workqueue.Run and Add.
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
	sets, claims := p.Informers.Apps().V1().StatefulSets(), p.Informers.Core().V1().PersistentVolumeClaims()
	return runner.AddController(p, &controller{env: p.Environment, client: p.Client, lister: sets.Lister(), claims: claims.Lister(), pods: pods, history: revisions, avoidHolds: avoid, events: p.Events,
		failures: workloadcontroller.NewFailureTracker(), dedup: workloadcontroller.NewEventDeduplicator(), informer: sets.Informer(),
		synced: []cache.InformerSynced{sets.Informer().HasSynced, claims.Informer().HasSynced, pods.HasSynced, revisions.HasSynced}}, Kind.Kind, workers)
}

// HasSynced implements runner.Controller.
func (c *controller) HasSynced() bool {
	return !slices.ContainsFunc(c.synced, func(synced cache.InformerSynced) bool { return !synced() })
}

// Watch enqueues a StatefulSet when it, its pods, revisions or Holds change, or when a pod appears that it may adopt.
func (c *controller) Watch(enqueue func(types.NamespacedName)) error {
	if err := c.history.Watch(Kind, enqueue); err != nil {
		return err
	}
	selectorOf := func(set *appsv1.StatefulSet) *metav1.LabelSelector { return set.Spec.Selector }
	return workloadcontroller.WatchWorkloads(c.pods, c.avoidHolds, Kind, c.informer, selectorOf, enqueue, c.failures.Forget)
}

// Reconcile reconciles one StatefulSet.
func (c *controller) Reconcile(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	set, err := c.lister.StatefulSets(key.Namespace).Get(key.Name)
	if err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return 0, nil // a malformed selector does not pass validation
	}
	if err := c.pods.VerifyOverdue(ctx, set.UID); err != nil {
		return 0, err
	}
	owner := &workloadcontroller.Owner{Kind: Kind, Object: set, Selector: selector,
		GetLive: func(ctx context.Context) (metav1.Object, error) {
			return c.client.AppsV1().StatefulSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
		},
		Adopts: func(p *corev1.Pod) bool {
			_, member := podtemplate.Ordinal(set.Name, p.Name)
			return member
		},
	}
	if set.DeletionTimestamp != nil {
		return 0, nil // the garbage collector deletes or orphans its objects
	}
	revisions, err := c.history.Sync(ctx, owner, &set.Spec.Template, hashLabel, set.Status.CollisionCount)
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
	wake, err := c.apply(ctx, owner, set, revisions, pods)
	return workloadcontroller.EarliestRequeue(c.env.Now(), c.pods.RequeueAfter(set.UID), wake), err
}
