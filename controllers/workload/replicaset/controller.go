package replicaset

import (
	"context"
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

	mu           sync.Mutex
	backoffUntil map[types.UID]time.Time // end of the backoff in the last event
}

// Run reconciles ReplicaSets until ctx is done. It starts factory, which supplies ReplicaSets and pods. avoid supplies
// Avoid Holds and may be nil. Run returns an error only if it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, avoid *shared.AvoidHolds, env runner.Environment, log klog.Logger) error {
	return run(ctx, client, factory, replicaSets(client, factory), avoid, env, log)
}

// New returns the controller of ReplicaSets for a runner that supplies the informers of factory and records events.
func New(client kubernetes.Interface, factory informers.SharedInformerFactory, avoid *shared.AvoidHolds, events record.EventRecorder, env runner.Environment) (runner.Controller, error) {
	return newController(client, factory, replicaSets(client, factory), avoid, events, env)
}

// RunControllers is Run for ReplicationControllers.
func RunControllers(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, avoid *shared.AvoidHolds, env runner.Environment, log klog.Logger) error {
	return run(ctx, client, factory, replicationControllers(client, factory), avoid, env, log)
}

func run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, adapter kindAdapter, avoid *shared.AvoidHolds, env runner.Environment, log klog.Logger) error {
	events, stop := shared.NewEventRecorder(ctx, client, adapter.component)
	defer stop()
	s, err := newController(client, factory, adapter, avoid, events, env)
	if err != nil {
		return err
	}
	return workqueue.RunController(ctx, s, adapter.kind.Kind, workers, factory, log)
}

func newController(client kubernetes.Interface, factory informers.SharedInformerFactory, adapter kindAdapter, avoid *shared.AvoidHolds, events record.EventRecorder, env runner.Environment) (*controller, error) {
	pods, err := shared.NewPods(client, factory, events, env)
	if err != nil {
		return nil, err
	}
	return &controller{env: env, kindAdapter: adapter, pods: pods, avoidHolds: avoid, events: events, backoffUntil: map[types.UID]time.Time{}}, nil
}

// HasSynced implements runner.Controller.
func (s *controller) HasSynced() bool { return s.informer.HasSynced() && s.pods.HasSynced() }

// Watch enqueues a ReplicaSet when it, its pods or its Holds change, or when a pod appears that it may adopt.
func (s *controller) Watch(enqueue func(types.NamespacedName)) error {
	if err := shared.IndexByController(s.informer); err != nil {
		return err
	}
	err := workqueue.Watch(s.informer, func(old, cur metav1.Object) {
		if cur == nil {
			cur = old
		}
		enqueue(shared.KeyOf(cur))
	})
	if err != nil {
		return err
	}
	s.avoidHolds.OnChange(func(kind string, owner types.NamespacedName) {
		if kind == s.kind.Kind {
			enqueue(owner)
		}
	})
	return s.pods.Watch(s.kind, enqueue, func(p *corev1.Pod) {
		list, _ := s.informer.GetIndexer().ByIndex(cache.NamespaceIndex, p.Namespace)
		for _, obj := range list {
			if rs := s.toReplicaSet(obj); shared.Selects(rs.Spec.Selector, p) {
				enqueue(shared.KeyOf(rs))
			}
		}
	})
}

// Reconcile reconciles one ReplicaSet.
func (s *controller) Reconcile(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
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
