package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/informers"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/table"
)

const (
	webReplicas = 6
	webMemory   = 64 * mib
)

// placePods shows that pods are spread, and that the suggestion for a pod that does not fit on any node makes
// it schedulable.
func placePods(ctx context.Context, s *session) error {
	s.printIndented("A Deployment of %d pods that spread over the nodes (maxSkew 1), each listening at port 80:", webReplicas)
	start := time.Now()
	if err := s.createDeployment(ctx, deployment{name: "web", replicas: webReplicas, memory: webMemory, usage: 16 * mib, spread: true, port: 80}); err != nil {
		return err
	}
	pods, err := s.pods.waitReady(ctx, "web", webReplicas)
	if err != nil {
		return err
	}
	s.printIndented("all were bound after %s and Ready after %s.",
		formatDuration(latest(pods, func(p podTimes) time.Time { return p.bound }).Sub(start)), formatDuration(latest(pods, func(p podTimes) time.Time { return p.ready }).Sub(start)))
	if err := s.showSpread(pods); err != nil {
		return err
	}
	if s.RunsProcesses {
		if err := s.checkSamePort(ctx, pods); err != nil {
			return err
		}
	}
	return s.showUnschedulable(ctx)
}

// showSpread prints the pods by node and checks that they are evenly spread.
func (s *session) showSpread(pods []podTimes) error {
	podsByNode := map[string][]string{}
	for _, p := range pods {
		podsByNode[p.pod.Spec.NodeName] = append(podsByNode[p.pod.Spec.NodeName], p.pod.Name+" "+p.pod.Status.PodIP)
	}
	rows := table.New(table.Columns("NODE", "PODS"), nil)
	least, most := len(pods), 0
	for _, n := range s.Nodes {
		rows.AddRow(n, strings.Join(podsByNode[n], ", "))
		least, most = min(least, len(podsByNode[n])), max(most, len(podsByNode[n]))
	}
	s.printBlank()
	_ = rows.Write(s.w, false)
	s.printBlank()
	if most-least > 1 {
		return fmt.Errorf("the nodes have from %d to %d pods, which is not an even spread", least, most)
	}
	return nil
}

// checkSamePort checks that two pods of a node serve the same port.
func (s *session) checkSamePort(ctx context.Context, pods []podTimes) error {
	sameNode := slices.DeleteFunc(slices.Clone(pods), func(p podTimes) bool { return p.pod.Spec.NodeName != pods[0].pod.Spec.NodeName })
	if len(sameNode) < 2 {
		return errors.New("no node has two of the pods")
	}
	for _, p := range sameNode[:2] {
		body, err := s.client.CoreV1().Pods(Namespace).ProxyGet("http", p.pod.Name, "80", "/", nil).DoRaw(ctx)
		if err != nil {
			return err
		}
		name := strings.TrimSpace(string(body))
		s.printIndented("%s at http://%s:80/ answers: I am %s", p.pod.Spec.NodeName, p.pod.Status.PodIP, name)
		if name != p.pod.Name {
			return fmt.Errorf("%s answers in place of %s", name, p.pod.Name)
		}
	}
	return nil
}

// showUnschedulable shows a pod that does not fit on any node until other pods are deleted.
func (s *session) showUnschedulable(ctx context.Context) error {
	allocatable, err := s.allocatableMemory(ctx)
	if err != nil {
		return err
	}
	request := allocatable - webMemory - webMemory/2 // fits next to one web pod but not next to two
	s.printIndented("Another pod requests %s; %s of each node's %s are requested already:", formatBytes(request), formatBytes(webReplicas/3*webMemory), formatBytes(allocatable))
	if err := s.createDeployment(ctx, deployment{name: "large", replicas: 1, memory: request, usage: 16 * mib}); err != nil {
		return err
	}
	var large podTimes
	if err := s.pods.waitFor(ctx, func() string {
		if pods := s.pods.list("large"); len(pods) == 1 && unschedulableMessage(pods[0].pod) != "" {
			large = pods[0]
			return ""
		}
		return "the scheduler has not tried to schedule large"
	}); err != nil {
		return err
	}
	s.printIndented("%s", unschedulableMessage(large.pod))
	if err := s.showExplanation(ctx, large.pod); err != nil {
		return err
	}
	start := time.Now()
	if err := s.scale(ctx, "web", webReplicas/2); err != nil {
		return err
	}
	if _, err := s.pods.waitReady(ctx, "large", 1); err != nil {
		return err
	}
	large = s.pods.get(large.pod.UID)
	s.printIndented("web is scaled to %d: %s later large is bound to %s, %s later it is Ready.", webReplicas/2, formatDuration(large.bound.Sub(start)), large.pod.Spec.NodeName, formatDuration(large.ready.Sub(start)))
	return nil
}

// unschedulableMessage returns the message of a pod's condition PodScheduled=False, or "".
func unschedulableMessage(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// allocatableMemory returns the allocatable memory of the smallest node.
func (s *session) allocatableMemory(ctx context.Context) (least int64, err error) {
	for _, name := range s.Nodes {
		n, err := s.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		if m := n.Status.Allocatable.Memory().Value(); least == 0 || m < least {
			least = m
		}
	}
	return least, nil
}

// showExplanation prints what berth explain prints.
func (s *session) showExplanation(ctx context.Context, pod *corev1.Pod) error {
	objects, err := informers.List(ctx, s.client, s.holds)
	if err != nil {
		return err
	}
	var names []string
	for _, p := range s.Scheduler.Profiles {
		names = append(names, p.Name())
	}
	state, pods, _ := conversion.New().Snapshot(objects, names...)
	state.ExpireHolds(time.Now())
	i := slices.IndexFunc(pods, func(p *model.Pod) bool { return p.UID == string(pod.UID) })
	if i < 0 {
		return fmt.Errorf("pod %s does not exist", pod.Name)
	}
	for _, p := range s.Scheduler.Profiles {
		if p.Name() == pods[i].Spec.SchedulerName {
			return s.printExplanation(explain.ExplainPod(state, p, s.Scheduler.Seed, s.Scheduler.Preemption, pods[i]))
		}
	}
	return fmt.Errorf("pod %s: no profile %s", pod.Name, pods[i].Spec.SchedulerName)
}

// printExplanation prints an explanation as berth explain does.
func (s *session) printExplanation(a *explain.PodExplanation) error {
	var text strings.Builder
	if err := a.Text(&text, false); err != nil {
		return err
	}
	s.printBlank()
	s.printCommand("explain pod "+a.Pod.Key(), text.String())
	return nil
}
