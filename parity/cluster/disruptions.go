package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/parity/workload"
)

// silentNode is a node whose agent has stopped. taintedNode is a node that a user taints.
const (
	silentNode  = "silent"
	taintedNode = "node-00050"
)

// taintManager is the reason of taint evictions.
const taintManager = "DeletionByTaintManager"

// podSpec is the specification of all pods.
var podSpec = corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example/app:1"}}}

// disruptionReasons records the reason of the DisruptionTarget condition of each terminating pod.
type disruptionReasons struct {
	mu    sync.Mutex
	byPod map[string]string
}

func (r *disruptionReasons) get(pod string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byPod[pod]
}

// watchReasons watches pods until ctx is done.
func (c *cluster) watchReasons(ctx context.Context) *disruptionReasons {
	r := &disruptionReasons{byPod: map[string]string{}}
	factory := informers.NewSharedInformerFactory(c.client, 0)
	_, _ = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, updated any) {
		for _, condition := range updated.(*corev1.Pod).Status.Conditions {
			if p := updated.(*corev1.Pod); condition.Type == corev1.DisruptionTarget && p.DeletionTimestamp != nil {
				r.mu.Lock()
				r.byPod[p.Name] = condition.Reason
				r.mu.Unlock()
			}
		}
	}})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return r
}

// eventually waits until check returns no message. After a minute it reports the last one.
func (f *findings) eventually(ctx context.Context, check func() string) {
	for from := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		message := check()
		if message == "" || ctx.Err() != nil {
			return
		}
		if time.Since(from) > time.Minute {
			f.errorf("after a minute: %s", message)
			return
		}
	}
}

// createRunningPod creates a pod that runs on a node and is ready.
func (c *cluster) createRunningPod(ctx context.Context, name, node string, change func(*corev1.Pod)) error {
	p := &corev1.Pod{ObjectMeta: meta(name), Spec: podSpec}
	p.Spec.NodeName = node
	change(p)
	p, err := c.client.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, new(metav1.Now())
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	_, err = c.client.CoreV1().Pods("default").UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

// checkBudgets checks that the disruption controller updates the status of budgets.
func (c *cluster) checkBudgets(ctx context.Context, f *findings, _ *disruptionReasons) error {
	owner, err := c.client.AppsV1().ReplicaSets("default").Create(ctx, &appsv1.ReplicaSet{ObjectMeta: meta("owned"),
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(4)), Selector: appSelector("owned"), Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "owned"}}, Spec: podSpec}}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	ref := *metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	for i := range 4 {
		if err := c.createRunningPod(ctx, fmt.Sprintf("owned-%d", i), "node-00000", func(p *corev1.Pod) {
			p.Labels, p.OwnerReferences = map[string]string{"app": "owned"}, []metav1.OwnerReference{ref}
		}); err != nil {
			return err
		}
	}
	if _, err := c.client.PolicyV1().PodDisruptionBudgets("default").Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: meta("owned"),
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: appSelector("owned"), MaxUnavailable: new(intstr.FromInt32(1))}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	f.eventually(ctx, c.budgetStatusIs(ctx, "owned", policyv1.PodDisruptionBudgetStatus{ExpectedPods: 4, CurrentHealthy: 4, DesiredHealthy: 3, DisruptionsAllowed: 1}))
	f.eventually(ctx, c.budgetStatusIs(ctx, budget, policyv1.PodDisruptionBudgetStatus{ExpectedPods: minAvailable, CurrentHealthy: minAvailable, DesiredHealthy: minAvailable}))
	evict := func(pod string) error {
		return c.client.PolicyV1().Evictions("default").Evict(ctx, &policyv1.Eviction{ObjectMeta: meta(pod)})
	}
	if err := evict("owned-0"); err != nil {
		f.errorf("evicting owned-0: %v", err)
	}
	if err := evict("owned-1"); !apierrors.IsTooManyRequests(err) {
		f.errorf("evicting owned-1: %v, want 429", err)
	}
	f.eventually(ctx, c.budgetStatusIs(ctx, "owned", policyv1.PodDisruptionBudgetStatus{ExpectedPods: 4, CurrentHealthy: 3, DesiredHealthy: 3}))
	fmt.Println("budgets: the disruption controller updated the status before and after an eviction and after preemption")
	return nil
}

// budgetStatusIs compares the numbers in the status of a budget. Entries of deleted pods
// may remain for two minutes.
func (c *cluster) budgetStatusIs(ctx context.Context, name string, want policyv1.PodDisruptionBudgetStatus) func() string {
	return func() string {
		b, err := c.client.PolicyV1().PodDisruptionBudgets("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		s := b.Status
		if s.ExpectedPods != want.ExpectedPods || s.CurrentHealthy != want.CurrentHealthy || s.DesiredHealthy != want.DesiredHealthy ||
			s.DisruptionsAllowed != want.DisruptionsAllowed || s.ObservedGeneration != b.Generation {
			return fmt.Sprintf("budget %s: %+v, want %+v", name, s, want)
		}
		return ""
	}
}

// createSilentNode creates a node whose agent has stopped, with a pod that tolerates its loss for
// 2 s and a pod that tolerates it forever.
func (c *cluster) createSilentNode(ctx context.Context) error {
	n := workload.Nodes(1)[0]
	n.Name, n.Labels[workload.Host] = silentNode, silentNode
	if _, err := c.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := c.client.CoordinationV1().Leases("kube-node-lease").Create(ctx, nodeLease(silentNode), metav1.CreateOptions{}); err != nil {
		return err
	}
	for name, seconds := range map[string]*int64{"intolerant": new(int64(2)), "tolerant": nil} {
		if err := c.createRunningPod(ctx, name, silentNode, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds}}
		}); err != nil {
			return err
		}
	}
	return nil
}

// checkSilentNode checks the taints of the silent node and the eviction of its pods.
func (c *cluster) checkSilentNode(ctx context.Context, f *findings, reasons *disruptionReasons) error {
	f.eventually(ctx, func() string {
		n, err := c.client.CoreV1().Nodes().Get(ctx, silentNode, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		effects := map[corev1.TaintEffect]bool{}
		for _, t := range n.Spec.Taints {
			effects[t.Effect] = effects[t.Effect] || t.Key == corev1.TaintNodeUnreachable
		}
		if !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown
		}) ||
			!effects[corev1.TaintEffectNoExecute] || !effects[corev1.TaintEffectNoSchedule] {
			return fmt.Sprintf("node %s: conditions %v, taints %v", silentNode, n.Status.Conditions, n.Spec.Taints)
		}
		return ""
	})
	f.eventually(ctx, func() string {
		tolerant, err := c.client.CoreV1().Pods("default").Get(ctx, "tolerant", metav1.GetOptions{})
		_, getErr := c.client.CoreV1().Pods("default").Get(ctx, "intolerant", metav1.GetOptions{})
		if err != nil || tolerant.DeletionTimestamp != nil || ready(tolerant) || !apierrors.IsNotFound(getErr) || reasons.get("intolerant") != taintManager {
			return fmt.Sprintf("tolerating pod: %v, %v; other pod: %v, reason %q", tolerant.Status.Conditions, err, getErr, reasons.get("intolerant"))
		}
		return ""
	})
	fmt.Println("a silent node: Unknown and tainted; its pods not ready, one evicted after its toleration of 2 s")
	return nil
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
}

// checkTaintedNode taints a node as a user does. It checks that all pods are evicted, with one event each.
func (c *cluster) checkTaintedNode(ctx context.Context, f *findings, reasons *disruptionReasons) error {
	onNode := metav1.ListOptions{FieldSelector: "spec.nodeName=" + taintedNode}
	before, err := c.client.CoreV1().Pods("default").List(ctx, onNode)
	if err != nil {
		return err
	}
	patch := []byte(`{"spec":{"taints":[{"key":"broken","effect":"NoExecute"}]}}`)
	if _, err := c.client.CoreV1().Nodes().Patch(ctx, taintedNode, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	f.eventually(ctx, func() string {
		remaining, err := c.client.CoreV1().Pods("default").List(ctx, onNode)
		if err != nil || len(remaining.Items) > 0 {
			return fmt.Sprintf("%d of %d pods are on the tainted node, %v", len(remaining.Items), len(before.Items), err)
		}
		return ""
	})
	f.eventually(ctx, func() string {
		events, err := c.client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=TaintManagerEviction"})
		if err != nil {
			return err.Error()
		}
		counts := map[string]int{}
		for _, e := range events.Items {
			counts[e.InvolvedObject.Name]++
		}
		for _, p := range before.Items {
			if counts[p.Name] != 1 || reasons.get(p.Name) != taintManager {
				return fmt.Sprintf("%s was evicted from the tainted node with %d events TaintManagerEviction and reason %q", p.Name, counts[p.Name], reasons.get(p.Name))
			}
		}
		return ""
	})
	fmt.Printf("a taint set by a user: %d pods evicted, each with one event\n", len(before.Items))
	return nil
}
