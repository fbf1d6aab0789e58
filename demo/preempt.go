package demo

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// preempt: a pod of higher priority gets room at once, from whom a budget lets go.
func preempt(ctx context.Context, s *stage) error {
	room, err := s.allocatable(ctx)
	if err != nil {
		return err
	}
	part := room * 3 / 10
	// Each node gets a pod of ledger and two of batch, which leaves a tenth of its memory.
	if err := s.deploy(ctx, troupe{name: "ledger", replicas: 3, memory: part, uses: 16 * mib, spread: true}); err != nil {
		return err
	}
	if err := s.deploy(ctx, troupe{name: "batch", replicas: 6, memory: part, uses: 16 * mib, spread: true}); err != nil {
		return err
	}
	ledger, err := s.cast.ready(ctx, "ledger", 3)
	if err != nil {
		return err
	}
	batch, err := s.cast.ready(ctx, "batch", 6)
	if err != nil {
		return err
	}
	if err := s.budget(ctx, "ledger", 0); err != nil {
		return err
	}
	if err := s.cast.older(ctx); err != nil {
		return err
	}
	s.say("3 pods of ledger, whose budget lets none go, and 6 of batch request %s each: %s of %s on each node.", size(part), size(3*part), size(room))
	s.say("urgent, of priority %d where theirs is %d, requests %s and fits nowhere.", highPriority, lowPriority, size(part))
	asked := time.Now()
	if err := s.deploy(ctx, troupe{name: "urgent", replicas: 1, memory: part, uses: 16 * mib, priority: highClass}); err != nil {
		return err
	}
	urgent, err := s.cast.ready(ctx, "urgent", 1)
	if err != nil {
		return err
	}
	u := urgent[0]
	var victims []string
	for _, p := range batch {
		if now := s.cast.by(p.pod.UID); !now.deleted.IsZero() {
			victims = append(victims, p.pod.Name)
			s.say("%s later %s on %s is told to go,", span(now.deleted.Sub(asked)), p.pod.Name, p.pod.Spec.NodeName)
			if p.pod.Spec.NodeName != u.pod.Spec.NodeName {
				return fmt.Errorf("urgent came to %s", u.pod.Spec.NodeName)
			}
		}
	}
	s.say("%s later urgent has %s, %s later it is Ready.", span(u.bound.Sub(asked)), u.pod.Spec.NodeName, span(u.ready.Sub(asked)))
	if err := s.unharmed(ledger); err != nil {
		return err
	}
	if len(victims) != 1 {
		return fmt.Errorf("%d pods had to go (%s), one was enough", len(victims), strings.Join(victims, ", "))
	}
	s.say("One pod was enough, and none of ledger's.")
	return s.waits(ctx)
}

// waits shows what became of the victim's replacement, and the record.
func (s *stage) waits(ctx context.Context) error {
	var why string
	if err := s.cast.until(ctx, func() string {
		for _, p := range s.cast.of("batch") {
			if why = refused(p.pod); why != "" && p.pod.Spec.NodeName == "" {
				why = p.pod.Name + ": " + why
				return ""
			}
		}
		return "the victim's replacement was not tried"
	}); err != nil {
		return err
	}
	s.say("Its replacement waits. %s", why)
	return s.records(ctx, 1)
}
