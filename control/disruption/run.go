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

	"github.com/berthproject/berth/control/loop"
)

const (
	component = "disruption-controller"
	workers   = 2
	// failedAgain is when a budget is counted again whose pods could not be.
	failedAgain = time.Minute
)

// key names a budget or a pod.
type key = types.NamespacedName

type disruption struct {
	client   kubernetes.Interface
	now      func() time.Time
	pods     corelisters.PodLister
	budgets  policylisters.PodDisruptionBudgetLister
	compiled *compiled
	scales   *scales
	events   record.EventRecorder

	count *loop.Loop[key] // of budgets
	marks *loop.Loop[key] // of pods with a DisruptionTarget condition

	mu   sync.Mutex
	told map[types.UID]string // the last events of budgets
}

// Run keeps budgets until ctx ends. Factory supplies pods, budgets and the usual controllers, and
// is started here if it is not yet; others asks for the scale of owners of other kinds, and may be nil. An error means that it
// could not start.
func Run(ctx context.Context, client kubernetes.Interface, others Scales, factory informers.SharedInformerFactory, log klog.Logger) error {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	pods, budgets := factory.Core().V1().Pods(), factory.Policy().V1().PodDisruptionBudgets()
	d := &disruption{client: client, now: time.Now, compiled: newCompiled(), pods: pods.Lister(), budgets: budgets.Lister(),
		scales: newScales(factory, others), events: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		told: map[types.UID]string{}}
	d.count = loop.New("disruption", "Counting a disruption budget", log, d.keep)
	d.marks = loop.New("stale_pod_disruption", "Taking back a DisruptionTarget condition", log, d.unmark)
	if err := loop.Watch(budgets.Informer(), d.budgetChanged); err != nil {
		return err
	}
	if err := loop.Watch(pods.Informer(), d.podChanged); err != nil {
		return err
	}
	if err := d.scales.watch(d.namespaceChanged); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), append(d.scales.synced, pods.Informer().HasSynced, budgets.Informer().HasSynced)...) {
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { d.marks.Run(ctx, 1) })
	d.count.Run(ctx, workers)
	wg.Wait()
	return nil
}

func (d *disruption) budgetChanged(old, now *policyv1.PodDisruptionBudget) {
	if now == nil {
		now = old // to forget it
	}
	d.count.Add(key{Namespace: now.Namespace, Name: now.Name})
}
