package replicaset

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/controllers/runner"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
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
	pods       *workloadcontroller.Pods
	avoidHolds *workloadcontroller.AvoidHolds
	events     record.EventRecorder

	mu           sync.Mutex
	backoffUntil map[types.UID]time.Time // end of the backoff in the last event
}

// Run reconciles ReplicaSets until ctx is done; see workqueue.Run and Add.
func Run(ctx context.Context, p runner.Process, avoid *workloadcontroller.AvoidHolds) error {
	return workqueue.Run(ctx, p, "replicaset-controller", func(p *runner.Process) error { return Add(p, avoid) })
}

// RunControllers is Run for ReplicationControllers.
func RunControllers(ctx context.Context, p runner.Process, avoid *workloadcontroller.AvoidHolds) error {
	return workqueue.Run(ctx, p, "replication-controller", func(p *runner.Process) error { return add(p, replicationControllers(p), avoid) })
}

// Add adds the controller of ReplicaSets to a process. avoid supplies Avoid Holds and may be nil.
func Add(p *runner.Process, avoid *workloadcontroller.AvoidHolds) error {
	return add(p, replicaSets(p), avoid)
}

func add(p *runner.Process, adapter kindAdapter, avoid *workloadcontroller.AvoidHolds) error {
	pods, err := workloadcontroller.NewPods(p)
	if err != nil {
		return err
	}
	return runner.AddController(p, &controller{env: p.Environment, kindAdapter: adapter, pods: pods, avoidHolds: avoid, events: p.Events, backoffUntil: map[types.UID]time.Time{}}, adapter.kind.Kind, workers)
}

// HasSynced implements runner.Controller.
func (c *controller) HasSynced() bool { return c.informer.HasSynced() && c.pods.HasSynced() }

// Watch enqueues a ReplicaSet when it, its pods or its Holds change, or when a pod appears that it may adopt.
func (c *controller) Watch(enqueue func(types.NamespacedName)) error {
	if err := workloadcontroller.IndexByController(c.informer); err != nil {
		return err
	}
	selectorOf := func(o workloadcontroller.Object) *metav1.LabelSelector { return c.toReplicaSet(o).Spec.Selector }
	return workloadcontroller.WatchWorkloads(c.pods, c.avoidHolds, c.kind, c.informer, selectorOf, enqueue, func(types.UID) {})
}

// Reconcile reconciles one ReplicaSet.
func (c *controller) Reconcile(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	obj, exists, err := c.informer.GetIndexer().GetByKey(key.String())
	if err != nil || !exists {
		return 0, err
	}
	rs := c.toReplicaSet(obj)
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return 0, nil // a malformed selector does not pass validation
	}
	if err := c.pods.VerifyOverdue(ctx, rs.UID); err != nil {
		return 0, err
	}
	owner := &workloadcontroller.Owner{Kind: c.kind, Object: obj.(workloadcontroller.Object), Selector: selector, GetLive: func(ctx context.Context) (metav1.Object, error) {
		return c.getLive(ctx, rs.Namespace, rs.Name)
	}}
	pods, err := c.pods.Claim(ctx, owner)
	if err != nil {
		return 0, err
	}
	wake, err := c.apply(ctx, owner, rs, pods)
	return workloadcontroller.EarliestRequeue(c.env.Now(), c.pods.RequeueAfter(rs.UID), wake), err
}
