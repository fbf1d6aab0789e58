package disruption

import (
	"context"
	"sync"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/record"

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
	workloads   *Workloads
	events      record.EventRecorder

	budgetQueue   runner.Queue[key] // of budgets
	stalePodQueue runner.Queue[key] // pods with a DisruptionTarget condition

	mu         sync.Mutex
	lastEvents map[types.UID]string // by UID of the budget: its last events, formatted
}

// Run updates budgets until ctx is done; see workqueue.Run and Add.
func Run(ctx context.Context, p runner.Process, customScales Scales) error {
	return workqueue.Run(ctx, p, component, func(p *runner.Process) error { return Add(p, customScales) })
}

// Add adds the controller to a process. customScales returns the scale of owners other than the built-in workloads and may
// be nil.
func Add(p *runner.Process, customScales Scales) error {
	pods, budgets := p.Informers.Core().V1().Pods(), p.Informers.Policy().V1().PodDisruptionBudgets()
	c := &controller{client: p.Client, now: p.Now, budgetCache: newBudgetCache(), pods: pods.Lister(), budgets: budgets.Lister(),
		workloads: NewWorkloads(p.Informers, customScales), events: p.Events, lastEvents: map[types.UID]string{}}
	c.budgetQueue = runner.NewQueue(p, runner.QueueOptions{Name: "disruption", Action: "Updating the disruption budget", Workers: workers}, c.reconcileBudget)
	c.stalePodQueue = runner.NewQueue(p, runner.QueueOptions{Name: "stale_pod_disruption", Action: "Clearing the DisruptionTarget condition", Workers: 1}, c.clearDisruptionTarget)
	p.Queues.WaitFor(append(c.workloads.synced, pods.Informer().HasSynced, budgets.Informer().HasSynced)...)
	if err := workqueue.Watch(budgets.Informer(), c.onBudget); err != nil {
		return err
	}
	if err := workqueue.Watch(pods.Informer(), c.onPod); err != nil {
		return err
	}
	return c.workloads.watch(p.Informers, c.onScaleChanged)
}

func (c *controller) onBudget(old, cur *policyv1.PodDisruptionBudget) {
	if cur == nil {
		cur = old // a deleted budget is removed from the caches
	}
	c.budgetQueue.Add(key{Namespace: cur.Namespace, Name: cur.Name})
}
