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

	"github.com/berthproject/berth/controllers/workqueue"
)

const (
	component = "disruption-controller"
	workers   = 2
	// retryInterval is when a budget is counted again whose pods could not be.
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
	stalePodQueue *workqueue.Queue[key] // of pods with a DisruptionTarget condition

	mu         sync.Mutex
	lastEvents map[types.UID]string // the last events of budgets
}

// Run keeps budgets until ctx ends. Factory supplies pods, budgets and the usual controllers, and
// is started here if it is not yet; others asks for the scale of owners of other kinds, and may be nil. An error means that it
// could not start.
func Run(ctx context.Context, client kubernetes.Interface, others Scales, factory informers.SharedInformerFactory, log klog.Logger) error {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	pods, budgets := factory.Core().V1().Pods(), factory.Policy().V1().PodDisruptionBudgets()
	d := &controller{client: client, now: time.Now, budgetCache: newBudgetCache(), pods: pods.Lister(), budgets: budgets.Lister(),
		scales: newScaleLister(factory, others), events: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		lastEvents: map[types.UID]string{}}
	d.budgetQueue = workqueue.New("disruption", "Counting a disruption budget", log, d.reconcileBudget)
	d.stalePodQueue = workqueue.New("stale_pod_disruption", "Taking back a DisruptionTarget condition", log, d.clearDisruptionTarget)
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
	var wg sync.WaitGroup
	wg.Go(func() { d.stalePodQueue.Run(ctx, 1) })
	d.budgetQueue.Run(ctx, workers)
	wg.Wait()
	return nil
}

func (d *controller) onBudget(old, now *policyv1.PodDisruptionBudget) {
	if now == nil {
		now = old // to forget it
	}
	d.budgetQueue.Add(key{Namespace: now.Namespace, Name: now.Name})
}
