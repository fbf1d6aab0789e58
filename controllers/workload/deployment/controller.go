package deployment

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/controllers/runner"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/apierror"
)

const (
	workers = 5
	// component is the upstream source of the events.
	component = "deployment-controller"
	// recreatePollInterval is how often to check whether the old pods of a Recreate rollout are deleted.
	recreatePollInterval = time.Second
)

// Kind is the kind that this controller reconciles.
var Kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

type controller struct {
	env      runner.Environment
	client   kubernetes.Interface
	informer cache.SharedIndexInformer
	sets     cache.SharedIndexInformer
	pods     cache.SharedIndexInformer
	lister   appslisters.DeploymentLister
	writes   *writeCache
	events   record.EventRecorder
}

// Run reconciles Deployments until ctx is done; see workqueue.Run.
func Run(ctx context.Context, p runner.Process) error {
	return workqueue.Run(ctx, p, component, Add)
}

// Add adds the controller to a process.
func Add(p *runner.Process) error {
	deployments := p.Informers.Apps().V1().Deployments()
	return runner.AddController(p, &controller{
		env: p.Environment, client: p.Client, events: p.Events, writes: newWriteCache(p.Environment), informer: deployments.Informer(), lister: deployments.Lister(),
		sets: p.Informers.Apps().V1().ReplicaSets().Informer(), pods: p.Informers.Core().V1().Pods().Informer(),
	}, Kind.Kind, workers)
}

// HasSynced implements runner.Controller.
func (c *controller) HasSynced() bool {
	return c.informer.HasSynced() && c.sets.HasSynced() && c.pods.HasSynced()
}

// Watch enqueues a Deployment when it or its ReplicaSets change, or when a ReplicaSet appears that it may adopt.
func (c *controller) Watch(enqueue func(types.NamespacedName)) error {
	for _, i := range []cache.SharedIndexInformer{c.sets, c.pods} {
		if err := workloadcontroller.IndexByController(i); err != nil {
			return err
		}
	}
	err := workqueue.Watch(c.informer, func(old, cur *appsv1.Deployment) {
		if cur == nil {
			cur = old
		}
		enqueue(workloadcontroller.KeyOf(cur))
	})
	if err != nil {
		return err
	}
	enqueueForOrphan := func(rs *appsv1.ReplicaSet) {
		list, _ := c.lister.Deployments(rs.Namespace).List(labels.Everything())
		for _, d := range list {
			if workloadcontroller.Selects(d.Spec.Selector, rs) {
				enqueue(workloadcontroller.KeyOf(d))
			}
		}
	}
	err = workqueue.Watch(c.sets, func(old, cur *appsv1.ReplicaSet) {
		if cur == nil && metav1.GetControllerOfNoCopy(old) != nil {
			c.writes.drop(metav1.GetControllerOfNoCopy(old).UID, old.UID)
		}
	})
	if err != nil {
		return err
	}
	return workloadcontroller.WatchControlled(c.sets, Kind, enqueue, enqueueForOrphan)
}

// Reconcile reconciles one Deployment.
func (c *controller) Reconcile(ctx context.Context, key types.NamespacedName) (requeueAfter time.Duration, err error) {
	d, err := c.lister.Deployments(key.Namespace).Get(key.Name)
	if err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return 0, nil // a malformed selector does not pass validation
	}
	owner := &workloadcontroller.Owner{Kind: Kind, Object: d, Selector: selector, GetLive: func(ctx context.Context) (metav1.Object, error) {
		return c.client.AppsV1().Deployments(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
	}}
	list := workloadcontroller.Controlled[*appsv1.ReplicaSet](c.sets, d, true)
	sets, err := workloadcontroller.Claim(ctx, owner, list, nil, func(ctx context.Context, name string, kind types.PatchType, data []byte) error {
		_, err := c.client.AppsV1().ReplicaSets(d.Namespace).Patch(ctx, name, kind, data, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return 0, err
	}
	sets, err = c.overlayWrites(ctx, d, sets)
	if err != nil {
		return 0, err
	}
	r := &rollout{controller: c, d: d, owner: owner, sets: sets}
	return r.run(ctx)
}

// hasRunningPods reports whether a ReplicaSet has a pod that has not finished.
func (c *controller) hasRunningPods(rs *appsv1.ReplicaSet) bool {
	for _, p := range workloadcontroller.Controlled[*corev1.Pod](c.pods, rs, false) {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			return true
		}
	}
	return false
}
