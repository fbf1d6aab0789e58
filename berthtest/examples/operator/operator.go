package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Pools is the resource of Pools.
var Pools = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "pools"}

// PoolLabel is the label of a pod with the name of its Pool.
const PoolLabel = "example.com/pool"

// Operator reconciles Pools.
type Operator struct {
	client kubernetes.Interface
	pools  dynamic.NamespaceableResourceInterface
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// Run reconciles Pools until ctx is done.
func Run(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	o := &Operator{client: client, pools: objects.Resource(Pools),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())}
	pods := informers.NewSharedInformerFactory(client, 0)
	pools := dynamicinformer.NewDynamicSharedInformerFactory(objects, 0)
	for informer, pool := range map[cache.SharedIndexInformer]func(metav1.Object) string{
		pods.Core().V1().Pods().Informer():  func(o metav1.Object) string { return o.GetLabels()[PoolLabel] },
		pools.ForResource(Pools).Informer(): metav1.Object.GetName,
	} {
		if err := o.watch(informer, pool); err != nil {
			return err
		}
	}
	pods.Start(ctx.Done())
	pools.Start(ctx.Done())
	stop := context.AfterFunc(ctx, o.queue.ShutDown)
	defer stop()
	for o.reconcileNext(ctx) {
	}
	pods.Shutdown()
	pools.Shutdown()
	return nil
}

// watch enqueues the Pool of each object that changes. pool returns the name of an object's Pool, or "".
func (o *Operator) watch(informer cache.SharedIndexInformer, pool func(metav1.Object) string) error {
	enqueue := func(object any) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		if m, ok := object.(metav1.Object); ok && pool(m) != "" {
			o.queue.Add(cache.ObjectName{Namespace: m.GetNamespace(), Name: pool(m)})
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, object any) { enqueue(object) }, DeleteFunc: enqueue})
	return err
}

// reconcileNext reconciles the next Pool of the queue. It returns false if the queue is shut down.
func (o *Operator) reconcileNext(ctx context.Context) bool {
	key, shutdown := o.queue.Get()
	if shutdown {
		return false
	}
	defer o.queue.Done(key)
	if err := o.reconcile(ctx, key); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Failed to reconcile a Pool", "pool", key)
		o.queue.AddRateLimited(key)
	} else {
		o.queue.Forget(key)
	}
	return true
}

// reconcile creates missing pods, deletes terminated ones and updates the status.
func (o *Operator) reconcile(ctx context.Context, key cache.ObjectName) error {
	pool, err := o.pools.Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	list, err := o.client.CoreV1().Pods(key.Namespace).List(ctx, metav1.ListOptions{LabelSelector: PoolLabel + "=" + key.Name})
	if err != nil {
		return err
	}
	active, ready := int64(0), int64(0)
	for i := range list.Items {
		p := &list.Items[i]
		terminated := p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
		switch {
		case p.DeletionTimestamp != nil:
		case terminated:
			if err := o.client.CoreV1().Pods(key.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		default:
			active++
			if isReady(p) {
				ready++
			}
		}
	}
	replicas, _, _ := unstructured.NestedInt64(pool.Object, "spec", "replicas")
	for ; active < replicas; active++ {
		if _, err := o.client.CoreV1().Pods(key.Namespace).Create(ctx, newPod(pool), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating a pod: %w", err)
		}
	}
	return o.updateStatus(ctx, pool, ready, ready >= replicas)
}

// updateStatus writes the number of ready pods and the condition Available, unless the status has them.
func (o *Operator) updateStatus(ctx context.Context, pool *unstructured.Unstructured, ready int64, available bool) error {
	status := map[string]any{"ready": ready, "conditions": []any{
		map[string]any{"type": "Available", "status": map[bool]string{true: "True", false: "False"}[available]}}}
	if current, _, _ := unstructured.NestedMap(pool.Object, "status"); fmt.Sprint(current) == fmt.Sprint(status) {
		return nil
	}
	pool.Object["status"] = status
	_, err := o.pools.Namespace(pool.GetNamespace()).UpdateStatus(ctx, pool, metav1.UpdateOptions{})
	return err
}

func newPod(pool *unstructured.Unstructured) *corev1.Pod {
	cpu, _, _ := unstructured.NestedString(pool.Object, "spec", "cpu")
	request, err := resource.ParseQuantity(cpu)
	if err != nil {
		request = resource.MustParse("100m")
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: pool.GetName() + "-", Labels: map[string]string{PoolLabel: pool.GetName()},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pool, Pools.GroupVersion().WithKind("Pool"))}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: request}}}}},
	}
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
