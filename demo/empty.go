package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/feed"
	"github.com/berthproject/berth/internal/intake"
)

// empty: a drain under a budget goes as it was foretold.
func empty(ctx context.Context, s *stage) error {
	if err := s.deploy(ctx, troupe{name: "shop", replicas: 4, memory: 64 * mib, uses: 16 * mib, spread: true, soft: true}); err != nil {
		return err
	}
	pods, err := s.cast.ready(ctx, "shop", 4)
	if err != nil {
		return err
	}
	if err := s.budget(ctx, "shop", 1); err != nil {
		return err
	}
	on := map[string]int{}
	node := ""
	for _, p := range pods {
		if on[p.pod.Spec.NodeName]++; on[p.pod.Spec.NodeName] > 1 {
			node = p.pod.Spec.NodeName
		}
	}
	s.say("shop has 4 pods, 2 of them on %s, and a budget: at most one may be away.", node)
	selector, err := intake.Selector(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}})
	if err != nil {
		return err
	}
	options := drain.Options{IgnoreDaemonSets: true, Selector: selector}
	foretold, err := s.foretell(ctx, node, options)
	if err != nil {
		return err
	}
	defer s.uncordon(ctx, node)
	asked := time.Now()
	d := drain.Drain{Client: s.client, Holds: s.holds, Scheduler: s.Scheduler, Nodes: []string{node}, Options: options, Patience: drain.DefaultPatience(), Timeout: patience}
	came, err := d.Run(ctx)
	if err != nil {
		return err
	}
	s.say("berth drain %s, done after %s:", node, span(time.Since(asked)))
	if err := s.drained(came, false); err != nil {
		return err
	}
	return s.compare(foretold, came)
}

// foretell says what a drain comes to, and does nothing.
func (s *stage) foretell(ctx context.Context, node string, o drain.Options) (*drain.Result, error) {
	objects, err := feed.List(ctx, s.client, s.holds)
	if err != nil {
		return nil, err
	}
	c := drain.Cluster{Now: time.Now(), Scheduler: s.Scheduler}
	c.Read(objects)
	r, err := drain.Foretell(c, []string{node}, o)
	if err != nil {
		return nil, err
	}
	s.say("berth drain %s --what-if:", node)
	return r, s.drained(r, true)
}

// drained shows what a drain comes to, or has come to.
func (s *stage) drained(r *drain.Result, foretold bool) error {
	var text strings.Builder
	if err := r.Text(&text, foretold); err != nil {
		return err
	}
	s.block(text.String())
	return nil
}

// compare says how far it came as it was foretold.
func (s *stage) compare(foretold, came *drain.Result) error {
	to := map[string]string{}
	for _, p := range came.Pods {
		to[p.UID] = p.To
	}
	if len(foretold.Pods) != 2 || len(came.Pods) != 2 || came.ExitCode() != 0 {
		return fmt.Errorf("%d pods were to move, %d have been asked to, and %d still wait", len(foretold.Pods), len(came.Pods), came.Waiting())
	}
	for _, p := range foretold.Pods {
		if p.To == "" || to[p.UID] != p.To {
			return fmt.Errorf("the replacement of %s was foretold on %s and came to %s: is the scheduler's --config the one that berth demo was given?", p.Pod, p.To, to[p.UID])
		}
	}
	if foretold.Rounds != came.Rounds {
		return fmt.Errorf("%d rounds were foretold, %d it took", foretold.Rounds, came.Rounds)
	}
	s.say("Both replacements are where it was foretold, in %d rounds.", came.Rounds)
	return nil
}

// uncordon takes the cordon back, also after Ctrl-C.
func (s *stage) uncordon(ctx context.Context, node string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), strikeWithin)
	defer cancel()
	if _, err := s.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(`{"spec":{"unschedulable":false}}`), metav1.PatchOptions{}); err != nil {
		s.say("%s stays cordoned: %v", node, err)
	}
}
