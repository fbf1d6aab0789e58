package podgc

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/displacer"
)

// Component is the upstream name of the controller.
const Component = "pod-garbage-collector"

// workers is the number of concurrent removals.
const workers = 20

// Displacer displaces pods.
type Displacer interface {
	Displace(ctx context.Context, x displacer.Displacement) error
}

type controller struct {
	env       runner.Environment
	client    kubernetes.Interface
	pods      corelisters.PodLister
	nodes     corelisters.NodeLister
	displacer Displacer
	metrics   *podGCMetrics
	log       klog.Logger
}

// Run removes pods until ctx is done; see workqueue.Run and Add.
func Run(ctx context.Context, p runner.Process, d Displacer, o podgc.Options, registerer prometheus.Registerer) error {
	return workqueue.Run(ctx, p, Component, func(p *runner.Process) error { return Add(p, d, o, registerer) })
}

// Add adds the controller to a process. Metrics are registered with registerer, which may be nil.
func Add(p *runner.Process, d Displacer, o podgc.Options, registerer prometheus.Registerer) error {
	pods, nodes := p.Informers.Core().V1().Pods(), p.Informers.Core().V1().Nodes()
	metrics, err := newMetrics(registerer)
	if err != nil {
		return err
	}
	c := &controller{env: p.Environment, client: p.Client, pods: pods.Lister(), nodes: nodes.Lister(), displacer: d, metrics: metrics, log: p.Log}
	collector := podgc.New(o)
	runner.Repeat(p, podgc.Period, func(ctx context.Context) { c.collect(ctx, collector) })
	p.Queues.WaitFor(pods.Informer().HasSynced, nodes.Informer().HasSynced)
	return nil
}

// collect removes the pods that are due and waits for the removals.
func (c *controller) collect(ctx context.Context, collector *podgc.Collector) {
	pods, _ := c.pods.List(labels.Everything()) // a list from an informer cache does not fail
	objects := make(map[string]*corev1.Pod, len(pods))
	list := make([]podgc.Pod, 0, len(pods))
	for _, p := range pods {
		objects[string(p.UID)] = p
		list = append(list, conversion.PodGCPod(p))
	}
	removals := collector.Collect(c.env.Now(), list, func(name string) (podgc.Node, bool) {
		n, err := c.nodes.Get(name)
		if err != nil {
			return podgc.Node{}, false
		}
		return conversion.PodGCNode(n), true
	})
	missing := c.missingNodes(ctx, removals)
	c.env.ForEach(len(removals), workers, func(i int) {
		r := &removals[i]
		if r.Reason == podgc.Orphan && !missing[r.Pod.Node] {
			return
		}
		err := c.remove(ctx, r, objects[r.Pod.UID])
		if c.metrics.observe(r, err); err != nil && ctx.Err() == nil {
			c.log.Error(err, "Failed to remove the pod; retrying", "pod", r.Pod.Namespace+"/"+r.Pod.Name, "reason", r.Reason.String())
		}
	})
}

// missingNodes returns the nodes of orphaned pods that do not exist on the API server either.
func (c *controller) missingNodes(ctx context.Context, removals []podgc.Removal) map[string]bool {
	out, checked := map[string]bool{}, map[string]bool{}
	for i := range removals {
		name := removals[i].Pod.Node
		if removals[i].Reason != podgc.Orphan || checked[name] {
			continue
		}
		checked[name] = true
		_, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		out[name] = apierrors.IsNotFound(err)
		if err != nil && !out[name] && ctx.Err() == nil {
			c.log.Error(err, "Failed to check whether the node exists; retrying", "node", name)
		}
	}
	return out
}

// remove removes a pod. A deleted pod is no error.
func (c *controller) remove(ctx context.Context, r *podgc.Removal, p *corev1.Pod) error {
	if r.Reason == podgc.Orphan && !r.Pod.Finished {
		return c.displacer.Displace(ctx, displacer.Displacement{Pod: p, Cause: displacement.PodGC, Failed: true, Grace: ptr.To[int64](0),
			Rule: fmt.Sprintf("node %s not seen since %s", r.Pod.Node, r.NodeMissingSince.UTC().Format(time.RFC3339))})
	}
	pods := c.client.CoreV1().Pods(p.Namespace)
	if !r.Pod.Finished {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.UID}, "status": map[string]any{"phase": corev1.PodFailed}})
		if err != nil {
			return err
		}
		if _, err := pods.Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return ignoreDeletedOrReplaced(err)
		}
	}
	return ignoreDeletedOrReplaced(pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &p.UID}}))
}

// ignoreDeletedOrReplaced drops the errors of requests about a pod that was deleted or replaced.
func ignoreDeletedOrReplaced(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
