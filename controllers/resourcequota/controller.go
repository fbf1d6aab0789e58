package resourcequota

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/apierror"
)

const (
	workers = 5
	// settleTime is how long a quota must not have been charged before its usage is lowered.
	settleTime = time.Second
	// resync is the interval at which every quota is counted, in case an event was lost or a resource was not served.
	resync = time.Minute
)

type controller struct {
	env    runner.Environment
	client kubernetes.Interface
	queue  *workqueue.Queue[types.NamespacedName]
	quotas corelisters.ResourceQuotaLister
	usage  *usage

	mu      sync.Mutex
	charges map[types.NamespacedName]charge
}

// charge is the last change of a quota by another writer.
type charge struct {
	version string    // resourceVersion of the last observed or written state
	at      time.Time // when the change was observed
}

// Run reconciles all quotas until ctx is done. It starts factory. Run returns an error only if it cannot start.
func Run(ctx context.Context, client kubernetes.Interface, objects metadata.Interface, factory informers.SharedInformerFactory, env runner.Environment, log klog.Logger) error {
	quotas := factory.Core().V1().ResourceQuotas()
	c := &controller{env: env, client: client, quotas: quotas.Lister(), charges: map[types.NamespacedName]charge{}}
	c.queue = workqueue.New(ctx, "resource_quota_controller_resource_changes", "Computing the usage of the quota", log, c.sync)
	c.usage = newUsage(ctx, env, client.Discovery(), objects, factory, c.enqueueNamespace)
	if err := workqueue.Watch(quotas.Informer(), c.handleQuota); err != nil {
		return err
	}
	if err := c.usage.watch(factory); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	synced := append([]cache.InformerSynced{quotas.Informer().HasSynced}, c.usage.synced...)
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	c.queue.Run(ctx, workers)
	return nil
}

func (c *controller) handleQuota(old, cur *corev1.ResourceQuota) {
	if cur != nil {
		c.queue.Add(types.NamespacedName{Namespace: cur.Namespace, Name: cur.Name})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.charges, types.NamespacedName{Namespace: old.Namespace, Name: old.Name})
}

func (c *controller) enqueueNamespace(namespace string) {
	list, _ := c.quotas.ResourceQuotas(namespace).List(labels.Everything())
	for _, q := range list {
		c.queue.Add(types.NamespacedName{Namespace: namespace, Name: q.Name})
	}
}

// sync writes the usage of a quota if it differs from the status. It returns the delay until the next count.
func (c *controller) sync(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	q, err := c.quotas.ResourceQuotas(key.Namespace).Get(key.Name)
	if err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	counted, countErr := c.usage.compute(ctx, q)
	wait := c.settleDelay(key, q.ResourceVersion)
	used := corev1.ResourceList{}
	for name := range q.Spec.Hard {
		old, hasOld := q.Status.Used[name]
		cur, hasCur := counted[name]
		switch {
		case !hasCur && hasOld, hasCur && hasOld && wait > 0 && old.Cmp(cur) > 0:
			used[name] = old
		case hasCur:
			used[name] = cur
		}
	}
	requeueAfter := resync
	if wait > 0 {
		requeueAfter = wait
	}
	status := corev1.ResourceQuotaStatus{Hard: q.Spec.Hard.DeepCopy(), Used: used}
	if equality.Semantic.DeepEqual(status, q.Status) {
		return requeueAfter, countErr
	}
	if err := c.write(ctx, key, q, status); err != nil {
		return 0, err
	}
	return requeueAfter, countErr
}

// write writes the status. It returns a conflict error if the quota was charged meanwhile.
func (c *controller) write(ctx context.Context, key types.NamespacedName, q *corev1.ResourceQuota, status corev1.ResourceQuotaStatus) error {
	changed := &corev1.ResourceQuota{ObjectMeta: q.ObjectMeta, Spec: q.Spec, Status: status}
	written, err := c.client.CoreV1().ResourceQuotas(key.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return apierror.IgnoreNotFound(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.charges[key]
	last.version = written.ResourceVersion
	c.charges[key] = last
	return nil
}

// settleDelay returns how long the usage must not be lowered: until settleTime has passed since the last change by
// another writer.
func (c *controller) settleDelay(key types.NamespacedName, version string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, found := c.charges[key]
	if !found || last.version != version {
		last = charge{version: version, at: c.env.Now()}
		c.charges[key] = last
	}
	return max(0, settleTime-c.env.Since(last.at))
}
