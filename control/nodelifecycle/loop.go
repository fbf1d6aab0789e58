package nodelifecycle

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// workers is how many nodes are brought up to date at once.
const workers = 32

// Run keeps the taints of all nodes until ctx ends.
func Run(ctx context.Context, client kubernetes.Interface, log klog.Logger) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes := factory.Core().V1().Nodes()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	defer queue.ShutDown()
	add := func(obj any) {
		if n, ok := obj.(*corev1.Node); ok {
			if _, changed := taints(n, time.Time{}); changed {
				queue.Add(n.Name)
			}
		}
	}
	informer := nodes.Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	step := func() bool {
		name, down := queue.Get()
		if down {
			return false
		}
		defer queue.Done(name)
		if err := sync(ctx, client, nodes.Lister().Get, name); err != nil {
			if !apierrors.IsConflict(err) && ctx.Err() == nil {
				log.Error(err, "Tainting the node failed; trying again", "node", name)
			}
			queue.AddRateLimited(name)
			return true
		}
		queue.Forget(name)
		return true
	}
	for range workers {
		go func() {
			for step() {
			}
		}()
	}
	<-ctx.Done()
	return nil
}

// sync writes a node's taints if they are not as its conditions demand. The
// resource version makes sure that nobody else's change is lost.
func sync(ctx context.Context, client kubernetes.Interface, get func(string) (*corev1.Node, error), name string) error {
	n, err := get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	want, changed := taints(n, time.Now())
	if !changed {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": n.ResourceVersion, "uid": n.UID},
		"spec":     map[string]any{"taints": want},
	})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
