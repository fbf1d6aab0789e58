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
	"github.com/berthproject/berth/feed"
	"github.com/berthproject/berth/internal/intake"
)

const (
	webs    = 6
	webSize = 64 * mib
)

// place: pods are spread; one that fits nowhere is told what would help, and that helps.
func place(ctx context.Context, s *stage) error {
	s.say("A Deployment of %d pods that spread over the nodes (maxSkew 1), each listening at port 80:", webs)
	asked := time.Now()
	if err := s.deploy(ctx, troupe{name: "web", replicas: webs, memory: webSize, uses: 16 * mib, spread: true, port: 80}); err != nil {
		return err
	}
	pods, err := s.cast.ready(ctx, "web", webs)
	if err != nil {
		return err
	}
	s.say("all had their nodes %s and were Ready %s after the request.",
		span(last(pods, func(p seen) time.Time { return p.bound }).Sub(asked)), span(last(pods, func(p seen) time.Time { return p.ready }).Sub(asked)))
	if err := s.spread(pods); err != nil {
		return err
	}
	if s.Real {
		if err := s.samePort(ctx, pods); err != nil {
			return err
		}
	}
	return s.misfit(ctx)
}

// spread shows which pods are where, and checks that it is even.
func (s *stage) spread(pods []seen) error {
	on := map[string][]string{}
	for _, p := range pods {
		on[p.pod.Spec.NodeName] = append(on[p.pod.Spec.NodeName], p.pod.Name+" "+p.pod.Status.PodIP)
	}
	rows := [][]string{{"NODE", "PODS"}}
	least, most := len(pods), 0
	for _, n := range s.Nodes {
		rows = append(rows, []string{n, strings.Join(on[n], ", ")})
		least, most = min(least, len(on[n])), max(most, len(on[n]))
	}
	s.table(rows...)
	if most-least > 1 {
		return fmt.Errorf("the nodes have from %d to %d pods, which is no even spread", least, most)
	}
	return nil
}

// samePort asks two pods of one node at their port, which is the same one.
func (s *stage) samePort(ctx context.Context, pods []seen) error {
	two := slices.DeleteFunc(slices.Clone(pods), func(p seen) bool { return p.pod.Spec.NodeName != pods[0].pod.Spec.NodeName })
	if len(two) < 2 {
		return errors.New("no node has two of the pods")
	}
	for _, p := range two[:2] {
		answer, err := s.client.CoreV1().Pods(Namespace).ProxyGet("http", p.pod.Name, "80", "/", nil).DoRaw(ctx)
		if err != nil {
			return err
		}
		name := strings.TrimSpace(string(answer))
		s.say("%s says at http://%s:80/: I am %s", p.pod.Spec.NodeName, p.pod.Status.PodIP, name)
		if name != p.pod.Name {
			return fmt.Errorf("%s answers in place of %s", name, p.pod.Name)
		}
	}
	return nil
}

// misfit is a pod that fits on no node before some go.
func (s *stage) misfit(ctx context.Context) error {
	room, err := s.allocatable(ctx)
	if err != nil {
		return err
	}
	wants := room - webSize - webSize/2 // one of web's pods may be there, two may not
	s.say("One pod more wants %s; %s of each node's %s are taken:", size(wants), size(webs/3*webSize), size(room))
	if err := s.deploy(ctx, troupe{name: "large", replicas: 1, memory: wants, uses: 16 * mib}); err != nil {
		return err
	}
	var large seen
	if err := s.cast.until(ctx, func() string {
		if pods := s.cast.of("large"); len(pods) == 1 && refused(pods[0].pod) != "" {
			large = pods[0]
			return ""
		}
		return "large was not tried"
	}); err != nil {
		return err
	}
	s.say("%s", refused(large.pod))
	if err := s.explain(ctx, large.pod); err != nil {
		return err
	}
	asked := time.Now()
	if err := s.scale(ctx, "web", webs/2); err != nil {
		return err
	}
	if _, err := s.cast.ready(ctx, "large", 1); err != nil {
		return err
	}
	large = s.cast.by(large.pod.UID)
	s.say("web is scaled to %d: %s later large has %s, %s later it is Ready.", webs/2, span(large.bound.Sub(asked)), large.pod.Spec.NodeName, span(large.ready.Sub(asked)))
	return nil
}

// refused is why a pod has no node, "" if nobody has said so.
func refused(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// allocatable is the memory that pods may request on each of the nodes, of the smallest one.
func (s *stage) allocatable(ctx context.Context) (least int64, err error) {
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

// explain says of a pod what berth explain says.
func (s *stage) explain(ctx context.Context, pod *corev1.Pod) error {
	objects, err := feed.List(ctx, s.client, s.holds)
	if err != nil {
		return err
	}
	var names []string
	for _, p := range s.Scheduler.Profiles {
		names = append(names, p.Name())
	}
	state, pods, _ := intake.New().Snapshot(objects, names...)
	state.ExpireHolds(time.Now())
	i := slices.IndexFunc(pods, func(p *model.Pod) bool { return p.UID == string(pod.UID) })
	if i < 0 {
		return fmt.Errorf("pod %s is gone", pod.Name)
	}
	for _, p := range s.Scheduler.Profiles {
		if p.Name() == pods[i].Spec.SchedulerName {
			return s.answer(explain.Ask(state, p, s.Scheduler.Seed, s.Scheduler.Preemption, pods[i]))
		}
	}
	return fmt.Errorf("pod %s: no profile %s", pod.Name, pods[i].Spec.SchedulerName)
}

// answer shows an answer as berth explain prints it.
func (s *stage) answer(a *explain.Answer) error {
	var text strings.Builder
	if err := a.Text(&text, false); err != nil {
		return err
	}
	s.say("berth explain pod %s:", a.Pod.Key())
	s.block(text.String())
	return nil
}
