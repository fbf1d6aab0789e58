package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// ProcessPreemption calls the preempt verbs in sequence. Each extender may remove candidates and change victims.
// The outcome is Refused if an extender that is not ignorable fails.
func (x *Extenders) ProcessPreemption(ctx context.Context, e scheduling.CallPreemptionExtenders) scheduling.Outcome {
	pod, err := x.objects.pod(ctx, e.Pod)
	if err != nil {
		return scheduling.Outcome{Result: scheduling.Refused, Reason: err.Error()}
	}
	remaining := e.Candidates
	for _, ex := range x.list {
		if len(remaining) == 0 {
			break
		}
		if ex.Preempt == "" || !ex.IsInterested(e.Pod) {
			continue
		}
		next, err := x.processPreemption(ctx, ex, pod, e.Pod, remaining)
		if err != nil && !ex.Ignorable {
			return scheduling.Outcome{Result: scheduling.Refused, Reason: err.Error()}
		}
		if err != nil {
			x.reportIgnored(ex, ex.Preempt, err)
			continue
		}
		remaining = next
	}
	return scheduling.Outcome{Candidates: remaining}
}

// processPreemption calls one extender. The response names victims by UID for every kind of extender.
func (x *Extenders) processPreemption(ctx context.Context, ex *extender, apiPod *corev1.Pod, pod *model.Pod, candidates []profiles.Candidate) ([]profiles.Candidate, error) {
	args := &extenderv1.ExtenderPreemptionArgs{Pod: apiPod}
	if ex.NodeCacheCapable {
		args.NodeNameToMetaVictims = metaVictims(candidates)
	} else {
		var err error
		if args.NodeNameToVictims, err = x.fullVictims(ctx, candidates); err != nil {
			return nil, err
		}
	}
	var result extenderv1.ExtenderPreemptionResult
	if err := ex.call(ctx, ex.Preempt, args, &result); err != nil {
		return nil, err
	}
	for node := range result.NodeNameToMetaVictims {
		if !slices.ContainsFunc(candidates, func(c profiles.Candidate) bool { return c.Node == node }) {
			return nil, ex.wrapError(ex.Preempt, fmt.Errorf("node %q was not in the request", node))
		}
	}
	var remaining []profiles.Candidate
	for _, c := range candidates {
		v, ok := result.NodeNameToMetaVictims[c.Node]
		if !ok {
			continue
		}
		if v == nil || len(v.Pods) == 0 {
			if ex.Ignorable {
				x.reportIgnored(ex, ex.Preempt, noVictimError(c.Node))
				continue
			}
			return nil, ex.wrapError(ex.Preempt, noVictimError(c.Node))
		}
		updated, err := x.applyVictims(ctx, pod, c, v)
		if err != nil {
			return nil, ex.wrapError(ex.Preempt, err)
		}
		remaining = append(remaining, updated)
	}
	return remaining, nil
}

func noVictimError(node string) error {
	return fmt.Errorf("node %q has no victims: omit the node or name at least one victim", node)
}

// applyVictims returns the candidate with the victims that an extender names.
func (x *Extenders) applyVictims(ctx context.Context, pod *model.Pod, c profiles.Candidate, v *extenderv1.MetaVictims) (profiles.Candidate, error) {
	out := profiles.Candidate{Node: c.Node, Violations: int(v.NumPDBViolations)}
	if out.Violations < 0 {
		return out, fmt.Errorf("node %q: NumPDBViolations: %d: must not be negative", c.Node, v.NumPDBViolations)
	}
	for _, meta := range v.Pods {
		if meta == nil {
			return out, fmt.Errorf("node %q: a victim is null: must be an object with a UID", c.Node)
		}
		victim, err := x.findVictim(ctx, c, meta.UID)
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

// findVictim returns a pod that an extender names: a victim of the candidate or another pod on its node.
func (x *Extenders) findVictim(ctx context.Context, c profiles.Candidate, uid string) (*model.Pod, error) {
	if i := slices.IndexFunc(c.Victims, func(p *model.Pod) bool { return p.UID == uid }); i >= 0 {
		return c.Victims[i], nil
	}
	pod, err := x.objects.podOnNode(ctx, c.Node, uid)
	if err == nil && pod == nil {
		err = fmt.Errorf("victim with UID %q: not found on node %q", uid, c.Node)
	}
	if err != nil {
		return nil, err
	}
	return x.convertPod(pod), nil
}

func metaVictims(candidates []profiles.Candidate) map[string]*extenderv1.MetaVictims {
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

// fullVictims returns the candidates with whole pods. It omits victims that were deleted meanwhile, and candidates
// without any other victim.
func (x *Extenders) fullVictims(ctx context.Context, candidates []profiles.Candidate) (map[string]*extenderv1.Victims, error) {
	out := map[string]*extenderv1.Victims{}
	for _, c := range candidates {
		m := &extenderv1.Victims{NumPDBViolations: int64(c.Violations)}
		for _, v := range c.Victims {
			apiPod, err := x.objects.pod(ctx, v)
			if errors.Is(err, errPodDeleted) {
				continue
			}
			if err != nil {
				return nil, err
			}
			m.Pods = append(m.Pods, apiPod)
		}
		if len(m.Pods) > 0 {
			out[c.Node] = m
		}
	}
	return out, nil
}
