package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/informers"
	"github.com/berthproject/berth/internal/conversion"
)

// drainNode shows that a drain under a budget matches its preview.
func drainNode(ctx context.Context, s *session) error {
	if err := s.createDeployment(ctx, deployment{name: "shop", replicas: 4, memory: 64 * mib, usage: 16 * mib, spread: true, softSpread: true}); err != nil {
		return err
	}
	pods, err := s.pods.waitReady(ctx, "shop", 4)
	if err != nil {
		return err
	}
	if err := s.createBudget(ctx, "shop", 1); err != nil {
		return err
	}
	counts := map[string]int{}
	node := ""
	for _, p := range pods {
		if counts[p.pod.Spec.NodeName]++; counts[p.pod.Spec.NodeName] > 1 {
			node = p.pod.Spec.NodeName
		}
	}
	s.printIndented("shop has 4 pods, 2 of them on %s, and a budget with maxUnavailable 1.", node)
	selector, err := conversion.Selector(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}})
	if err != nil {
		return err
	}
	options := drain.Options{IgnoreDaemonSets: true, Selector: selector}
	preview, err := s.previewDrain(ctx, node, options)
	if err != nil {
		return err
	}
	defer s.uncordon(ctx, node)
	start := time.Now()
	d := drain.Drain{Client: s.client, Holds: s.holds, Scheduler: s.Scheduler, Nodes: []string{node}, Options: options, Timeout: waitTimeout}
	result, err := d.Run(ctx)
	if err != nil {
		return err
	}
	duration := time.Since(start)
	if err := s.showDrain("drain "+node, result, false); err != nil {
		return err
	}
	s.printIndented("The drain took %s.", formatDuration(duration))
	return s.comparePreview(preview, result)
}

func (s *session) previewDrain(ctx context.Context, node string, o drain.Options) (*drain.Result, error) {
	objects, err := informers.List(ctx, s.client, s.holds)
	if err != nil {
		return nil, err
	}
	c := drain.Cluster{Now: time.Now(), Scheduler: s.Scheduler}
	c.AddObjects(objects)
	r, err := drain.Preview(c, []string{node}, o)
	if err != nil {
		return nil, err
	}
	s.printBlank()
	return r, s.showDrain("drain "+node+" --what-if", r, true)
}

func (s *session) showDrain(command string, r *drain.Result, preview bool) error {
	var text strings.Builder
	if err := r.Text(&text, drain.TextOptions{Preview: preview}); err != nil {
		return err
	}
	s.printCommand(command, text.String())
	return nil
}

func (s *session) comparePreview(preview, result *drain.Result) error {
	nodes := map[string]string{}
	for _, p := range result.Pods {
		nodes[p.UID] = p.To
	}
	if len(preview.Pods) != 2 || len(result.Pods) != 2 || result.ExitCode() != 0 {
		return fmt.Errorf("%d pods were to move, %d were evicted, and %d did not move", len(preview.Pods), len(result.Pods), result.NumNotMoved())
	}
	for _, p := range preview.Pods {
		if p.To == "" || nodes[p.UID] != p.To {
			return fmt.Errorf("the replacement of %s was previewed on %s but runs on %s: pass the scheduler's --config to berth demo", p.Pod, p.To, nodes[p.UID])
		}
	}
	if preview.Rounds != result.Rounds {
		return fmt.Errorf("%d rounds were previewed, %d needed", preview.Rounds, result.Rounds)
	}
	s.printIndented("Both replacements run on the previewed nodes, in %d rounds.", result.Rounds)
	return nil
}

// uncordon uncordons the node, also after Ctrl-C.
func (s *session) uncordon(ctx context.Context, node string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if _, err := s.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(`{"spec":{"unschedulable":false}}`), metav1.PatchOptions{}); err != nil {
		s.printIndented("%s stays cordoned: %v", node, err)
	}
}
