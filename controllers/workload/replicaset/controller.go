package replicaset

import (
	"context"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	shared "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workqueue"
)

const workers = 5

// Kind and ControllerKind are the kinds that Run and RunControllers reconcile.
var (
	Kind           = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	ControllerKind = corev1.SchemeGroupVersion.WithKind("ReplicationController")
)

type controller struct {
	env runner.Environment
	kindAdapter
	pods       *shared.Pods
	avoidHolds *shared.AvoidHolds
	events     record.EventRecorder
	queue      *workqueue.Queue[types.NamespacedName]

	mu           sync.Mutex
	backoffUntil map[types.UID]time.Time // end of the backoff in the last event
}

// Run reconciles ReplicaSets until ctx is done. It starts factory, which supplies ReplicaSets and pods. avoid supplies
// Avoid Holds and may be nil. Run returns an error only if it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, avoid *shared.AvoidHolds, env runner.Environment, log klog.Logger) error {
	return run(ctx, client, factory, replicaSets(client, factory), avoid, env, log)
}

// RunControllers is Run for ReplicationControllers.
func RunControllers(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, avoid *shared.AvoidHolds, env runner.Environment, log klog.Logger) error {
	return run(ctx, client, factory, replicationControllers(client, factory), avoid, env, log)
}

func run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, adapter kindAdapter, avoid *shared.AvoidHolds, env runner.Environment, log klog.Logger) error {
	events, stop := shared.NewEventRecorder(ctx, client, adapter.component)
	defer stop()
	pods, err := shared.NewPods(client, factory, events, env)
	if err != nil {
		return err
	}
	s := &controller{env: env, kindAdapter: adapter, pods: pods, avoidHolds: avoid, events: events, backoffUntil: map[types.UID]time.Time{}}
	s.queue = workqueue.New(strings.ToLower(adapter.kind.Kind), "Reconciling the "+adapter.kind.Kind, log, s.sync)
	if err := s.watch(); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), s.informer.HasSynced, pods.HasSynced) {
		return nil
	}
	s.queue.Run(ctx, workers)
	return nil
}

// watch enqueues a ReplicaSet when it, its pods or its Holds change, or when a pod appears that it may adopt.
func (s *controller) watch() error {
	if err := shared.IndexByController(s.informer); err != nil {
		return err
	}
	err := workqueue.Watch(s.informer, func(old, cur metav1.Object) {
		if cur == nil {
			cur = old
		}
		s.queue.Add(shared.KeyOf(cur))
	})
	if err != nil {
		return err
	}
	s.avoidHolds.OnChange(func(kind string, owner types.NamespacedName) {
		if kind == s.kind.Kind {
			s.queue.Add(owner)
		}
	})
	return s.pods.Watch(s.kind, s.queue.Add, func(p *corev1.Pod) {
		list, _ := s.informer.GetIndexer().ByIndex(cache.NamespaceIndex, p.Namespace)
		for _, obj := range list {
			if rs := s.toReplicaSet(obj); shared.Selects(rs.Spec.Selector, p) {
				s.queue.Add(shared.KeyOf(rs))
			}
		}
	})
}

// sync reconciles one ReplicaSet.
func (s *controller) sync(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	obj, exists, err := s.informer.GetIndexer().GetByKey(key.String())
	if err != nil || !exists {
		return 0, err
	}
	rs := s.toReplicaSet(obj)
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return 0, nil // a malformed selector does not pass validation
	}
	if err := s.pods.VerifyOverdue(ctx, rs.UID); err != nil {
		return 0, err
	}
	owner := &shared.Owner{Kind: s.kind, Object: obj.(shared.Object), Selector: selector, GetLive: func(ctx context.Context) (metav1.Object, error) {
		return s.getLive(ctx, rs.Namespace, rs.Name)
	}}
	pods, err := s.pods.Claim(ctx, owner)
	if err != nil {
		return 0, err
	}
	wake, err := s.apply(ctx, owner, rs, pods)
	return shared.EarliestRequeue(s.env.Now(), s.pods.RequeueAfter(rs.UID), wake), err
}
