package virtual

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// WorkerLabel is the label of ConfigMaps that get a worker, and of their workers. Its value is the worker's name.
const WorkerLabel = "example.com/worker"

// Run keeps one pod for each ConfigMap with WorkerLabel, until ctx ends. A pod that is being deleted does not count: the
// operator replaces it at once.
func Run(ctx context.Context, client kubernetes.Interface) error {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = WorkerLabel }))
	configs, pods := factory.Core().V1().ConfigMaps(), factory.Core().V1().Pods()
	enqueue := func(object any) {
		if d, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = d.Obj
		}
		if o, ok := object.(metav1.Object); ok {
			queue.Add(cache.ObjectName{Namespace: o.GetNamespace(), Name: o.GetLabels()[WorkerLabel]})
		}
	}
	for _, informer := range []cache.SharedIndexInformer{configs.Informer(), pods.Informer()} {
		handler := cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, o any) { enqueue(o) }, DeleteFunc: enqueue}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	factory.WaitForCacheSync(ctx.Done())
	stop := context.AfterFunc(ctx, queue.ShutDown)
	defer stop()
	reconcile := func(key cache.ObjectName) error {
		selector := labels.SelectorFromSet(labels.Set{WorkerLabel: key.Name})
		wanted, err := configs.Lister().ConfigMaps(key.Namespace).List(selector)
		if err != nil || len(wanted) == 0 {
			return err
		}
		list, err := pods.Lister().Pods(key.Namespace).List(selector)
		if err != nil {
			return err
		}
		for _, p := range list {
			if p.DeletionTimestamp == nil {
				return nil
			}
		}
		_, err = client.CoreV1().Pods(key.Namespace).Create(ctx, worker(wanted[0]), metav1.CreateOptions{})
		return err
	}
	for {
		key, ended := queue.Get()
		if ended {
			return nil
		}
		if err := reconcile(key); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

// worker returns the pod of a ConfigMap. It has no tolerations, so it gets the defaults: 300 s on an unreachable node.
func worker(config *corev1.ConfigMap) *corev1.Pod {
	name := config.Labels[WorkerLabel]
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Labels: map[string]string{WorkerLabel: name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(config, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Image: "example.com/worker"}}},
	}
}
