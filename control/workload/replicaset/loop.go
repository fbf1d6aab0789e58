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

	"github.com/berthproject/berth/control/loop"
	shared "github.com/berthproject/berth/control/workload"
)

const workers = 5

// Kind and ControllerKind are what Run and RunControllers look after.
var (
	Kind           = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	ControllerKind = corev1.SchemeGroupVersion.WithKind("ReplicationController")
)

type shell struct {
	lens
	pods   *shared.Pods
	avoid  *shared.Avoid
	events record.EventRecorder
	loop   *loop.Loop[types.NamespacedName]

	mu   sync.Mutex
	held map[types.UID]time.Time // until when it was said that pods wait
}

// Run keeps ReplicaSets until ctx ends. factory (started here if it is not yet) supplies them and their
// pods; avoid (nil: nobody) knows the Holds. It returns an error only if it could not start.
func Run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, avoid *shared.Avoid, log klog.Logger) error {
	return run(ctx, client, factory, replicaSets(client, factory), avoid, log)
}

// RunControllers is Run for ReplicationControllers.
func RunControllers(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, avoid *shared.Avoid, log klog.Logger) error {
	return run(ctx, client, factory, replicationControllers(client, factory), avoid, log)
}

func run(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, through lens, avoid *shared.Avoid, log klog.Logger) error {
	events, stop := shared.Recorder(ctx, client, through.component)
	defer stop()
	pods, err := shared.NewPods(client, factory, events)
	if err != nil {
		return err
	}
	s := &shell{lens: through, pods: pods, avoid: avoid, events: events, held: map[types.UID]time.Time{}}
	s.loop = loop.New(strings.ToLower(through.kind.Kind), "Keeping the "+through.kind.Kind, log, s.sync)
	if err := s.watch(); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), s.informer.HasSynced, pods.HasSynced) {
		return nil
	}
	s.loop.Run(ctx, workers)
	return nil
}

// watch has a ReplicaSet looked at when it, its pods or its Holds change, or a pod comes that it may adopt.
func (s *shell) watch() error {
	if err := shared.IndexByController(s.informer); err != nil {
		return err
	}
	err := loop.Watch(s.informer, func(old, now metav1.Object) {
		if now == nil {
			now = old
		}
		s.loop.Add(shared.KeyOf(now))
	})
	if err != nil {
		return err
	}
	s.avoid.Tell(func(kind string, owner types.NamespacedName) {
		if kind == s.kind.Kind {
			s.loop.Add(owner)
		}
	})
	return s.pods.Watch(s.kind, s.loop.Add, func(p *corev1.Pod) {
		list, _ := s.informer.GetIndexer().ByIndex(cache.NamespaceIndex, p.Namespace)
		for _, obj := range list {
			if rs := s.view(obj); shared.Selects(rs.Spec.Selector, p) {
				s.loop.Add(shared.KeyOf(rs))
			}
		}
	})
}

// sync brings one ReplicaSet up to date.
func (s *shell) sync(ctx context.Context, key types.NamespacedName) (again time.Duration, err error) {
	obj, there, err := s.informer.GetIndexer().GetByKey(key.String())
	if err != nil || !there {
		return 0, err
	}
	rs := s.view(obj)
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return 0, nil // validation lets none through
	}
	if err := s.pods.Settle(ctx, rs.UID); err != nil {
		return 0, err
	}
	owner := &shared.Owner{Kind: s.kind, Object: obj.(shared.Object), Selector: selector, Fresh: func(ctx context.Context) (metav1.Object, error) {
		return s.fresh(ctx, rs.Namespace, rs.Name)
	}}
	pods, err := s.pods.Claim(ctx, owner)
	if err != nil {
		return 0, err
	}
	wake, err := s.carryOut(ctx, owner, rs, pods)
	return shared.Sooner(s.pods.Pending(rs.UID), wake), err
}
