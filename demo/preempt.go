package demo

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// preemptPods shows that a pod of higher priority preempts a pod whose budget allows it.
func preemptPods(ctx context.Context, s *session) error {
	allocatable, err := s.allocatableMemory(ctx)
	if err != nil {
		return err
	}
	request := allocatable * 3 / 10
	// Each node gets a ledger pod and two batch pods, which leaves a tenth of its memory.
	if err := s.createDeployment(ctx, deployment{name: "ledger", replicas: 3, memory: request, usage: 16 * mib, spread: true}); err != nil {
		return err
	}
	if err := s.createDeployment(ctx, deployment{name: "batch", replicas: 6, memory: request, usage: 16 * mib, spread: true}); err != nil {
		return err
	}
	ledger, err := s.pods.waitReady(ctx, "ledger", 3)
	if err != nil {
		return err
	}
	batch, err := s.pods.waitReady(ctx, "batch", 6)
	if err != nil {
		return err
	}
	if err := s.createBudget(ctx, "ledger", 0); err != nil {
		return err
	}
	if err := s.pods.waitUntilOlder(ctx); err != nil {
		return err
	}
	s.printIndented("3 pods of ledger, whose budget allows no disruption, and 6 of batch request %s each: %s of %s on each node.", formatBytes(request), formatBytes(3*request), formatBytes(allocatable))
	s.printIndented("urgent, of priority %d where theirs is %d, requests %s and does not fit on any node.", highPriority, lowPriority, formatBytes(request))
	start := time.Now()
	if err := s.createDeployment(ctx, deployment{name: "urgent", replicas: 1, memory: request, usage: 16 * mib, priority: highClass}); err != nil {
		return err
	}
	urgent, err := s.pods.waitReady(ctx, "urgent", 1)
	if err != nil {
		return err
	}
	u := urgent[0]
	var victims []string
	for _, p := range batch {
		if current := s.pods.get(p.pod.UID); !current.deleted.IsZero() {
			victims = append(victims, p.pod.Name)
			s.printIndented("%s later %s on %s is being deleted,", formatDuration(current.deleted.Sub(start)), p.pod.Name, p.pod.Spec.NodeName)
			if p.pod.Spec.NodeName != u.pod.Spec.NodeName {
				return fmt.Errorf("urgent was bound to %s", u.pod.Spec.NodeName)
			}
		}
	}
	s.printIndented("%s later urgent is bound to %s, %s later it is Ready.", formatDuration(u.bound.Sub(start)), u.pod.Spec.NodeName, formatDuration(u.ready.Sub(start)))
	if err := s.checkUnaffected(ledger); err != nil {
		return err
	}
	if len(victims) != 1 {
		return fmt.Errorf("%d pods were preempted (%s), one was enough", len(victims), strings.Join(victims, ", "))
	}
	s.printIndented("One pod was enough, and none of ledger's.")
	return s.showPendingReplacement(ctx)
}

// showPendingReplacement prints why the victim's replacement is pending, and the record.
func (s *session) showPendingReplacement(ctx context.Context) error {
	var reason string
	if err := s.pods.waitFor(ctx, func() string {
		for _, p := range s.pods.list("batch") {
			if reason = unschedulableMessage(p.pod); reason != "" && p.pod.Spec.NodeName == "" {
				reason = p.pod.Name + ": " + reason
				return ""
			}
		}
		return "the scheduler has not tried to schedule the replacement"
	}); err != nil {
		return err
	}
	s.printIndented("Its replacement is pending. %s", reason)
	return s.showRecords(ctx, 1)
}
