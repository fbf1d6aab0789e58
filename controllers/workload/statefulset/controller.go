package statefulset

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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

	"github.com/berthproject/berth/controllers/podtemplate"
	"github.com/berthproject/berth/controllers/runner"
	shared "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workload/revision"
	"github.com/berthproject/berth/controllers/workqueue"
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
	pods       *shared.Pods
	history    *revision.History
	avoidHolds *shared.AvoidHolds
	failures   *shared.FailureTracker
	dedup      *shared.EventDeduplicator
	events     record.EventRecorder
	queue      *workqueue.Queue[types.NamespacedName]
}

// Run reconciles StatefulSets until ctx is done. It starts factory, which supplies StatefulSets, pods and claims.
// avoid supplies Avoid Holds and may be nil. Run returns an error only if it cannot start.
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
	sets, claims := factory.Apps().V1().StatefulSets(), factory.Core().V1().PersistentVolumeClaims()
	s := &controller{env: env, client: client, lister: sets.Lister(), claims: claims.Lister(), pods: pods, history: revisions, avoidHolds: avoid, events: events,
		failures: shared.NewFailureTracker(), dedup: shared.NewEventDeduplicator()}
	s.queue = workqueue.New("statefulset", "Reconciling the StatefulSet", log, s.sync)
	claimsSynced := claims.Informer().HasSynced
	if err := s.watch(sets.Informer()); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), sets.Informer().HasSynced, claimsSynced, pods.HasSynced, revisions.HasSynced) {
		return nil
	}
	s.queue.Run(ctx, workers)
	return nil
}

// watch enqueues a StatefulSet when it, its pods, revisions or Holds change, or when a pod appears that it may adopt.
func (s *controller) watch(sets cache.SharedInformer) error {
	err := workqueue.Watch(sets, func(old, cur *appsv1.StatefulSet) {
		if cur == nil {
			cur = old
			s.failures.Forget(old.UID)
		}
		s.queue.Add(shared.KeyOf(cur))
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

// enqueueForOrphan enqueues the StatefulSets that may adopt a pod.
func (s *controller) enqueueForOrphan(p *corev1.Pod) {
	list, _ := s.lister.StatefulSets(p.Namespace).List(labels.Everything())
	for _, set := range list {
		if shared.Selects(set.Spec.Selector, p) {
			s.queue.Add(shared.KeyOf(set))
		}
	}
}

// sync reconciles one StatefulSet.
func (s *controller) sync(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	set, err := s.lister.StatefulSets(key.Namespace).Get(key.Name)
	if err != nil {
		return 0, shared.IgnoreNotFound(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return 0, nil // a malformed selector does not pass validation
	}
	if err := s.pods.VerifyOverdue(ctx, set.UID); err != nil {
		return 0, err
	}
	owner := &shared.Owner{Kind: Kind, Object: set, Selector: selector,
		GetLive: func(ctx context.Context) (metav1.Object, error) {
			return s.client.AppsV1().StatefulSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
		},
		Adopts: func(p *corev1.Pod) bool {
			_, member := podtemplate.Ordinal(set.Name, p.Name)
			return member
		},
	}
	if set.DeletionTimestamp != nil {
		return 0, nil // the garbage collector deletes or orphans its objects
	}
	revisions, err := s.history.Sync(ctx, owner, &set.Spec.Template, hashLabel, set.Status.CollisionCount)
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
	wake, err := s.apply(ctx, owner, set, revisions, pods)
	return shared.EarliestRequeue(s.env.Now(), s.pods.RequeueAfter(set.UID), wake), err
}
