package reports

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/internal/settings"
)

// StateAt returns the recorded state of the scheduler at a time, or a NotFound error.
func StateAt(journalDir string, at time.Time) (*recording.State, error) {
	segments, err := recording.Segments(journalDir)
	if err != nil {
		return nil, err
	}
	state, err := recording.StateAt(segments, at)
	if errors.Is(err, recording.ErrNoState) {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "recorded inputs of the scheduler"}, at.Format(time.RFC3339))
	}
	return state, err
}

// RecordedPod is an explanation of a pod at an earlier time.
type RecordedPod interface {
	JSON() ([]byte, error)
}

// ExplainRecordedPod evaluates a pod in the recorded state of a time.
func ExplainRecordedPod(loaded settings.Settings, journalDir, namespace, name string, at time.Time) (RecordedPod, error) {
	decisions, _, err := journal.ReadDecisions(journalDir, namespace, name)
	if err != nil {
		return nil, err
	}
	decisions = slices.DeleteFunc(decisions, func(d journal.Decision) bool { return d.Time.After(at) })
	recorded, err := StateAt(journalDir, at)
	if err != nil {
		return nil, err
	}
	pods := recorded.Pods()
	i := slices.IndexFunc(pods, func(p *model.Pod) bool { return p.Namespace == namespace && p.Name == name })
	if i < 0 && len(decisions) == 0 {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), fmt.Sprintf("%s/%s at %s", namespace, name, at.Format(time.RFC3339)))
	}
	if i < 0 {
		return explain.DeletedPod{Pod: namespace + "/" + name, Decisions: decisions}, nil
	}
	profile, err := profileFor(loaded, pods[i])
	if err != nil {
		return nil, err
	}
	p := loaded.Berth.Scheduler.Preemption
	state, err := clusterState(recorded)
	if err != nil {
		return nil, err
	}
	explanation := explain.ExplainPod(state, profile, loaded.Berth.Scheduler.Seed, preemption.Options{LedgerBudgets: p.LedgerBudgets, PreferMovable: p.PreferMovableVictims}, pods[i])
	explanation.ResizePreemption = loaded.Berth.Scheduler.InPlacePodVerticalScalingSchedulerPreemption
	explanation.Decisions, explanation.Extenders = decisions, loaded.Scheduler.Extenders.AnyInterested(pods[i])
	return explanation, nil
}

// clusterState returns the cluster state of recorded objects.
func clusterState(recorded *recording.State) (*cluster.State, error) {
	m, err := scheduler.NewRecordedMachine(recorded.Options)
	if err != nil {
		return nil, err
	}
	m.Step(recorded.At, recorded.Objects(), 0)
	return m.State(), nil
}
