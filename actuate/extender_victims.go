package actuate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// AskVictims puts the candidates of a preemption to the extenders that preempt, one
// after the other: each may leave out candidates and change the victims. It is
// Refused when one that must not fail does.
func (x *Extenders) AskVictims(ctx context.Context, e scheduling.AskVictims) scheduling.Outcome {
	pod, err := x.originals.pod(ctx, e.Pod)
	if err != nil {
		return scheduling.Outcome{Result: scheduling.Refused, Why: err.Error()}
	}
	left := e.Candidates
	for _, ex := range x.list {
		if len(left) == 0 {
			break
		}
		if ex.Preempt == "" || !ex.Interested(e.Pod) {
			continue
		}
		after, err := x.preempt(ctx, ex, pod, e.Pod, left)
		if err != nil && !ex.Ignorable {
			return scheduling.Outcome{Result: scheduling.Refused, Why: err.Error()}
		}
		if err != nil {
			x.failed(ex, ex.Preempt, err)
			continue
		}
		left = after
	}
	return scheduling.Outcome{Candidates: left}
}

// preempt asks one extender. The answer names victims by uid, whatever it knows.
func (x *Extenders) preempt(ctx context.Context, ex *extender, original *corev1.Pod, pod *model.Pod, candidates []scheduling.Candidate) ([]scheduling.Candidate, error) {
	args := &extenderv1.ExtenderPreemptionArgs{Pod: original}
	if ex.NodeCacheCapable {
		args.NodeNameToMetaVictims = metaVictims(candidates)
	} else {
		var err error
		if args.NodeNameToVictims, err = x.victims(ctx, candidates); err != nil {
			return nil, err
		}
	}
	var result extenderv1.ExtenderPreemptionResult
	if err := ex.call(ctx, ex.Preempt, args, &result); err != nil {
		return nil, err
	}
	for node := range result.NodeNameToMetaVictims {
		if !slices.ContainsFunc(candidates, func(c scheduling.Candidate) bool { return c.Node == node }) {
			return nil, ex.fault(ex.Preempt, fmt.Errorf("node %q is a candidate, and was not asked about", node))
		}
	}
	var left []scheduling.Candidate
	for _, c := range candidates {
		v, ok := result.NodeNameToMetaVictims[c.Node]
		if !ok {
			continue
		}
		if v == nil || len(v.Pods) == 0 {
			if ex.Ignorable {
				x.failed(ex, ex.Preempt, noVictim(c.Node))
				continue
			}
			return nil, ex.fault(ex.Preempt, noVictim(c.Node))
		}
		after, err := x.changed(ctx, pod, c, v)
		if err != nil {
			return nil, ex.fault(ex.Preempt, err)
		}
		left = append(left, after)
	}
	return left, nil
}

func noVictim(node string) error {
	return fmt.Errorf("node %q has no victim: leave the node out, or name one at least", node)
}

// changed is a candidate with the victims that an extender names.
func (x *Extenders) changed(ctx context.Context, pod *model.Pod, c scheduling.Candidate, v *extenderv1.MetaVictims) (scheduling.Candidate, error) {
	out := scheduling.Candidate{Node: c.Node, Violations: int(v.NumPDBViolations)}
	if out.Violations < 0 {
		return out, fmt.Errorf("node %q: NumPDBViolations: %d: must not be negative", c.Node, v.NumPDBViolations)
	}
	for _, meta := range v.Pods {
		if meta == nil {
			return out, fmt.Errorf("node %q: a victim is null: must be an object with a UID", c.Node)
		}
		victim, err := x.victim(ctx, c, meta.UID)
		if err != nil {
			return out, err
		}
		if victim.Spec.Priority >= pod.Spec.Priority {
			return out, fmt.Errorf("victim %s on node %q has priority %d: must be below that of %s, %d", victim.Key(), c.Node, victim.Spec.Priority, pod.Key(), pod.Spec.Priority)
		}
		if !slices.ContainsFunc(out.Victims, func(p *model.Pod) bool { return p.UID == victim.UID }) {
			out.Victims = append(out.Victims, victim)
		}
	}
	return out, nil
}

// victim finds a pod that an extender names: one of the candidate's victims or
// another pod of its node.
func (x *Extenders) victim(ctx context.Context, c scheduling.Candidate, uid string) (*model.Pod, error) {
	if i := slices.IndexFunc(c.Victims, func(p *model.Pod) bool { return p.UID == uid }); i >= 0 {
		return c.Victims[i], nil
	}
	found, err := x.originals.on(ctx, c.Node, uid)
	if err == nil && found == nil {
		err = fmt.Errorf("victim with uid %q: must be a pod on node %q", uid, c.Node)
	}
	if err != nil {
		return nil, err
	}
	return x.compile(found), nil
}

func metaVictims(candidates []scheduling.Candidate) map[string]*extenderv1.MetaVictims {
	out := map[string]*extenderv1.MetaVictims{}
	for _, c := range candidates {
		m := &extenderv1.MetaVictims{NumPDBViolations: int64(c.Violations)}
		for _, v := range c.Victims {
			m.Pods = append(m.Pods, &extenderv1.MetaPod{UID: v.UID})
		}
		out[c.Node] = m
	}
	return out
}

// victims are candidates with whole pods. A victim that is gone meanwhile is left
// out, and with it a candidate that has no other.
func (x *Extenders) victims(ctx context.Context, candidates []scheduling.Candidate) (map[string]*extenderv1.Victims, error) {
	out := map[string]*extenderv1.Victims{}
	for _, c := range candidates {
		m := &extenderv1.Victims{NumPDBViolations: int64(c.Violations)}
		for _, v := range c.Victims {
			original, err := x.originals.pod(ctx, v)
			if errors.Is(err, errGone) {
				continue
			}
			if err != nil {
				return nil, err
			}
			m.Pods = append(m.Pods, original)
		}
		if len(m.Pods) > 0 {
			out[c.Node] = m
		}
	}
	return out, nil
}
