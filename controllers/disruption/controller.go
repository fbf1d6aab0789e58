package disruption

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
)

const (
	component = "disruption-controller"
	workers   = 2
	// retryInterval is the retry interval after a budget could not be computed.
	retryInterval = time.Minute
)

// key names a budget or a pod.
type key = types.NamespacedName

type controller struct {
	client      kubernetes.Interface
	now         func() time.Time
	pods        corelisters.PodLister
	budgets     policylisters.PodDisruptionBudgetLister
	budgetCache *budgetCache
	scales      *scaleLister
	events      record.EventRecorder

	budgetQueue   *workqueue.Queue[key] // of budgets
	stalePodQueue *workqueue.Queue[key] // pods with a DisruptionTarget condition

	mu         sync.Mutex
	lastEvents map[types.UID]string // by UID of the budget: its last events, formatted
}

// Run updates budgets until ctx is done. It starts factory, which supplies pods, budgets and the built-in workloads.
// customScales returns the scale of owners of other kinds and may be nil. Run returns an error only if it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, customScales Scales, factory informers.SharedInformerFactory, env runner.Environment, log klog.Logger) error {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	pods, budgets := factory.Core().V1().Pods(), factory.Policy().V1().PodDisruptionBudgets()
	d := &controller{client: client, now: env.Now, budgetCache: newBudgetCache(), pods: pods.Lister(), budgets: budgets.Lister(),
		scales: newScaleLister(factory, customScales), events: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		lastEvents: map[types.UID]string{}}
	d.budgetQueue = workqueue.New(ctx, "disruption", "Updating the disruption budget", log, d.reconcileBudget)
	d.stalePodQueue = workqueue.New(ctx, "stale_pod_disruption", "Clearing the DisruptionTarget condition", log, d.clearDisruptionTarget)
	if err := workqueue.Watch(budgets.Informer(), d.onBudget); err != nil {
		return err
	}
	if err := workqueue.Watch(pods.Informer(), d.onPod); err != nil {
		return err
	}
	if err := d.scales.watch(d.onScaleChanged); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), append(d.scales.synced, pods.Informer().HasSynced, budgets.Informer().HasSynced)...) {
		return nil
	}
	runner.Concurrently(func() { d.stalePodQueue.Run(ctx, 1) }, func() { d.budgetQueue.Run(ctx, workers) })
	return nil
}

func (d *controller) onBudget(old, cur *policyv1.PodDisruptionBudget) {
	if cur == nil {
		cur = old // a deleted budget is removed from the caches
	}
	d.budgetQueue.Add(key{Namespace: cur.Namespace, Name: cur.Name})
}
